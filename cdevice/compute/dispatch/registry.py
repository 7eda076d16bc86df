"""Functions and their kernels, as Arrow has them: a function is a name, a kernel is what it does for some types on some
devices."""

from __future__ import annotations

import difflib
import os
import threading
from dataclasses import dataclass

from ..._runtime.ext import _native
from ..._runtime.lazy import LazyModule
from ...schema import asschema
from ..errors import NoKernel, UnknownFunction, device_word
from ..options import FunctionOptions, NoOptions
from . import entry_points as entries
from .bounded import Bounded
from .types import DICTIONARY, common, is_wider, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    from ..._devices import device as _device
    from ..._types import StreamLike
    from . import call as _call
    from .call import Call

    class FunctionProvider(Protocol):
        """Another library's functions, looked for by name."""

        def here(self) -> bool: ...

        def function(self, name: str, /) -> Function | None: ...

        def names(self) -> list[str]: ...

else:
    _call = LazyModule("cdevice.compute.dispatch.call")
    _device = LazyModule("cdevice._devices.device")

_changes = threading.Lock()  # of any function's kernels


def _new_lock() -> None:
    global _changes
    _changes = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)

KINDS = ("scalar", "vector", "scalar_aggregate", "hash_aggregate", "meta")


@dataclass(frozen=True)
class Matcher:
    """Types that are alike, as one argument of a signature.

    ``name``: for messages.  ``test(format)``: is it one of them.  ``same(format)``: is equal for all arguments that it
    stands for.
    """

    name: str
    test: Callable[[str], bool]
    same: Callable[[str], object] | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Signature:
    """The types of a kernel.  No method blocks.  Any thread.

    ``inputs``: one Arrow format or matcher for each argument; the last one repeats where ``var_args``.  ``out``: the
    result's format, a function from the arguments' formats to it, or None: decided by ``exec``.
    """

    inputs: tuple[str | Matcher, ...]
    out: str | Callable[[Sequence[str]], str] | None
    var_args: bool = False

    def matches(self, formats: Sequence[str]) -> bool:
        """True when the kernel takes these types.

        ``formats``: one Arrow format for each argument.  Never raises.
        """
        n = len(self.inputs)
        if len(formats) != n and not (self.var_args and len(formats) >= n):
            return False
        wanted = self.inputs + self.inputs[-1:] * (len(formats) - n)
        first: dict[Matcher, object] = {}
        for w, f in zip(wanted, formats, strict=True):
            if isinstance(w, str):
                if w != f:
                    return False
            elif not w.test(f) or (w.same and first.setdefault(w, w.same(f)) != w.same(f)):
                return False
        return True

    def _words(self) -> list[str]:
        return [str(w) if isinstance(w, Matcher) else words_of(w) for w in self.inputs]

    def __str__(self) -> str:
        out = words_of(self.out) if isinstance(self.out, str) else "..."
        return f"({', '.join(self._words())}{'...' if self.var_args else ''}) -> {out}"

    @property
    def taken(self) -> str:
        """The inputs in short: one word where all are the same."""
        words = self._words()
        return words[0] if len(set(words)) == 1 else f"({', '.join(words)})"


@dataclass(frozen=True)
class Kernel:
    """What a function does for some types on some devices.

    ``signature``: its types.  ``device``: an ArrowDeviceType, or None: every device whose backend has
    ``cdevice.compute/1``.  ``exec(call, *args)`` gives a DeviceArray; where it raises NoKernel the next kernel that
    fits is asked.  ``library``: where it comes from, for messages.  An aggregate's argument may have chunks, to be gone
    through once, and with ``chunks`` any argument; else they are joined before.  ``null_handling``: of a scalar
    function; "intersection": a row of the result is null where one of an argument is, and the kernel need not look at
    nulls; "computed": the kernel computes which rows are null.  ``init(call)`` makes the state that ``call.state`` is;
    ``finalize(call, result)`` makes another result of it.

    Matching kernels are ordered by ``priority`` (highest first), then device-specific before generic, then most
    recently added.  One of negative priority is asked when no other fits, also not after a cast.
    """

    signature: Signature
    exec: Callable[..., Any]
    device: int | None = None
    library: str = "cdevice"
    priority: int = 0
    init: Callable[[Call], Any] | None = None
    finalize: Callable[[Call, Any], Any] | None = None
    chunks: bool = False
    null_handling: str = "computed"

    def __str__(self) -> str:
        where = "any device" if self.device is None else device_word(self.device)
        return f"{self.signature} on {where} by {self.library}"


