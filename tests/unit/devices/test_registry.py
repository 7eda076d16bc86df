"""Devices, backends, and what happens without one."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import traceback
import warnings

import pytest
from paths import ROOT
from waiting import settle, until

import cdevice
from cdevice import DeviceType, device
from cdevice._runtime.ext import ffi, lib
from cdevice.testing.fake import FakeBackend


@pytest.fixture
def fake():
    backend = FakeBackend(4001, "testdev")
    cdevice.register_backend(backend)
    yield backend
    until(lambda: lib.cdv_backend_live(4001) == 0)
    cdevice.unregister_backend(4001)


def structs_of(array, device_type, device_id=0):
    d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
    array._export_structs(int(ffi.cast("uintptr_t", d)), int(ffi.cast("uintptr_t", s)))
    d.device_type, d.device_id = device_type, device_id
    return d, s


# ---- devices ----
@pytest.mark.parametrize(
    ("spec", "type_id", "number", "text"),
    [
        ("cpu", 1, -1, "cpu"),
        ("cuda", 2, 0, "cuda:0"),
        ("CUDA:1", 2, 1, "cuda:1"),
        ("cuda-host", 3, 0, "cuda_host:0"),
        ("opencl:3", 4, 3, "opencl:3"),
        ("rocm", 10, 0, "rocm:0"),
        ("99:2", 99, 2, "99:2"),
        ((2, 1), 2, 1, "cuda:1"),
        (DeviceType.VULKAN, 7, 0, "vulkan:0"),
        ("maia", 17, 0, "maia:0"),
    ],
)
def test_devices_are_named_by_strings_pairs_and_types(spec, type_id, number, text):
    d = device(spec)
    assert (d.type_id, d.id, str(d)) == (type_id, number, text)
    assert device(str(d)) == d == device(d)
    assert hash(device(str(d))) == hash(d)
    assert pickle.loads(pickle.dumps(d)) == d


def test_words_that_are_no_device_are_refused():
    for spec in ("nonsense", "cuda:", "cuda:x", "", ":1", "cuda:-1"):
        with pytest.raises(ValueError):
            device(spec)
    with pytest.raises(TypeError):
        device(1.5)
    with pytest.raises(ValueError):
        device((0, 0))


def test_device_types_have_the_values_of_the_specification():
    assert {t.name: int(t) for t in DeviceType} == {
        "CPU": 1, "CUDA": 2, "CUDA_HOST": 3, "OPENCL": 4, "VULKAN": 7, "METAL": 8, "VPI": 9, "ROCM": 10, "ROCM_HOST": 11,
        "EXT_DEV": 12, "CUDA_MANAGED": 13, "ONEAPI": 14, "WEBGPU": 15, "HEXAGON": 16, "MAIA": 17, "TRN": 18,
    }  # fmt: skip
    for t in DeviceType:
        if t <= 16:
            assert getattr(lib, f"ARROW_DEVICE_{t.name}") == t


def test_the_cpu_is_listed_and_says_what_it_is():
    assert cdevice.devices("cpu") == [device("cpu")]
    info = device("cpu").info
    assert info.alignment == 64 and info.total_bytes > info.free_bytes > 0
    assert device("cpu").is_available
    assert not device("metal").is_available


# ---- without a backend ----
def test_an_array_on_an_unknown_device_is_held_passed_on_and_released():
    before = lib.cdv_live_exports()
    d, s = structs_of(cdevice.asarray([1, 2, 3]), 7777, 5)
    d.sync_event = ffi.cast("void *", 64)
    array = cdevice.import_from_c(d, s)
    assert (array.device_type, array.device_id, array.length) == (7777, 5, 3)
    assert "7777:5" in repr(array)
    again = cdevice.import_capsules(*array[1:].__arrow_c_device_array__())
    assert (again.device_type_id, again.sync_event) == (7777, 64)
    for use in (lambda: array.to("cpu"), lambda: array.synchronize(), lambda: array.ready, lambda: array.wait(1)):
        with pytest.raises(cdevice.BackendUnavailable, match="7777"):
            use()
    for use in (array.to_pylist, array.__arrow_c_array__, array.to_numpy):
        with pytest.raises(cdevice.CannotExport, match="7777"):
            use()
    for a in (array, again):
        a.release()
    assert lib.cdv_live_exports() == before


def test_a_missing_backend_is_named_and_says_what_to_install():
    with pytest.raises(cdevice.BackendUnavailable, match="metal"):
        cdevice.asarray([1]).to("metal")
    with pytest.raises(RuntimeError):
        cdevice.devices("metal")


# ---- registration ----
def test_a_type_is_registered_once_and_replaced_only_on_request(fake):
    other = FakeBackend(4001, "testdev")
    with pytest.raises(cdevice.BackendConflict, match="testdev.*replace"):
        cdevice.register_backend(other)
    old = cdevice.asarray([1, 2]).to("testdev")
    cdevice.register_backend(other, replace=True)
    new = cdevice.asarray([3]).to("testdev")
    assert other.calls["alloc"] == 1
    assert new.to("cpu").to_pylist() == [3]
    del old, new
    until(lambda: fake.live() == 0 and other.live() == 0)


def test_a_name_belongs_to_one_type(fake):
    with pytest.raises(cdevice.BackendConflict, match="testdev"):
        cdevice.register_backend(FakeBackend(4002, "testdev"))


def test_a_backend_in_use_cannot_be_removed_and_says_so(fake):
    array = cdevice.asarray([1]).to("testdev")
    with pytest.raises(cdevice.BackendConflict, match="in use"):
        cdevice.unregister_backend("testdev")
    assert array.to("cpu").to_pylist() == [1]
    del array


def test_removing_what_is_not_there_is_an_error():
    with pytest.raises(cdevice.ArgumentError, match="no backend"):
        cdevice.unregister_backend(4444)


def test_any_positive_type_is_looked_up_by_value():
    for type_id in (63, 64, 1000, 2**31 - 1):
        backend = FakeBackend(type_id, f"dev{type_id}")
        cdevice.register_backend(backend)
        assert lib.cdv_backend_table(type_id).device_type == type_id
        assert device(f"dev{type_id}").type_id == type_id
        assert cdevice.list_backends()[type_id].name == f"dev{type_id}"
        cdevice.unregister_backend(type_id)
        assert not lib.cdv_backend_table(type_id)


def table(**changes):
    real = lib.cdv_backend_table(1)
    copy = ffi.new("cdevice_backend *", real[0])
    copy.device_type = 4010
    name = ffi.new("char[]", changes.pop("name", "abc").encode())
    copy.name = name
    for k, v in changes.items():
        setattr(copy, k, v)
    return copy, name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"abi_version": 0x00020000}, "2.0.*1.x"),
        ({"abi_version": 0}, "0.0"),
        ({"struct_size": 16}, "16 bytes"),
        ({"device_type": 0}, "not positive"),
        ({"device_type": -4}, "not positive"),
        ({"name": "Not good"}, "Not good"),
        ({"start": ffi.NULL}, "start is missing"),
        ({"alloc": ffi.NULL}, "alloc is missing"),
        ({"free": ffi.NULL}, "free is missing"),
        ({"copy": ffi.NULL}, "copy is missing"),
        ({"device_count": ffi.NULL}, "device_count is missing"),
        ({"capabilities": 0x4 | 0x2}, "event_record is missing"),
        ({"capabilities": 0x1}, "view is missing"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_by_name_and_reason(changes, message):
    copy, name = table(**changes)
    if "capabilities" in changes:
        copy.view = ffi.NULL
        copy.event_record = ffi.NULL
    with pytest.raises(cdevice.ArgumentError, match=message):
        cdevice.register_backend(int(ffi.cast("uintptr_t", copy)))
    assert not lib.cdv_backend_table(4010)
    assert name


def test_a_newer_and_longer_table_and_a_shorter_one_are_accepted():
    longer = ffi.new("char[]", ffi.sizeof("cdevice_backend") + 64)
    copy, name = table(abi_version=0x00010007)
    ffi.memmove(longer, copy, ffi.sizeof("cdevice_backend"))
    big = ffi.cast("cdevice_backend *", longer)
    big.struct_size = ffi.sizeof("cdevice_backend") + 64
    cdevice.register_backend(int(ffi.cast("uintptr_t", big)))
    cdevice.unregister_backend(4010)
    short, name2 = table(struct_size=ffi.offsetof("cdevice_backend", "event_record"))
    short.event_record = ffi.cast("void *", 1)  # behind the end: never looked at
    cdevice.register_backend(int(ffi.cast("uintptr_t", short)))
    assert cdevice.asarray([1, 2]).to((4010, 0)).to("cpu", copy=True).to_pylist() == [1, 2]
    until(lambda: lib.cdv_backend_live(4010) == 0)
    cdevice.unregister_backend(4010)
    assert name and name2


def test_an_object_without_the_door_is_no_backend():
    with pytest.raises(TypeError, match="__cdevice_backend__"):
        cdevice.register_backend(object())


def test_a_backends_address_is_an_int_or_a_cffi_pointer():
    for bad, error in (
        (0, cdevice.ArgumentError),
        (ffi.NULL, ValueError),
        (True, TypeError),
        (1.5, TypeError),
        (1, ValueError),
        (-1, ValueError),
        (2**70, ValueError),
    ):
        with pytest.raises(error):
            cdevice.register_backend(bad)
        with pytest.raises(error):
            cdevice.register_backend(type("Odd", (), {"__cdevice_backend__": lambda self, bad=bad: bad})())
    moody = type(
        "Moody", (int,), {"__int__": lambda self: 1, "__eq__": lambda self, other: True, "__hash__": int.__hash__}
    )
    with pytest.raises(ValueError):
        cdevice.register_backend(moody(1))
    copy, _ = table()
    cdevice.register_backend(copy)
    cdevice.unregister_backend(4010)


# ---- backends in Python ----
def test_exceptions_of_a_python_backend_are_device_errors_with_their_cause(fake):
    fake.fail_after = 0
    with pytest.raises(cdevice.DeviceError, match="injected failure in alloc") as caught:
        cdevice.asarray([1]).to("testdev")
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.device == "testdev:0"
    fake.fail_after = None


def test_out_of_memory_is_also_a_memory_error(fake):
    def alloc(nbytes, *, device_id, stream=0):
        raise MemoryError("full")

    fake.alloc = alloc
    with pytest.raises(MemoryError) as caught:
        cdevice.asarray([1]).to("testdev")
    assert isinstance(caught.value, cdevice.DeviceError)
    assert "8 bytes" in str(caught.value) or "64 bytes" in str(caught.value)


def test_a_backend_that_is_unavailable_says_so_and_is_asked_again():
    backend = FakeBackend(4003, "moody")
    state = {"there": False}

    def start():
        if not state["there"]:
            raise cdevice.BackendUnavailable("no such runtime; tried: libmoody.so")

    backend.start = start
    backend.install_hint = "install moody"
    cdevice.register_backend(backend)
    with pytest.raises(cdevice.BackendUnavailable, match="libmoody.so.*install moody"):
        cdevice.asarray([1]).to("moody")
    assert cdevice.device("moody") not in cdevice.devices()
    state["there"] = True
    assert cdevice.asarray([1]).to("moody").to("cpu").to_pylist() == [1]
    until(lambda: lib.cdv_backend_live(4003) == 0)
    cdevice.unregister_backend("moody")


def forked(work):
    """What work() gives in a child, 99 for an exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            os._exit(work())
        except BaseException:
            traceback.print_exc()
        os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_started_before_a_fork_it_is_an_error_in_the_child(fake):
    def child():
        with pytest.raises(cdevice.DeviceError, match="fork"):
            cdevice.asarray([1]).to("testdev")
        return 0

    cdevice.asarray([1]).to("testdev")
    assert forked(child) == 0


