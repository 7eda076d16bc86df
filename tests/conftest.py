"""What tests share."""

import signal

import pytest
import source_tree  # noqa: F401 - before the package is imported

# a run in the background inherits that Ctrl-C is ignored, and some tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def runtimes(tmp_path_factory):
    """The stand-in runtimes behind CUDA and ROCM, by vendor."""
    import standin

    return standin.start(tmp_path_factory.mktemp("hostrt"))
