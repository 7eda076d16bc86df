"""Start, use, exit, again and again: in each state of the package, by each way to end a process, and signals in each wait.

    python cycles.py [N] [--only PATTERN] [--starts K] --build FOLDER

N cycles of each state (default 7: each way once).  Most are forks of a process that has imported everything and
used nothing; every K-th is a start of Python, half of those with slow_unlock.c before everything.  A finding is an exit
status that is not the way's, a minute without an end, and a word on stderr.
"""

import argparse
import asyncio
import faulthandler
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import numpy as np  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice import aio  # noqa: E402
from cdevice.testing.fake import FakeBackend  # noqa: E402

# Python 3.12 and later say it of each fork here.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
HANG = 60
LATE = sys.version_info[:2] != (3, 12)  # that one starts no thread any more once the main thread is through
STATES, WAITS = {}, {}
alive = []  # what is there when the process ends


def state(f):
    STATES[f.__name__.replace("_", " ")] = f
    return f


def wait(f):
    WAITS[f.__name__.replace("_", " ")] = f
    return f


def endless(n=100):
    x = cdevice.asarray(list(range(n)))
    while True:
        yield x


class Foreign:
    """A stream that is no Python iterator to whoever takes it: a thread copies it ahead."""

    def __arrow_c_stream__(self, requested_schema=None):
        return cdevice.asstream(endless()).__arrow_c_stream__()


def use(production=True):
    """The package works."""
    a = cdevice.asarray([1, None, 3])
    assert a.to("cpu", copy=True).to_pylist() == [1, None, 3]
    assert cc.sum(cc.add(a, 1)).as_py() == 6
    with cdevice.asstream(Foreign(), device="cpu", prefetch=2) as s:
        assert next(s).length == 100
    if production:
        assert [x.length for x, _ in zip(aio.iterate(endless()), range(3))] == [100] * 3


# ---- states ----
@state
def arrays(build):
    a = cdevice.asarray({"a": np.arange(1000), "s": ["x", None] * 500})
    alive.extend([a, a[3:], a.to("cpu", copy=True), cc.add(a["a"], 1), cdevice.empty("int64", 10)])


@state
def streams(build):
    s = cdevice.asstream(endless())
    t = cdevice.asstream(Foreign())
    alive.extend([s, next(s), t, next(t), cdevice.asstream(endless()).__arrow_c_stream__()])


@state
def prefetching(build):
    for source in (Foreign(), endless()):
        s = cdevice.asstream(source, device="cpu", prefetch=40)
        alive.extend([s, next(s)])


@state
def producing(build):
    c = aio.consume(queue_size=3)
    alive.extend([c, aio.produce(endless(), c), it := iter(c), next(it)])
    alive.append(aio.produce(endless(), aio.consume()).outcome)


@state
def producing_in_a_loop(build):
    async def source():
        for x in endless():
            await asyncio.sleep(0)
            yield x

    async def main():
        async for x in aio.iterate(source()):
            alive.append(x)
            break

    asyncio.run(main())


@state
def sharing(build):
    a = cdevice.asarray(np.arange(100_000))
    draft = cdevice.empty("int64", 1000, shared=True)
    shared = [a.share(), draft.freeze().share()]
    alive.extend([a, draft, *shared, *(cdevice.open_shared(s.token) for s in shared)])


@state
def sharing_a_stream(build):
    """One that is read here, one that nobody opened; the threads that write them wait for good."""
    read, unread = cdevice.asstream(endless()).share(batches=2), cdevice.asstream(endless()).share(batches=2)
    opened = cdevice.open_shared(read.token)
    alive.extend([read, unread, opened, next(opened)])


