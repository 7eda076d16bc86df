"""A tensor on the CPU has no streams: one that is given is an exception.

SHOULD: DLPack's specification for Python, __dlpack__, stream"""


class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


def made(subject):
    out = subject.make()
    if not hasattr(out, "__dlpack__"):
        raise NotDone("it has no __dlpack__")
    return out


def capsule_of(subject, out=None, **keywords):
    """A capsule; NotDone where it is refused."""
    out = made(subject) if out is None else out
    try:
        return out.__dlpack__(**keywords)
    except (TypeError, BufferError, ValueError, NotImplementedError, RuntimeError) as e:
        raise NotDone(f"{type(e).__name__}: {e}") from None


def streams_are_refused_on_the_cpu(subject):
    """A tensor on the CPU has no streams: one that is given is an exception."""
    out = made(subject)
    if out.__dlpack_device__()[0] != 1:
        raise NotDone("it is not on the CPU")
    capsule_of(subject, out, stream=None)
    try:
        out.__dlpack__(stream=1)
    except Exception:
        return
    raise Broken("stream=1 is accepted")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import tvm_ffi, numpy as np

streams_are_refused_on_the_cpu(Subject(lambda: tvm_ffi.from_dlpack(np.array([[1, 2, 3], [4, 5, 6]])), values=[[1, 2, 3], [4, 5, 6]]))
print("kept")
