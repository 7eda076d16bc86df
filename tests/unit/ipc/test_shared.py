"""Arrays that other processes open: the same rows, no copy, nothing left behind."""

import contextlib
import gc
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest
from children import child_env
from readers import Reader
from waiting import until
from wrong_broker import OK, connected, with_checksum

import cdevice
from cdevice._runtime.ext import _native, ffi, lib

np = pytest.importorskip("numpy", reason="pip install numpy")
pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
cases = pytest.importorskip("cases", reason="pip install pyarrow")


def numbers(n=1000):
    draft = cdevice.empty("int64", n, shared=True)
    np.asarray(draft.buffers[1])[:] = np.arange(n)
    return draft.freeze()


@pytest.fixture
def reader():
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture(autouse=True)
def nothing_is_left():
    def state():
        gc.collect()
        _native.drain()
        counts = [lib.cdv_live_segments(), lib.cdv_live_tickets(), lib.cdv_live_arrays(), lib.cdv_live_schemas()]
        return (
            counts,
            len(os.listdir("/proc/self/fd")),
            sorted(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else [],
        )

    numbers(1).share()  # the thread and its socket
    before = state()
    yield
    until(lambda: state() == before)  # the thread drops what it handed out after its answer


# ---- the same rows ----
@pytest.mark.parametrize("array", cases.VALUES, ids=cases.IDS)
def test_an_array_of_every_type_is_the_same_where_it_is_opened(array):
    given = cdevice.asarray(array)
    with given.share() as shared:
        opened = cdevice.open_shared(shared.token)
    assert opened.schema.equals(given.schema)
    assert opened.equals(given)


def test_another_process_reads_every_type(reader):
    batch = {f"c{i}": a for i, a in enumerate(cases.ARRAYS.values()) if len(a) == 8}
    batch = cdevice.asarray(pa.record_batch(batch))
    assert batch.schema.children
    with batch.share() as shared:
        assert repr(reader.values(shared.token)) == repr(batch.to_pylist())


def test_names_metadata_and_nullability_travel_along():
    schema = pa.schema([pa.field("é", pa.int32(), nullable=False, metadata={"k": "v"})], metadata={b"\x00a": b"\xff"})
    batch = cdevice.asarray(pa.record_batch([pa.array([1], pa.int32())], schema=schema))
    opened = batch.share().open()
    assert pa.schema(opened.schema).equals(schema, check_metadata=True)


def test_levels_of_nesting_up_to_the_limit_are_shared():
    array = pa.array([1])
    for _ in range(60):
        array = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), array)
    assert cdevice.asarray(array).share().open().equals(cdevice.asarray(array))


def test_a_thousand_columns_are_shared():
    batch = cdevice.empty(pa.schema([(f"c{i}", pa.int32()) for i in range(1000)]), 7, shared=True).freeze()
    assert batch.share().open().schema.equals(batch.schema)


@pytest.mark.parametrize("device", ["opencl"])
def test_an_array_of_a_device_is_copied_to_shared_memory(device):
    if not cdevice.device(device).is_available:
        pytest.skip("no OpenCL device here: apt-get install pocl-opencl-icd")
    there = cdevice.asarray([1, 2, 3]).to(device)
    with pytest.warns(cdevice.DeviceWarning, match="this memory of opencl:0: they get a copy on the CPU"):
        opened = there.share().open()
    assert str(opened.device) == "cpu"
    assert opened.to_pylist() == [1, 2, 3]


# ---- without a copy ----
def test_an_array_in_shared_memory_is_shared_as_it_lies():
    array = numbers()
    before = lib.cdv_live_segments()
    with array.share() as shared:
        assert lib.cdv_live_segments() == before + 1  # its description
        assert shared.open().buffers[1].address == array.buffers[1].address  # this process has it mapped


def test_a_part_of_an_array_in_shared_memory_is_shared_as_it_lies(reader):
    array = numbers()[100:110]
    before = lib.cdv_live_segments()
    with array.share() as shared:
        assert lib.cdv_live_segments() == before + 1
        assert reader.values(shared.token) == list(range(100, 110))


def test_an_array_of_a_mapped_file_shares_the_file(tmp_path, reader):
    path = str(tmp_path / "table.arrow")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, pa.schema({"x": pa.int64(), "s": pa.string()})) as out:
        out.write(pa.record_batch({"x": range(5000), "s": [str(i) for i in range(5000)]}))
    mapped = pa.memory_map(path)
    batch = cdevice.asarray(pa.ipc.open_file(mapped).get_batch(0))
    with batch.share() as shared:
        assert reader("lambda t: 'table.arrow' in (kept.append(cdevice.open_shared(t)), open('/proc/self/maps').read())[1]",
                      shared.token)  # fmt: skip
        assert reader.kept() == batch.to_pylist()


