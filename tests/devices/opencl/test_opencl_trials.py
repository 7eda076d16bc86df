"""What the standard promises is tried, and what a runtime does not keep is not relied on.

``opencl_liar.c`` is a loader that breaks one promise at a time, on whatever runtime is here."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from children import child_env
from paths import TESTS

import cdevice

pytest.importorskip("pyopencl", reason="pip install pyopencl")
if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)

HERE = TESTS


def real_loader():
    """The loader that this process uses."""
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "/libOpenCL" in line)


@pytest.fixture(scope="module")
def liar(tmp_path_factory):
    cdevice.devices("opencl")
    out = tmp_path_factory.mktemp("liar") / "libOpenCL_liar.so"
    loader = real_loader()
    cc = shlex.split(os.environ.get("CC", "cc"))
    include = f"-I{HERE.parent / 'backends'}"
    rpath = f"-Wl,-rpath,{os.path.dirname(loader)}"
    flags = ["-shared", "-fPIC", "-O1", "-w", "-pthread", include, HERE / "devices/opencl/opencl_liar.c", "-o", out]
    flags += ["-Wl,--no-as-needed", loader, rpath, "-ldl"]
    subprocess.run([*cc, *flags], check=True)
    return out


@pytest.fixture
def ask(liar, tmp_path):
    """ask(how, code) -> what the code prints as JSON, in a process whose loader lies so; on a cache of its own"""

    def ask(how, code, **env):
        env = {
            "OPENCL_LIAR": how,
            "CDEVICE_OPENCL_LIBRARY": str(liar),
            "CDEVICE_CACHE_DIR": str(tmp_path / "cache"),
            **env,
        }
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env={**child_env(), **env}
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return ask


NOTES = """
import json, source_tree, numpy as np, cdevice
notes = cdevice.device("opencl")._notes()
array = cdevice.asarray(np.zeros(1_000_000, "u1")).to("opencl")
array.synchronize()
array.release()
pooled = cdevice.device("cpu").memory().pooled + cdevice.device("opencl").memory().pending
print(json.dumps([notes, pooled >= 1_000_000]))
"""
POOLED = bool(os.environ.get("CDEVICE_CPU_POOL", "1") != "0")


@pytest.mark.parametrize(
    ("how", "note"),
    [
        ("early", "tells the end of a buffer that a queued command uses: no memory is pooled"),
        ("never", "does not tell the end of a buffer when its last command is over: no memory is pooled"),
        ("compiler", "could not be tried: no memory is pooled"),
    ],
)
def test_memory_is_not_pooled_where_the_end_of_a_buffer_is_not_told_truly(ask, how, note):
    notes, pooled = ask(how, NOTES)
    assert note in notes and not pooled


@pytest.mark.parametrize(
    ("how", "note"),
    [
        ("deaf", "does not call back for an event that is over: events are asked"),
        ("context", "a queue does not keep its context: hold the context as long as the queue"),
    ],
)
def test_a_promise_that_is_not_kept_is_told(ask, how, note):
    assert note in ask(how, NOTES)[0]


LARGE = """
import json, source_tree, cdevice
try:
    cdevice.empty("uint8", 1 << 50, device="opencl")
except Exception as e:
    print(json.dumps([type(e).__name__, str(e)]))
"""


def test_a_buffer_beyond_the_devices_memory_is_refused_where_the_runtime_would_make_it(ask):
    name, words = ask("lazy", LARGE)
    assert name == "OutOfMemory" and "CL_INVALID_BUFFER_SIZE" in words


CHAIN = """
import json, source_tree, cdevice, cdevice.compute as cc, numpy as np, pyopencl as cl
context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
queue = cl.CommandQueue(context)
n, bad = 200_000, 0
for i in range(5):
    x = cdevice.asarray(np.full(n, i, np.int64)).to(queue)
    cc.add(x, 1, stream=queue).synchronize()
    gate = cl.UserEvent(context)
    barrier = cl.enqueue_barrier(queue, wait_for=[gate])
    y = cc.add(x, 1, stream=queue)
    copied = x.to(queue, copy=True)
    del x
    others = [cdevice.asarray(np.full(n, 777, np.int64)).to("opencl") for _ in range(5)]
    [other.synchronize() for other in others]
    gate.set_status(cl.command_execution_status.COMPLETE)
    bad += y.to("cpu", stream=queue).to_pylist() != [i + 1] * n
    bad += copied.to("cpu", stream=queue).to_pylist() != [i] * n
