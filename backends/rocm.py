"""ROCM and ROCM_HOST: their Python part.  The work is done by the tables in ``rocm.c``.

Tested on a stand-in for the HIP runtime, and against AMD's HIP 5.2 library without a device; never on AMD hardware.
"""

from __future__ import annotations

from cdevice.backends.cuda import Backend as _Cuda
from cdevice.backends.cuda import stream_number, stream_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Backend(_Cuda):
    """AMD's HIP runtime, found at run time; streams are ``hipStream_t`` handles."""

    name = "rocm"
    hip = True
    device_type = 10
    device_types = (10, 11)
    install_hint = (
        "ROCm needs AMD's HIP runtime (libamdhip64; $CDEVICE_HIP_LIBRARY names another file) and a device; "
        '`pip install "cdevice[rocm]"` adds hip-python'
    )

    def __cdevice_backend__(self) -> Any:
        return b"rocm"

    def as_stream(self, obj: Any) -> Any:
        """The handle of a stream object; ints as in DLPack: 0 is the default stream, 1 and 2 are refused."""
        number = stream_number(obj)
        if number is not None:
            if number in (1, 2):
                raise ValueError(f"stream {number} is not a ROCm stream; pass 0 for the default stream")
            return number
        return stream_of(obj)
