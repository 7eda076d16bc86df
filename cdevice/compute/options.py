"""Options of functions, by Arrow's names."""

from __future__ import annotations

import difflib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar


class FunctionOptions:
    """Base of all options: what a function needs to know beside its arguments.

    A subclass names its fields and their defaults in ``defaults``; a field without a default has ``...``.  Options are
    compared by value.  ``FunctionOptions.of(name)`` is the class of that name.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    known: ClassVar[dict[str, type[FunctionOptions]]] = {}

    def __init_subclass__(cls) -> None:
        if cls.__module__.partition(".")[0] != "cdevice":
            FunctionOptions.known[cls.__name__] = cls
        else:  # what is built in stays before what is made of pyarrow's
            FunctionOptions.known.setdefault(cls.__name__, cls)

    def __init__(self, *args: Any, **options: Any) -> None:
        names = list(self.defaults)
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes at most {len(names)} options, not {len(args)}")
        options = {**dict(zip(names, args, strict=False)), **options}
        for name in options:
            if name not in self.defaults:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there is {', '.join(names) or 'none'}"
                raise TypeError(f"{type(self).__name__} has no option {name!r}{hint}")
        for name, default in self.defaults.items():
            value = options.get(name, default)
            if value is ...:
                raise TypeError(f"{type(self).__name__} needs {name}=")
            setattr(self, name, value)

    @staticmethod
    def of(name: str) -> type[FunctionOptions]:
        """The class of options of that name.  Raises KeyError."""
        try:
            return FunctionOptions.known[name]
        except KeyError:
            raise KeyError(
                f"no options are named {name!r}; there are {', '.join(sorted(FunctionOptions.known))}"
            ) from None

    def __getattr__(self, name: str) -> Any:  # set in __init__, from defaults
        raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, vars(self).items())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class ScalarAggregateOptions(FunctionOptions):
    """``skip_nulls``: False makes a null of what has one among its rows.  ``min_count``: fewer rows that count make a
    null."""

    defaults: ClassVar[Mapping[str, Any]] = {"skip_nulls": True, "min_count": 1}


class CountOptions(FunctionOptions):
    """``mode``: "only_valid", "only_null" or "all"."""

    defaults: ClassVar[Mapping[str, Any]] = {"mode": "only_valid"}


class CastOptions(FunctionOptions):
    """``target_type``: what :func:`cdevice.asschema` takes.  ``safe``: False lets values change that do not fit."""

    defaults: ClassVar[Mapping[str, Any]] = {"target_type": ..., "safe": True}


class FilterOptions(FunctionOptions):
    """``null_selection_behavior``: "drop": what is null in the mask chooses nothing; "emit_null": a null row."""

    defaults: ClassVar[Mapping[str, Any]] = {"null_selection_behavior": "drop"}


class TakeOptions(FunctionOptions):
    """``boundscheck``: False promises that every index is that of a row; then nothing is waited for."""

    defaults: ClassVar[Mapping[str, Any]] = {"boundscheck": True}


class NoOptions(FunctionOptions):
    """Of functions that have none."""
