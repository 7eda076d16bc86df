"""Three exports and their releases leave the process alive.

MUST: C data interface, release callback semantics"""
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_void_p
import ctypes
import gc

class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


class Once(NotDone):
    """What was given cannot be given a second time."""


class ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", c_void_p),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowDeviceArray(ctypes.Structure):
    _fields_ = [
        ("array", ArrowArray),
        ("device_id", c_int64),
        ("device_type", c_int32),
        ("sync_event", c_void_p),
        ("reserved", c_int64 * 3),
    ]


def method_of(subject):
    """The object and the name of its method: the device's where it has that one."""
    made = subject.make()
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        if getattr(made, name, None) is not None and subject.protocol in (None, name):
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_device_array__'}")


def capsules_of(subject):
    """The two capsules, and the struct types and names that belong in them."""
    made, name = method_of(subject)
    try:
        given = getattr(made, name)()
    except NotDone:
        raise
    except Exception as e:  # gives_two_named_capsules tells it
        raise NotDone(f"{name}() raises {type(e).__name__}: {e}") from None
    if not isinstance(given, tuple) or len(given) != 2:
        raise NotDone("no pair of capsules came")
    device = name == "__arrow_c_device_array__"
    return given, (ArrowDeviceArray, "arrow_device_array") if device else (ArrowArray, "arrow_array")


def export_and_release_end_well(subject):
    """Three exports and their releases leave the process alive."""
    for _ in range(3):
        try:
            given, _ = capsules_of(subject)
        except Once:
            break
        del given
        gc.collect()


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import nanoarrow as na, nanoarrow.device, pyarrow as pa

export_and_release_end_well(Subject(lambda: na.c_array(pa.array(['x', 'a text that is too long for a view'], pa.string_view()))))
print("kept")
