"""A platform with several devices in one context: PoCL with two, each test in a process of its own."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import cdevice

cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
if not cdevice.device("opencl").is_available or "Portable" not in cdevice.device("opencl").name:
    pytest.skip("needs PoCL: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)

TWO = {"POCL_DEVICES": "pthread pthread"}


def run(code, **environment):
    text = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}\n{code}"
    env = {k: v for k, v in os.environ.items() if k != "PYOPENCL_HOME"} | environment
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    p = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, env=env)
    assert p.returncode == 0, p.stdout + p.stderr
    return p.stdout


START = """
import numpy as np, pyopencl as cl, cdevice
devices = [d for p in cl.get_platforms() for d in p.get_devices()]
context = cl.Context(devices)
queues = [cl.CommandQueue(context, d) for d in devices]
rows = cdevice.asarray(np.arange(1000))
assert len(devices) == 2
"""


@pytest.mark.parametrize("devices", ["pthread pthread", "basic pthread"])
def test_arrays_on_each_device_of_a_shared_context_validate_there(devices):
    run(
        START
        + """
for k in range(2):
    there = rows.to(f"opencl:{k}")
    there.validate("full")
    again = cdevice.asarray(there, validate="full")
    assert again.device == cdevice.device(f"opencl:{k}") and again.to("cpu").equals(rows)
""",
        POCL_DEVICES=devices,
    )


def test_an_allocator_of_a_shared_context_serves_each_of_its_devices():
    run(
        START
        + """
cdevice.set_allocator("opencl", lambda n: cl.Buffer(context, cl.mem_flags.READ_WRITE, n))
for k in range(2):
    there = rows.to(f"opencl:{k}", stream=queues[k])
    assert there.device == cdevice.device(f"opencl:{k}") and there.to("cpu", stream=queues[k]).equals(rows)
""",
        **TWO,
    )


def test_a_queue_of_another_device_of_the_context_is_refused():
    run(
        START
        + """
for k in range(2):
    try: rows.to(f"opencl:{k}", stream=queues[1 - k])
    except cdevice.DeviceError as e: assert "belongs to OpenCL device" in str(e)
    else: raise AssertionError("accepted")
    assert rows.to(f"opencl:{k}", stream=queues[k]).device.id == k
""",
        **TWO,
    )


def test_the_second_device_conforms():
    assert "conforms" in run("from cdevice.cli import main; main(['check', '--device', 'opencl:1'])", **TWO)


@pytest.mark.parametrize("copied", [False, True], ids=["in the wheel", "a copy of it"])
def test_listing_devices_through_the_loader_of_pyopencls_wheel_does_not_die(copied, tmp_path):
    from cdevice.backends.opencl import Backend

    loader = Backend().loader_path()
    if not loader:
        pytest.skip("this pyopencl brings no loader")
    if copied:
        loader = shutil.copy(loader, tmp_path / "libOpenCL.so.1")
    out = run(
        "import cdevice; print([str(d) for d in cdevice.devices()]); import ctypes\n"
        "get = ctypes.CDLL(None).getenv; get.restype = ctypes.c_char_p; print(get(b'PYOPENCL_HOME').decode())",
        CDEVICE_OPENCL_LIBRARY=str(loader),
    )
    listed, home = out.splitlines()
    assert "opencl:0" in listed
    wheel = pathlib.Path(cl.__file__).parent
    assert pathlib.Path(home) == (tmp_path.resolve() if copied else wheel.resolve())


def test_a_loader_that_does_not_ask_for_it_leaves_the_environment_alone():
    out = run(
        "import cdevice; cdevice.devices(); import ctypes\n"
        "get = ctypes.CDLL(None).getenv; get.restype = ctypes.c_char_p; print(get(b'PYOPENCL_HOME'))",
        CDEVICE_OPENCL_LIBRARY="libOpenCL.so.1",
    )
    assert out.strip() == "None"
