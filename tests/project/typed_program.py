"""What a user's program looks like to a type checker: ``ci/typing`` runs mypy --strict and pyright over it."""

import asyncio
from typing import Any

import cdevice
import cdevice.compute as cc
from cdevice import aio
from cdevice.testing import BackendSuite


class Acme(cdevice.Backend):
    """A device type of its own, in host memory."""

    device_type = 4242
    name = "acme"
    capabilities = cdevice.Capability.ADDRESS | cdevice.Capability.HOST_ACCESSIBLE

    def device_count(self) -> int:
        return 1

    def alloc(self, nbytes: int, *, device_id: int, stream: int = 0) -> Any:
        return cdevice.asarray(bytes(nbytes)).buffers[1]

    def free(self, block: Any) -> None:
        del block


class TestAcme(BackendSuite):
    backend = Acme
    device = None


def total(batch: cdevice.DeviceArray) -> float:
    here = batch if batch.device == cdevice.device("cpu") else batch.to("cpu")
    return sum(float(v) for v in here.field("x").to_pylist() if v is not None)


def late(batch: cdevice.DeviceArray) -> cdevice.DeviceArray:
    slow: cc.Expression = (cc.field("x") * 2 > 1.5) & cc.is_valid(cc.field("x"))
    rounded: cc.Expression = cc.round(cc.field("x"), ndigits=1)
    return batch.filter(slow).with_columns(y=rounded).project({"y": "y", "long": cc.utf8_length(cc.field("name")) > 3})


async def totals(source: cdevice.DeviceArrayStream) -> list[float]:
    out: list[float] = []
    async with aio.consume(queue_size=2) as batches:
        done = aio.produce(source, batches)
        async for batch in batches:
            out.append(total(batch))
    await done
    return out


def main() -> None:
    schema: cdevice.Schema = cdevice.asschema({"x": "float64"})
    batch = cdevice.asarray([{"x": 1.5}, {"x": None}], schema=schema)
    print(batch.schema["x"].type, batch.length, int(batch.device_type), [b.address for b in batch.buffers])
    for device in cdevice.devices():
        there: cdevice.DeviceArray = batch.to(device)
        there.synchronize(timeout=5.0)
        print(device.name, device.info.total_bytes, there.to("cpu").equals(batch))
    with cdevice.asstream([batch, batch]) as stream:
        print(asyncio.run(totals(stream)))
    for number, info in cdevice.list_backends().items():
        print(number, info.name, info.error or "")


if __name__ == "__main__":
    main()
