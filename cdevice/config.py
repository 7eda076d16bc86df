"""Where the headers, the embedding library and its build files are: ``python -m cdevice config``."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = os.path.dirname(os.path.abspath(__file__))


def get_include() -> str:
    """Directory to put on a C compiler's include path for ``#include <cdevice/backend.h>``.

    Does not block.  Any thread.  Never raises.
    """
    return os.path.join(_HERE, "include")


def get_library_dir() -> str:
    """Directory of ``libcdevice.so``, for C programs (``cdevice/cdevice.h``).  Raises FileNotFoundError where this
    installation has none: built with CDEVICE_EMBED=0, or for a Python without a shared libpython."""
    directory = os.path.join(_HERE, "lib")
    if not os.path.exists(os.path.join(directory, "libcdevice.so")):
        raise FileNotFoundError(
            "this installation has no libcdevice.so: it was built with CDEVICE_EMBED=0, or its Python has no shared"
            " libpython"
        )
    return directory


OPTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "cflags": ("flags for the compiler", lambda: f"-I{get_include()}"),
    "libs": ("flags for the linker", lambda: "-L{0} -Wl,-rpath,{0} -lcdevice".format(get_library_dir())),
    "includedir": ("directory of the headers", get_include),
    "libdir": ("directory of libcdevice.so", get_library_dir),
    "cmakedir": (
        "for CMake: -Dcdevice_DIR=...",
        lambda: os.path.join(get_library_dir(), "cmake", "cdevice"),
    ),
    "pkgconfigdir": ("for PKG_CONFIG_PATH", lambda: os.path.join(get_library_dir(), "pkgconfig")),
}
