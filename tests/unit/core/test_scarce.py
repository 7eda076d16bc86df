"""A process that the system refuses something says so in a sentence, and signals end no wait but where they shall."""

import subprocess
import sys

import pytest
from children import child_env

import cdevice

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp, memfd and eventfd of Linux")
BEGIN = """
import contextlib, errno, os, resource, sandbox, signal, sys, threading, time
import cdevice
import cdevice.compute as cc

def refused(call, kind, words):
    try:
        call()
    except kind as e:
        assert words in str(e), e
    else:
        raise AssertionError("nothing was raised")

def need(done):
    if not done:
        print("none")
        sys.exit(0)
"""


def run(code, timeout=60, **environment):
    env = {**child_env(), "OPENBLAS_NUM_THREADS": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, env=env, timeout=timeout
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    if done.stdout == "none\n":
        pytest.skip("no seccomp filters on this system or processor")
    return done.stdout


@pytest.mark.parametrize("code", ["EPERM", "ENOSYS"])
def test_where_no_memory_can_be_shared_sharing_says_so(code):
    run(
        f"""
need(sandbox.forbid("memfd_create", code=errno.{code}))
words = "memfd_create: " + os.strerror(errno.{code}) + "; where a sandbox refuses this call, nothing can be shared"
refused(lambda: cdevice.asarray([1, 2]).share(), cdevice.DeviceError, words)
refused(lambda: cdevice.empty("int64", 10, shared=True), cdevice.DeviceError, words)
refused(lambda: cdevice.asstream([cdevice.asarray([1])]).share(), cdevice.DeviceError, words)
"""
    )


def test_an_event_loop_that_gets_no_descriptor_says_why():
    run(
        """
import asyncio
from cdevice import aio
need(sandbox.forbid("eventfd", "eventfd2", code=errno.ENOSYS))

async def main():
    consumer = aio.consume()
    async for _ in consumer:
        pass

refused(lambda: asyncio.run(main()), OSError, "Function not implemented: no eventfd is there to wait on")
"""
    )


def test_without_threads_what_needs_none_works_and_the_rest_says_so():
    run(
        """
from cdevice import aio
need(sandbox.forbid_threads())
a = cdevice.asarray(list(range(300_000)))
assert cc.sum(cc.add(a, 1)).as_py() == 300_000 * 300_001 // 2
assert [b.length for b in cdevice.asstream(cdevice.asstream([a, a]), device="cpu", prefetch=2)] == [300_000] * 2
limit = ": the limit of threads (ulimit -u) or of memory (ulimit -v) is reached"
refused(lambda: list(aio.iterate([a])), MemoryError, limit)
refused(lambda: a.share(), MemoryError, limit)
assert cdevice.asarray(memoryview(bytearray(8)).cast("q")).to_pylist() == [0]
"""
    )


def test_without_threads_no_opencl_runtime_is_started():
    """PoCL ends the process."""
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    run(
        """
need(sandbox.forbid_threads())
refused(lambda: cdevice.asarray([1]).to("opencl"), cdevice.BackendUnavailable, "this process may start none")
"""
    )


def test_an_owner_without_descriptors_says_so_to_its_readers():
    """It cannot accept the reader's call by any other than the one that it keeps for that."""
    run(
        """
import subprocess
read = "import sys, cdevice; print(cdevice.open_shared(bytes.fromhex(sys.argv[1])).to_pylist())"
shared = cdevice.asarray([1, 2]).share()
reader = [sys.executable, "-c", read, bytes(shared.token).hex()]
children = [subprocess.Popen(["sh", "-c", 'read line; exec "$@"', "x", *reader], text=True,
                             **dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)) for _ in range(2)]
fillers = []
with contextlib.suppress(OSError):
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    while True:
        fillers.append(os.open(os.devnull, os.O_RDONLY))
children[0].stdin.write("go\\n")  # closing it would leave one free
children[0].stdin.flush()
said = children[0].stderr.read()
assert f"process {os.getpid()}, which shares the array, has no free file descriptor; raise its limit, ulimit -n" in said, said
for number in fillers:
    os.close(number)
children[0].communicate()
out = children[1].communicate("go\\n")
assert out == ("[1, 2]\\n", ""), out
"""
    )


STORM = """
hits = []
def handler(*_):
    hits.append(1)
    if len(hits) == last:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
def storm(until):
    global last
    last = until
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
"""


def test_signals_do_not_keep_an_owner_that_is_stopped_waited_for():
    """A signal ended the call that waits for its answer, which began anew with all its patience, and asked nobody."""
    run(
        STORM
        + """
import subprocess
own = "import sys, cdevice; a = cdevice.asarray([1, 2]).share(); print(bytes(a.token).hex(), flush=True); sys.stdin.read()"
owner = subprocess.Popen([sys.executable, "-c", own], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
token = bytes.fromhex(owner.stdout.readline())
assert cdevice.open_shared(token).to_pylist() == [1, 2]
owner.send_signal(signal.SIGSTOP)
os.waitid(os.P_PID, owner.pid, os.WSTOPPED)  # until then it may answer
storm(30)
try:
    cdevice.open_shared(token)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("it was opened")
owner.send_signal(signal.SIGCONT)
storm(10**9)
assert all(cdevice.open_shared(token).to_pylist() == [1, 2] for _ in range(200))
signal.setitimer(signal.ITIMER_REAL, 0)
owner.stdin.close()
owner.wait()
"""
    )


def test_shared_memory_is_reserved_while_signals_come():
    """One signal undoes what a call has reserved."""
    run(
        STORM
        + """
storm(10**9)
for _ in range(3):
    cdevice.empty("int64", 12_000_000, shared=True)
assert hits
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    )


def test_a_signal_that_a_program_waits_for_comes_to_no_thread_of_ours():
    """It would end the process: only the program's threads block it."""
    run(
        """
import numpy as np
a = cdevice.asarray(np.arange(400_000))
shared = a.share()  # a thread
assert cc.sum(cc.add(a, 1)).as_py() == 400_000 * 400_001 // 2  # threads
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
for _ in range(20):
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.sigwait({signal.SIGUSR1}) == signal.SIGUSR1
""",
        CDEVICE_COMPUTE_THREADS="4",
    )