@state
def sharing_with_a_child(build):
    """A child holds what this process shares, and this one what the child shares, which is gone by now."""
    shared, (reads, writes) = cdevice.asarray([1, 2, 3]).share(), os.pipe()
    again, go_on = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(HANG)
        opened = cdevice.open_shared(shared.token)
        with opened.share() as back:
            os.write(writes, back.token)
            os.read(again, 1)
        os._exit(0 if opened.to_pylist() == [1, 2, 3] else 1)
    opened = cdevice.open_shared(os.read(reads, 1000))
    os.write(go_on, b"x")
    assert not os.waitpid(child, 0)[1] and opened.to_pylist() == [1, 2, 3]
    alive.extend([shared, opened])


@state
def computing(build):
    a = cdevice.asarray(np.arange(2_000_000))
    begun = threading.Event()

    def work():
        while True:
            cc.sum(cc.add(a, 1))
            begun.set()

    threading.Thread(target=work, daemon=True).start()
    begun.wait()


@state
def daemon_threads(build):
    begun = [threading.Event() for _ in range(3)]

    def work(i):
        while True:
            use(LATE)
            begun[i].set()

    for i in range(3):
        threading.Thread(target=work, args=(i,), daemon=True).start()
    for e in begun:
        e.wait()


@state
def fake_busy(build):
    b = FakeBackend(97, "fake")
    cdevice.register_backend(b)
    a = cdevice.asarray(list(range(1000)))
    ready = a.to("fake")
    ready.synchronize()
    gate = b.gate()
    alive.extend([gate, ready, a.to("fake"), cdevice.asstream(endless(), device="fake", prefetch=2)])
    next(alive[-1])
    gate.open()


@state
def opencl_used(build):
    if not cdevice.device("opencl").is_available:
        return
    a = cdevice.asarray(list(range(1000)))
    alive.extend([a.to("opencl"), cc.add(a.to("opencl"), 1), cdevice.asstream(Foreign(), device="opencl", prefetch=3)])
    next(alive[-1])


def held_queue():
    import pyopencl as cl

    device = next(d for p in cl.get_platforms() for d in p.get_devices())
    queue = cl.CommandQueue(cl.Context([device]))
    gate = cl.UserEvent(queue.context)
    alive.extend([queue, gate, cl.enqueue_barrier(queue, wait_for=[gate])])
    queue.flush()
    return queue, lambda: gate.set_status(cl.command_execution_status.COMPLETE)


@state
def opencl_busy(build):
    queue, _ = held_queue()
    a = cdevice.asarray(list(range(1000)))
    alive.extend([a.to("opencl", stream=queue), a.to("opencl", stream=queue)[3:]])
    a.to("opencl", stream=queue).release()


@state
def opencl_compiling(build):
    """A kernel that no run before this one has compiled."""
    if cdevice.device("opencl").is_available:
        f = cc.elementwise("fresh", "float64 a -> float64", f"a * {os.getpid()}.0 + {time.time_ns()}.0")
        alive.append(f(cdevice.asarray(np.arange(1000.0)).to("opencl")))


@state
def cuda_busy(build):
    import standin

    runtime = standin.start(build)["cuda"]
    a = cdevice.asarray(list(range(1000)))
    ready = a.to("cuda")
    ready.synchronize()
    runtime.gate()
    alive.extend([runtime, ready, a.to("cuda"), a.to("cuda")[3:]])
    a.to("cuda").release()


# ---- waits, each of which Ctrl-C ends ----
hold, waiting = threading.Event(), threading.Event()


def silent():
    yield cdevice.asarray([1])
    waiting.set()
    hold.wait(HANG)


@wait
def next_of_a_stream(build):
    s = aio.iterate(silent()).as_stream()
    next(s)
    return lambda: next(s)


@wait
def next_of_what_is_prefetched(build):
    s = aio.iterate(silent()).as_stream().to("cpu", prefetch=2)
    next(s)
    return lambda: next(s)


@wait
def consumer_loop(build):
    it = iter(aio.iterate(silent()))
    next(it)
    return lambda: next(it)


@wait
def production_join(build):
    c = aio.consume()
    alive.append(c)
    p = aio.produce(silent(), c)
    return lambda: p.join()


