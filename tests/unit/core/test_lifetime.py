"""Who owns what, and when it is given back."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest
from memory import growth, resident
from paths import ROOT
from waiting import dropped

import cdevice
from cdevice._runtime.ext import _native, ffi, lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


def address(p):
    return int(ffi.cast("uintptr_t", p))


class Owner(bytearray):
    """Memory that can be referred to weakly."""


def owned(n=800):
    o = Owner(n)
    return o, weakref.ref(o)


def exported(array, schema=False):
    d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
    array._export_structs(address(d), address(s) if schema else 0)
    return (d, s) if schema else d


def of(o):
    return cdevice.from_buffers("int64", len(o) // 8, [None, o], null_count=0)


def wide(o, columns):
    field = cdevice.asschema("int64")
    children = [of(o) for _ in range(columns)]
    schema = cdevice.Schema.make("+s", children=[field.with_name(f"c{i}") for i in range(columns)])
    return cdevice.from_buffers(schema, len(o) // 8, [None], null_count=0, children=children)


def release(struct):
    struct.array.release(ffi.addressof(struct, "array"))


def test_import_is_a_move():
    array = cdevice.asarray([1, 2, 3])
    d, s = exported(array, schema=True)
    taken = cdevice.import_from_c(d, s)
    assert d.array.release == ffi.NULL
    assert s.release == ffi.NULL
    assert taken.to_pylist() == [1, 2, 3]


def test_an_array_is_exported_any_number_of_times_and_each_stands_alone():
    o, ref = owned()
    array = of(o)
    structs = [exported(array) for _ in range(10)]
    del o
    array.release()
    for d in structs[:-1]:
        release(d)
        assert ref() is not None
    release(structs[-1])
    assert dropped(ref)  # cffi lets the GIL go around the call


def test_the_owner_goes_at_once_when_the_gil_is_held():
    o, ref = owned()
    array = of(o)
    part = array[2:5]
    capsules = part.__arrow_c_device_array__()
    del o, array, part
    gc.collect()
    assert ref() is not None
    del capsules
    assert ref() is None


@pytest.mark.parametrize("columns", [0, 3, 50, 1500])
@pytest.mark.parametrize("join", [0, 1])
def test_the_owner_goes_soon_when_a_foreign_thread_releases(columns, join):
    o, ref = owned()
    d = exported(wide(o, columns) if columns else of(o))
    del o
    gc.collect()
    assert ref() is not None
    assert lib.cdv_release_in_thread(d, join) == 0
    assert dropped(ref)


def test_a_releasing_thread_never_needs_the_gil():
    """The main thread joins it inside a C call that keeps the GIL: taking it would never end."""
    import ctypes

    o, ref = owned()
    d = exported(of(o))
    del o
    library = ctypes.PyDLL(_native.__file__)  # keeps the GIL
    del library
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(
        address(ffi.addressof(lib, "cdv_release_in_thread"))
    )
    assert function(address(d), 1) == 0
    assert dropped(ref)


@pytest.mark.parametrize("columns", [3, 50, 1500])
def test_children_moved_out_live_and_are_released_on_their_own(columns):
    o, ref = owned()
    d = exported(wide(o, columns))
    del o
    child = ffi.new("struct ArrowArray *", d.array.children[1][0])
    d.array.children[1].release = ffi.NULL  # moved
    release(d)
    gc.collect()
    assert ref() is not None
    assert child.length == 100
    child.release(child)
    assert child.release == ffi.NULL
    assert dropped(ref)


def test_nested_children_moved_out_keep_theirs():
    before = lib.cdv_live_exports()
    array = cdevice.asarray(pa.array([[["a", "b"]], [["c"]]]))
    d = exported(array)
    del array
    middle = ffi.new("struct ArrowArray *", d.array.children[0][0])
    d.array.children[0].release = ffi.NULL
    release(d)
    assert middle.children[0].release != ffi.NULL
    middle.release(middle)
    assert lib.cdv_live_exports() == before


def test_a_dictionary_moved_out_is_released_on_its_own():
    before = lib.cdv_live_exports()
    d = exported(cdevice.asarray(pa.array(["a", "b"]).dictionary_encode()))
    dictionary = ffi.new("struct ArrowArray *", d.array.dictionary[0])
    d.array.dictionary.release = ffi.NULL
    release(d)
    assert dictionary.length == 2
    dictionary.release(dictionary)
    assert lib.cdv_live_exports() == before


def test_capsules_that_nobody_consumes_give_everything_back():
    o, ref = owned()
    array = wide(o, 50)
    for _ in range(5):
        array.__arrow_c_device_array__()
        array.__arrow_c_array__()
        array.__arrow_c_schema__()
    del o, array
    gc.collect()
    assert ref() is None


def test_a_consumed_capsule_is_refused():
    capsules = cdevice.asarray([1]).__arrow_c_device_array__()
    cdevice.import_capsules(*capsules)
    with pytest.raises(ValueError, match="consumed"):
        cdevice.import_capsules(*capsules)


def test_one_capsule_has_one_consumer_and_an_array_many():
    array = cdevice.asarray([1, None, 3])
    first, second = pa.array(array), pa.array(array)
    array.release()
    assert first.equals(second)


def test_a_schema_kept_does_not_keep_the_data():
    o, ref = owned()
    array = wide(o, 3)
    schema = array.schema
    field = schema["c1"]
    capsule = array.__arrow_c_schema__()
    del o, array
    gc.collect()
    assert ref() is None
    assert field.name == "c1"
    assert cdevice.asschema(schema).names == ["c0", "c1", "c2"]
    del capsule


def test_a_child_keeps_the_whole_and_the_whole_goes_with_it():
    o, ref = owned()
    child = wide(o, 3).field("c1")
    del o
    gc.collect()
    assert ref() is not None
    assert len(child) == 100
    del child
    assert ref() is None


def test_use_after_release_is_an_error_everywhere():
    array = cdevice.asarray([1, 2, 3])
    array.release()
    array.release()
    assert array.released
    assert "released" in repr(array)
    for use in (
        lambda: array.length,
        lambda: array.to_pylist(),
        lambda: array[0:1],
        lambda: array.schema,
        lambda: array.validate(),
        lambda: array.to("cpu", copy=True),
        lambda: array.__arrow_c_device_array__(),
        lambda: array.__arrow_c_array__(),
        lambda: array == array,
        lambda: array.ready,
    ):
        with pytest.raises(cdevice.Released):
            use()


def test_views_of_a_released_array_live_on():
    array = cdevice.asarray([1, 2, 3])
    part, view = array[1:], array.buffers[1].memoryview()
    array.release()
    assert part.to_pylist() == [2, 3]
    assert view.cast("q").tolist() == [1, 2, 3]


def test_reserved_is_zero_in_every_struct_ever_written():
    for source in ([1, 2], pa.array([{"a": 1}]), pa.array(["x"]).dictionary_encode(), pa.array([[1]] * 3)):
        array = cdevice.asarray(source)
        for make in (lambda a: a, lambda a: a[1:], lambda a: a.to("cpu", copy=True)):
            d = ffi.new("struct ArrowDeviceArray *")
            ffi.memmove(d, b"\xaa" * ffi.sizeof(d[0]), ffi.sizeof(d[0]))
            make(array)._export_structs(address(d), 0)
            assert list(d.reserved) == [0, 0, 0]
            assert d.device_id == -1
            assert d.sync_event == ffi.NULL
            release(d)


def test_device_id_and_reserved_of_others_are_accepted_and_not_forwarded():
    d, s = exported(cdevice.asarray([1]), schema=True)
    d.reserved = [1, 2, 3]
    d.device_id = 5
    again = exported(cdevice.import_from_c(d, s))
    assert list(again.reserved) == [0, 0, 0]
    release(again)


EXPORTS_AND_IMPORTS = """
import cdevice, numpy as np, pyarrow as pa
arrays = [cdevice.asarray(np.arange(100)), cdevice.asarray(pa.record_batch({f"c{i}": [1, 2] for i in range(200)}))]
def run(n):
    for a in arrays:
        for _ in range(n):
            cdevice.import_capsules(*a.__arrow_c_device_array__()).release()
