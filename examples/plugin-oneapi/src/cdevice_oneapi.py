"""ONEAPI (14) for cdevice on dpctl: unified shared memory, queues of SYCL, ``sync_event`` is a ``sycl::event*``.

Objects are dpctl's; what works on bare pointers is the C interface that dpctl ships, called without Python's GIL.  USM
belongs to a context, which a pointer does not tell: arrays lie in the context of :meth:`Backend.queue`, dpctl's own for
the device, so queues made by ``dpctl.SyclQueue(device)`` work on them.

Functions of ``cdevice.compute`` run on devices of SYCL's OpenCL backend, whose compiler reads the kernels' text.
"""

import ctypes
import pathlib
import threading

import cdevice
from cdevice.backend import Compute, ComputeFlag

COMPLETE = 3  # DPCTL_COMPLETE
INT64, POINTER = 6, 10  # DPCTL_INT64_T, DPCTL_VOID_PTR
ALIGNMENT = 64

_FUNCTIONS = {
    "DPCTLaligned_alloc_device": (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p),
    "DPCTLfree_with_queue": (None, ctypes.c_void_p, ctypes.c_void_p),
    "DPCTLQueue_Memcpy": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "DPCTLQueue_IsInOrder": (ctypes.c_bool, ctypes.c_void_p),
    "DPCTLQueue_SubmitBarrier": (ctypes.c_void_p, ctypes.c_void_p),
    "DPCTLQueue_SubmitBarrierForEvents": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "DPCTLQueue_Copy": (ctypes.c_void_p, ctypes.c_void_p),
    "DPCTLQueue_Delete": (None, ctypes.c_void_p),
    "DPCTLQueue_Wait": (None, ctypes.c_void_p),
    "DPCTLEvent_Wait": (None, ctypes.c_void_p),
    "DPCTLEvent_Delete": (None, ctypes.c_void_p),
    "DPCTLEvent_GetCommandExecutionStatus": (ctypes.c_int, ctypes.c_void_p),
    "DPCTLQueue_GetContext": (ctypes.c_void_p, ctypes.c_void_p),
    "DPCTLQueue_GetDevice": (ctypes.c_void_p, ctypes.c_void_p),
    "DPCTLContext_Hash": (ctypes.c_size_t, ctypes.c_void_p),
    "DPCTLContext_Delete": (None, ctypes.c_void_p),
    "DPCTLDevice_Delete": (None, ctypes.c_void_p),
    "DPCTLKernelBundle_CreateFromOCLSource": (ctypes.c_void_p, *[ctypes.c_void_p] * 2, *[ctypes.c_char_p] * 2),
    "DPCTLKernelBundle_GetKernel": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
    "DPCTLKernelBundle_Delete": (None, ctypes.c_void_p),
    "DPCTLKernel_Delete": (None, ctypes.c_void_p),
    "DPCTLQueue_SubmitNDRange": (
        ctypes.c_void_p,  # the event
        *[ctypes.c_void_p] * 4,  # kernel, queue, arguments, their types
        ctypes.c_size_t,
        *[ctypes.c_void_p] * 2,  # items in all, of a block
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_size_t,
    ),
}


class _Block:
    """One allocation: its address, and a reference of its own to the queue it was made for; None: the device's own."""

    def __init__(self, data, device, stream):
        self.data, self.device, self.stream = data, device, stream


class _Device:
    def __init__(self, dpctl, device):
        self.sycl = device
        self.queue = dpctl.SyclQueue(device, property="in_order")
        self.default = self.queue.addressof_ref()
        self.lock = threading.Lock()
        self.trash = []  # (events of the queues that may still use it, block)
        self.live = 0


class _Kernel:
    """A kernel of a bundle, by a reference of its own."""

    def __init__(self, c, reference):
        self.c, self.reference = c, reference

    def __del__(self):
        self.c.DPCTLKernel_Delete(self.reference)


