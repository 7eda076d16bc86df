"""Functions on CUDA and ROCm's stand-in runtimes in tests/hostrt, whose stand-in compilers are this machine's C compiler.

The text is compiled as for a GPU, a block a tile, and its blocks run on the stream's thread on memory that the host cannot reach.
No GPU, no NVRTC and no HIPRTC is shown by this; ``ci/kernels`` compiles with the real ones.
"""

import contextlib
import os
import re
import subprocess
import sys
import threading

import pytest
from compute_cases import ROWS, column
from kernel_checks import *  # noqa: F403 - the tests
from kernel_checks import same_bits
from kernel_tables import EVERY, SOME, retargeted
from standin import TYPES
from waiting import settle, until

import cdevice
import cdevice.compute as cc
from cdevice._devices.tables import drop_kept
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

pytestmark = pytest.mark.nosan  # starts a compiler, and runs kernels on stacks of their own
COMPUTING = ("cuda", "cuda_managed", "rocm")
ON = {
    "cuda": EVERY,
    "rocm": EVERY,
    "cuda_managed": SOME,
    "cuda_host": {"int64", "bool"},
    "rocm_host": {"int64", "bool"},
}
computes = pytest.mark.parametrize("device", COMPUTING, indirect=True)


@pytest.fixture
def runtime(runtimes, request):
    yield runtimes[request.getfixturevalue("device").split("_")[0]]


def clean(name, runtimes, monkeypatch):
    """One of the five types; afterwards nothing is left over and nothing was misused."""
    monkeypatch.setenv("CDEVICE_CACHE_DIR", "0")  # each program is compiled by the stand-in, once
    runtime = runtimes[name.split("_")[0]]
    settle()
    before, arrays = lib.cdv_backend_live(TYPES[name]), lib.cdv_live_arrays()
    yield name
    drop_kept()
    runtime.mend()
    runtime.open()
    until(lambda: lib.cdv_backend_live(TYPES[name]) <= before and lib.cdv_live_arrays() <= arrays)
    settle()
    assert runtime.stats().misuse == 0
    assert runtime.library.hostrt_programs() == 0


@pytest.fixture
def device(request, runtimes, monkeypatch):
    yield from clean(request.param, runtimes, monkeypatch)


@pytest.fixture(params=COMPUTING)
def computing(request, runtimes, monkeypatch):
    yield from clean(request.param, runtimes, monkeypatch)


@pytest.fixture
def nan_bits():
    return True


@pytest.fixture
def held(runtimes, computing):
    runtime = runtimes[computing.split("_")[0]]

    @contextlib.contextmanager
    def gated():
        runtime.gate()
        try:
            yield
        finally:
            runtime.open()

    return gated


globals().update(retargeted(ON))


def test_hostrt_the_table_is_all_there():
    assert len(retargeted(ON)) > 25


# ---- streams ----
@pytest.mark.parametrize("device", ["cuda_host", "rocm_host"], indirect=True)
def test_hostrt_the_cpu_waits_for_memory_that_it_reads(device, runtime):
    runtime.gate()
    x, got = cdevice.asarray(ROWS).to(device), []
    assert not x.ready
    thread = threading.Thread(target=lambda: got.append(cc.add(x, 1)))
    thread.start()
    try:
        thread.join(0.05)
        assert not got
    finally:
        runtime.open()
    thread.join(30)
    assert got[0].device.type.name == "CPU" and got[0].to_pylist() == [v and v + 1 for v in ROWS]


@pytest.mark.parametrize("device", ["cuda_host", "rocm_host"], indirect=True)
def test_hostrt_expressions_of_pinned_memory_are_computed_by_the_cpu_with_the_columns_beside_them(device):
    f, here = cc.field, cdevice.asarray({"k": ["x", "y", "x"], "v": [1, 2, 3]})
    batch = here.to(device)
    assert batch.project(["v"]).device == batch.device  # nothing is computed

    def both(way):
        got = way(batch)
        assert got.device.type.name == "CPU"
        assert got.to_pylist() == way(here).to_pylist()

    both(lambda b: b.project({"twice": f("v") * 2, "k": "k"}))
    both(lambda b: b.with_columns(twice=f("v") * 2, more=[7, 8, 9]))
    both(lambda b: b.filter(f("v") > 1))
    both(lambda b: cc.aggregate(b, {"total": ("v", "sum"), "middle": ("v", "quantile")}, where=f("v") > 1))
    both(lambda b: cc.group_by(b, "k", where=f("v") < 3).aggregate([("v", "sum")]))
    both(lambda b: cc.group_by(b, {"odd": f("v") % 2}).aggregate([(f("v") * 2, "max")]))
    both(lambda b: cdevice.asstream([b, b]).filter(f("v") > 1).with_columns(twice=f("v") * 2).read_all())
    both(lambda b: cdevice.asstream([b, b]).project(["v"]).read_all())
    both(lambda b: cc.binary_join_element_wise(b["k"], cc.utf8_upper(b["k"]), "-"))