@wait
def consumer_schema(build):
    def nothing():
        waiting.set()
        hold.wait(HANG)
        yield cdevice.asarray([1])

    c = aio.consume()
    alive.append(aio.produce(nothing(), c))
    return lambda: c.read_schema()


@wait
def next_of_a_shared_stream(build):
    shared = aio.iterate(silent()).as_stream().share()
    s = cdevice.open_shared(shared.token)
    alive.extend([shared, next(s)])
    return lambda: next(s)


@wait
def shared_stream_join(build):
    shared = aio.iterate(silent()).as_stream().share()
    alive.append(shared)
    return lambda: shared.join()


@wait
def event_loop(build):
    async def main():
        async for x in aio.iterate(silent()):
            alive.append(x)

    return lambda: asyncio.run(main())


@wait
def held_device(build):
    """Ctrl-C comes out once the device goes on."""
    b = FakeBackend(97, "fake")
    cdevice.register_backend(b)
    gate = b.gate()
    a = cdevice.asarray([1, 2]).to("fake")
    goes_on_behind_the_signal(gate.open)
    return lambda: a.synchronize()


@wait
def held_device_with_a_limit(build):
    b = FakeBackend(97, "fake")
    cdevice.register_backend(b)
    alive.append(b.gate())
    a = cdevice.asarray([1, 2]).to("fake")
    waiting.set()
    return lambda: a.synchronize(timeout=HANG)


def goes_on_behind_the_signal(go_on):
    waiting.set()
    threading.Thread(target=lambda: (sent.wait(HANG), go_on()), daemon=True).start()


def behind_a_held_opencl_queue():
    """(an array, what lets the queue go on), or None without a runtime."""
    if not cdevice.device("opencl").is_available:
        waiting.set()
        return None
    queue, go_on = held_queue()
    return cdevice.asarray([1, 2]).to("opencl", stream=queue), go_on


@wait
def held_opencl_queue(build):
    """Ctrl-C comes out once the queue goes on."""
    if not (held := behind_a_held_opencl_queue()):
        return lambda: hold.wait(HANG)
    goes_on_behind_the_signal(held[1])
    return lambda: held[0].synchronize()


@wait
def held_opencl_queue_with_a_limit(build):
    if not (held := behind_a_held_opencl_queue()):
        return lambda: hold.wait(HANG)
    waiting.set()
    return lambda: held[0].synchronize(timeout=HANG)


@wait
def held_cuda_stream(build):
    """Ctrl-C comes out once the stream goes on."""
    import standin

    runtime = standin.start(build)["cuda"]
    runtime.gate()
    a = cdevice.asarray([1, 2]).to("cuda")
    goes_on_behind_the_signal(runtime.open)
    return lambda: a.synchronize()


@wait
def held_cuda_stream_with_a_limit(build):
    import standin

    runtime = standin.start(build)["cuda"]
    runtime.gate()
    a = cdevice.asarray([1, 2]).to("cuda")
    waiting.set()
    return lambda: a.synchronize(timeout=HANG)


sent = threading.Event()


def interrupted(name, build):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    call = WAITS[name](build)

    def interrupt():
        waiting.wait(HANG)
        begun.wait(HANG)
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()

    begun = threading.Event()
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        begun.set()
        call()
        hold.wait(5)  # the signal may be on its way yet
        return 3
    except KeyboardInterrupt:
        sent.wait(HANG)
        hold.set()
        use()
        return 7


# ---- ends ----
def by_return(build):
    return 0


def by_sys_exit(build):
    sys.exit(5)


def by_os_exit(build):
    os._exit(4)


def by_sigterm(build):
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()


def by_a_thread(build):
    """The main thread is through; another one that is no daemon still works."""
    threading.Thread(target=use, args=(LATE,)).start()
    return 0


def after_a_fork(build):
    pid = os.fork()
    if not pid:
        signal.alarm(HANG)
        use()
        return 6
    _, status = os.waitpid(pid, 0)
    use()
    return 0 if os.waitstatus_to_exitcode(status) == 6 else 9