def test_a_fork_while_a_backend_starts_leaves_a_child_that_gets_an_error():
    import threading

    inside, go_on = threading.Event(), threading.Event()

    class Slow(FakeBackend):
        def start(self):
            inside.set()
            go_on.wait()

    cdevice.register_backend(Slow(4005, "slowly"))
    copies = []
    first = threading.Thread(target=lambda: copies.append(cdevice.asarray([1]).to("slowly")))
    first.start()
    inside.wait()

    def child():
        go_on.set()  # were it to start here, too
        with pytest.raises(cdevice.DeviceError, match="fork"):
            cdevice.asarray([1]).to("slowly")
        return 0

    assert forked(child) == 0
    go_on.set()
    first.join()
    assert copies.pop().to("cpu").to_pylist() == [1]
    until(lambda: lib.cdv_backend_live(4005) == 0)
    cdevice.unregister_backend("slowly")


# ---- imports ----
@pytest.mark.notrace
def test_importing_loads_no_numpy_no_driver_and_no_metadata():
    code = (
        "import sys, cdevice; cdevice.asarray([1,2]).to('cpu', copy=True); "
        "print([m for m in ('numpy','pyarrow','pyopencl','cupy','importlib.metadata','asyncio','dataclasses','ctypes') if m in sys.modules]); "
        "print([l for l in open('/proc/self/maps') if 'libOpenCL' in l or 'libcuda' in l or 'libamdhip' in l])"
    )
    out = subprocess.run([sys.executable, "-c", _path() + code], capture_output=True, text=True, check=True)
    assert out.stdout.split("\n")[:2] == ["[]", "[]"]


