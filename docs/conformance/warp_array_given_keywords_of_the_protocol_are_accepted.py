"""stream, max_version, dl_device and copy are accepted as long as they are None.

SHOULD: DLPack's specification for Python, __dlpack__, max_version"""


class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


def made(subject):
    out = subject.make()
    if not hasattr(out, "__dlpack__"):
        raise NotDone("it has no __dlpack__")
    return out


def keywords_of_the_protocol_are_accepted(subject):
    """stream, max_version, dl_device and copy are accepted as long as they are None."""
    out = made(subject)
    keywords = {"stream": None, "max_version": (1, 0), "dl_device": None, "copy": None}
    try:
        out.__dlpack__(**keywords)
    except TypeError as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import warp as wp
wp.config.quiet = True
wp.init()

keywords_of_the_protocol_are_accepted(Subject(lambda: wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.int64, device='cpu'), values=[[1, 2, 3], [4, 5, 6]]))
print("kept")