class Kernels(Compute):
    """OpenCL C in, kernel bundles of SYCL out; USM pointers are arguments."""

    TYPES = (ctypes.c_int * 21)(*[POINTER, INT64] * 8, *[INT64] * 5)

    def __init__(self, backend):
        self.backend = backend

    def _queue(self, device_id, stream):
        return stream or self.backend._at(device_id).default

    def identity(self, device_id):
        d = self.backend._at(device_id).sycl
        if d.backend.name != "opencl":
            raise NotImplementedError(f"dpctl compiles kernels for its opencl backend; {d.name} is of {d.backend.name}")
        flags = (ComputeFlag.COARSE if d.is_cpu else 0) | (0 if d.has_aspect_fp64 else ComputeFlag.NO_FP64)
        return flags, f"SYCL, OpenCL C, {d.name}, {d.driver_version}"

    def context(self, *, device_id, stream=0):
        c = self.backend.c
        context = c.DPCTLQueue_GetContext(self._queue(device_id, stream))
        try:
            return c.DPCTLContext_Hash(context)  # of the object that a bundle keeps
        finally:
            c.DPCTLContext_Delete(context)

    def build(self, program, *, device_id, stream=0):
        c, queue = self.backend.c, self._queue(device_id, stream)
        if not self.backend._at(device_id).sycl.has_aspect_online_compiler:
            raise NotImplementedError(f"{self.backend._at(device_id).sycl.name} has no compiler")
        options = ["-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt", *(f"-D {d}" for d in program.defines)]
        context, device = c.DPCTLQueue_GetContext(queue), c.DPCTLQueue_GetDevice(queue)
        bundle = c.DPCTLKernelBundle_CreateFromOCLSource(
            context, device, program.text.encode(), " ".join(options).encode()
        )
        c.DPCTLDevice_Delete(device)
        c.DPCTLContext_Delete(context)
        if not bundle:
            raise ValueError("the runtime's OpenCL compiler refuses it, and dpctl does not hand out what it said")
        return bundle

    def kernel(self, module, name):
        found = self.backend.c.DPCTLKernelBundle_GetKernel(module, name.encode())
        if not found:
            raise LookupError(f"no kernel {name} in the program")
        return _Kernel(self.backend.c, found)

    def launch(self, kernel, launch, *, device_id, stream=0):
        c, queue = self.backend.c, self._queue(device_id, stream)
        if not c.DPCTLQueue_IsInOrder(queue):
            self.backend._submitted(c.DPCTLQueue_SubmitBarrier(queue), "a barrier")
        values = (ctypes.c_int64 * 21)(*launch.arguments)
        first = ctypes.addressof(values)
        arguments = (ctypes.c_void_p * 21)(  # pointers as they are, numbers by their addresses
            *(value if kind == POINTER else first + 8 * i for i, (kind, value) in enumerate(zip(self.TYPES, values)))
        )
        items = (ctypes.c_size_t * 3)(-(-launch.n_work_items // launch.work_group_size) * launch.work_group_size, 1, 1)
        block = (ctypes.c_size_t * 3)(launch.work_group_size, 1, 1)
        event = c.DPCTLQueue_SubmitNDRange(kernel.reference, queue, arguments, self.TYPES, 21, items, block, 1, None, 0)
        self.backend._submitted(event, "a kernel")

    def unload(self, module):
        self.backend.c.DPCTLKernelBundle_Delete(module)


class Backend(cdevice.Backend):
    name, device_type = "oneapi", cdevice.DeviceType.ONEAPI
    capabilities = cdevice.Capability.ADDRESS | cdevice.Capability.EVENTS | cdevice.Capability.STREAMS
    install_hint = (
        "`pip install dpctl`; for a CPU also `pip install intel-opencl-rt intel-cmplr-lib-rt`, with OCL_ICD_FILENAMES "
        "set to its libintelocl.so"
    )

    def __init__(self):
        self.compute = Kernels(self)

    def start(self):
        try:
            import dpctl
        except (ImportError, OSError) as e:
            raise cdevice.BackendUnavailable(f"oneapi: {e}") from e
        found = [d for d in dpctl.get_devices() if d.has_aspect_usm_device_allocations]
        if not found:
            listed = ", ".join(d.name for d in dpctl.get_devices()) or "none"
            raise cdevice.BackendUnavailable(
                f"oneapi: no device of SYCL's ({listed}) can allocate unified shared memory; where another OpenCL "
                "loader was in the process first, it must know Intel's runtime too (OCL_ICD_VENDORS)"
            )
        self.c = ctypes.CDLL(str(pathlib.Path(dpctl.__file__).with_name("libDPCTLSyclInterface.so")))
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments
        self.dpctl = dpctl
        self.devices = [_Device(dpctl, d) for d in found]

    def device_count(self):
        return len(self.devices)

    def _at(self, device_id):
        if not 0 <= device_id < len(self.devices):
            raise ValueError(f"there is no oneapi:{device_id}, there are {len(self.devices)}")
        return self.devices[device_id]

    def device_info(self, device_id):
        d = self._at(device_id).sycl
        return cdevice.DeviceInfo(
            d.name, f"SYCL, {d.backend.name} {d.driver_version}", ALIGNMENT, d.global_mem_size, -1
        )

    def queue(self, device_id=0):
        """The dpctl.SyclQueue that work goes to where none is named; its context is that of the device's arrays."""
        return self._at(device_id).queue

    def as_stream(self, obj):
        if isinstance(obj, self.dpctl.SyclQueue):
            return obj.addressof_ref()
        return super().as_stream(obj)

    # ---- memory ----
    def alloc(self, nbytes, *, device_id, stream=0):
        d = self._at(device_id)
        self.reap(d)
        if nbytes > d.sycl.max_mem_alloc_size:
            raise MemoryError(f"{nbytes} bytes: {d.sycl.name} allocates at most {d.sycl.max_mem_alloc_size} at once")
        queue = stream or d.default
        data = self.c.DPCTLaligned_alloc_device(ALIGNMENT, nbytes, queue)
        if not data:
            raise MemoryError(f"{nbytes} bytes: {d.sycl.name} has none left")
        with d.lock:
            d.live += 1
        return _Block(data, d, None if queue == d.default else self.c.DPCTLQueue_Copy(queue))

    def free(self, block):
        """SYCL's free waits for no work, so the block is put aside until the queues we know have passed this point."""
        d = block.device
        events = [self.c.DPCTLQueue_SubmitBarrier(q) for q in (d.default, block.stream) if q]
        with d.lock:
            d.trash.append((events, block))
        self.reap(d)

    def reap(self, d):
        with d.lock:
            passed = [t for t in d.trash if all(map(self._done, t[0]))]
            d.trash = [t for t in d.trash if t not in passed]
            d.live -= len(passed)
        for events, block in passed:
            for e in events:
                self.c.DPCTLEvent_Delete(e)
            self.c.DPCTLfree_with_queue(block.data, d.default)
            if block.stream:
                self.c.DPCTLQueue_Delete(block.stream)

    def copy(self, kind, copies, *, stream=0):
        if kind == cdevice.backend.CopyKind.PEER:
            raise NotImplementedError("copies between SYCL devices")
        if not copies:
            return
        d2h = kind == cdevice.backend.CopyKind.D2H
        queue = stream or self._at(copies[0].src_device if d2h else copies[0].dst_device).default
        if not self.c.DPCTLQueue_IsInOrder(queue):
            self._submitted(self.c.DPCTLQueue_SubmitBarrier(queue), "a barrier")
        for c in copies:
            if c.nbytes:
                event = self.c.DPCTLQueue_Memcpy(queue, c.dst + c.dst_offset, c.src + c.src_offset, c.nbytes)
                self._submitted(event, f"a copy of {c.nbytes} bytes")

    def _submitted(self, event, what):
        if not event:
            raise RuntimeError(f"SYCL did not take {what}")
        self.c.DPCTLEvent_Delete(event)

    # ---- events ----
    def event_record(self, *, device_id, stream=0):
        event = self.c.DPCTLQueue_SubmitBarrier(stream or self._at(device_id).default)
        if not event:
            raise RuntimeError("SYCL did not take a barrier")
        return event  # dpctl's reference is the sycl::event*

    def _done(self, event):
        return self.c.DPCTLEvent_GetCommandExecutionStatus(event) == COMPLETE

    def event_done(self, event, *, device_id):
        return self._done(event)

    def event_wait(self, event, *, device_id, stream=None):
        if stream is None:
            self.c.DPCTLEvent_Wait(event)
            return
        queue = stream or self._at(device_id).default
        waited = (ctypes.c_void_p * 1)(event)
        self._submitted(self.c.DPCTLQueue_SubmitBarrierForEvents(queue, waited, 1), "a barrier")

    def event_destroy(self, event):
        self.c.DPCTLEvent_Delete(event)

    def stream_wait(self, *, device_id, stream=0):
        self.c.DPCTLQueue_Wait(stream or self._at(device_id).default)
