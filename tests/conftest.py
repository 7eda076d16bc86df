"""What tests share."""

import gc
import signal
import sys

import pytest
import source_tree  # noqa: F401 - before the package is imported

CHECKS = "capture decimals half layouts selection table types"
pytest.register_assert_rewrite(*(f"{name}_checks" for name in CHECKS.split()))

# a run in the background inherits that Ctrl-C is ignored, and some tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--unit", action="store_true", help="only what needs no device, no compiler and no child process")


def pytest_configure(config):
    import unit_only

    if config.getoption("--unit"):
        config.pluginmanager.register(unit_only.Watch())
    elif sys.gettrace() is None:  # its hook lets a thread into another's sys.settrace, which CPython refuses
        config.pluginmanager.register(unit_only.Processes())


def pytest_collection_modifyitems(config, items):
    import unit_only

    take_turns(config, items)
    others = []
    for item in items:
        if unit_only.is_unit(item):
            item.add_marker(pytest.mark.unit)
        else:
            others.append(item)
    if config.getoption("--unit") and others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.get_closest_marker("unit")]


def take_turns(config, items):
    """Kernels are one text on each stand-in, and one in two shapes on OpenCL: the cases of a test, which differ in values and
    types, share them out."""
    from sample import taking_turns

    left_out = set()
    for where, turns in (
        (
            lambda path: path.name == "test_hostrt_compute.py",
            [("cuda", "cuda_managed", "rocm"), ("cuda_host", "rocm_host")],
        ),
        (lambda path: path.match("unit/compute/*"), [("opencl-items", "opencl-block")]),
    ):
        kept = functions = [item for item in items if where(item.path)]
        for devices in turns:
            kept = taking_turns(kept, devices)
        left_out |= {*functions} - {*kept}
    if left_out:
        config.hook.pytest_deselected(items=sorted(left_out, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def runtimes(tmp_path_factory):
    """The stand-in runtimes behind CUDA and ROCM, by vendor."""
    import standin

    return standin.start(tmp_path_factory.mktemp("hostrt"))


@pytest.fixture(scope="module", autouse=True)
def collections_are_short():
    """A test that collects garbage looks through what its module made, not through the whole suite and its libraries."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def no_backend_is_left_behind(request):
    """What a module registers it takes out again: whoever goes through the devices later would use what is gone."""
    from cdevice._devices.tables import BUILTIN, registered

    builtin = {(name, number) for number, (name, _) in BUILTIN.items()}
    before = {*registered().items()}
    yield
    left = {*registered().items()} - before - builtin
    if left:
        names = ", ".join(f"{name} ({number})" for name, number in sorted(left))
        pytest.fail(f"{request.node.name} leaves backends registered: {names}; waiting.unregister() takes them out")
