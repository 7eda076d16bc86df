"""__dlpack_device__ gives two numbers: a device type and a device number.

MUST: DLPack's specification for Python, __dlpack_device__"""


class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


def made(subject):
    out = subject.make()
    if not hasattr(out, "__dlpack__"):
        raise NotDone("it has no __dlpack__")
    return out


def is_pair(device):
    try:
        return isinstance(device, tuple) and len([int(n) for n in device]) == 2
    except (TypeError, ValueError):
        return False


def device_is_a_pair_of_numbers(subject):
    """__dlpack_device__ gives two numbers: a device type and a device number."""
    out = made(subject)
    if not hasattr(out, "__dlpack_device__"):
        raise Broken("it has no __dlpack_device__")
    found = out.__dlpack_device__()
    if not is_pair(found):
        raise Broken(f"it gives {found!r}")
    if found[0] < 1:
        raise Broken(f"the device type is {found[0]}")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import paddle

device_is_a_pair_of_numbers(Subject(lambda: paddle.to_tensor([[1, 2, 3], [4, 5, 6]]), values=[[1, 2, 3], [4, 5, 6]]))
print("kept")
