"""What a kernel takes and gives: matchers of types, signatures, kernels."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import device_word
from .types import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .call import Call


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