def after_a_fork_that_os_exits(build):
    pid = os.fork()
    if not pid:
        signal.alarm(HANG)
        alive.clear()
        use()
        os._exit(6)
    _, status = os.waitpid(pid, 0)
    return 0 if os.waitstatus_to_exitcode(status) == 6 else 9


ENDS = {by_return: 0, by_sys_exit: 5, by_os_exit: 4, by_sigterm: -15, by_a_thread: 0, after_a_fork: 0}
ENDS[after_a_fork_that_os_exits] = 0


def cases():
    for name in STATES:
        for end, status in ENDS.items():
            yield name + ", " + end.__name__.replace("_", " "), name, end, status
    for name in WAITS:
        yield f"SIGINT in {name}", name, None, 7


def run(name, end, build):
    """In a process of its own: what it ends with."""
    if end is None:
        return interrupted(name, build)
    STATES[name](build)
    return end(build)


# ---- the process that starts them ----
class Cycle:
    def __init__(self, words, name, end, status, build, start, slow):
        self.words, self.status = words, status
        self.errors = tempfile.TemporaryFile()
        self.begun = time.monotonic()
        sys.stdout.flush()
        if start:
            command = [sys.executable, __file__, "--one", words, "--build", str(build)]
            slowly = {"LD_PRELOAD": str(build / "slow_unlock.so")} if slow else {}
            self.process = subprocess.Popen(
                command, stderr=self.errors, env={**os.environ, **slowly}
            )  # dropped, it is reaped
            self.pid = self.process.pid
            return
        self.pid = os.fork()
        if not self.pid:
            os.dup2(self.errors.fileno(), 2)
            raise Started(name, end)

    def over(self):
        """What is wrong with it, "" for nothing; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            if time.monotonic() - self.begun < HANG:
                return None
            os.kill(self.pid, signal.SIGABRT)
            os.waitpid(self.pid, 0)
            return f"hangs\n{self.said()}"
        got, said = os.waitstatus_to_exitcode(status), self.said()
        if got != self.status:
            return f"exit status {got}, not {self.status}\n{said}"
        return said and f"says on stderr\n{said}"

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-3000:]


class Started(BaseException):
    """In a forked child: it leaves everything of its parent's behind."""


def drive(o):
    chosen = [c for c in cases() if not o.only or re.search(o.only, c[0])]
    rounds, pause = {}, threading.Event()
    for c in chosen:
        rounds.setdefault((c[1], c[2] is None), []).append(c)
    work = [group[i % len(group)] for group in rounds.values() for i in range(max(o.n, len(group)))]
    running, count, starts, findings, counts = [], 0, 0, 0, {}
    while work or running:
        while work and len(running) < o.jobs:
            words, name, end, status = work.pop()
            count += 1
            start = count % o.starts == 0
            starts += start
            running.append(Cycle(words, name, end, status, o.build, start, starts % 2))
        for c in list(running):
            wrong = c.over()
            if wrong is None:
                continue
            running.remove(c)
            c.errors.close()
            counts[c.words] = counts.get(c.words, 0) + 1
            if wrong:
                findings += 1
                print(f"FOUND {c.words}: {wrong}", flush=True)
        pause.wait(0.002)
    print(f"cycles: {count} in all, {starts} of them starts of Python, {len(counts)} cases, {findings} findings")
    return bool(findings) or not counts


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("n", nargs="?", type=int, default=7)
    p.add_argument("--only", help="cases whose name has this pattern")
    p.add_argument("--starts", type=int, default=8)
    p.add_argument("--build", required=True, type=pathlib.Path)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--one", help="this case, in this process")
    o = p.parse_args()
    if o.one:
        name, end = next((name, end) for words, name, end, _ in cases() if words == o.one)
    else:
        try:
            return drive(o)
        except Started as e:
            name, end = e.args
    faulthandler.enable()  # SIGABRT shows where it hangs
    return run(name, end, o.build)


if __name__ == "__main__":
    sys.exit(main())