def _path():
    return f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}\n" + (
        "import importlib.util, types\n"
        "if importlib.util.find_spec('cdevice.backends') is None:\n"
        f"    m = types.ModuleType('cdevice.backends'); m.__path__ = [{_backends()!r}]; sys.modules['cdevice.backends'] = m\n"
    )


def _backends():

    return str(ROOT / "backends")


def test_at_exit_no_method_of_a_python_backend_runs_into_a_module_that_is_gone(tmp_path):
    (tmp_path / "late.py").write_text(
        """
import ctypes, cdevice

def give_back(block):
    ctypes.c_int(1)

class Backend(cdevice.Backend):
    name, device_type = "late", 4711
    def device_count(self): return 1
    def alloc(self, nbytes, *, device_id, stream=0):
        memory = ctypes.create_string_buffer(nbytes + 64)
        memory.data = (ctypes.addressof(memory) + 63) & ~63
        return memory
    def free(self, block): give_back(block)
    def copy(self, kind, copies, *, stream=0):
        for c in copies: ctypes.memmove(c.dst + c.dst_offset, c.src + c.src_offset, c.nbytes)
"""
    )
    p = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path[:0] = {[str(tmp_path), *(p for p in sys.path if p)]!r}\n"
            "import source_tree, cdevice, late; cdevice.register_backend(late.Backend())\n"
            "cdevice.keep = cdevice.asarray([1, 2]).to('late')",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (p.returncode, p.stderr) == (0, "")


