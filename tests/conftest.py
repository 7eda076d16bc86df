"""What tests share."""

import pytest
import source_tree  # noqa: F401 - before the package is imported


@pytest.fixture(scope="session")
def runtimes(tmp_path_factory):
    """The stand-in runtimes behind CUDA and ROCM, by vendor."""
    import standin

    return standin.start(tmp_path_factory.mktemp("hostrt"))
