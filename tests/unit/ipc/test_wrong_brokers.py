"""What a process says that shares arrays is checked before anything is read: its answers, its descriptors, its descriptions."""

import itertools
import os
import random
import socket
import struct

import pytest
from sample import sample
from waiting import until
from wrong_broker import ANSWER, OK, SEAL_ALL, SEAL_WRITE, broker, captured, segment

import cdevice
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

# More than the descriptors that the process's own thread may still close of what an earlier test shared.
OPENS = 12


def handed_out(parts, fds):
    def answer(connection, _):
        made = [segment(p) for p in parts]
        socket.send_fds(connection, [ANSWER.pack(OK, 0, len(made))], made[: len(made) + fds])
        for fd in made:
            os.close(fd)

    return answer


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(
    ("answer", "words"),
    {
        "silence": (lambda c, q: None, "ended while it was asked"),
        "few bytes": (lambda c, q: c.send(b"cdv"), "ended while it was asked"),
        "other words": (lambda c, q: c.send(ANSWER.pack(b"HTTP/1.1", 0, 0)), "ended while it was asked"),
        "no array": (lambda c, q: c.send(ANSWER.pack(OK, 2, 0)), "does not share this array any more"),
        "no descriptors": (lambda c, q: c.send(ANSWER.pack(OK, 0, 3)), "does not share this array any more"),
        "negative": (lambda c, q: c.send(ANSWER.pack(OK, 0, -1)), "does not share this array any more"),
    }.values(),
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_broken_answer_is_an_error(answer, words):
    captured(cdevice.asarray([1]))  # this process's own thread and socket
    before = descriptors(), lib.cdv_live_segments()
    with broker(answer) as token:
        for _ in range(OPENS):
            with pytest.raises(cdevice.Error, match=words):
                cdevice.open_shared(token)
    until(lambda: descriptors() <= before[0] and lib.cdv_live_segments() <= before[1])


def test_a_right_answer_gives_the_array():
    array = cdevice.asarray(pa.array(["a", None, "bc"]))
    with broker(handed_out(captured(array), 0)) as token:
        assert cdevice.open_shared(token).equals(array)


def test_a_segment_that_is_missing_or_cut_is_an_error():
    parts = captured(cdevice.asarray(pa.array(["a", None, "bc"])))
    cuts = {
        "segments came": [*parts, b"x"],
        "were announced": [parts[0], parts[1][:-1]],
        "broken": [parts[0][:-1], *parts[1:]],
        "too short": [parts[0][:7], *parts[1:]],
        "another version": [b"cdvimg9" + parts[0][7:], *parts[1:]],
    }
    for words, wrong in cuts.items():
        with broker(handed_out(wrong, 0)) as token, pytest.raises(cdevice.Error, match=words):
            cdevice.open_shared(token)
    with broker(handed_out(parts, -1)) as token, pytest.raises(cdevice.Released):
        cdevice.open_shared(token)


def test_memory_that_its_owner_may_still_change_or_cut_is_refused():
    parts = captured(cdevice.asarray(pa.array([1, 2, 3])))

    def answer(seals):
        def give(connection, _):
            made = [segment(p, s) for p, s in zip(parts, seals)]
            socket.send_fds(connection, [ANSWER.pack(OK, 0, len(made))], made)
            for fd in made:
                os.close(fd)

        return give

    for words, seals in {"can be changed": (0x2, SEAL_ALL), "its owner may cut": (SEAL_ALL, SEAL_WRITE)}.items():
        with broker(answer(seals)) as token, pytest.raises(cdevice.ArgumentError, match=words):
            cdevice.open_shared(token)


def test_descriptors_that_are_no_files_are_refused():
    def answer(connection, _):
        ends = os.pipe()
        socket.send_fds(connection, [ANSWER.pack(OK, 0, 2)], ends)
        for fd in ends:
            os.close(fd)

    before = descriptors()
    with broker(answer) as token:
        for _ in range(OPENS):
            with pytest.raises(cdevice.ArgumentError):
                cdevice.open_shared(token)
    until(lambda: descriptors() <= before)


CASES = {
    "strings": pa.array(["a", None, "bcd", "e" * 40]),
    "views": pa.array(["a", None, "b" * 40], pa.string_view()),
    "lists": pa.array([[1, 2], None, [3]]),
    "batch": pa.StructArray.from_arrays([pa.array([1, 2]), pa.array(["x", "y"]).dictionary_encode()], ["a", "b"]),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["x"])]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_description_with_any_number_changed_is_refused_or_harmless(name):
    """Whatever comes is an array that can be read to its end, or an error; never a crash."""
    image, *segments = captured(cdevice.asarray(CASES[name]))
    rng = random.Random(name)
    values = (0, 1, -1, -2, -3, 7, 1 << 20, 1 << 62, -(1 << 63), rng.getrandbits(62))
    for at, value in sample(itertools.product(range(0, len(image) & ~7, 8), values), 8):
        wrong = bytearray(image)
        struct.pack_into("<q", wrong, at, value)
        with broker(handed_out([bytes(wrong), *segments], 0)) as token:
            try:
                cdevice.open_shared(token).to_pylist()
            except (cdevice.Error, ValueError):
                pass