# ---- a backend is replaced or taken out while something of it lives ----
def test_an_array_is_read_waited_for_and_freed_by_the_backend_that_made_it():
    old, new = FakeBackend(43, "turn"), FakeBackend(43, "turn")
    cdevice.register_backend(old)
    first = cdevice.asarray([1, 2, 3]).to((43, 0))
    words = cdevice.asarray(["a", None, "bcd"] * 5).to((43, 0))
    gate = old.gate(0)
    second = cdevice.asarray([4, 5]).to((43, 0))
    cdevice.register_backend(new, replace=True)
    assert not second.ready
    gate.open()
    second.synchronize()
    assert first.to("cpu").to_pylist() == [1, 2, 3]
    assert words[4:8].to("cpu").to_pylist() == [None, "bcd", "a", None]
    across = second.to((43, 1))  # from the old backend's memory to the new one's: two strangers
    assert across.to("cpu").to_pylist() == [4, 5]
    first.record_use(0)
    words.validate("full")
    with pytest.raises(cdevice.BackendConflict, match="in use"):
        cdevice.unregister_backend(43)
    del first, second, words, across
    until(lambda: lib.cdv_backend_live(43) == 0 and old.live() == new.live() == 0)
    cdevice.unregister_backend(43)


def test_a_copy_under_way_keeps_the_backend_it_began_with():
    log = []

    class Turning(FakeBackend):
        hook = None

        def __init__(self, tag):
            super().__init__(43, "turn")
            self.tag = tag

        def device_count(self):
            hook, Turning.hook = Turning.hook, None
            if hook:
                hook()
            return super().device_count()

        def alloc(self, *args, **kwargs):
            log.append(("alloc", self.tag))
            return super().alloc(*args, **kwargs)

        def free(self, block):
            log.append(("free", self.tag))
            super().free(block)

    old, new = Turning("old"), Turning("new")
    cdevice.register_backend(old)
    Turning.hook = lambda: cdevice.register_backend(new, replace=True)
    made = cdevice.asarray([1, 2, 3]).to((43, 0))
    assert made.to("cpu").to_pylist() == [1, 2, 3]
    del made
    until(lambda: old.live() == 0 and new.live() == 0)
    assert {tag for _, tag in log} == {"old"}
    Turning.hook = lambda: refused.append(pytest.raises(cdevice.BackendConflict, cdevice.unregister_backend, 43))
    refused = []
    made = cdevice.asarray([4]).to((43, 0))  # taken out meanwhile: refused, for a copy needs it
    assert len(refused) == 1 and made.to("cpu").to_pylist() == [4]
    del made
    until(lambda: lib.cdv_backend_live(43) == 0)
    cdevice.unregister_backend(43)


