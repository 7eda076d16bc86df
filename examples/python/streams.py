"""Batches moved ahead of a loop, on asyncio too, and what becomes of an error of the source."""

import asyncio

import pyarrow as pa

import cdevice


def batches():
    for k in range(3):
        yield pa.record_batch({"x": [k, k + 1], "name": ["a", None]})


for batch in cdevice.asstream(batches()).to("cpu", prefetch=2):
    print(batch.num_rows, batch["x"].to_pylist())
print(cdevice.asstream(batches()).read_all().num_rows, "rows at once;", pa.table(cdevice.asstream(batches())).num_rows)


async def main():
    async for batch in cdevice.asstream(batches()):
        print("async", batch["x"].to_pylist())

    def failing():
        yield from batches()
        raise LookupError("the fourth file is missing")

    try:
        async for _ in cdevice.aio.iterate(failing()):
            pass
    except LookupError as e:
        print("LookupError:", e)
    async with cdevice.aio.consume(2) as taken:
        production = cdevice.aio.produce(batches(), taken)
        async for batch in taken:
            print("first only", batch["x"].to_pylist())
            break  # cancels the producer
    print(production.join(10) in ("cancelled", "finished"))


asyncio.run(main())