@computes
def test_hostrt_the_second_device_has_its_own_programs(device):
    there = cdevice.asarray(ROWS).to(f"{device}:1")
    got = cc.sum(cc.multiply(there, 3))
    assert got.array.device_id == 1 and got.as_py() == 3 * sum(filter(None, ROWS))
    if device != "cuda_managed":
        with pytest.raises(cdevice.ArgumentError, match=f"{device}:1 and {device}:0"):
            cc.add(there, cdevice.asarray(ROWS).to(device))


@pytest.mark.parametrize("device", ["cuda_managed"], indirect=True)
def test_hostrt_managed_memory_and_the_hosts_meet_on_the_cpu(device, runtime):
    there, launches = cdevice.asarray(ROWS).to(device), runtime.library.hostrt_launches()
    for other in (cdevice.asarray(ROWS), cdevice.asarray(ROWS).to("cuda_host")):
        for x, y in ((there, other), (other, there)):
            got = cc.add(x, y)  # a kernel of the device may not reach the host's memory
            assert got.to("cpu").to_pylist() == [v and 2 * v for v in ROWS]
    assert runtime.library.hostrt_launches() == launches


# ---- what fails ----
BUILDS = {
    "cuda": ["nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN", "cuModuleLoadData"],
    "rocm": ["hiprtcCreateProgram", "hiprtcCompileProgram", "hiprtcGetCodeSize", "hiprtcGetCode", "hipModuleLoadData"],
}
LATER = {"cuda": ["cuModuleGetFunction", "cuLaunchKernel"], "rocm": ["hipModuleGetFunction", "hipModuleLaunchKernel"]}


# ---- in processes of their own: a compiler is found once ----
SCRIPT = """
import os, sys
sys.path[:0] = {path!r}
import cdevice, cdevice.compute as cc
x = cdevice.asarray([1, None, 3]).to({device!r})
{first}
try:
    print(cc.add(x, x).to("cpu").to_pylist())
except Exception as e:
    print(type(e).__name__, e)
{more}
"""


def engine_of(runtimes, device):
    path = runtimes[device].path
    return path.parent / "libhostrt.so" if device == "cuda" else path


