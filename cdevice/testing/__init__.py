"""For whoever writes a backend: a conformance suite and a reference device."""


def __getattr__(name):
    if name == "BackendSuite":
        from .suite import BackendSuite

        return BackendSuite
    raise AttributeError(f"module 'cdevice.testing' has no attribute {name!r}")