def test_what_was_opened_is_shared_on_as_it_lies(reader):
    with numbers().share() as shared:
        segments = "lambda t: (kept.append(cdevice.open_shared(t)), kept.append(kept[-1].share()), kept[-1].token)[2]"
        token = reader(segments, shared.token)
        assert cdevice.open_shared(token)[:3].to_pylist() == [0, 1, 2]


def test_readers_cannot_write(reader):
    with numbers().share() as shared:
        reader.keep(shared.token)
        assert reader("lambda _: writable(kept[-1])", None) is False


def mappings_of_shared_memory():
    """(bytes mapped, bytes of them that are in this process's page tables)"""
    found = []
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if "-" in (words := line.split())[0]:
                counted = "/memfd:cdevice" in line
            elif counted and words[0] in ("Size:", "Rss:"):
                found.append(int(words[1]) << 10)
    return [(found[i], found[i + 1]) for i in range(0, len(found), 2)]


def descriptors_of_shared_memory():
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:cdevice"):
                yield int(name)


@pytest.mark.parametrize("made", [numbers, lambda: cdevice.asarray(np.arange(1 << 20))], ids=["in place", "by copy"])
def test_what_is_shared_takes_no_write_by_its_descriptor(made):
    with made().share() as shared:
        opened = cdevice.open_shared(shared.token)
        descriptors = list(descriptors_of_shared_memory())
        assert descriptors
        for fd in descriptors:
            with pytest.raises(PermissionError):
                os.pwrite(fd, b"x", 0)
            with pytest.raises(PermissionError):
                mmap.mmap(fd, 1, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    del opened


def test_a_copy_into_shared_memory_maps_none_of_its_pages():
    values = np.arange(4 << 20)  # 32 MiB
    table = pa.table({"a": values, "b": pa.array(values, mask=values % 3 == 0), "c": pa.array(values % 5 == 0)})
    batch = cdevice.asarray(table.slice(5).combine_chunks().to_batches()[0])
    with batch.share() as shared:
        large = [(size, here) for size, here in mappings_of_shared_memory() if size > 64 << 20]
        assert len(large) == 1 and large[0][1] < 8 << 20
        assert cdevice.open_shared(shared.token).equals(batch)


def test_memory_goes_when_the_last_process_drops_it():
    n = 16 << 20  # 128 MiB

    def in_use():
        with open("/proc/meminfo") as f:
            return next(int(line.split()[1]) << 10 for line in f if line.startswith("Shmem:"))

    def held_and_gone():
        """(bytes that the machine's shared memory has more while only the reader holds the array, and after its end)"""
        before, reader, array = in_use(), Reader(), numbers(n)
        shared = array.share()
        reader.keep(shared.token)
        del array
        shared.close()
        held = in_use() - before
        assert reader("lambda _: kept[-1][-1:].to_pylist()", None) == [n - 1]
        reader.kill()
        return held, in_use() - before

    # other programs of the machine take and give shared memory meanwhile, but not each time
    seen = []
    while not seen or not (seen[-1][0] > 5 * n and seen[-1][1] < 3 * n):
        assert len(seen) < 8, seen
        seen.append(held_and_gone())


# ---- the end of sharing ----
def test_a_closed_share_is_opened_by_nobody(reader):
    shared = numbers().share()
    reader.keep(shared.token)
    shared.close()
    shared.close()
    with pytest.raises(cdevice.Released, match="does not share this array any more"):
        cdevice.open_shared(shared.token)
    with pytest.raises(cdevice.Released, match="does not share this array any more"):
        reader.values(shared.token)
    assert reader("lambda _: len(kept[-1])", None) == 1000  # what was opened stays


def test_a_share_that_is_dropped_is_closed():
    token = numbers().share().token
    gc.collect()
    with pytest.raises(cdevice.Released):
        cdevice.open_shared(token)


def test_a_share_keeps_the_memory_of_an_array_that_was_dropped(reader):
    with numbers(5).share() as shared:
        gc.collect()
        assert reader.values(shared.token) == [0, 1, 2, 3, 4]


def test_an_owner_that_is_killed_leaves_its_readers_their_arrays(reader):
    token = reader("lambda n: (kept.append(cdevice.asarray(list(range(n))).share()), kept[-1].token)[1]", 7)
    opened = cdevice.open_shared(token)
    os.kill(reader.pid, signal.SIGKILL)
    reader.child.wait()
    assert opened.to_pylist() == [0, 1, 2, 3, 4, 5, 6]
    with pytest.raises(cdevice.Released, match=f"process {reader.pid} shares nothing here: it has ended"):
        cdevice.open_shared(token)
    reader.close()


def test_an_array_is_opened_no_more_often_than_it_may_be():
    shared, opened, refused = numbers(3).share(opens=3), [], []

    def take():
        try:
            opened.append(cdevice.open_shared(shared.token))
        except cdevice.Released:
            refused.append(1)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (len(opened), len(refused)) == (3, 5)
    assert shared.times_opened == -1


@pytest.mark.nosan  # gcc 12's allocator under the sanitizer is locked in a child whose parent had threads
def test_a_child_of_a_fork_opens_and_shares_by_itself():
    code = """
import os, cdevice
array = cdevice.asarray([1, 2, 3])
shared = array.share()
read, write = os.pipe()
child = os.fork()
if not child:
    try:
        assert cdevice.open_shared(shared.token).to_pylist() == [1, 2, 3]
        shared.close()  # the parent's: stays
        mine = array.share()
        assert cdevice.open_shared(mine.token).to_pylist() == [1, 2, 3]
        os.write(write, mine.token)
        os._exit(0)
    except BaseException as e:
        print(repr(e), flush=True)
        os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert cdevice.open_shared(shared.token).to_pylist() == [1, 2, 3]
try:
    cdevice.open_shared(os.read(read, 1000))
except cdevice.Released as e:
    assert "has ended" in str(e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_shared_travels_as_its_token(reader):
    with numbers(4).share() as shared:
        assert reader("lambda s: s.open().to_pylist()", shared) == [0, 1, 2, 3]
        assert reader("lambda s: repr(s)", shared) == "<cdevice.Shared 32 bytes, elsewhere>"
        assert shared.times_opened == 1


def receive_timeouts(address):
    """Seconds for each connection to the socket with that address whose end is in this process."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as s:
                if s.getsockname() == address and not s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    seconds, microseconds = struct.unpack("ll", s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))
                    yield seconds + microseconds / 1e6


