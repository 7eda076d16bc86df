"""README's code is run as it stands."""

import asyncio
import re
import textwrap

import pytest
from paths import ROOT

import cdevice
from cdevice import aio

README = ROOT / "README.rst"
BLOCKS = re.findall(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", README.read_text(encoding="utf-8"), re.M)


def needs(block):
    for library in ("numpy", "pyarrow", "pyopencl", "polars", "torch"):
        if re.search(rf"import .*\b{library}\b", block):
            pytest.importorskip(library, reason=f"pip install {library}")
    if "opencl" in block and not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")


@pytest.fixture(scope="module")
def names():
    """What the blocks take for granted; each leaves its own names to the next."""
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    table = pa.table({"x": [1, 2, None]})
    sink = aio.consume(queue_size=8)
    return {
        "cdevice": cdevice,
        "pa": pa,
        "aio": aio,
        "table": table,
        "batches": table.to_batches(),
        "batch": cdevice.asarray(table),
        "source": [cdevice.asarray([1]), cdevice.asarray([2])],
        "handler_address": sink.handler_address,
        "sink": sink,
    }


def test_there_are_blocks():
    assert len(BLOCKS) >= 6


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_readme_runs(number, names):
    block = textwrap.dedent(BLOCKS[number])
    needs(block)
    if "class " in block and "acme" in block:
        return  # a sketch of somebody's device: docs/add-your-device.rst has it whole, and is run
    if not re.search(r"^(await|async)\b", block, re.M):
        exec(compile(block, f"README.rst block {number}", "exec"), names)
        return
    body = "async def block():\n" + textwrap.indent(block, "    ")
    exec(compile(body, f"README.rst block {number}", "exec"), names)

    async def main():
        taking = asyncio.create_task(take(names["sink"]))
        await asyncio.wait_for(names["block"](), 60)
        assert await asyncio.wait_for(taking, 60) == 2

    asyncio.run(main())


async def take(sink):
    return len([a async for a in sink])
