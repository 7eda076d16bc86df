"""Processes that may make no socket share arrays by /proc."""

import subprocess
import sys

import pytest
from children import child_env

OWNER = """
import gc, os, sandbox, sys
import cdevice
from cdevice._runtime.ext import lib
from readers import Reader
if not sandbox.forbid_sockets():
    print("none")
    sys.exit(0)

def refused(call, kind, words):
    try:
        call()
    except kind as e:
        assert words in str(e), e
    else:
        raise AssertionError("nothing was raised")

array = cdevice.record_batch({"x": [1, None, 3], "s": ["a", None, "ccc"]})
before = len(os.listdir("/proc/self/fd")), lib.cdv_live_segments(), lib.cdv_live_tickets()
reader = Reader()  # has no sockets either
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", OWNER + code], capture_output=True, text=True, env=child_env(), timeout=60
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    if done.stdout == "none\n":
        pytest.skip("no seccomp filters on this system or processor")


def test_an_array_is_shared_by_proc_where_no_socket_is_possible():
    run(
        """
shared = array.share()
assert reader.values(shared.token) == array.to_pylist()
reader.keep(shared.token)
assert cdevice.open_shared(shared.token).equals(array)
shared.close()
refused(lambda: reader.values(shared.token), cdevice.Released, "does not share this array any more")
assert reader.kept() == array.to_pylist()
del shared
reader.close()
gc.collect()
assert (len(os.listdir("/proc/self/fd")), lib.cdv_live_segments(), lib.cdv_live_tickets()) == before
"""
    )


def test_a_descriptor_that_is_another_file_by_now_is_not_opened():
    run(
        """
shared = array.share()
shared.close()
others = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(10)] + [os.memfd_create("x") for _ in range(10)]
refused(lambda: reader.values(shared.token), cdevice.Released, "does not share this array any more")
reader.close()
"""
    )


def test_who_does_not_know_the_secret_does_not_open_it():
    run(
        """
from wrong_broker import with_checksum
shared = array.share()
token = bytearray(shared.token)
token[7 + 8 + 8 + 8] ^= 1  # magic, number, process, user
refused(lambda: reader.values(with_checksum(bytes(token[:-4]))), cdevice.Released, "does not share")
reader.close()
"""
    )


def test_what_needs_a_socket_says_so():
    run(
        """
refused(lambda: array.share(opens=1), cdevice.DeviceError, "a Unix socket")
refused(lambda: cdevice.asstream([array]).share(), cdevice.DeviceError, "a Unix socket")
reader.close()
"""
    )