print(json.dumps(bad))
"""


def test_what_queued_commands_still_read_is_not_used_again_where_its_end_is_told_early(ask):
    assert ask("early", CHAIN) == 0


def test_what_was_found_is_kept_on_disk_for_the_driver(ask, tmp_path):
    first = ask("early", NOTES)
    assert ask("", NOTES) == first  # the same driver: it is not tried again
    assert ask("", NOTES, CDEVICE_CACHE_DIR="0") != first


def test_what_could_not_be_tried_is_not_kept(ask):
    assert ask("compiler", NOTES)[0][0].startswith("could not be tried")
    assert "could not be tried: no memory is pooled" not in ask("", NOTES)[0]


def test_sources_come_back_where_a_finished_event_is_not_told(ask):
    code = """
import gc, json, source_tree, cdevice, numpy as np
from cdevice._runtime.ext import lib
from waiting import until
for i in range(10):
    cdevice.asarray(np.arange(100_000)).to("opencl").synchronize()
gc.collect()
until(lambda: not lib.cdv_retired_count())
print(json.dumps(lib.cdv_retired_count()))
"""
    assert ask("deaf", code) == 0


def test_devices_v_says_what_was_found(ask):
    code = "import json, subprocess, sys; p = subprocess.run([sys.executable, '-P', '-m', 'cdevice', 'devices', '-v'],"
    code += " capture_output=True, text=True); print(json.dumps(p.stdout))"
    if sys.version_info < (3, 11):
        code = code.replace("'-P', ", "")
    assert "runtime      tells the end of a buffer that a queued command uses" in ask("early", code)


FAILS = """
import gc, json, sys, source_tree, threading, numpy as np, pyopencl as cl, pyopencl.array as cla, cdevice
import cdevice.compute as cc
context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
queue, other = cl.CommandQueue(context), cl.CommandQueue(context)
data = np.arange(100_000)
ready = cdevice.asarray(data).to(queue)
cc.add(ready, 1, stream=queue).synchronize()
behind = cla.Array(queue, len(data), data.dtype)
gate = cl.UserEvent(context)
barrier = cl.enqueue_barrier(queue, wait_for=[gate])  # the user's own events are the user's to keep
queue.flush()
def imported():
    cdevice.asarray(behind)
def imported_with_events():
    behind.add_event(cl.enqueue_marker(queue))
    array = cdevice.asarray(behind)
    behind.events.clear()
    del array
def imported_and_copied():
    cdevice.asarray(behind).to(other, copy=True)
def sent():
    cdevice.asarray(data).to(queue)
def waited_for():
    cdevice.asarray(data).to(queue).wait(other)
def waited_for_by_the_user():
    array = cdevice.asarray(data).to(queue)
    kept.append(cl.enqueue_marker(other, wait_for=[array.event]))
def handed_out():
    array = cdevice.asarray(data).to(queue)
    kept.append(array.to_pyopencl(queue))
def across_contexts():
    kept.append(cl.Context(context.devices))
    cdevice.asarray(data).to(queue).wait(cl.CommandQueue(kept[0]))
def computed():
    for _ in range(10):
        cc.sum(cc.add(ready, 1, stream=queue), stream=queue)
def from_a_users_event():
    event = cl.enqueue_marker(queue)
    array = cdevice.from_buffers("int64", len(data), [None, behind.base_data], event=event, null_count=0)
    del event
    array.wait(other)
def many():
    for _ in range(2000):
        cdevice.asarray(data[:10]).to(queue)
