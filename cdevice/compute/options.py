"""Options of functions, by Arrow's names."""

from __future__ import annotations

import difflib
import re
from _operator import index as _integer  # operator's own import costs a tenth of the package's

from .dispatch.deferred import Deferred, ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar


def _plain(word: str) -> Any:
    """A bool, an int or a word, as pyarrow prints it."""
    if word in ("true", "false"):
        return word == "true"
    return (
        int(word)
        if word.lstrip("-").isdigit()
        else {"NON_NULL": "only_valid", "NULLS": "only_null", "AtEnd": "at_end", "AtStart": "at_start"}.get(
            word, word.lower()
        )
    )


_BY_VALUE = (int, str, bytes, bool, type(None), range)
_PLAIN = {*_BY_VALUE, float}
_BY_TEXT = ("datetime", "decimal", "zoneinfo", "fractions", "uuid", "ipaddress", "enum")


def is_same(a: Any, b: Any) -> bool:
    """Is it the same value, of the same type?  0.0 and -0.0, 1 and True, a moment in two zones are not.  Objects of
    other kinds are the same where they are one object."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        kinds = [*map(type, a)]
        if kinds != [*map(type, b)]:
            return False
        if {*kinds} <= _PLAIN:  # there may be a million
            return bool(a == b) and (float not in kinds or repr(a) == repr(b))
        return all(map(is_same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(is_same, a, b)) and all(map(is_same, a.values(), b.values()))
    if type(a) in _BY_VALUE:
        return bool(a == b)
    module = type(a).__module__.partition(".")[0]
    if type(a) is float or module in _BY_TEXT:
        return repr(a) == repr(b)
    if module == "numpy" and hasattr(a, "dtype") and not a.dtype.hasobject:
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if module == "cdevice" and not hasattr(a, "__arrow_c_device_array__"):
        return bool(a == b)
    if module in ("cdevice", "pyarrow"):
        return _is_same_data(a, b)
    return False


def _is_same_data(a: Any, b: Any) -> bool:
    """Of arrays, scalars and types: equal, and of the same bytes."""
    import pickle

    try:
        return bool(a == b) and pickle.dumps(a) == pickle.dumps(b)
    except Exception:  # as the object has it
        return False


class FunctionOptions:
    """Base of all options: what a function needs to know beside its arguments.

    A subclass names its fields and their defaults in ``defaults``; a field without a default has ``...``.  Options are
    compared by value.  ``FunctionOptions.of(name)`` is the class of that name, of ``known``: {name: class}.

    ``allowed`` maps a field to its valid values: a type, or a tuple of values.  Others are a TypeError or a ValueError.
    No method blocks.  Any thread.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    allowed: ClassVar[Mapping[str, Any]] = {}
    known: ClassVar[dict[str, type[FunctionOptions]]] = {}

    def __init_subclass__(cls) -> None:
        if cls.__module__.partition(".")[0] != "cdevice":
            FunctionOptions.known[cls.__name__] = cls
        else:  # built-in classes take precedence over pyarrow's
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
            setattr(self, name, [*value] if type(value) is list else value)  # the caller may change a list
        self.check()

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Raises TypeError, ValueError."""
        for name, allowed in self.allowed.items():
            value = getattr(self, name)
            if isinstance(allowed, tuple):
                if not isinstance(value, str) or value not in allowed:
                    words = ", ".join(map(repr, allowed))
                    error = ValueError if isinstance(value, str) else TypeError
                    raise error(f"{type(self).__name__}: {name} must be one of {words}, not {value!r}")
            elif allowed is bool and type(value) is not bool:
                if type(value).__name__ not in ("bool", "bool_"):  # numpy's
                    raise TypeError(f"{type(self).__name__}: {name} must be True or False, not {value!r}")
                setattr(self, name, bool(value))
            elif allowed is int and type(value) is not int:
                try:
                    setattr(self, name, _integer(value))
                except TypeError:
                    raise TypeError(f"{type(self).__name__}: {name} must be an int, not {value!r}") from None
            if allowed is int and not 0 <= getattr(self, name) < 1 << 32:
                raise ValueError(f"{type(self).__name__}: {name} must be from 0 to 2**32 - 1, not {value}")

    @classmethod
    def from_pyarrow(cls, options: Any, given: Mapping[str, Any], function: str) -> FunctionOptions:
        """The options of a pyarrow object, by its fields.

        ``options``: the object.  ``given``: options by name, which must be empty.  ``function``: its name, for errors.
        Raises TypeError for an object of another class.
        """
        cls._require(options, given, function)
        return cls(**cls._fields_of(options))

    @classmethod
    def _require(cls, options: Any, given: Mapping[str, Any], function: str) -> None:
        name = type(options).__name__
        if name != cls.__name__:
            raise TypeError(f"{function} takes {cls.__name__}, not pyarrow's {name}")
        if given:
            raise TypeError(f"{function}: options= and options by name were both given: pass one")

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        """The fields of an object of pyarrow's, which shows them only as text: ``Name(a=1, b="c")``."""
        text = str(options)
        inside = text[text.index("(") + 1 : text.rindex(")")]
        pairs = (part.split("=", 1) for part in inside.split(", ") if "=" in part)
        words = {k.strip(): v.strip().strip('"') for k, v in pairs}
        return {k: _plain(words[k]) for k in cls.defaults if k in words}

    @staticmethod
    def of(name: str) -> type[FunctionOptions]:
        """The class of options of that name.

        ``name``: of the class.  Raises KeyError.
        """
        try:
            return FunctionOptions.known[name]
        except KeyError:
            raise KeyError(
                f"no options class is named {name!r}; there are {', '.join(sorted(FunctionOptions.known))}"
            ) from None

    def __getattr__(self, name: str) -> Any:  # set in __init__, from defaults
        raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        own, others = vars(self), vars(other)
        return own is others or (own.keys() == others.keys() and all(is_same(v, others[k]) for k, v in own.items()))

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, vars(self).items())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class ScalarAggregateOptions(FunctionOptions):
    """``skip_nulls``: False makes a null of what has one among its rows.  ``min_count``: fewer rows that count make a
    null."""

    defaults: ClassVar[Mapping[str, Any]] = {"skip_nulls": True, "min_count": 1}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool, "min_count": int}


