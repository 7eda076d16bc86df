"""Functions by name, and classes of options."""

from __future__ import annotations

import difflib

from ..errors import UnknownFunction
from ..options import FunctionOptions
from . import entry_points as entries
from . import function as _function
from .function import KINDS, Function
from .signature import Kernel, Matcher, Signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class FunctionProvider(Protocol):
        """Another library's functions, looked for by name."""

        def here(self) -> bool: ...

        def function(self, name: str, /) -> Function | None: ...

        def names(self) -> list[str]: ...


class FunctionRegistry:
    """Functions and classes of options by name.  No method blocks for a device.  Any thread.

    ``parent``: another registry, or None; names that are not here are looked up there.  A name that a parent has may
    not be added here, unless it is to be overwritten.  ``provider``: other libraries' functions, for names that are in
    no registry; listed only on request, see :func:`cdevice.compute.list_functions`.
    """

    provider: FunctionProvider | None = None

    def __init__(self, parent: FunctionRegistry | None = None) -> None:
        if parent is not None and not isinstance(parent, FunctionRegistry):
            raise TypeError(
                f"FunctionRegistry(): parent must be a FunctionRegistry or None, not {type(parent).__name__}"
            )
        self.parent = parent
        self._functions: dict[str, Function] = {}
        self._options: dict[str, type[FunctionOptions]] = {}
        self._made: dict[str, Function] = {}

    @classmethod
    def make(cls, parent: FunctionRegistry | None = None) -> FunctionRegistry:
        """A new registry.

        ``parent``: its functions are found in it.  Raises TypeError for another object.
        """
        return cls(parent)

    def _has(self, name: str) -> bool:
        return name in self._functions or (self.parent is not None and self.parent._has(name))

    def can_add_function(self, function: Function, allow_overwrite: bool = False) -> None:
        """Checks the arguments of :meth:`add_function`.

        ``function``: a Function.  ``allow_overwrite``: the name may be taken.  Raises KeyError where the name is taken,
        TypeError for an object that is not a Function.
        """
        if not isinstance(function, Function):
            raise TypeError(f"function must be a Function, not {type(function).__name__}")
        if not allow_overwrite and self._has(function.name):
            raise KeyError(f"the function {function.name!r} already exists: pass allow_overwrite=True to replace it")

    def add_function(self, function: Function, allow_overwrite: bool = False) -> None:
        """Adds a function under its name.

        ``function``: a Function.  ``allow_overwrite``: replaces one of that name.  Raises as :meth:`can_add_function`.
        """
        self.can_add_function(function, allow_overwrite)
        self._put(function.name, function, allow_overwrite)

    def _put(self, name: str, function: Function, overwrite: bool) -> None:
        """One step: where several threads add a name, one does and the others get the error."""
        with _function._changes:
            if not overwrite and name in self._functions:
                raise KeyError(f"the function {name!r} already exists")
            self._functions[name] = function

    def can_add_alias(self, target: str, source: str) -> None:
        """Checks the arguments of :meth:`add_alias`.

        Raises KeyError where ``target`` is taken or there is no ``source``, TypeError for names that are not str.
        """
        for word, name in (("target", target), ("source", source)):
            if not isinstance(name, str) or not name:
                raise TypeError(f"{word} must be the name of a function, not {name!r}")
        self.get_function(source)
        if self._has(target):
            raise KeyError(f"the function {target!r} already exists")

    def add_alias(self, target: str, source: str) -> None:
        """``target`` becomes another name of ``source``.  Raises as :meth:`can_add_alias`."""
        self.can_add_alias(target, source)
        self._put(target, self.get_function(source), False)

    def can_add_function_options_type(self, options: type[FunctionOptions], allow_overwrite: bool = False) -> None:
        """Checks the arguments of :meth:`add_function_options_type`.

        ``options``: a subclass of FunctionOptions.  ``allow_overwrite``: the name may be taken.  Raises KeyError where
        the name is taken, TypeError for another object.
        """
        if not (isinstance(options, type) and issubclass(options, FunctionOptions)):
            raise TypeError(f"options must be a subclass of FunctionOptions, not {options!r}")
        if not allow_overwrite and options.__name__ in self._options:
            raise KeyError(f"the options {options.__name__!r} already exist")

    def add_function_options_type(self, options: type[FunctionOptions], allow_overwrite: bool = False) -> None:
        """Adds a class of options under its name.

        ``options``: a subclass of FunctionOptions.  ``allow_overwrite``: replaces one of that name.  Raises as
        :meth:`can_add_function_options_type`.
        """
        self.can_add_function_options_type(options, allow_overwrite)
        self._options[options.__name__] = options

    def get_function(self, name: str) -> Function:
        """The function of that name, from here, a parent or a provider.

        ``name``: of the function.  Raises UnknownFunction, a KeyError, with near names.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be the name of a function, not {type(name).__name__}")
        found = self._find(name)
        if found is None:
            entries.load(None)
            found = self._find(name)
        if found is None:
            found = self._provide(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(str(name), self.get_function_names(include_providers=True), 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; list_functions() names them"
        raise UnknownFunction(f"no function is named {name!r}{hint}")

    def _find(self, name: str) -> Function | None:
        found = self._functions.get(name)
        return found if found is not None or self.parent is None else self.parent._find(name)

    def _provide(self, name: str) -> Function | None:
        """Of what others bring: made when it is first asked for, the same from then on."""
        if self.provider is None:
            return self.parent._provide(name) if self.parent else None
        if not self.provider.here():
            return None
        found = self._made.get(name) or self.provider.function(name)
        return None if found is None else self._made.setdefault(name, found)

    def get_function_options_type(self, name: str) -> type[FunctionOptions]:
        """The class of options of that name.

        ``name``: of the class.  Raises KeyError.
        """
        found = self._options.get(name)
        if found is not None:
            return found
        return self.parent.get_function_options_type(name) if self.parent else FunctionOptions.of(name)

    def get_function_names(self, include_providers: bool = False) -> list[str]:
        """All names, sorted.

        ``include_providers``: those of other libraries too, which are loaded for that.  Never raises for an entry
        point: one that fails is a DeviceWarning.
        """
        if include_providers:
            entries.load(None)
        above = self.parent.get_function_names(include_providers) if self.parent else []
        more = self.provider.names() if include_providers and self.provider else []
        return sorted({*self._functions, *above, *more})

    @property
    def num_functions(self) -> int:
        """How many names there are."""
        return len(self.get_function_names())


__all__ = ["KINDS", "Function", "FunctionRegistry", "Kernel", "Matcher", "Signature"]