kept = []
locals()[sys.argv[1]]()
gc.collect()
queue.flush(); other.flush()
gate.set_status(-5)
gc.collect()
again = cl.CommandQueue(context)
print(json.dumps(cdevice.asarray(data[:3]).to(again).to("cpu", stream=again).to_pylist()), flush=True)
"""
WAYS = [line.split()[1].split("(")[0] for line in FAILS.splitlines() if line.startswith("def ")]


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_event_of_which_the_user_holds_nothing_kills_no_process(way):
    """PoCL aborts where an event fails that was released while it was pending."""
    if "Oclgrind" in cdevice.device("opencl").name:
        pytest.skip("Oclgrind stands still behind a user event that fails")
    done = subprocess.run(
        [sys.executable, "-c", FAILS, way], capture_output=True, text=True, timeout=120, env=child_env()
    )
    assert done.returncode == 0 and done.stdout == "[0, 1, 2]\n", (done.returncode, done.stdout, done.stderr)


def test_objects_are_of_their_device_where_two_loaders_list_devices_in_two_orders(ask):
    if "Portable Computing Language" not in cdevice.device("opencl").name:
        pytest.skip("two devices of one runtime are PoCL's: apt-get install pocl-opencl-icd")
    code = """
import json, source_tree, numpy as np, cdevice, cdevice.compute as cc
listed = [d.name for d in cdevice.devices("opencl")]
import pyopencl as cl, pyopencl.array as cla
out = []
for device in [d for p in cl.get_platforms() for d in p.get_devices()]:
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    array = cdevice.asarray(cla.to_device(queue, np.arange(5)))
    ours = cdevice.device(device)
    assert ours == cdevice.device(queue) == array.device and listed[ours.id] == ours.name
    values = cc.add(array, 1, stream=queue).to("cpu", stream=queue).to_pylist()
    out.append([ours.name.startswith(device.name.strip()), ours.id, values])
print(json.dumps(out))
"""
    env = {"POCL_DEVICES": "pthread basic", "CDEVICE_CACHE_DIR": "0"}
    assert ask("reversed", code, **env) == [[True, 1, [1, 2, 3, 4, 5]], [True, 0, [1, 2, 3, 4, 5]]]


def reason(**env):
    code = "import source_tree, cdevice\ntry: cdevice.asarray([1]).to('opencl')\nexcept cdevice.BackendUnavailable as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**child_env(), **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_icd_whose_library_cannot_be_loaded_is_told(tmp_path):
    broken = tmp_path / "libbroken.so"
    broken.write_text("this is no library\n" * 100)
    for library, why in [(broken, "invalid ELF header"), ("libnowhere.so.7", "No such file"), ("", "names no library")]:
        (tmp_path / "acme.icd").write_text(f"{library}\n")
        told = reason(OCL_ICD_VENDORS=str(tmp_path))
        assert f"the .icd file {tmp_path}/acme.icd names" in told and why in told
        assert not library or f"names {library}, which cannot be loaded: " in told


def test_a_loader_that_is_named_and_cannot_be_loaded_is_told(tmp_path):
    broken = tmp_path / "libOpenCL.so.1"
    broken.write_text("this is no library\n" * 100)
    told = reason(CDEVICE_OPENCL_LIBRARY=str(broken))
    assert (
        "the OpenCL loader that $CDEVICE_OPENCL_LIBRARY names cannot be used" in told and "invalid ELF header" in told
    )


def test_a_context_that_is_gone_is_told_with_what_to_do(ask):
    """No runtime here need lose it: an error of that code says it."""
    code = """
import json, source_tree, numpy as np, cdevice
try:
    cdevice.asarray(np.zeros(100_000)).to("opencl")
except cdevice.DeviceError as e:
    print(json.dumps(str(e)))
"""
    told = ask("gone", code)
    assert "CL_INVALID_CONTEXT (-34)" in told and "hold the context for as long as its queues" in told


def test_a_device_without_float64_and_shared_virtual_memory_conforms(ask):
    code = """
import json, subprocess, sys
def check(*args):
    done = subprocess.run([sys.executable, "-m", "cdevice", "check", "opencl", "--json", *args], capture_output=True, text=True)
    found = json.loads(done.stdout)
    return [found["passed"], found["failed"], [c["name"] for c in found["checks"] if "it has no float64" in c.get("text", "")]]
print(json.dumps([check("-k", "memory"), check("--kernels", "-k", "*_int32"), check("--kernels", "-k", "arithmetic__float64")]))
"""
    memory, integers, doubles = ask("small", code)
    assert memory[0] > 0 and memory[1:] == [0, []]
    assert integers == [9, 0, []]  # what is made in float64 is left out, and the rest of a check is run
    assert doubles[1] == 0  # some of it needs no kernel of float64