class Function:
    """A name with kernels.  Any thread.

    ``name``: of the function.  ``kind``: one of :data:`KINDS`; ``arity``: how many arguments, or a negative number: at
    least -1 - arity of them.  ``options``: their class; ``doc``: its description.  ``kernels``: those to begin with;
    :meth:`add_kernel` adds others.  ``implicit``: from the formats of the arguments to those that they are cast to;
    ``meta``: computes by calling other functions; ``nulls``: the type of None where it is not that of the other
    arguments; ``compares``: its result is a bool, so that a value of the host may become the type of the rows that it
    is compared with.

    Raises TypeError and ValueError for an invalid name, kind, arity or options.  No method blocks for a device.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        arity: int,
        doc: str = "",
        options: type[FunctionOptions] = NoOptions,
        kernels: Iterable[Kernel] = (),
        implicit: Callable[[Sequence[str]], Sequence[str] | None] | None = None,
        meta: Callable[[Call, Sequence[Any]], Any] | None = None,
        nulls: tuple[str | None, ...] = (),
        compares: bool = False,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"Function(): name must be a str, not {type(name).__name__}")
        if not name or not name.isprintable():
            raise ValueError(f"Function(): name must be printable, not {name!r}")
        if kind not in KINDS:
            raise ValueError(f"Function(): kind must be one of {', '.join(KINDS)}, not {kind!r}")
        if type(arity) is not int:
            raise TypeError(f"Function(): arity must be an int, not {type(arity).__name__}")
        if not (isinstance(options, type) and issubclass(options, FunctionOptions)):
            raise TypeError(f"Function(): options must be a subclass of FunctionOptions, not {options!r}")
        self.name, self.kind, self.arity, self.doc, self.options = name, kind, arity, doc, options
        self.implicit, self.meta, self.nulls, self.compares = implicit, meta, nulls, compares
        self._kernels: tuple[Kernel, ...] = ()
        self._generation = 0  # of the kernels: what was remembered of an earlier one is not used
        self._dispatch_cache: Bounded[tuple[Any, ...], tuple[int, list[tuple[Kernel, tuple[str, ...]]]]] = Bounded(256)
        self._fast_calls: list[Any] = []  # functions in C that remember what was dispatched
        for kernel in kernels:
            self._add(kernel)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Its kernels, in the order in which they were added."""
        return self._kernels

    def __call__(
        self, *args: Any, options: Any = None, stream: StreamLike = None, fallback: str | None = None, **named: Any
    ) -> Any:
        """Calls it, as :func:`cdevice.compute.call_function` does; options may be named."""
        return _call.run(self, args, options, stream, named, fallback)

    def add_kernel(
        self,
        inputs: Iterable[Any],
        out: Any,
        exec: Callable[..., Any],
        *,
        device: Any = None,
        library: str = "",
        priority: int = 0,
        init: Callable[[Call], Any] | None = None,
        finalize: Callable[[Call, Any], Any] | None = None,
        chunks: bool = False,
        null_handling: str = "",
    ) -> Kernel:
        """A new :class:`Kernel`.

        ``inputs``: what :func:`cdevice.asschema` takes, or matchers.  ``out``: the same, a function of formats, or None
        for any result of the kernel.  ``exec(call, *arguments)``: gets the :class:`Call` and an :class:`Argument` for
        each argument, gives a DeviceArray.  ``device``: a name, or None for all.  ``library``: default: the module of
        ``exec``.  ``null_handling``: by default "intersection" for a scalar function, "computed" for others.
        ``priority``, ``init``, ``finalize``, ``chunks``: as in :class:`Kernel`.  Arguments of narrower numbers are cast
        before.

        Raises ValueError for a meta function, which has no kernels, and for an unknown word; TypeError.
        """
        if self.kind == "meta":
            raise ValueError(f"{self.name} is a meta function: it has no kernels")
        for word, f in (("exec", exec), ("init", init), ("finalize", finalize)):
            if not callable(f) and (f is not None or word == "exec"):
                raise TypeError(f"{self.name}.add_kernel(): {word} must be callable, not {type(f).__name__}")
        if type(priority) is not int or type(chunks) is not bool:
            word, value = ("priority", priority) if type(priority) is not int else ("chunks", chunks)
            raise TypeError(
                f"{self.name}.add_kernel(): {word} must be {'int' if word == 'priority' else 'bool'}, not {value!r}"
            )
        types = tuple(i if isinstance(i, Matcher) else asschema(i).format for i in inputs)
        self._check_arity(len(types), "add_kernel(): inputs has")
        null_handling = null_handling or ("intersection" if self.kind == "scalar" else "computed")
        if null_handling not in ("intersection", "computed"):
            raise ValueError(
                f'{self.name}.add_kernel(): null_handling must be "intersection" or "computed", not {null_handling!r}'
            )
        result = out if out is None or callable(out) else asschema(out).format
        number = None if device is None else _device.device(device).type_id
        library = library or exec.__module__
        signature = Signature(types, result, self.arity < 0)
        return self._add(Kernel(signature, exec, number, library, priority, init, finalize, chunks, null_handling))

    def remove_kernel(self, kernel: Kernel) -> None:
        """Removes a kernel.

        ``kernel``: what :meth:`add_kernel` returned.  Raises ValueError where the function does not have it.
        """
        with _changes:
            if all(k is not kernel for k in self._kernels):
                raise ValueError(f"{self.name}.remove_kernel(): the function has no kernel {kernel}")
            self._change(tuple(k for k in self._kernels if k is not kernel))

    def _add(self, kernel: Kernel) -> Kernel:
        """The one way in for a kernel."""
        with _changes:
            self._change((*self._kernels, kernel))
        return kernel

    def _change(self, kernels: tuple[Kernel, ...]) -> None:
        self._kernels = kernels
        self._generation += 1  # after the kernels: a thread that reads the number first sees kernels at least as new
        self._dispatch_cache.clear()
        for front in self._fast_calls:
            _native.compute_learn(front, self._generation, None, None, False, None)

    def _has_front(self, front: Any) -> None:
        """A function in C that asks here for what it does not know."""
        _native.compute_learn(front, self._generation, None, None, False, None)
        self._fast_calls.append(front)

    def _check_arity(self, n: int, where: str = "") -> None:
        """``where``: whose number it is, in the error.  A kernel of a function of many arguments names the first
        ones."""
        least = self.arity if self.arity >= 0 else -1 - self.arity
        if (n != self.arity) if self.arity >= 0 else n < (1 if where else least):
            more = "at least " if self.arity < 0 else ""
            said = f"; {where} {n}" if where else f", not {n}"
            raise TypeError(f"{self.name} takes {more}{least} argument{'s' * (least != 1)}{said}")

    def dispatch_exact(self, types: Sequence[Any], device: int = 1) -> Kernel:
        """The kernel for exactly these types on a device type.

        ``types``: what :func:`cdevice.asschema` takes, one for each argument.  ``device``: the ArrowDeviceType.  Raises
        NoKernel, TypeError for another number of types.
        """
        formats = _formats(types)
        found = self._fitting(formats, device)
        if not found:
            entries.load(None)
            found = self._fitting(formats, device)
        if not found:
            raise self.no_kernel_error(formats, device)
        return found[0]

    def dispatch_best(self, types: Sequence[Any], device: int = 1) -> tuple[Kernel, tuple[str, ...]]:
        """(kernel, formats that the arguments are cast to) by Arrow's implicit casts.

        ``types``, ``device``: as for :meth:`dispatch_exact`.  Raises NoKernel, TypeError for another number of types.
        """
        return self._candidates(_formats(types), device)[0]

    def _fitting(self, formats: tuple[str, ...], device: int) -> list[Kernel]:
        """The kernels for exactly these types, the best one first."""
        self._check_arity(len(formats))
        found = [k for k in self._kernels if k.device in (None, device) and k.signature.matches(formats)]
        found.reverse()
        return sorted(found, key=lambda k: (-k.priority, k.device is None))

    def _candidates(self, formats: tuple[str, ...], device: int) -> list[tuple[Kernel, tuple[str, ...]]]:
        """The kernels to be asked, in order, with what the arguments are cast to.  Raises NoKernel."""
        key = (*formats, device)
        known = self._dispatch_cache.get(key)
        if known is not None and known[0] == self._generation:
            return known[1]
        entries.load(device)
        generation = self._generation
        out = self._rank(formats, device)
        if not out:
            entries.load(None)
            generation = self._generation
            out = self._rank(formats, device)
        if not out:
            raise self.no_kernel_error(formats, device)
        self._dispatch_cache.put(key, (generation, out))
        return out

    def _rank(self, formats: tuple[str, ...], device: int) -> list[tuple[Kernel, tuple[str, ...]]]:
        exact = self._fitting(formats, device)
        out = [(k, formats) for k in exact if k.priority >= 0]
        return (out or self._by_casts(formats, device)) + [(k, formats) for k in exact if k.priority < 0]

    def _by_casts(self, formats: tuple[str, ...], device: int) -> list[tuple[Kernel, tuple[str, ...]]]:
        """Null is of the other arguments' type; then Arrow's implicit casts."""
        known = self._named(formats)
        for rule in (lambda f: f, self.implicit or _numbers):
            cast = rule(known)
            if cast is not None and tuple(cast) != formats:
                out = [(k, tuple(cast)) for k in self._fitting(tuple(cast), device) if k.priority >= 0]
                if out:
                    return out
        return [] if self.implicit else self._by_widening(known, device)

    def _by_widening(self, formats: tuple[str, ...], device: int) -> list[tuple[Kernel, tuple[str, ...]]]:
        """Kernels for wider numbers that were added to a function without implicit casts."""
        out = []
        for k in self._kernels:
            wanted = k.signature.inputs + k.signature.inputs[-1:] * (len(formats) - len(k.signature.inputs))
            texts = tuple(w for w in wanted if isinstance(w, str))
            if (
                k.library == "cdevice"
                or k.priority < 0
                or k.device not in (None, device)
                or not len(wanted) == len(texts) == len(formats)
            ):
                continue
            if all(a == b or is_wider(b, a) for a, b in zip(formats, texts, strict=True)):
                out.append((k, texts))
        out.reverse()  # of equals the one that was added last
        return sorted(out, key=lambda x: (-x[0].priority, x[0].device is None))

    def _named(self, formats: tuple[str, ...]) -> tuple[str, ...]:
        own = (*self.nulls, *(None,) * len(formats))
        known = next((f for f, o in zip(formats, own, strict=False) if f != "n" and not o), "n")
        return tuple([(o or known) if f == "n" else f for f, o in zip(formats, own, strict=False)])

    def no_kernel_error(self, formats: Sequence[str], device: int, said: str = "") -> NoKernel:
        """The exception, to be raised.

        ``formats``: one Arrow format for each argument.  ``device``: the ArrowDeviceType.  ``said``: the reason of a
        kernel that was asked, in place of the kernels there are.  Never raises it.
        """
        asked = ", ".join(map(words_of, formats))
        others = [k for k in self._kernels if not k.signature.matches(formats)]  # those that match were asked
        here = [k.signature.taken for k in others if k.device in (None, device)]
        there = here or [str(k) for k in self._kernels]
        told = f"there is {'one for ' * bool(here)}{_some(there, 30 if here else 4)}" + (f"; {said}" if said else "")
        if device != 1 and self._rank(tuple(formats), 1):
            told += '; fallback="copy" computes it on the CPU and copies both ways'
        return NoKernel(f"{self.name}({asked}): no kernel on {device_word(device)}; {told}")

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} function, {len(self._kernels)} kernels"

    def __repr__(self) -> str:
        return f"<cdevice.compute.Function {self}>"


def _some(words: Sequence[str], most: int) -> str:
    """The first of them, without repeats."""
    known = list(dict.fromkeys(words))
    return (", ".join(known[:most]) or "none") + (f" and {len(known) - most} more" if len(known) > most else "")


def _numbers(formats: Sequence[str]) -> Sequence[str] | None:
    one = common(formats)
    return None if one is None else (one,) * len(formats)


def _formats(types: Sequence[Any]) -> tuple[str, ...]:
    return tuple([t if t == DICTIONARY else asschema(t).format for t in types])


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
        self._functions[function.name] = function

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
        self._functions[target] = self.get_function(source)

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