"""


@pytest.mark.nosan  # a sanitizer keeps freed memory
def test_memory_stays_flat_over_many_exports_and_imports():
    assert growth(EXPORTS_AND_IMPORTS, 2000, 50_000) < 2 << 20


@pytest.mark.slow
@pytest.mark.notrace
def test_ten_million_exports_imports_and_releases_leave_memory_flat():
    array = cdevice.asarray(np.arange(100))
    for _ in range(1000):
        cdevice.import_capsules(*array.__arrow_c_device_array__())
    before = resident()
    for _ in range(10_000_000):
        cdevice.import_capsules(*array.__arrow_c_device_array__())
    assert resident() - before < 1 << 22  # a byte each is ten million


def test_threads_share_arrays_without_losing_any():
    array = cdevice.asarray(pa.record_batch({f"c{i}": list(range(50)) for i in range(30)}))
    expected = array.to_pylist()
    failures = []

    def work():
        for i in range(200):
            part = array[i % 50 :]
            again = cdevice.import_capsules(*part.__arrow_c_device_array__())
            copied = again.to("cpu", copy=True)
            if copied.length != 50 - i % 50 or copied[0]["c3"] != expected[i % 50]["c3"]:
                failures.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_release_while_another_thread_copies_is_safe():
    for _ in range(50):
        array = cdevice.asarray(pa.array(["x" * 50] * 2000))
        started = threading.Event()

        def work(a=array, started=started):
            started.set()
            try:
                for _ in range(20):
                    a.to("cpu", copy=True)
            except cdevice.Released:
                pass

        t = threading.Thread(target=work)
        t.start()
        started.wait()
        array.release()
        t.join()


PRELUDE = """
import sys, importlib.util
sys.path[:0] = {path!r}
if importlib.util.find_spec("cdevice.backends") is None:
    import types
    m = types.ModuleType("cdevice.backends"); m.__path__ = [{backends!r}]; sys.modules["cdevice.backends"] = m