class CountOptions(FunctionOptions):
    """``mode``: "only_valid", "only_null" or "all"."""

    defaults: ClassVar[Mapping[str, Any]] = {"mode": "only_valid"}
    allowed: ClassVar[Mapping[str, Any]] = {"mode": ("only_valid", "only_null", "all")}


class CastOptions(FunctionOptions):
    """``target_type``: what :func:`cdevice.asschema` takes.  ``safe``: False lets values change that do not fit."""

    defaults: ClassVar[Mapping[str, Any]] = {"target_type": ..., "safe": True}
    allowed: ClassVar[Mapping[str, Any]] = {"safe": bool}

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        text = str(options)
        flags = {part for part in text.rstrip(")").split(", ") if part.startswith("allow_")}
        allowed = {part.endswith("=true") for part in flags}
        if len(allowed) != 1:
            raise TypeError("cast: pyarrow options that allow only some kinds of loss are not supported: pass safe=")
        return {"target_type": text[text.index("=") + 1 : text.index(", allow_")], "safe": allowed == {False}}


class FilterOptions(FunctionOptions):
    """``null_selection_behavior``: "drop": a null in the mask selects nothing; "emit_null": a null row."""

    defaults: ClassVar[Mapping[str, Any]] = {"null_selection_behavior": "drop"}
    allowed: ClassVar[Mapping[str, Any]] = {"null_selection_behavior": ("drop", "emit_null")}


class TakeOptions(FunctionOptions):
    """``boundscheck``: False promises that every index is that of a row; then nothing is waited for."""

    defaults: ClassVar[Mapping[str, Any]] = {"boundscheck": True}
    allowed: ClassVar[Mapping[str, Any]] = {"boundscheck": bool}


