"""A process that opens what this one shares."""

import pickle
import subprocess
import sys

from children import child_env

LOOP = """
import ctypes, pickle, sys, cdevice
kept, libc, where = [], ctypes.CDLL(None, use_errno=True), sys.stdin.buffer
def values(array):
    return array.to_pylist()
def writable(array):
    "May this process make the memory of the last buffer writable?"
    address = array.buffers[-1].address & ~4095
    return libc.mprotect(ctypes.c_void_p(address), 4096, 3) == 0
def interrupted(stream):
    try:
        return values(next(stream))
    except KeyboardInterrupt:
        return "interrupted"
while True:
    try:
        what, thing, options = pickle.load(where)
    except EOFError:
        break
    try:
        out = eval(what)(thing, **options)
    except Exception as e:
        out = e
    sys.stdout.buffer.write(pickle.dumps(out)); sys.stdout.buffer.flush()
"""


def doubled(array):
    """In a pool's worker."""
    import numpy

    import cdevice

    return cdevice.asarray(numpy.asarray(array) * 2)


class Reader:
    """Calls ``what``, an expression of Python, in a child: with a token, or with what it kept."""

    def __init__(self):
        self.child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_env()
        )
        self.pid = self.child.pid

    def __call__(self, what, thing, **options):
        """What came of it; what was raised is raised here."""
        pickle.dump((what, thing, options), self.child.stdin)
        self.child.stdin.flush()
        out = pickle.load(self.child.stdout)
        if isinstance(out, Exception):
            raise out
        return out

    def values(self, token):
        return self("lambda t: values(cdevice.open_shared(t))", token)

    def keep(self, token):
        """Opens it, and holds it until the process ends."""
        return self("lambda t: kept.append(cdevice.open_shared(t))", token)

    def kept(self):
        return self("lambda _: values(kept[-1])", None)

    def kill(self):
        self.child.kill()
        self.close()

    def close(self):
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        self.child.wait(60)
        self.child.stdout.close()
