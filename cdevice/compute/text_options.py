"""Options of the functions of strings and bytes, by Arrow's names."""

from __future__ import annotations

from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

_WHOLE = 1 << 63


class _TextOptions(FunctionOptions):
    """Options whose values pyarrow's objects show exactly only as what they are stored as."""

    words: ClassVar[tuple[str, ...]] = ()  # fields that are text: str, or bytes
    numbers: ClassVar[tuple[str, ...]] = ()  # fields that are integers
    unlimited: ClassVar[tuple[str, ...]] = ()  # numbers that may be None, which pyarrow has as -1

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError, ValueError."""
        for name in self.words:
            value = getattr(self, name)
            if not isinstance(value, (str, bytes)):
                raise TypeError(f"{type(self).__name__}: {name} must be str or bytes, not {value!r:.60}")
        for name in self.numbers:
            value = getattr(self, name)
            if value is None and name in self.unlimited:
                continue
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise TypeError(f"{type(self).__name__}: {name} must be an int, not {value!r:.60}")
            value = value.__index__()
            if not -_WHOLE <= value < _WHOLE:
                raise ValueError(f"{type(self).__name__}: {name} must be from -2**63 to 2**63 - 1, not {value}")
            if name in self.unlimited and value == -1:
                value = None
            setattr(self, name, value)
        super().check()

    def bytes_of(self, name: str) -> bytes:
        """A field of text as UTF-8.  Raises UnicodeEncodeError for half of a surrogate pair."""
        value = getattr(self, name)
        return value if isinstance(value, bytes) else str(value).encode()

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        import pyarrow as pa

        stored = pa.ipc.open_file(options.serialize()).read_all().column(0)[0]
        fields: dict[str, Any] = {}
        for name in cls.defaults:
            value = stored[name]
            fields[name] = value.as_buffer().to_pybytes() if name in cls.words else value.as_py()
        return fields


class MatchSubstringOptions(_TextOptions):
    """``pattern``: str or bytes; ``ignore_case``: letters that differ only in case are the same."""

    pattern: Any
    ignore_case: bool
    defaults: ClassVar[Mapping[str, Any]] = {"pattern": ..., "ignore_case": False}
    allowed: ClassVar[Mapping[str, Any]] = {"ignore_case": bool}
    words = ("pattern",)


class TrimOptions(_TextOptions):
    """``characters``: those that are taken away, in any order."""

    characters: Any
    defaults: ClassVar[Mapping[str, Any]] = {"characters": ...}
    words = ("characters",)


class PadOptions(_TextOptions):
    """``width``: of the result; ``padding``: one character; ``lean_left_on_odd_padding``: in the middle, the odd one is
    on the right."""

    width: int
    padding: Any
    lean_left_on_odd_padding: bool
    defaults: ClassVar[Mapping[str, Any]] = {"width": ..., "padding": " ", "lean_left_on_odd_padding": True}
    allowed: ClassVar[Mapping[str, Any]] = {"lean_left_on_odd_padding": bool}
    words, numbers = ("padding",), ("width",)


class ZeroFillOptions(_TextOptions):
    """``width``: of the result; ``padding``: one character."""

    width: int
    padding: Any
    defaults: ClassVar[Mapping[str, Any]] = {"width": ..., "padding": "0"}
    words, numbers = ("padding",), ("width",)


class SliceOptions(_TextOptions):
    """``start``, ``stop``, ``step``: as in a slice of a str; ``stop`` None: to the end."""

    start: int
    stop: Any
    step: int
    defaults: ClassVar[Mapping[str, Any]] = {"start": ..., "stop": None, "step": 1}
    numbers, unlimited = ("start", "stop", "step"), ()

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError, ValueError."""
        stop = self.stop
        if stop is None:
            self.stop = _WHOLE - 1
        super().check()
        if stop is None or self.stop == _WHOLE - 1:
            self.stop = None
        if self.step == 0:
            raise ValueError("SliceOptions: step must not be 0")


class ReplaceSliceOptions(_TextOptions):
    """``start``, ``stop``: the characters that the ``replacement`` takes the place of."""

    start: int
    stop: int
    replacement: Any
    defaults: ClassVar[Mapping[str, Any]] = {"start": ..., "stop": ..., "replacement": ...}
    words, numbers = ("replacement",), ("start", "stop")


class ReplaceSubstringOptions(_TextOptions):
    """``pattern``, ``replacement``: str or bytes; ``max_replacements``: of a row, from its beginning; None: all."""

    pattern: Any
    replacement: Any
    max_replacements: int | None
    defaults: ClassVar[Mapping[str, Any]] = {"pattern": ..., "replacement": ..., "max_replacements": None}
    words, numbers, unlimited = ("pattern", "replacement"), ("max_replacements",), ("max_replacements",)


class SplitOptions(_TextOptions):
    """``max_splits``: of a row; None: all; ``reverse``: they are counted from the end."""

    max_splits: int | None
    reverse: bool
    defaults: ClassVar[Mapping[str, Any]] = {"max_splits": None, "reverse": False}
    allowed: ClassVar[Mapping[str, Any]] = {"reverse": bool}
    numbers, unlimited = ("max_splits",), ("max_splits",)


class SplitPatternOptions(SplitOptions):
    """``pattern``: what lies between the parts; ``max_splits``, ``reverse``: as in SplitOptions."""

    pattern: Any
    defaults: ClassVar[Mapping[str, Any]] = {"pattern": ..., "max_splits": None, "reverse": False}
    words = ("pattern",)


class JoinOptions(_TextOptions):
    """``null_handling``: "emit_null", "skip", or "replace": a null is ``null_replacement``."""

    null_handling: str
    null_replacement: Any
    defaults: ClassVar[Mapping[str, Any]] = {"null_handling": "emit_null", "null_replacement": ""}
    allowed: ClassVar[Mapping[str, Any]] = {"null_handling": ("emit_null", "skip", "replace")}
    words = ("null_replacement",)

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        fields = super()._fields_of(options)
        fields["null_handling"] = ("emit_null", "skip", "replace")[fields["null_handling"]]
        return fields