_ORDERS = ("ascending", "descending")
_PLACEMENTS = ("at_end", "at_start")
_KEYS = str, int, Deferred
_ARROWS_KEY = re.compile(r"FieldRef\.Name\((.*?)\) (ASC|DESC) NULLS (LAST|FIRST)")


def _sort_keys(owner: str, keys: Any) -> list[tuple[str | int | Deferred, str, str | None]]:
    """Sort keys as (name, order, null placement or None).  Raises TypeError, ValueError."""
    if isinstance(keys, str):  # as pyarrow's rank: an order alone
        keys = [("", keys)]
    try:
        parts = [(k, "ascending") if isinstance(k, _KEYS) else tuple(k) for k in map(ours, keys)]
    except TypeError:
        raise TypeError(f"{owner}: sort_keys must be a list of (name, order), not {keys!r}") from None
    made: list[tuple[str | int | Deferred, str, str | None]] = []
    for part in parts:
        part = (ours(part[0]), *part[1:]) if part else part
        if not 2 <= len(part) <= 3 or not isinstance(part[0], _KEYS):
            raise TypeError(f"{owner}: a sort key must be (name, order) or (name, order, null_placement), not {part!r}")
        name, order, placement = (*part, None)[:3]
        if order not in _ORDERS:
            raise ValueError(f"{owner}: order must be one of 'ascending', 'descending', not {order!r}")
        if placement not in (*_PLACEMENTS, None):
            raise ValueError(f"{owner}: null_placement must be one of 'at_end', 'at_start', not {placement!r}")
        made.append((name, order, placement))
    return made


def _arrows_sort_keys(options: Any) -> list[tuple[str, str, str]]:
    """The sort keys of an object of pyarrow's, which shows them only as text."""
    orders, placements = {"ASC": "ascending", "DESC": "descending"}, {"LAST": "at_end", "FIRST": "at_start"}
    return [(name, orders[order], placements[nulls]) for name, order, nulls in _ARROWS_KEY.findall(str(options))]


class ArraySortOptions(FunctionOptions):
    """``order``: "ascending" or "descending".  ``null_placement``: "at_end" or "at_start".

    NaN lies between the numbers and the nulls."""

    defaults: ClassVar[Mapping[str, Any]] = {"order": "ascending", "null_placement": "at_end"}
    allowed: ClassVar[Mapping[str, Any]] = {"order": _ORDERS, "null_placement": _PLACEMENTS}


class SortOptions(FunctionOptions):
    """``sort_keys``: (name, order) or (name, order, null_placement) for each key, the most significant first;
    the name of a column, or an expression.  ``null_placement``: of keys that name none."""

    sort_keys: Any
    null_placement: Any
    defaults: ClassVar[Mapping[str, Any]] = {"sort_keys": (), "null_placement": "at_end"}
    allowed: ClassVar[Mapping[str, Any]] = {"null_placement": _PLACEMENTS}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        if self.null_placement is None:  # pyarrow's default
            self.null_placement = "at_end"
        super().check()
        self.sort_keys = _sort_keys(type(self).__name__, self.sort_keys)

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        return {"sort_keys": _arrows_sort_keys(options)}


class SelectKOptions(FunctionOptions):
    """``k``: the number of rows; ``sort_keys``: as in SortOptions."""

    sort_keys: Any
    defaults: ClassVar[Mapping[str, Any]] = {"k": ..., "sort_keys": ...}
    allowed: ClassVar[Mapping[str, Any]] = {"k": int}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        self.sort_keys = _sort_keys(type(self).__name__, self.sort_keys)
        if not self.sort_keys:
            raise ValueError("SelectKOptions: sort_keys must have a key")

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        k = re.search(r"k=(\d+)", str(options))
        return {"k": int(k.group(1)) if k else ..., "sort_keys": _arrows_sort_keys(options)}