def alone(runtimes, device, more="", first="", log=False, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CDEVICE_", "HOSTRT_"))}
    env |= {"CDEVICE_CUDA_LIBRARY": str(runtimes["cuda"].path), "CDEVICE_HIP_LIBRARY": str(runtimes["rocm"].path)}
    env |= {
        "CDEVICE_CACHE_DIR": "0",
        "CDEVICE_NVRTC_LIBRARY": str(runtimes["cuda"].path.parent / "libnvrtc.so.13"),
    } | environment
    code = SCRIPT.format(path=[p for p in sys.path if p], device=device, first=first, more=more)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() + "\n" + done.stderr if log else done.stdout.strip()


FAILURES = """
import ctypes, itertools
import pyarrow as pa
rt = ctypes.CDLL({engine!r})
rt.hostrt_fail.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
pairs = itertools.permutations(["uint8", "int8", "uint16", "int16", "uint32"], 2)  # programs that nothing has needed yet
cc.add(cdevice.asarray([1, None]).to({device!r}), 1)  # the nulls' program
for call in {calls!r}:
    source, target = next(pairs)
    x = cdevice.asarray(pa.array([1, None, 100], getattr(pa, source)())).to({device!r})
    before = rt.hostrt_modules()
    rt.hostrt_fail(call.encode(), 0, 2 if call.startswith(("cu", "hipM")) else 1)
    try:
        cc.cast(x, target, safe=False)
    except MemoryError:
        pass
    else:
        raise AssertionError(call)
    assert not rt.hostrt_armed(), call
    assert rt.hostrt_modules() <= before + (call in {later!r}), call  # then the program was built, and is kept
    assert rt.hostrt_programs() == 0, call
    assert cc.cast(x, target, safe=False).to("cpu").to_pylist() == [1, None, 100], call
    assert rt.hostrt_modules() == before + 1, call
print("well")
"""


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_a_failure_leaves_nothing_and_the_next_call_goes_well(runtimes, device):
    code = FAILURES.format(
        engine=str(engine_of(runtimes, device)),
        device=device,
        calls=BUILDS[device] + LATER[device],
        later=LATER[device],
    )
    assert alone(runtimes, device, code).split("\n")[-1] == "well"


STORM = """
import ctypes
from compute_cases import CALLS, ROWS, TRUTHS
from standin import Stats
rt = ctypes.CDLL({engine!r})
x, b = (cdevice.asarray(v).to({device!r}) for v in (ROWS, TRUTHS))
want = {{n: repr(CALLS[n](x, b, None).to("cpu").to_pylist()) for n in ("add", "sum", "if_else", "take")}}
failed = 0
for seed in range(60):
    for name in want:
        rt.hostrt_storm(seed, 12)
        try:
            got = CALLS[name](x, b, None)
        except (cdevice.Error, MemoryError):
            failed, got = failed + 1, None
        rt.hostrt_storm(0, 0)
        assert got is None or repr(got.to("cpu").to_pylist()) == want[name]
stats = Stats()
rt.hostrt_get_stats(ctypes.byref(stats))
assert 10 < failed < 230 and stats.misuse == 0, (failed, stats.misuse)
print("well")
"""


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_in_a_storm_of_failures_results_are_right_or_there_are_none(runtimes, device):
    # memory that nobody can wait for is left, as after copies: so it is a process of its own
    engine = engine_of(runtimes, device)
    out = alone(runtimes, device, STORM.format(engine=str(engine), device=device), log=True).splitlines()
    assert out[1] == "well"
    left = re.compile(rf"cdevice: a failed call of a function leaves [1-9]\d* bytes: {device} may still use them, .*")
    assert out[2:] and all(map(left.fullmatch, out[2:])), out


@pytest.mark.parametrize("device", ["cuda", "cuda_managed"])
def test_hostrt_without_nvrtc_it_is_told_what_to_install_and_what_was_tried(runtimes, device):
    said = alone(runtimes, device, CDEVICE_NVRTC_LIBRARY="/nowhere/libnvrtc.so")
    assert "no NVRTC, which compiles kernels" in said and 'pip install "cdevice[cuda13]"' in said
    assert "$CDEVICE_NVRTC_LIBRARY is set" in said and "/nowhere/libnvrtc.so: " in said
    said = alone(runtimes, device, CDEVICE_NVRTC_LIBRARY="", HOSTRT_OLD_DRIVER="1")
    if said != "[2, None, 6]":  # there may be one here
        assert "nvidia/cuda_nvrtc/lib/libnvrtc.so.12: " in said and "libnvrtc.so.13" not in said


def test_hostrt_nvrtcs_wheel_is_found_wherever_python_imports_from(runtimes, tmp_path):
    """As it is for an editable cdevice, beside which there are no wheels."""
    lib = tmp_path / "site" / "nvidia" / "cu13" / "lib"
    lib.mkdir(parents=True)
    environment = {"CDEVICE_NVRTC_LIBRARY": "", "PYTHONPATH": str(tmp_path / "site")}
    said = alone(runtimes, "cuda", **environment)
    if said != "[2, None, 6]":  # there may be one here
        assert str(lib / "libnvrtc.so.13") + ": " in said
    (lib / "libnvrtc.so.13").symlink_to(runtimes["cuda"].path.parent / "libnvrtc.so.13")
    more = """
maps = open("/proc/self/maps").read()
print("hostrt" in maps and "libnvrtc" in maps)
"""
    assert alone(runtimes, "cuda", more, **environment) == "[2, None, 6]\nTrue"


def test_hostrt_without_hiprtc_it_is_told_what_to_install_and_what_was_tried(runtimes):
    said = alone(runtimes, "rocm", CDEVICE_HIPRTC_LIBRARY="/nowhere/libhiprtc.so")
    assert "no HIPRTC, which compiles kernels" in said and "libhiprtc-builtins5" in said
    assert "$CDEVICE_HIPRTC_LIBRARY is set" in said and "/nowhere/libhiprtc.so: " in said


def test_hostrt_a_runtime_that_has_its_own_compiler_needs_no_other(runtimes):
    assert alone(runtimes, "rocm") == "[2, None, 6]"


@pytest.mark.parametrize(
    ("capability", "known", "target"),
    [
        ("90", "75 80 90", "sm_90"),
        ("86", "75 80 90", "compute_80 as PTX"),
        ("103", "75 80 90", "compute_90 as PTX"),
        ("70", "75 80 90", None),
        ("75", "90 75", "sm_75"),
    ],
)
def test_hostrt_code_is_the_devices_own_or_ptx_of_the_newest_before_it(runtimes, capability, known, target):
    more = """
from cdevice._runtime.ext import ffi, lib
table = lib.cdv_backend_table(2)
compute = ffi.cast("const cdevice_compute *", table.extension(table.self, b"cdevice.compute/1"))
flags, text, err = ffi.new("uint32_t *"), ffi.new("char[200]"), ffi.new("cdevice_error *")
assert compute.identity(table.self, 0, flags, text, 200, err) == 0 and flags[0] == 0
print(ffi.string(text).decode())
"""
    said = alone(runtimes, "cuda", more, HOSTRT_CAPABILITY=capability, HOSTRT_ARCHS=known)
    if target is None:
        assert "NVRTC 13.0 compiles for sm_75 and newer, the device is sm_70" in said
        assert said.endswith("no NVRTC")
    else:
        assert said == f"[2, None, 6]\nNVRTC 13.0, {target}, --fmad=false"


FIRST = {
    "cuda": ["nvrtcVersion", "cuDeviceGetAttribute", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"],
    "rocm": ["hiprtcVersion", "hipGetDevicePropertiesR0600"],
}


@pytest.mark.parametrize("device", FIRST)
def test_hostrt_what_is_asked_first_may_fail_and_is_asked_again(runtimes, device):
    first = f"""
import ctypes
rt = ctypes.CDLL({str(engine_of(runtimes, device))!r})
for call in {FIRST[device]!r}:
    rt.hostrt_fail(call.encode(), 0, 3)
    try:
        print(cc.add(x, x))
    except cdevice.Error as e:
        print("failed", not rt.hostrt_armed())
"""
    more = "print(rt.hostrt_programs(), rt.hostrt_modules())"
    *failed, result, left = alone(runtimes, device, more, first).split("\n")
    assert failed == ["failed True"] * len(FIRST[device]) and result == "[2, None, 6]" and left == "0 2"


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_programs_are_kept_on_disk_for_the_next_process(runtimes, device, tmp_path):
    trace, cache = tmp_path / "trace", tmp_path / "cache"
    for compiled in (True, False):
        trace.write_text("")
        assert alone(runtimes, device, CDEVICE_CACHE_DIR=str(cache), HOSTRT_TRACE=str(trace)) == "[2, None, 6]"
        lines = trace.read_text().split()
        assert any("CompileProgram" in line for line in lines) == compiled
        assert any("ModuleLoadData" in line for line in lines)
        assert len([*cache.iterdir()]) == 2


# ---- backends that are taken out ----
@pytest.mark.parametrize("device", ["cuda", "rocm"], indirect=True)
def test_hostrt_programs_of_a_backend_that_is_taken_out_are_unloaded(device, runtime):
    modules, kind = runtime.library.hostrt_modules, TYPES[device]

    def compute():
        there = cdevice.asarray([1, None, 3]).to(device)
        assert cc.add(there, 1).to("cpu").to_pylist() == [2, None, 4]
        return there

    def unused():
        settle()
        until(lambda: lib.cdv_backend_live(kind) == 0)

    compute()
    unused()
    cdevice.unregister_backend(device)
    without = modules()
    kept = compute()  # a new table, whose programs are built anew
    assert modules() > without
    table = lib.cdv_backend_table(kind)
    assert lib.cdv_register(table, 1) == 0  # replaced while an array needs it
    assert modules() > without
    assert cc.negate(kept).to("cpu").to_pylist() == [-1, None, -3]  # by the table that made it
    del kept
    unused()
    compute()
    unused()
    cdevice.unregister_backend(device)  # the second, and what the first had left
    until(lambda: modules() == without)
    compute()


@computes
def test_hostrt_a_profile_has_the_times_of_kernels_and_copies(device):
    x = cdevice.asarray(column("int64", 5000))
    with cdevice.device(device).profile() as p:
        there = x.to(device)
        cc.add(there, there).to("cpu", copy=True)
    assert any(e.kind == "kernel" and ".add." in e.name for e in p.events)
    assert all(e.duration_ns is not None and e.duration_ns >= 0 for e in p.events)


@computes
def test_hostrt_functions_of_a_users_own_have_the_bits_of_the_cpus(device):
    f = cc.elementwise("f", "float64 a, int64 b, bool c -> float64", "c ? a * a + b : a / 3")
    g = cc.elementwise("g", "float64 a, int64 b, bool c -> bool", "a < b && c")
    args = column("float64", 5000), column("int64", 5000, seed=1), column("bool", 5000, seed=2)
    here, there = ([cdevice.asarray(v).to(d)[13:] for v in args] for d in ("cpu", device))
    for call in (f, g):
        assert same_bits(call(*here), call(*there))
    assert same_bits(f(here[0], 2, True), f(there[0], 2, True))
    wide = cc.elementwise(
        "wide",
        "float64 a, int64 b, bool c, float64 d -> float64 low, bool more",
        "low = is_null(c) ? null : coalesce(a, d) + b; more = a > d || c",
    )
    made = [wide(*rows, rows[0]) for rows in (here, there)]
    assert all(same_bits(made[0].field(name), made[1].field(name)) for name in ("low", "more"))
    total = cc.reduction("total", "float64 a, int64 b -> float64", "a + b", identity="0.0", map="a < 0.0 ? null : a")
    assert repr(total(*here[:2]).as_py()) == repr(total(*there[:2]).as_py())
    running = cc.scan("running", "int64 b -> int64", "a ^ b", identity="0")
    assert same_bits(running(here[1], skip_nulls=True), running(there[1], skip_nulls=True))