def test_a_reader_that_asks_some_seconds_after_it_has_connected_is_waited_for():
    with numbers().share() as shared, connected(shared.token) as (reader, request):
        until(lambda: any(receive_timeouts(reader.getpeername())))
        assert [*receive_timeouts(reader.getpeername())] == [5]
        reader.send(request)
        answer, fds, _, _ = socket.recv_fds(reader, 1000, 250)
        for fd in fds:
            os.close(fd)
        assert answer.startswith(OK) and fds


def test_many_threads_share_and_open():
    array, wrong = numbers(100), []

    def work():
        for _ in range(50):
            with array.share() as shared:
                if cdevice.open_shared(shared.token)[-1:].to_pylist() != [99]:
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- what bad input gets ----
def changed(token, **fields):
    """The token with other fields, and a checksum that fits."""
    ticket = ffi.new("struct cdv_ticket *")
    ffi.buffer(ticket)[:] = token[7:-4]
    for name, value in fields.items():
        setattr(ticket, name, value)
    return with_checksum(token[:7] + ffi.buffer(ticket)[:])


def test_a_token_that_was_changed_or_cut_is_refused():
    with numbers().share() as shared:
        for i in range(len(shared.token)):
            other = bytearray(shared.token)
            other[i] ^= 1 + i % 255
            with pytest.raises(cdevice.ArgumentError, match="token"):
                cdevice.open_shared(other)
            with pytest.raises(cdevice.ArgumentError, match="token"):
                cdevice.open_shared(shared.token[:i])
        with pytest.raises(cdevice.ArgumentError, match="token"):
            cdevice.open_shared(shared.token + b"x")
        with pytest.raises(TypeError, match="expected the token of a Shared, bytes, not str"):
            cdevice.open_shared("x")
        assert shared.times_opened == 0


def test_a_token_of_another_machine_user_or_process_is_refused():
    with numbers().share() as shared:
        refusals = {
            "another machine": {"boot": bytes(16)},
            f"shared by user {os.geteuid() + 1}": {"user": os.geteuid() + 1},
            "has ended, or has another network namespace": {"socket": bytes(range(16, 32))},
            "any more, or never did": {"secret": bytes(16)},
            "or never did": {"number": 7},
        }
        for words, fields in refusals.items():
            with pytest.raises((cdevice.ArgumentError, cdevice.Released), match=words):
                cdevice.open_shared(changed(shared.token, **fields))
        assert shared.times_opened == 0


@pytest.mark.parametrize("arguments", [{"opens": -1}, {"opens": "x"}, {"opens": True}])
def test_bad_numbers_of_opens_are_refused(arguments):
    with pytest.raises(cdevice.ArgumentError, match="opens="):
        numbers().share(**arguments)


@pytest.mark.parametrize("device", ["opencl"])
def test_a_device_has_no_shared_memory(device):
    if not cdevice.device(device).is_available:
        pytest.skip("no OpenCL device here: apt-get install pocl-opencl-icd")
    with pytest.raises(cdevice.ArgumentError, match="shared memory is memory of the CPU"):
        cdevice.empty("int64", 3, device=device, shared=True)


def test_a_process_without_descriptors_left_says_so():
    array, fillers = numbers(), []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, hard))
    try:
        with contextlib.suppress(OSError):  # the numbers between those in use
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(cdevice.DeviceError, match="open files"):
            array.share()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for number in fillers:
            os.close(number)
    assert array.share().open().equals(array)


def test_memory_that_there_is_not_is_an_error():
    with pytest.raises(cdevice.OutOfMemory):
        cdevice.empty("int64", 1 << 50, shared=True)
