"""Kernels of a backend in Python: what it is told, what its exceptions become, and how long modules live."""

import collections
import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest
from children import child_env
from kernelled import SCALAR, fake, nothing_is_kept_on_disk  # noqa: F401 - fixtures
from waiting import unregister, until

import cdevice
import cdevice.compute as cc
from cdevice._runtime.ext import _native, lib
from cdevice.backend import Compute, ComputeFlag, Launch, Program
from cdevice.testing.fake import FakeBackend
from cdevice.testing.fake_compute import FakeCompute


def there(values, schema=None, device="kernelled"):
    return cdevice.asarray(values, schema=schema).to(device)


def on_the_host(array):
    return array.to("cpu").to_pylist()


def in_a_process(code, **environment):
    env = {**child_env(), **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env)


# ---- what is offered ----
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], r"identity\(\), build\(\), kernel\(\), launch\(\)$"),
        (["identity", "build", "kernel"], r"has no launch\(\)$"),
        (
            ["identity", "build", "kernel", "launch", "load"],
            r"has no binary\(\) \(binary\(\) and load\(\) come together",
        ),
        (["identity", "kernel", "launch", "binary"], r"has no build\(\); load\(\) \("),
    ],
)
def test_missing_methods_are_named_together(names, said):
    backend = FakeBackend(SCALAR, "kernelled")
    backend.compute = type("Half", (Compute,), {n: getattr(FakeCompute, n) for n in names})()
    with pytest.raises(cdevice.ArgumentError, match='compute of the backend "kernelled" .Half. .*' + said):
        cdevice.register_backend(backend)
    assert SCALAR not in cdevice.list_backends()


def test_something_else_than_an_instance_is_refused():
    backend = FakeBackend(SCALAR, "kernelled")
    backend.compute = FakeCompute
    with pytest.raises(cdevice.ArgumentError, match="expected an instance of Compute"):
        cdevice.register_backend(backend)


def test_a_backend_without_kernels_says_so():
    backend = FakeBackend(SCALAR, "kernelled")
    cdevice.register_backend(backend)
    try:
        with pytest.raises(cdevice.Unsupported, match=r"does not support kernels \(extension cdevice.compute/1\)"):
            cc.add(there([1]), 1)
    finally:
        unregister(backend)


def test_what_build_and_launch_are_told(fake):
    told = {}

    class Telling(FakeCompute):
        def build(self, program, *, device_id, stream=0):
            told["build"] = program, device_id, stream
            return super().build(program, device_id=device_id, stream=stream)

        def kernel(self, module, name):
            told["kernel"] = name
            return super().kernel(module, name)

        def launch(self, kernel, launch, *, device_id, stream=0):
            told["launch"] = launch, device_id, stream
            super().launch(kernel, launch, device_id=device_id, stream=stream)

    fake(Telling)
    x, y = there([1, 2, None, 4], device="kernelled:1")[1:], there([5, 6, 7], device="kernelled:1")
    out = cc.add(x, y, stream=77)
    assert on_the_host(out) == [7, None, 11]
    program, device, stream = told["build"]
    assert isinstance(program, Program) and (device, stream) == (1, 77)
    assert program.family in ("arith", "boolean") and program.text.count("KERNEL(") > 3
    assert {"CDV_ONLY=1", "CDV_COARSE=1"} <= set(program.defines) and any(
        d.startswith("KERNEL_ENABLED_") for d in program.defines
    )
    launch, device, stream = told["launch"]
    assert isinstance(launch, Launch) and (device, stream) == (1, 77) and launch.flags == 0
    assert len(launch.buffers) == 8 and len(launch.scalars) == 5 and len(launch.arguments) == 21
    assert launch.arguments[:2] == launch.buffers[0] and launch.arguments[16:] == launch.scalars


def test_elements_and_bits_have_offsets(fake):
    launches = []

    class Telling(FakeCompute):
        def launch(self, kernel, launch, *, device_id, stream=0):
            launches.append((kernel.__name__, launch))
            super().launch(kernel, launch, device_id=device_id, stream=stream)

    fake(Telling)
    x = there([None, *range(9)])[3:]
    assert on_the_host(cc.add(x, 1)) == [3, 4, 5, 6, 7, 8, 9]
    (launch,) = [launch for name, launch in launches if name == "add_i64"]
    assert 3 in [offset for data, offset in launch.buffers] and launch.scalars[0] == launch.n_work_items == 7
    assert not any(data == 0 and offset for data, offset in launch.buffers)


