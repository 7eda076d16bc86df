"""The device that a tensor is on may be requested.

SHOULD: DLPack's specification for Python, __dlpack__, dl_device"""


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


def is_pair(device):
    try:
        return isinstance(device, tuple) and len([int(n) for n in device]) == 2
    except (TypeError, ValueError):
        return False


def device_of(out):
    """What __dlpack_device__ gives; device_is_a_pair_of_numbers tells where that is none."""
    found = out.__dlpack_device__()
    if not is_pair(found):
        raise NotDone(f"__dlpack_device__ gives {found!r}")
    return tuple(map(int, found))


def its_own_device_may_be_requested(subject):
    """The device that a tensor is on may be requested."""
    out = made(subject)
    device = device_of(out)
    capsule_of(subject, out, max_version=(1, 0))
    try:
        out.__dlpack__(max_version=(1, 0), dl_device=device)
    except TypeError:
        raise NotDone("it takes no dl_device") from None
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import tensorflow as tf
def take(o): return tf.experimental.dlpack.from_dlpack(o.__dlpack__())


its_own_device_may_be_requested(Subject(lambda: tf.constant([[1, 2, 3], [4, 5, 6]], tf.int64), values=[[1, 2, 3], [4, 5, 6]], readonly=True))
print("kept")
