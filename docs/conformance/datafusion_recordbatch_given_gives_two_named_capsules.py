"""The method gives a pair of capsules that have the names of the protocol.

MUST: PyCapsule interface, __arrow_c_device_array__"""
from ctypes import c_char_p
from ctypes import py_object
import ctypes

class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


def capsule_call(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


def capsule_name(capsule):
    if type(capsule).__name__ != "PyCapsule":
        return None
    name = capsule_call("PyCapsule_GetName", c_char_p, py_object)(capsule)
    return None if name is None else name.decode()


def method_of(subject):
    """The object and the name of its method: the device's where it has that one."""
    made = subject.make()
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        if getattr(made, name, None) is not None and subject.protocol in (None, name):
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_device_array__'}")


def gives_two_named_capsules(subject):
    """The method gives a pair of capsules that have the names of the protocol."""
    made, method = method_of(subject)
    given = getattr(made, method)()
    wanted = ("arrow_schema", "arrow_device_array" if "device" in method else "arrow_array")
    found = tuple(capsule_name(g) for g in given) if isinstance(given, tuple) else type(given).__name__
    if found != wanted:
        raise Broken(f"{method} gives {found}, not {wanted}")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import datafusion, pyarrow as pa
context = datafusion.SessionContext()
def take(o): return datafusion.SessionContext().from_arrow(o)

gives_two_named_capsules(Subject(lambda: next(iter(context.from_pydict({'a': [1, None, 3]}).execute_stream())), values=[{'a': 1}, {'a': None}, {'a': 3}], batch=True))
print("kept")