import cdevice
from cdevice._runtime.ext import ffi, lib
def address(p): return int(ffi.cast("uintptr_t", p))
def exported(a):
    d = ffi.new("struct ArrowDeviceArray *"); a._export_structs(address(d), 0); return d
"""


def run(code):

    backends = str(ROOT / "backends")
    text = PRELUDE.format(path=[p for p in sys.path if p], backends=backends) + textwrap.dedent(code)
    # what lives at exit is meant to: a leak check of the child would print
    env = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, env=env)


def test_release_during_and_after_the_end_of_the_interpreter_is_quiet():
    for _ in range(3):
        p = run("""
            import ctypes, threading
            structs = [exported(cdevice.asarray(bytearray(80))) for _ in range(2000)]
            keep = ffi.new_handle(structs)
            def work(part):
                for d in part:
                    lib.cdv_release_in_thread(d, 0)
            for i in range(2):
                threading.Thread(target=work, args=(structs[i::2],), daemon=True).start()
        """)
        assert p.returncode == 0, p.stderr
        assert p.stderr == ""


def test_an_export_released_by_an_exit_handler_of_c_is_quiet():
    p = run("""
        import ctypes
        d = exported(cdevice.asarray(bytearray(80)))
        raw = ffi.new_allocator(should_clear_after_alloc=False)("struct ArrowDeviceArray[1]")
        import atexit
        libc = ctypes.CDLL(None)
        memory = ctypes.create_string_buffer(bytes(ffi.buffer(d)), ffi.sizeof("struct ArrowDeviceArray"))
        RELEASE = address(ffi.cast("void *", d.array.release))
        libc.on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        class Pair(ctypes.Structure): _fields_ = [("p", ctypes.c_void_p)]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
        @ctypes.CFUNCTYPE(None)
        def nothing(): pass
        # on_exit(function(int, void *), arg): release takes its struct first, so go through __cxa_atexit
        libc.__cxa_atexit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        assert libc.__cxa_atexit(RELEASE, ctypes.addressof(memory), None) == 0
    """)
    assert p.returncode == 0, p.stderr
    assert p.stderr == ""


def test_after_fork_the_child_drops_its_own_owners():
    p = run("""
        import os, weakref, warnings
        from waiting import dropped
        warnings.simplefilter("ignore")
        class Owner(bytearray): pass
        def once():
            o = Owner(80)
            ref = weakref.ref(o)
            d = exported(cdevice.asarray(o)); del o
            assert lib.cdv_release_in_thread(d, 1) == 0
            return dropped(ref)
        assert once()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if once() else 3)
        assert os.waitpid(pid, 0)[1] == 0
        assert once()
    """)
    assert p.returncode == 0, p.stderr


def test_what_waited_for_python_at_a_fork_is_the_parents_to_drop():
    """It may be memory of a runtime that does not work in a child: one such release never came back."""
    release = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(
        address(ffi.addressof(lib, "cdv_release_in_thread"))
    )  # with the GIL, so that nobody drops the owner before the fork
    o, ref = owned()
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        d = exported(of(o))
        del o
        assert release(address(d), 1) == 0 and ref() is not None
        child = os.fork()
        if not child:
            cdevice.asarray([1, 2]).release()
            _native.drain()
            os._exit(0 if ref() is not None and cdevice.asarray([1, 2]).to_pylist() == [1, 2] else 1)
    finally:
        sys.setswitchinterval(before)
    assert os.waitpid(child, 0)[1] == 0
    assert dropped(ref, 30)


def test_a_fork_while_another_thread_imports_leaves_no_module_locked(tmp_path):
    (tmp_path / "slow_one.py").write_text("import threading; event = threading.Event(); event.wait(0.2); x = 5\n")
    code = """
        import os, sys, threading
        from cdevice._runtime.lazy import LazyModule, load
        sys.path.insert(0, sys.argv[1])
        slow, started = LazyModule("slow_one"), threading.Event()
        t = threading.Thread(target=lambda: (started.set(), slow.x))
        t.start()
        started.wait()
        while "slow_one" not in sys.modules: pass
        child = os.fork()
        if not child:
            os._exit(LazyModule("slow_one").x)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        t.join()
        assert load("slow_one", "x") == 5
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        timeout=60,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