# ---- one interpreter ----
@pytest.mark.parametrize("first", [False, True], ids=["sub first", "main first"])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_sub_interpreter_gets_an_import_error_and_the_main_one_goes_on(first, isolated):
    code = f"""
import sys
try:
    import _interpreters as I
except ImportError:
    import _xxsubinterpreters as I
paths = {[p for p in sys.path if p]!r}
sys.path[:0] = paths
if {first}:
    import cdevice
    cdevice.asarray([1])
if hasattr(I, "new_config"):
    i = I.create("isolated" if {isolated} else "legacy")
else:
    i = I.create(isolated={isolated})
text = "import sys; sys.path[:0] = " + repr(paths) + '''
try:
    import cdevice
    cdevice.asarray([1])
except ImportError as e:
    print("refused:", e)
else:
    print("imported")
'''
I.run_string(i, text)
import cdevice
print(cdevice.asarray([1]).to_pylist(), type(cdevice.asarray([1])) is cdevice.DeviceArray)
try:
    cdevice.asarray([1]).slice(5, 1)
except cdevice.Error as e:
    print(type(e).__name__)
I.destroy(i)
print(cdevice.asarray([1]).to("cpu", copy=True).to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[0].startswith("refused:") and lines[1:] == ["[1] True", "ArgumentError", "[1]"]


def test_an_import_that_was_interrupted_can_be_done_again():
    code = f"""
import sys
sys.path[:0] = {[p for p in sys.path if p]!r}
import cdevice
cdevice.asarray([1])
for name in [m for m in sys.modules if m.split(".")[0] == "cdevice" and m not in ("cdevice._native",)]:
    del sys.modules[name]
import cdevice
print(cdevice.asarray([1]).to_pylist(), type(cdevice.asarray([1])) is cdevice.DeviceArray)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[1] True\n"), done.stderr


def test_a_table_that_ends_inside_a_member_is_taken_without_that_member():
    backend = FakeBackend(44, "short")
    good = ffi.cast("cdevice_backend *", backend.__cdevice_backend__())
    table = ffi.new("cdevice_backend *", good[0])
    table.struct_size = ffi.offsetof("cdevice_backend", "stream_wait_host") + 4
    table.capabilities = 0
    lib.cdv_register(table, 0)
    slot = lib.cdv_backend_table(44)
    assert slot.event_record != ffi.NULL and slot.stream_wait_host not in (ffi.NULL, good.stream_wait_host)
    assert int(ffi.cast("uintptr_t", slot.stream_wait_host)) >> 32 == int(ffi.cast("uintptr_t", slot.stop)) >> 32
    cdevice.unregister_backend(44)


def test_a_check_that_fails_for_memory_leaves_the_streams_schema_alone():
    from cdevice._runtime.ext import _native

    class Short(FakeBackend):
        def start(self):
            raise MemoryError("the driver has no memory for a context now")

    cdevice.register_backend(Short(45, "short"))
    array = cdevice.from_buffers("int64", 3, [None, 4096], device=(45, 0), owner=object(), validate=None)
    stream = _native.import_stream(cdevice.asstream([array]).__arrow_c_device_stream__(), "full")
    gc.collect()  # what others left behind must not go while we count
    settle()
    gc.disable()
    try:
        before = lib.cdv_live_schemas()
        for error in (MemoryError, cdevice.StreamError):  # the second time: it has failed before
            with pytest.raises(error):
                next(stream)
        assert lib.cdv_live_schemas() == before
    finally:
        gc.enable()
    assert stream.schema.type == "int64"
    del array, stream
    until(lambda: lib.cdv_backend_live(45) == 0)
    cdevice.unregister_backend(45)
