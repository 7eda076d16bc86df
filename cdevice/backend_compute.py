"""Kernels of backends written in Python: the base class of what offers ``cdevice.compute/1``."""

from __future__ import annotations

import collections
import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ComputeFlag(enum.IntFlag):
    """What kind of device gets kernels; the values of ``CDEVICE_COMPUTE_*`` in backend.h."""

    COARSE = 0x1  # an item does much, as processors like it
    NO_FP64 = 0x2  # there is no float64
    AOT = 0x4  # programs were compiled before: nothing is kept on disk


_C = """\
#include <math.h>
#define CDV_HOST 1
#define CDV_LINKAGE
typedef struct { void *data; __INT64_TYPE__ offset; } cdevice_kernel_buffer;
typedef struct {
  __INT64_TYPE__ begin, end;
  const cdevice_kernel_buffer *buffers;
  const __INT64_TYPE__ *scalars;
} cpu_launch;
"""


class Program(collections.namedtuple("Program", "family type text defines")):
    """The program to build: a family of kernels and its type ("arith", "i64"; "cast", "i32 f64"), the text with the
    dialect in front, and a tuple of definitions before it ("T=i64")."""

    __slots__ = ()

    @property
    def as_c(self) -> str:
        """All of it as C, for a shared library (``-lm``).  A kernel is a function of a pointer to ``struct {int64_t
        begin, end; struct {void *data; int64_t offset;} *buffers; int64_t *scalars;}``, which does the items from
        begin to end; several may do some each."""
        defines = "".join("#define {} {}\n".format(*d.split("=", 1)) for d in self.defines)
        text: str = self.text
        return _C + defines + text


class Launch(collections.namedtuple("Launch", "n_work_items work_group_size flags buffers scalars")):
    """One start of a kernel: how many items in all, how many of them a block has (the last one may have fewer to do,
    which the kernel looks after), 0; eight tuples (address or handle, 0: none; offset in elements, of a bitmap in bits)
    and five scalars."""

    __slots__ = ()

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the kernel takes, in its order: each buffer and its offset, then the scalars."""
        return (*(x for place in self.buffers for x in place), *self.scalars)


class Compute:
    """How kernels get to a device: what ``cdevice.compute/1`` of backend.h is in C.  Subclass it; an instance as
    ``compute`` of a :class:`Backend` gives that all functions of ``cdevice.compute``.

    The text of programs is C where ``CDV_HOST`` is defined, OpenCL C, and CUDA and HIP C++; nothing may be fused or
    reordered, or results differ from the CPU's.  Required methods: :meth:`identity`, :meth:`build`, :meth:`kernel`,
    :meth:`launch`; both or neither of :meth:`binary` and :meth:`load`.  They are called from any thread, with the GIL;
    programs are built one at a time.  What they raise becomes an error as that of :class:`Backend`'s methods does.
    """

    def identity(self, device_id: int) -> tuple[int, str]:
        """:class:`ComputeFlag`, and the compiler and device as text, the key of the disk cache.
        Asked at every call of a function, so it is quick; NotImplementedError: this device has no kernels."""
        raise NotImplementedError("identity")

    def context(self, *, device_id: int, stream: int = 0) -> int:
        """What modules belong to besides their device, such as a context: a handle that is not used again while a
        module of it is loaded."""
        return 0

    def build(self, program: Program, *, device_id: int, stream: int = 0) -> Any:
        """A module, any object, of a program; may take long, and does not wait for the device.  It is kept until
        :meth:`unload`.  Raises ValueError or SyntaxError with the compiler's words for a text that does not compile,
        NotImplementedError where there is no compiler (with what to install), LookupError where programs
        were compiled before and this one was not."""
        raise NotImplementedError("build")

    def binary(self, module: Any) -> bytes | None:
        """What :meth:`load` takes in another process; None: of this module nothing is kept."""
        raise NotImplementedError("binary")

    def load(self, data: bytes, *, device_id: int, stream: int = 0) -> Any:
        """A module, as of :meth:`build`.  Where it raises, the program is built again."""
        raise NotImplementedError("load")

    def kernel(self, module: Any, name: str) -> Any:
        """A kernel of a module, any object but None; kept for as long as the module.  LookupError: it is not there."""
        raise NotImplementedError("kernel")

    def launch(self, kernel: Any, launch: Launch, *, device_id: int, stream: int = 0) -> None:
        """Enqueues a kernel, and never waits; without EVENTS it is done on return.  The memory stays until the stream
        has passed it."""
        raise NotImplementedError("launch")

    def unload(self, module: Any) -> None:
        """Gives back what :meth:`build` or :meth:`load` returned, once its backend was taken out and nothing of it runs
        any more.  Kernels of it are forgotten before.  Not called at the end of the process."""

    # what the C side calls: positional, plain values
    def _identity(self, device_id: int) -> tuple[int, str]:
        flags, text = self.identity(device_id)
        return int(flags), str(text)

    def _context(self, device_id: int, stream: int) -> int:
        return self.context(device_id=device_id, stream=stream)

    def _build(self, family: str, kind: str, text: str, defines: tuple[str, ...], device_id: int, stream: int) -> Any:
        return self.build(Program(family, kind, text, defines), device_id=device_id, stream=stream)

    def _binary(self, module: Any) -> bytes:
        data = self.binary(module)
        return b"" if data is None else bytes(data)

    def _load(self, data: bytes, device_id: int, stream: int) -> Any:
        return self.load(data, device_id=device_id, stream=stream)

    def _kernel(self, module: Any, name: str) -> Any:
        kernel = self.kernel(module, name)
        if kernel is None:
            raise LookupError(f"no kernel {name}")
        return kernel

    def _launch(
        self,
        kernel: Any,
        items: int,
        block: int,
        flags: int,
        buffers: tuple[tuple[int, int], ...],
        numbers: tuple[int, ...],
        device_id: int,
        stream: int,
    ) -> None:
        self.launch(kernel, Launch(items, block, flags, buffers, numbers), device_id=device_id, stream=stream)


def missing(of: Any, base: type, *names: str) -> str:
    """Those of the methods that are the base class's still, in words."""
    left = [n for n in names if getattr(getattr(of, n, None), "__func__", None) is getattr(base, n)]
    return ", ".join(f"{n}()" for n in left)


def offers(compute: Any, name: str) -> tuple[bool, bool]:
    """Whether the kernels of a backend of this name belong to scopes, and whether its programs are kept; ArgumentError
    that names the missing one."""
    from .errors import ArgumentError

    if compute is None:
        return False, False
    if not isinstance(compute, Compute):
        raise ArgumentError(f'compute of the backend "{name}" is {compute!r}; expected an instance of Compute')
    wanted = [missing(compute, Compute, "identity", "build", "kernel", "launch")]
    binary, load = missing(compute, Compute, "binary"), missing(compute, Compute, "load")
    if bool(binary) != bool(load):
        wanted.append(f"{binary or load} (binary() and load() come together)")
    if any(wanted):
        text = "; ".join(w for w in wanted if w)
        raise ArgumentError(f'compute of the backend "{name}" ({type(compute).__name__}) has no {text}')
    return not missing(compute, Compute, "context"), not binary
