"""For whoever writes a backend: a conformance suite and a reference device."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .suite import BackendSuite as BackendSuite
else:

    def __getattr__(name):
        if name == "BackendSuite":
            from .suite import BackendSuite

            return BackendSuite
        raise AttributeError(f"module 'cdevice.testing' has no attribute {name!r}")
