"""The end of a process whose device still works: PoCL compiles a kernel when its turn comes, on a thread of its own, and the
process crashes if exit() takes the compiler away meanwhile."""

import os
import subprocess
import sys
import textwrap

import pytest

import cdevice

pytest.importorskip("pyopencl", reason='pip install "cdevice[opencl]"')
if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL device: apt-get install pocl-opencl-icd", allow_module_level=True)

# What is registered first is called last: behind the package's own.
BEGIN = """
    import atexit
    atexit.register(lambda: print(made.ready, flush=True))
    import numpy as np
    import pyopencl as cl
    import cdevice
    import cdevice.compute as cc
    column = cdevice.asarray(np.arange(1000.0)).to("opencl")
    never_compiled = cc.elementwise("never_compiled", "float64 a -> float64", "a * 3.25 + 17.0")
"""


def said(code, tmp_path):
    env = {**os.environ, "POCL_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "ours")}
    program = textwrap.dedent(BEGIN) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_kernel_that_is_being_compiled_ends_before_the_process(tmp_path):
    assert said("made = never_compiled(column)", tmp_path) == "True\n"


def test_a_kernel_that_ended_an_exception_ends_before_the_process(tmp_path):
    assert said("made = never_compiled(column)\nraise SystemExit(0)", tmp_path) == "True\n"


def test_behind_a_queue_that_is_held_nobody_waits_for_ever(tmp_path):
    code = """
        context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
        queue = cl.CommandQueue(context)
        gate = cl.UserEvent(context)
        kept = cl.enqueue_barrier(queue, wait_for=[gate])
        made = cc.add(cdevice.asarray(np.arange(1000.0)).to("opencl", stream=queue), 1.0, stream=queue)
    """
    assert said(code, tmp_path) == "False\n"