@pytest.mark.parametrize("flags", [ComputeFlag.COARSE | ComputeFlag.NO_FP64, 3])
def test_its_flags_are_heeded(fake, flags):
    fake(identity=lambda self, device_id: (flags, "without float64"))
    with pytest.raises(cdevice.Unsupported, match="has no float64"):
        cc.add(there([1.5]), 1.5)
    assert on_the_host(cc.add(there([1]), 1)) == [2]


def test_modules_belong_to_scopes(fake):
    scopes = []

    def build(self, program, *, device_id, stream=0):
        scopes.append(stream)
        return FakeCompute.build(self, program, device_id=device_id, stream=stream)

    fake(context=lambda self, *, device_id, stream=0: stream & ~1, build=build)
    x = there([1])
    for stream in (4, 5, 6, 4):
        assert on_the_host(cc.negate(x, stream=stream)) == [-1]
    assert scopes == [4, 6]


def test_strings_are_built_of_own_expressions(fake):
    fake()
    hypot = cc.elementwise("hypot", "float64 a, float64 b -> float64", "sqrt(a * a + b * b)")
    assert on_the_host(hypot(there([3.0, None]), 4)) == [5.0, None]


# ---- what exceptions become ----
def raising(e):
    def method(self, *args, **kwargs):
        raise e

    return method


@pytest.mark.parametrize(
    ("method", "raised", "kind", "code", "said"),
    [
        ("identity", NotImplementedError("no kernels on this one"), cdevice.Unsupported, 95, "no kernels on this one"),
        ("build", NotImplementedError("no acmec: pip install acmec"), cdevice.Unsupported, 95, "pip install acmec"),
        ("build", ValueError("line 3: what?"), cdevice.DeviceError, 22, 'building the kernel "add" .* line 3: what'),
        ("build", SyntaxError("line 4"), cdevice.DeviceError, 22, "line 4"),
        ("build", KeyError("arith"), cdevice.DeviceError, 2, "arith"),
        ("build", MemoryError("much"), cdevice.OutOfMemory, 12, "much"),
        ("kernel", LookupError("add_i64"), cdevice.DeviceError, 2, "finding a kernel: kernel.. of .* add_i64"),
        ("launch", RuntimeError("not now"), cdevice.DeviceError, 121, "launching a kernel: launch.. of .* not now"),
        ("launch", ValueError("odd"), cdevice.DeviceError, 121, "odd"),
        ("launch", cdevice.DeviceError("it is dead"), cdevice.DeviceError, 5, "it is dead"),
        ("launch", KeyboardInterrupt(), KeyboardInterrupt, None, None),
        ("build", KeyboardInterrupt(), KeyboardInterrupt, None, None),
    ],
)
def test_an_exception_is_told_with_its_method_and_is_the_cause(fake, method, raised, kind, code, said):
    fake(**{method: raising(raised)})
    with pytest.raises(kind, match=said) as e:
        cc.add(there([1]), 1)
    if code is not None:
        assert e.value.code == code and e.value.__cause__ is raised
        assert f'{method}() of the Python backend "kernelled" raised' in str(e.value)
    raised.__traceback__ = None  # it holds what is looked for


def test_an_expression_that_does_not_compile_is_the_users_and_has_its_cause(fake):
    fake()
    # expressions are parsed before: only a text of ours can still be wrong
    assert lib.cdv_kernel_register_source(b"own_wrong", b"KERNEL(apply) { no_such_thing; }") == 0
    wrong = cc.Function("wrong", "scalar", 1)
    exec = importlib.import_module("cdevice.compute.kernels.elementwise").Map(
        "own_wrong", "i64", "apply", "l", "l", function_name="wrong"
    )
    wrong.add_kernel(["int64"], "int64", exec, library="mine")
    with pytest.raises(cdevice.ArgumentError, match="does not compile for kernelled: .*cc: ") as e:
        wrong(there([1]))
    assert isinstance(e.value.__cause__, ValueError) and "error:" in str(e.value.__cause__)