class RankOptions(SortOptions):
    """``sort_keys``: an order, or as in SortOptions; ``null_placement``: of keys that name none.  ``tiebreaker``: which
    rank equal rows have: "min", "max", "first" (by their place) or "dense" (no number is left out)."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "sort_keys": "ascending",
        "null_placement": "at_end",
        "tiebreaker": "first",
    }
    allowed: ClassVar[Mapping[str, Any]] = {
        "null_placement": _PLACEMENTS,
        "tiebreaker": ("min", "max", "first", "dense"),
    }

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        found = re.search(r"tiebreaker=(\w+)", str(options))
        return {"sort_keys": _arrows_sort_keys(options), "tiebreaker": found.group(1).lower() if found else "first"}


class DictionaryEncodeOptions(FunctionOptions):
    """``null_encoding``: "mask": a null has a null index; "encode": null is a value of the dictionary."""

    defaults: ClassVar[Mapping[str, Any]] = {"null_encoding": "mask"}
    allowed: ClassVar[Mapping[str, Any]] = {"null_encoding": ("mask", "encode")}

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        return {"null_encoding": str(options).partition("=")[2].rstrip(")").lower()}


class PartitionNthOptions(FunctionOptions):
    """``pivot``: the row that gets its place in the order; ``null_placement``: "at_end" or "at_start"."""

    defaults: ClassVar[Mapping[str, Any]] = {"pivot": ..., "null_placement": "at_end"}
    allowed: ClassVar[Mapping[str, Any]] = {"pivot": int, "null_placement": _PLACEMENTS}


def _signed(owner: str, name: str, value: Any) -> int:
    """An option that is a whole number, negative ones too.  Raises TypeError."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return _integer(value)
    except TypeError:
        raise TypeError(f"{owner}: {name} must be an int, not {value!r}") from None


def _nullopt(words: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if v == "nullopt" else v for k, v in words.items()}


class CumulativeOptions(FunctionOptions):
    """``start``: a number before the first row; None: none.  ``skip_nulls``: False makes nulls of all rows from the
    first null on."""

    start: Any
    defaults: ClassVar[Mapping[str, Any]] = {"start": None, "skip_nulls": False}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError."""
        super().check()
        start = self.start
        for plain in ("as_py", "item"):  # of Arrow's scalars, of numpy's
            start = getattr(start, plain)() if hasattr(start, plain) else start
        if start is not None and (isinstance(start, bool) or not isinstance(start, (int, float))):
            raise TypeError(f"CumulativeOptions: start must be a number or None, not {self.start!r}")
        self.start = start

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        text = str(options)
        if "start=nullopt" not in text:
            raise TypeError("CumulativeOptions of pyarrow do not show their start: pass start= and skip_nulls= by name")
        return {"skip_nulls": "skip_nulls=true" in text}


class PairwiseOptions(FunctionOptions):
    """``period``: how many rows lie between the two of a difference; negative: the later row is subtracted."""

    period: Any
    defaults: ClassVar[Mapping[str, Any]] = {"period": 1}

    def check(self) -> None:
        """Checks the period.  Does not block.  Raises TypeError."""
        self.period = _signed("PairwiseOptions", "period", self.period)

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        return {"period": int(str(options).partition("=")[2].rstrip(")"))}


class RunEndEncodeOptions(FunctionOptions):
    """``run_end_type``: int16, int32 or int64, as :func:`cdevice.asschema` takes them."""

    run_end_type: Any
    defaults: ClassVar[Mapping[str, Any]] = {"run_end_type": "int32"}

    def check(self) -> None:
        """Checks the type.  Does not block.  Raises ValueError, SchemaError."""
        from ..schema import asschema

        if asschema(self.run_end_type).format not in ("s", "i", "l"):
            raise ValueError(
                f"RunEndEncodeOptions: run_end_type must be int16, int32 or int64, not {self.run_end_type!r}"
            )


class ListFlattenOptions(FunctionOptions):
    """``recursive``: True flattens lists of lists until no list is left."""

    defaults: ClassVar[Mapping[str, Any]] = {"recursive": False}
    allowed: ClassVar[Mapping[str, Any]] = {"recursive": bool}


class ListSliceOptions(FunctionOptions):
    """``start``, ``stop``, ``step``: as in a slice of a list, none negative; ``stop`` None: to the end.
    ``return_fixed_size_list``: True: lists of one size, with nulls where a row is shorter; None: as the argument."""

    start: Any
    stop: Any
    step: Any
    return_fixed_size_list: Any
    defaults: ClassVar[Mapping[str, Any]] = {"start": ..., "stop": None, "step": 1, "return_fixed_size_list": None}

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError, ValueError."""
        self.start = _signed("ListSliceOptions", "start", self.start)
        self.step = _signed("ListSliceOptions", "step", self.step)
        if self.stop is not None:
            self.stop = _signed("ListSliceOptions", "stop", self.stop)
        if self.start < 0 or (self.stop is not None and self.stop < self.start):
            raise ValueError(
                f"ListSliceOptions: start ({self.start}) must be 0 or more, and not greater than stop ({self.stop})"
            )
        if self.step < 1:
            raise ValueError(f"ListSliceOptions: step must be 1 or more, not {self.step}")
        if self.return_fixed_size_list not in (None, True, False):
            raise TypeError(
                "ListSliceOptions: return_fixed_size_list must be True, False or None, not "
                f"{self.return_fixed_size_list!r}"
            )

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        return _nullopt(super()._fields_of(options))


