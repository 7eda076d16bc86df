"""The quick form of ci/faults: some of the places where an operation can fail, of each operation and each kind."""

import os
import shutil
import subprocess
import sys

import pytest
from paths import TESTS
from sample import EVERY

HERE = TESTS
pytest.importorskip("pyarrow", reason="pip install pyarrow")
pytestmark = [
    pytest.mark.nosan,  # the sanitizer has the place of what stands between
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD and /proc"),
    pytest.mark.skipif(not shutil.which("cc") or not shutil.which("make"), reason="apt-get install gcc make"),
]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    subprocess.run([sys.executable, HERE / "faults/make.py", folder], check=True)
    return folder


# Cold: a process for each fault, so of few operations only.
@pytest.mark.parametrize(
    "how",
    [[], ["--cold", "--only", "^(copy string|joined|stream prefetch=2|compute (add|filter)|pickled|restarted)$"]],
    ids=["warm", "cold"],
)
@pytest.mark.parametrize("target", ["malloc", "callbacks", "opencl", "cuda", "rocm"])
def test_what_fails_once_says_so_and_leaves_nothing(target, how, build):
    if target == "opencl":
        import cdevice

        if not cdevice.device("opencl").is_available:
            pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    env = {k: v for k, v in os.environ.items() if k != "CDEVICE_OPENCL_LIBRARY"}
    most = [] if EVERY else ["--most", "4" if target in ("malloc", "callbacks") else "2"]
    command = [sys.executable, HERE / "faults/run.py", target, "--quick", *most, *how, "--build", build]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].endswith(" in all, 0 findings")


def cycles(build, *args):
    command = [sys.executable, HERE / "faults/cycles.py", *args, "--build", build]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.notrace  # what was counted is written while Python ends
def test_processes_end_as_they_shall_in_every_state(build):
    cycles(build, "1")


def test_a_fork_while_another_thread_enters_python_leaves_a_child_that_works(build):
    cycles(build, "12", "--only", "(prefetching|producing), after a fork", "--starts", "1")
