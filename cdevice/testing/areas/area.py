"""How a check is registered, and what several areas use."""


class Area:
    """Decorates the checks of one file: ``@check()``, or ``@check(1, 2)`` for one test with each value."""

    def __init__(self, name):
        self.name, self.found = name, []  # (area, test's name without test_, function of the suite)

    def __call__(self, *parameters):
        def add(function):
            name = function.__name__.removeprefix("check_")
            if not parameters:
                self.found.append((self.name, name, function))
            for p in parameters:
                text = "_".join(str(x) for x in p) if isinstance(p, tuple) else str(p)
                self.found.append((self.name, f"{name}__{text}", lambda suite, f=function, p=p: f(suite, p)))
            return function

        return add


def same(a, b):
    a.validate("full")
    assert a.equals(b, nans_equal=True), f"{a.to_pylist()!r} is not {b.to_pylist()!r}"


def with_events(s):
    s.needs(s.capabilities & s.cdevice.Capability.EVENTS, "it has no events")


def exported(s, array):
    out = s.ffi.new("struct ArrowDeviceArray *")
    array._export_structs(int(s.ffi.cast("uintptr_t", out)), 0)
    return out