class VarianceOptions(FunctionOptions):
    """``ddof``: the divisor is the number of rows less this; ``skip_nulls``, ``min_count``: as in
    ScalarAggregateOptions."""

    ddof: Any
    defaults: ClassVar[Mapping[str, Any]] = {"ddof": 0, "skip_nulls": True, "min_count": 0}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool, "min_count": int}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        self.ddof = _signed("VarianceOptions", "ddof", self.ddof)


class SkewOptions(FunctionOptions):
    """``biased``: False corrects for the number of rows; ``skip_nulls``, ``min_count``: as in
    ScalarAggregateOptions."""

    defaults: ClassVar[Mapping[str, Any]] = {"skip_nulls": True, "biased": True, "min_count": 0}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool, "biased": bool, "min_count": int}


class QuantileOptions(FunctionOptions):
    """``q``: a number from 0 to 1, or several; ``interpolation``: "linear", "lower", "higher", "nearest" or
    "midpoint", where a quantile lies between two rows; ``skip_nulls``, ``min_count``: as in ScalarAggregateOptions."""

    q: Any
    defaults: ClassVar[Mapping[str, Any]] = {"q": 0.5, "interpolation": "linear", "skip_nulls": True, "min_count": 0}
    allowed: ClassVar[Mapping[str, Any]] = {
        "interpolation": ("linear", "lower", "higher", "nearest", "midpoint"),
        "skip_nulls": bool,
        "min_count": int,
    }

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        try:
            q = [float(x) for x in self.q] if hasattr(self.q, "__iter__") else [float(self.q)]
        except (TypeError, ValueError):
            raise TypeError(f"QuantileOptions: q must be a number or several, not {self.q!r}") from None
        if not q:
            raise ValueError("QuantileOptions: q must have a number")
        for x in q:
            if not 0 <= x <= 1:
                raise ValueError(f"QuantileOptions: q must be from 0 to 1, not {x}")
        self.q = q

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        text = str(options)
        fields = super()._fields_of(options)
        fields["q"] = [float(x) for x in text[text.index("[") + 1 : text.index("]")].split(",")]
        return fields


class ModeOptions(FunctionOptions):
    """``n``: how many values at most; ``skip_nulls``, ``min_count``: as in ScalarAggregateOptions, but where those give
    null, there are no values."""

    n: int
    defaults: ClassVar[Mapping[str, Any]] = {"n": 1, "skip_nulls": True, "min_count": 0}
    allowed: ClassVar[Mapping[str, Any]] = {"n": int, "skip_nulls": bool, "min_count": int}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if self.n < 1:
            raise ValueError(f"ModeOptions: n must be 1 or more, not {self.n}")


