"""CUDA, CUDA_HOST and CUDA_MANAGED: their Python part.  The work is done by the tables in ``cuda.c``."""

from __future__ import annotations

import importlib.util
import numbers
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stream_of(obj: Any) -> Any:
    """The raw handle behind another library's stream object, or None.

    ``__cuda_stream__`` (cuda.core, cupy, numba), ``.ptr`` (cupy), ``.cuda_stream`` (torch), ``.handle`` (numba), or
    anything that ``int()`` takes and is not an int itself (hip-python, cuda-bindings).
    """
    method = getattr(obj, "__cuda_stream__", None)
    if method is not None:
        version, handle = method() if callable(method) else method
        if version != 0:
            raise ValueError(f"__cuda_stream__ of version {version}; expected version 0")
        return int(handle)
    for name in ("ptr", "cuda_stream", "handle"):
        value = getattr(obj, name, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    if hasattr(obj, "__int__") and not isinstance(obj, (bool, float, str, bytes)):
        return int(obj)
    return None


def stream_number(obj: Any) -> Any:
    """A stream given as an integer (numpy's too), or None.  Raises ValueError for one that can be no handle."""
    if isinstance(obj, bool) or not isinstance(obj, numbers.Integral):
        return None
    number = int(obj)
    if not (0 <= number <= 2 or 4096 <= number < 1 << 64):  # the default streams, or an address
        raise ValueError(f"{number} is not a stream handle")
    return number


class Backend:
    """NVIDIA's driver, found at run time; streams are ``CUstream`` handles, which the runtime API shares."""

    name = "cuda"
    hip = False
    device_type = 2
    device_types: tuple[int, ...] = (2, 3, 13)
    install_hint = (
        "CUDA needs an NVIDIA driver (libcuda.so.1; $CDEVICE_CUDA_LIBRARY names another file); "
        '`pip install "cdevice[cuda12]"` or "cdevice[cuda13]" adds cupy'
    )

    def __cdevice_backend__(self) -> Any:
        return b"cuda"

    def loaded(self, look_in: Any) -> None:
        """``look_in`` receives the folders of NVIDIA's wheels: cdevice may be installed elsewhere, or be editable."""
        try:
            spec = importlib.util.find_spec("nvidia")
        except (ImportError, ValueError):
            return
        places = spec.submodule_search_locations if spec else None
        look_in([os.path.dirname(place.rstrip("/")) for place in places or () if place.startswith("/")])

    def as_stream(self, obj: Any) -> Any:
        """The handle of a stream object; ints as in DLPack: 1 the legacy default stream, 2 the per-thread one."""
        number = stream_number(obj)
        if number is not None:
            if number == 0:
                raise ValueError(
                    "stream 0 is ambiguous: 1 is the legacy default stream, 2 the per-thread default stream"
                )
            return 0 if number == 1 else number
        return stream_of(obj)

    def library_stream(self) -> Any:
        """The stream that cupy, else torch, uses in this thread, where it is loaded, for this vendor and in use."""
        cupy, torch = sys.modules.get("cupy"), sys.modules.get("torch")
        try:
            if cupy is not None and cupy.cuda.runtime.is_hip == self.hip:
                return cupy.cuda.get_current_stream()
            if torch is not None and bool(torch.version.hip) == self.hip and torch.cuda.is_initialized():
                return torch.cuda.current_stream()
        except Exception:  # no driver behind it, or still being imported: the default stream will report it
            pass
        return None
