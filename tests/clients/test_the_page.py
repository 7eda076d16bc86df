"""docs/cuda-and-rocm.rst, every line of it, with cupy's ROCm build on hostrt, the stand-in runtime."""

import ast
import contextlib
import pathlib
import re
import textwrap
import types

import pytest
from waiting import settle

import cdevice

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/cuda-and-rocm.rst"


class Resource:
    def __init__(self, runtime):
        self.runtime = runtime

    def allocate(self, nbytes, stream=None):
        return self.runtime.malloc(nbytes)

    def deallocate(self, address, nbytes, stream=None):
        self.runtime.free(address)


def test_hostrt_every_line_of_the_page_on_cuda_and_rocm_runs(hip):
    cupy = pytest.importorskip("cupy", reason="pip install cupy-rocm-7-0, in an environment of its own: ci/clients")
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", PAGE.read_text())
    assert len(blocks) == 4
    memory = cupy.cuda.alloc(80)
    names = {
        "cdevice": cdevice,
        "cupy": cupy,
        "table": cdevice.from_buffers(
            cdevice.Schema.make("+s", children=[cdevice.Schema.make("l", "x")]),
            10,
            [None],
            null_count=0,
            children=[cdevice.asarray(list(range(10)))],
        ),
        "stream": cupy.cuda.Stream(non_blocking=True),
        "mine": cupy.cuda.Stream(non_blocking=True),
        "cupy_array": cupy.array([1, 2, 3]),
        "n": 10,
        "pointer": memory,
        "kernel": lambda array, stream: array.wait(stream),
        "rmm_resource": Resource(cupy.cuda.runtime),
        "torch": types.SimpleNamespace(cuda=types.SimpleNamespace(graph=contextlib.nullcontext)),  # none for HIP here
        "g": None,
    }
    ran = 0
    for block in blocks:
        for statement in ast.parse(textwrap.dedent(block).replace('"cuda', '"rocm')).body:
            line = ast.unparse(statement)
            if "'torch'" in line:  # which this environment has not
                continue
            if "to_hip" in line:  # hip-python is there where its own test says so
                pytest.importorskip("hip", reason="pip install hip-python")
            exec(line, names)
            ran += 1
    assert ran > 15
    assert names["pinned"].field("x").to_numpy().tolist() == list(range(10))
    names.clear()
    settle()
    assert hip.misuse() == 0