class RankQuantileOptions(SortOptions):
    """``sort_keys``: an order, or as in SortOptions; ``null_placement``: of keys that name none."""

    defaults: ClassVar[Mapping[str, Any]] = {"sort_keys": "ascending", "null_placement": "at_end"}


class InversePermutationOptions(FunctionOptions):
    """``max_index``: the greatest index, -1: as many as there are rows; ``output_type``: a signed integer type, None:
    that of the indices."""

    max_index: Any
    defaults: ClassVar[Mapping[str, Any]] = {"max_index": -1, "output_type": None}

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError."""
        self.max_index = _signed("InversePermutationOptions", "max_index", self.max_index)

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        if "output_type=nullopt" not in str(options):
            raise TypeError(
                "InversePermutationOptions of pyarrow do not show their output_type: pass max_index= and output_type= "
                "by name"
            )
        return _nullopt(super()._fields_of(options))


class ScatterOptions(FunctionOptions):
    """``max_index``: the greatest index, -1: as many as there are rows."""

    max_index: Any
    defaults: ClassVar[Mapping[str, Any]] = {"max_index": -1}

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError."""
        self.max_index = _signed("ScatterOptions", "max_index", self.max_index)


class _Opaque(FunctionOptions):
    """Options that pyarrow's objects do not show: ``given`` is such an object, for pyarrow's kernels alone."""

    given: Any

    @classmethod
    def from_pyarrow(cls, options: Any, given: Mapping[str, Any], function: str) -> FunctionOptions:
        """Options that only pyarrow's kernels read: the fields of a pyarrow object stay unknown.

        ``options``: the object.  ``given``: options by name, which must be empty.  ``function``: its name, for errors.
        Does not block.  Raises TypeError for an object of another class.
        """
        cls._require(options, given, function)
        made = cls(**dict.fromkeys(cls.defaults, None) | {k: v for k, v in cls.defaults.items() if v is not ...})
        made.given = options
        return made


class SetLookupOptions(_Opaque):
    """``value_set``: the values that rows are looked up in; ``skip_nulls``: True: a null is found in no set."""

    value_set: Any
    skip_nulls: bool
    defaults: ClassVar[Mapping[str, Any]] = {"value_set": ..., "skip_nulls": False}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool}


class IndexOptions(_Opaque):
    """``value``: the value whose first row is looked for."""

    value: Any
    defaults: ClassVar[Mapping[str, Any]] = {"value": ...}


class DayOfWeekOptions(FunctionOptions):
    """``count_from_zero``: False: the first day of a week is 1; ``week_start``: that day, Monday is 1, Sunday 7."""

    week_start: int
    defaults: ClassVar[Mapping[str, Any]] = {"count_from_zero": True, "week_start": 1}
    allowed: ClassVar[Mapping[str, Any]] = {"count_from_zero": bool, "week_start": int}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if not 1 <= self.week_start <= 7:
            raise ValueError(
                f"DayOfWeekOptions: week_start must be from 1 (Monday) to 7 (Sunday), not {self.week_start}"
            )


