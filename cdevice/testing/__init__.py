"""For authors of backends: conformance suites and a reference device."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .suite import BackendSuite as BackendSuite
    from .suite import KernelSuite as KernelSuite
else:

    def __getattr__(name):
        if name in ("BackendSuite", "KernelSuite"):
            from . import suite

            return getattr(suite, name)
        raise AttributeError(f"module 'cdevice.testing' has no attribute {name!r}")
