"""A keyword that it does not know is accepted as long as it is None.

MUST: PyCapsule interface, __arrow_c_device_array__, kwargs"""


class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


def method_of(subject):
    """The object and the name of its method: the device's where it has that one."""
    made = subject.make()
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        if getattr(made, name, None) is not None and subject.protocol in (None, name):
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_device_array__'}")


def unknown_keywords_that_are_none_are_accepted(subject):
    """A keyword that it does not know is accepted as long as it is None."""
    made, method = method_of(subject)
    if "device" not in method:
        raise NotDone("it has no __arrow_c_device_array__")
    try:
        getattr(made, method)(a_keyword_of_the_future=None)
    except (TypeError, NotImplementedError) as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import nanoarrow as na, nanoarrow.device, pyarrow as pa

unknown_keywords_that_are_none_are_accepted(Subject(lambda: na.device.c_device_array(na.c_array([1, None, 3], na.int64())), values=[1, None, 3]))
print("kept")