class WeekOptions(FunctionOptions):
    """``week_starts_monday``: False: weeks start on Sunday; ``count_from_zero``: days before the first week are in week
    0, not in the last one of the year before; ``first_week_is_fully_in_year``: False: four of its days are."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "week_starts_monday": True,
        "count_from_zero": False,
        "first_week_is_fully_in_year": False,
    }
    allowed: ClassVar[Mapping[str, Any]] = {
        "week_starts_monday": bool,
        "count_from_zero": bool,
        "first_week_is_fully_in_year": bool,
    }


class AssumeTimezoneOptions(FunctionOptions):
    """``timezone``: a name as "Europe/Berlin", or an offset as "+05:30"; ``ambiguous``, ``nonexistent``: "raise",
    "earliest" or "latest", for times that clocks show twice, or never."""

    timezone: Any
    defaults: ClassVar[Mapping[str, Any]] = {"timezone": ..., "ambiguous": "raise", "nonexistent": "raise"}
    allowed: ClassVar[Mapping[str, Any]] = {
        "ambiguous": ("raise", "earliest", "latest"),
        "nonexistent": ("raise", "earliest", "latest"),
    }

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if not isinstance(self.timezone, str):
            raise TypeError(f"AssumeTimezoneOptions: timezone must be a str, not {type(self.timezone).__name__}")

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        fields = super()._fields_of(options)
        found = re.search(r'timezone="?([^",)]*)', str(options))
        fields["timezone"] = found.group(1) if found else ...
        return {k: v.removeprefix("ambiguous_").removeprefix("nonexistent_") for k, v in fields.items()}


_TEMPORAL_UNITS = (
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "nanosecond",
)


class RoundTemporalOptions(FunctionOptions):
    """``multiple``: of so many units; ``unit``: "year", "quarter", "month", "week", "day", "hour", "minute", "second",
    "millisecond", "microsecond" or "nanosecond"; ``week_starts_monday``: False: weeks start on Sunday;
    ``ceil_is_strictly_greater``: a time that is a multiple becomes the next one; ``calendar_based_origin``: multiples
    are counted from the begin of the next greater unit, False: from 1970-01-01."""

    multiple: int
    unit: Any
    defaults: ClassVar[Mapping[str, Any]] = {
        "multiple": 1,
        "unit": "day",
        "week_starts_monday": True,
        "ceil_is_strictly_greater": False,
        "calendar_based_origin": False,
    }
    allowed: ClassVar[Mapping[str, Any]] = {
        "multiple": int,
        "unit": _TEMPORAL_UNITS,
        "week_starts_monday": bool,
        "ceil_is_strictly_greater": bool,
        "calendar_based_origin": bool,
    }

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if not 1 <= self.multiple < 1 << 31:
            raise ValueError(f"RoundTemporalOptions: multiple must be from 1 to 2**31 - 1, not {self.multiple}")


class StrftimeOptions(FunctionOptions):
    """``format``: text with fields as "%Y"; ``locale``: "C"."""

    format: Any
    defaults: ClassVar[Mapping[str, Any]] = {"format": "%Y-%m-%dT%H:%M:%S", "locale": "C"}
    allowed: ClassVar[Mapping[str, Any]] = {"locale": ("C",)}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if not isinstance(self.format, str):
            raise TypeError(f"StrftimeOptions: format must be a str, not {type(self.format).__name__}")

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        return _stored_fields(cls, options)


class StrptimeOptions(FunctionOptions):
    """``format``: text with fields as "%Y"; ``unit``: of the timestamps, "s", "ms", "us" or "ns"; ``error_is_null``: a
    row that does not fit is null."""

    format: Any
    defaults: ClassVar[Mapping[str, Any]] = {"format": ..., "unit": ..., "error_is_null": False}
    allowed: ClassVar[Mapping[str, Any]] = {"unit": ("s", "ms", "us", "ns"), "error_is_null": bool}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if not isinstance(self.format, str):
            raise TypeError(f"StrptimeOptions: format must be a str, not {type(self.format).__name__}")

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        fields = _stored_fields(cls, options)
        fields["unit"] = ("s", "ms", "us", "ns")[fields["unit"]]
        return fields


def _stored_fields(cls: type[FunctionOptions], options: Any) -> dict[str, Any]:
    """What pyarrow's options are stored as."""
    import pyarrow as pa

    stored = pa.ipc.open_file(options.serialize()).read_all().column(0)[0]
    found = ((name, stored[name].as_py()) for name in cls.defaults if name in stored)
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in found}


class NoOptions(FunctionOptions):
    """Of functions that have none."""
