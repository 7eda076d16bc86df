"""The suite of kernels catches a device whose kernels are wrong, late or elsewhere."""

import contextlib

import pytest

import cdevice
import cdevice.compute as cc
from cdevice.testing import KernelSuite, runner
from cdevice.testing.fake import FakeBackend

if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)


@contextlib.contextmanager
def kernel(name, inputs, out, exec):
    """A kernel that is taken in place of the text's, for a while."""
    f = cc.get_function(name)
    k = f.add_kernel(inputs, out, exec, device="opencl", priority=1)
    try:
        yield
    finally:
        f.remove_kernel(k)


def given(x):
    return x.value if x.array is None and x.chunks is None else list(x.chunks) if x.array is None else x.array


def outcomes(pattern):
    suite = runner.suite_for("opencl", KernelSuite)
    return {r.name: (r.outcome, r.text) for r in runner.run(suite, pattern=pattern)}


@pytest.mark.parametrize(
    ("name", "types", "out", "exec", "pattern"),
    [
        (
            "add",
            ["int32"] * 2,
            "int32",
            lambda call, x, y: cc.subtract(x.array, given(y)),
            "arithmetic__int32",
        ),
        ("abs", ["float64"], "float64", lambda call, x: cc.add(x.array, 0.0), "arithmetic__float64"),
        ("negate", ["int8"], "int8", lambda call, x: cc.negate(x.array.to("cpu")), "arithmetic__int8"),
        ("is_valid", ["string"], "bool", lambda call, x: cc.is_null(x.array), "logic"),
        ("sum", ["int64"], "int64", lambda call, x: cc.count(given(x)).array, "aggregates__int64"),
    ],
    ids=["wrong", "minus zero", "elsewhere", "inverted", "count"],
)
def test_what_is_wrong_is_caught(name, types, out, exec, pattern):
    assert outcomes(pattern)[pattern][0] == "passed"
    with kernel(name, types, out, exec):
        outcome, text = outcomes(pattern)[pattern]
    assert outcome == "failed" and name in text
    assert outcomes(pattern)[pattern][0] == "passed"


def test_a_device_without_kernels_has_nothing_to_be_checked():
    cdevice.register_backend(FakeBackend(5621, "kernelless"))
    try:
        found = runner.run(runner.suite_for("kernelless", KernelSuite), pattern="logic")
        assert [r.outcome for r in found] == ["not applicable"] and "it offers no cdevice.compute/1" in found[0].text
    finally:
        cdevice.unregister_backend(5621)