@pytest.mark.parametrize(
    ("method", "result", "said"),
    [
        ("identity", None, "TypeError"),
        ("identity", ("much", "text"), "ValueError"),
        ("kernel", None, "no kernel add_i64"),
        ("context", "here", "TypeError"),
    ],
)
def test_a_wrong_result_is_told(fake, method, result, said):
    fake(**{method: lambda self, *args, **kwargs: result})
    with pytest.raises(cdevice.DeviceError, match=rf"{method}\(\) of .*{said}"):
        cc.add(there([1]), 1)


def test_without_a_compiler_it_is_said_what_to_install(fake, monkeypatch):
    fake()
    with monkeypatch.context() as m:
        m.setenv("PATH", "/nowhere")
        with pytest.raises(cdevice.Unsupported, match="no cc, which compiles kernels: apt-get install gcc"):
            cc.add(there([1]), 1)
    assert on_the_host(cc.add(there([1]), 1)) == [2]  # a failure is not remembered


CALLS = {
    "add_checked": lambda x, mask: cc.add_checked(x, 1),
    "sum": lambda x, mask: cc.sum(x).array,
    "filter": lambda x, mask: cc.filter(x, mask),
    "take": lambda x, mask: cc.take(x, there([1, 0])),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_leaks_whichever_call_fails(fake, name):
    backend = fake()
    x, mask = there(["a", None, "b"] if name == "filter" else [1, None, 3]), there([True, False, True])
    want = on_the_host(CALLS[name](x, mask))
    until(lambda: not lib.cdv_retired_count())
    before, failures = backend.live(), 0
    for n in range(200):
        backend.fail_after = n
        try:
            out = CALLS[name](x, mask)
        except cdevice.DeviceError as e:
            assert "injected failure" in str(e)
            failures += 1
        else:
            break
        finally:
            backend.fail_after = None
        until(lambda: backend.live() <= before)
    assert failures > 4 and on_the_host(out) == want
    del out
    until(lambda: backend.live() <= before)


def test_nothing_leaks_where_building_fails(fake):
    for n in range(40):
        backend = fake()
        x = there([1, None, 3])
        before, backend.fail_after = backend.live(), n
        try:
            out = cc.add_checked(x, 1)
        except cdevice.DeviceError:
            until(lambda backend=backend, before=before: backend.live() <= before)
        else:
            break
        finally:
            backend.fail_after = None
        assert on_the_host(cc.add_checked(x, 1)) == [2, None, 4]
        del x
        unregister(backend)
    assert n > 6 and on_the_host(out) == [2, None, 4]


# ---- how long modules live ----
class Part:
    """A module whose kernels are parts of it: they do not hold it."""

    def __init__(self, module):
        self.module, self.entries, self.loaded = module, [], True


class Counting(FakeCompute):
    """Modules and kernels are objects that can be watched; unload() is remembered."""

    def __init__(self, device):
        super().__init__(device)
        self.parts, self.unloaded = [], []

    def build(self, program, *, device_id, stream=0):
        part = Part(super().build(program, device_id=device_id, stream=stream))
        self.parts.append(weakref.ref(part))
        return part

    def binary(self, module):
        return super().binary(module.module)

    def kernel(self, module, name):
        found, home = super().kernel(module.module, name), weakref.ref(module)

        def entry(items):
            assert home() is not None and home().loaded, "the module has gone"
            found(items)

        module.entries.append(weakref.ref(entry))
        return entry

    def unload(self, module):
        assert module.entries and not any(e() for e in module.entries), "its kernels are still there"
        module.loaded = False
        self.unloaded.append(threading.current_thread().name)
        super().unload(module.module)


def test_a_module_is_kept_for_its_kernels_and_unloaded_when_its_backend_is_taken_out(fake):
    backend = fake(Counting)
    compute = backend.compute
    x = there([1, None])
    for _ in range(3):
        assert on_the_host(cc.add(x, 1)) == [2, None]
        gc.collect()
        assert compute.parts and all(p() and all(e() for e in p().entries) for p in compute.parts)
    built = len(compute.parts)
    with pytest.raises(cdevice.BackendConflict):
        cdevice.unregister_backend(SCALAR)  # in use
    _native.drain()
    assert not compute.unloaded
    del x
    unregister(backend)
    until(lambda: len(compute.unloaded) == built and not any(p() for p in compute.parts))
    assert compute.modules == 0


def test_a_call_builds_its_kernels_as_one_program(fake):
    """A compiler takes as long for two small kernels as for one."""
    built = []

    class Counted(Counting):
        def build(self, program, *, device_id, stream=0):
            built.append(sorted(d[15:-2] for d in program.defines if d.startswith("KERNEL_ENABLED_")))
            return super().build(program, device_id=device_id, stream=stream)

    backend = fake(Counted)
    x, y = there([1, None, 3]), there([1, 2])
    for call, result, kernels in (
        (lambda: cc.sum(x), 4, [["finish", "sum"]]),
        (lambda: cc.min_max(x), {"min": 1, "max": 3}, [["finish", "min_max"]]),
        (lambda: cc.max(x), 3, []),
        (lambda: cc.count(x), 2, [["finish_count", "sum"]]),
        (lambda: cc.count(y), 2, [["count_rows", "finish_count"]]),
        (lambda: cc.mean(there([1.5, 2.5])), 2.0, [["finish_mean", "sum"]]),
        (lambda: cc.mean(there([1, 2], "i")), 1.5, [["sum"], ["finish_mean"]]),  # of two types
    ):
        built.clear()
        assert call().as_py() == result
        assert built == kernels
    programs = len(backend.compute.parts)
    assert not backend.compute.unloaded
    del x, y
    unregister(backend)
    until(lambda: len(backend.compute.unloaded) == programs and not any(p() for p in backend.compute.parts))


def test_kernels_of_one_program_come_from_the_disk_together(fake, monkeypatch, tmp_path):
    monkeypatch.setenv("CDEVICE_CACHE_DIR", str(tmp_path))
    built, kernels = [], []

    class Counted(FakeCompute):
        def build(self, program, *, device_id, stream=0):
            built.append(program.family)
            return super().build(program, device_id=device_id, stream=stream)

        def kernel(self, module, name):
            kernels.append(name)
            return super().kernel(module, name)

    for _ in range(2):
        backend = fake(Counted)
        kernels.clear()
        assert cc.sum(there([1, None, 3])).as_py() == 4
        assert kernels == ["sum_i64", "finish_i64"]
        unregister(backend)
    assert built == ["reduce"] and len(list(tmp_path.iterdir())) == 1


def test_a_program_whose_second_kernel_is_not_found_is_unloaded(fake):
    class Without(FakeCompute):
        def kernel(self, module, name):
            if name.startswith("finish"):
                raise LookupError(name)
            return super().kernel(module, name)

    backend = fake(Without)
    x = there([1])
    for _ in range(2):
        with pytest.raises(cdevice.DeviceError, match="finding a kernel: .* finish_i64"):
            cc.sum(x)
        assert backend.compute.modules == 0


def test_modules_of_a_table_that_was_replaced_wait_for_its_arrays(fake):
    one = fake(Counting)
    x = there([1])
    y = cc.add(x, 1)
    two = FakeBackend(SCALAR, "kernelled")
    two.compute = Counting(two)
    cdevice.register_backend(two, replace=True)
    _native.drain()
    assert not one.compute.unloaded
    new = x.to("kernelled", copy=True)
    for name, args in (("add", (y, 1)), ("add", (y, new)), ("add", (new, y)), ("sum", ([new, y],))):
        with pytest.raises(cdevice.ArgumentError, match=r'was replaced since .*\.to\("kernelled", copy=True\)'):
            cc.call_function(name, args)
    assert on_the_host(cc.add(new, y.to("kernelled", copy=True))) == [3]
    assert not one.compute.unloaded and two.compute.parts
    del x, y, new, args
    until(lambda: not one.live())
    unregister(two)
    until(lambda: one.compute.unloaded and not one.compute.modules)
    two.close()


def test_unload_that_raises_is_told_and_harms_nobody(fake, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: told.append(str(u.exc_value)))

    def unload(self, module):
        FakeCompute.unload(self, module)
        raise RuntimeError("never mind")

    backend = fake(unload=unload)
    assert on_the_host(cc.add(there([1]), 1)) == [2]
    unregister(backend)
    until(lambda: not backend.compute.modules and told)
    assert set(told) == {"never mind"}


def test_a_module_or_a_block_may_be_a_tuple(fake):
    class Tuples(FakeCompute):
        def build(self, program, *, device_id, stream=0):
            return (super().build(program, device_id=device_id, stream=stream),)

        def binary(self, module):
            (inner,) = module
            return super().binary(inner)

        def kernel(self, module, name):
            (inner,) = module
            return super().kernel(inner, name)

        def unload(self, module):
            (inner,) = module
            super().unload(inner)

    Block = collections.namedtuple("Block", "data")

    class Device(FakeBackend):
        def alloc(self, nbytes, *, device_id, stream=0):
            return Block(super().alloc(nbytes, device_id=device_id, stream=stream))

        def view(self, block, offset, nbytes):
            return Block(super().view(getattr(block, "data", block), offset, nbytes))

        def free(self, block):
            super().free(block.data)

    fake(Tuples, Device)
    assert on_the_host(cc.add(there([1, None]), 1)) == [2, None]


def test_memory_of_a_call_is_given_back_before_the_stream_it_was_allocated_for(fake):
    class Queue:
        pass

    class Device(FakeBackend):
        """free() asks the stream, which must be there."""

        queues, made, late = {}, {}, 0

        def as_stream(self, obj):
            self.queues.setdefault(id(obj), weakref.ref(obj))
            return id(obj)

        def alloc(self, nbytes, *, device_id, stream=0):
            block = super().alloc(nbytes, device_id=device_id, stream=stream)
            self.made[block] = self.queues.get(stream)
            return block

        def free(self, block):
            queue = self.made.pop(block, None)
            Device.late += queue is not None and queue() is None
            super().free(block)

    backend = fake(device=Device)
    x, mask = there(list(range(100))), there([True, False] * 50)
    for _ in range(300):
        queue = Queue()
        chosen = cc.filter(x, mask, stream=queue)
        assert cc.sum(chosen, stream=queue).as_py() == 2450
        del queue, chosen
        backend.queues.clear()
    until(lambda: all(q is None for q in backend.made.values()))
    assert Device.late == 0


# ---- on disk ----
def test_programs_are_kept_on_disk_and_built_again_where_they_cannot_be_loaded(fake, monkeypatch, tmp_path):
    folder = tmp_path / "kept"
    monkeypatch.setenv("CDEVICE_CACHE_DIR", str(folder))
    counts = collections.Counter()

    class Counted(FakeCompute):
        def build(self, program, *, device_id, stream=0):
            counts["build"] += 1
            return super().build(program, device_id=device_id, stream=stream)

        def binary(self, module):
            counts["binary"] += 1
            return super().binary(module)

        def load(self, data, *, device_id, stream=0):
            counts["load"] += 1
            return super().load(data, device_id=device_id, stream=stream)

    def failing(self, *args, **kwargs):
        raise RuntimeError("of another time")

    def call(base, **members):
        counts.clear()
        backend = fake(base, **members)
        assert on_the_host(cc.negate(there([1]))) == [-1]
        unregister(backend)
        return dict(counts)

    assert call(Counted) == {"build": 1, "binary": 1}  # asked how much, then for it: one call
    assert call(Counted) == {"load": 1}
    assert call(Counted, load=failing) == {"build": 1, "binary": 1}
    for path in folder.iterdir():
        path.unlink()
    assert call(Counted, binary=lambda self, module: None) == {"build": 1}
    assert call(Counted, binary=failing) == {"build": 1}
    assert not list(folder.iterdir())
    assert call(Counted, binary=Compute.binary, load=Compute.load) == {"build": 1}


CTRL_C = """
import signal
import source_tree
import cdevice, cdevice.compute as cc
from cdevice.testing.fake import FakeBackend
from cdevice.testing.fake_compute import FakeCompute

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupted(FakeCompute):
    def load(self, data, *, device_id, stream=0):
        raise KeyboardInterrupt

for kind in (FakeCompute, Interrupted):
    fake = FakeBackend(5651, "interrupted")
    fake.compute = kind(fake)
    cdevice.register_backend(fake, replace=True)
    try:
        cc.negate(cdevice.asarray([1]).to("interrupted"))
        for _ in range(1000):
            pass
        print("done")
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_while_a_program_is_loaded_is_the_programs(tmp_path):
    done = in_a_process(CTRL_C, CDEVICE_CACHE_DIR=str(tmp_path / "kept"))
    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", ["done", "interrupted"])


# ---- threads, forks, ends ----
def test_many_threads_build_each_program_once(fake):
    class Counted(FakeCompute):
        built = collections.Counter()

        def build(self, program, *, device_id, stream=0):
            self.built[program.family, program.type, program.defines] += 1
            return super().build(program, device_id=device_id, stream=stream)

    fake(Counted)
    x = there([1, None, 3])
    start, results = threading.Barrier(8), []

    def run():
        start.wait()
        for name in ("add", "multiply", "subtract"):
            results.append(on_the_host(cc.call_function(name, [x, x])))
        results.append([cc.sum(x).as_py()])

    threads = [threading.Thread(target=run) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(results) == 32 and {tuple(r) for r in results} == {(2, None, 6), (1, None, 9), (0, None, 0), (4,)}
    assert set(Counted.built.values()) == {1}


def test_a_build_may_compute_collect_garbage_and_fork(fake):
    """It holds no lock that those need."""

    class Busy(FakeCompute):
        inside = False

        def build(self, program, *, device_id, stream=0):
            if not self.inside:
                Busy.inside = True
                assert on_the_host(cc.multiply(there([2]), 3)) == [6]
                assert cc.sum([1, 2]).as_py() == 3
                old = FakeBackend(SCALAR + 1, "old", kernels=True)
                cdevice.register_backend(old)
                cc.add(cdevice.asarray([1]).to("old"), 1)
                unregister(old)  # its programs are unloaded
                old.close()
                assert subprocess.run(["true"], preexec_fn=os.getpid).returncode == 0  # a fork, not a vfork
            return super().build(program, device_id=device_id, stream=stream)

    fake(Busy)
    done = []
    t = threading.Thread(target=lambda: done.append(on_the_host(cc.add(there([1]), 1))), daemon=True)
    t.start()
    t.join(60)
    assert done == [[2]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.nosan
def test_a_fork_while_another_thread_builds_waits_for_nobody(fake):
    building, go = threading.Event(), threading.Event()

    class Slow(FakeCompute):
        def build(self, program, *, device_id, stream=0):
            building.set()
            assert go.wait(60)
            return super().build(program, device_id=device_id, stream=stream)

    fake(Slow)
    done = []
    t = threading.Thread(target=lambda: done.append(on_the_host(cc.add(there([1]), 1))), daemon=True)
    t.start()
    assert building.wait(60)
    pid = os.fork()
    if not pid:  # the child computes on the CPU, whose kernels are found there for the first time
        code = 1
        signal.alarm(60)
        try:
            code = 0 if cc.xor([True], [False]).to_pylist() == [True] else 2
        finally:
            os._exit(code)
    go.set()
    t.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and done == [[2]]


AT_EXIT = """
import threading
import source_tree
import cdevice, cdevice.compute as cc
from cdevice.testing.fake import FakeBackend
from cdevice.testing.fake_compute import FakeCompute

class Loud(FakeCompute):
    def unload(self, module):
        print("unloaded")

fake = FakeBackend(5650, "exiting")
fake.compute = Loud(fake)
cdevice.register_backend(fake)
x = cdevice.asarray([1, None]).to("exiting")
y = cc.add(x, 1)
f = cc.get_function("add")
print(y.to("cpu").to_pylist(), flush=True)
class AtEnd:
    def __del__(self, call=cc.add, x=x):
        try:
            call(x, x)
        except BaseException as e:
            print(type(e).__name__)
kept = AtEnd()
{end}
"""


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(3)", "del fake, x, y", "cdevice.unregister_backend"])
def test_a_process_ends_with_kernels_alive(end):
    done = in_a_process(AT_EXIT.replace("{end}", end))
    assert (done.returncode, done.stderr) == (3 if "exit" in end else 0, "")
    assert done.stdout.splitlines()[0] == "[2, None]" and "unloaded" not in done.stdout
