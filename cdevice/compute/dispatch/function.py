"""Functions, as Arrow has them: a name with kernels, one of which is dispatched for some types on some device."""

from __future__ import annotations

import os
import threading

from ..._runtime.ext import _native
from ..._runtime.lazy import LazyModule
from ...schema import asschema
from ..errors import NoKernel, device_word
from ..options import FunctionOptions, NoOptions
from . import entry_points as entries
from .bounded import Bounded
from .signature import Kernel, Matcher, Signature
from .types import DICTIONARY, common, is_wider, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ..._devices import device as _device
    from ..._types import StreamLike
    from . import call as _call
    from .call import Call
else:
    _call = LazyModule("cdevice.compute.dispatch.call")
    _device = LazyModule("cdevice._devices.device")

_changes = threading.Lock()  # of any function's kernels and of any registry's names


def _new_lock() -> None:
    global _changes
    _changes = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)

KINDS = ("scalar", "vector", "scalar_aggregate", "hash_aggregate", "meta")


class Function:
    """A name with kernels.  Any thread.

    ``name``: of the function.  ``kind``: "scalar", "vector", "scalar_aggregate", "hash_aggregate" or "meta"; ``arity``:
    how many arguments, or a negative number: at least -1 - arity of them.  ``options``: their class; ``doc``: its
    description.  ``kernels``: those to begin with;
    :meth:`add_kernel` adds others.  ``implicit``: from the formats of the arguments to those that they are cast to;
    ``meta``: computes by calling other functions; ``nulls``: the type of None where it is not that of the other
    arguments; ``compares``: its result is a bool, so that a value of the host may become the type of the rows that it
    is compared with; ``streams``: it goes through a stream chunk by chunk, as aggregates do.

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
        streams: bool = False,
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
        self.streams = streams or kind == "scalar_aggregate"
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
        for any result of the kernel.  ``exec(call, *arguments)``: gets the :class:`Call` and a :class:`Datum` for
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
        there = here or [str(k) for k in self._kernels if not (said and k.device in (None, device))]
        told = [f"there is {'one for ' * bool(here)}{_some(there, 30 if here else 4)}"] if there or not said else []
        told += [said] if said else []
        if device != 1 and self._rank(tuple(formats), 1):
            told.append('fallback="copy" computes it on the CPU and copies both ways')
        return NoKernel(f"{self.name}({asked}): no kernel on {device_word(device)}; {'; '.join(told)}")

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
