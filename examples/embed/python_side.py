"""What the C programs call."""

import ctypes

import cdevice


def fill(address):
    """Puts a record batch into the ArrowDeviceArray and the ArrowSchema whose addresses are there."""
    array, schema = (ctypes.c_void_p * 2).from_address(address)
    batch = cdevice.asarray(
        [{"id": i, "name": None if i % 3 else f"row {i}"} for i in range(10)],
        schema={"id": "int64", "name": "string"},
    )
    batch.export_to_c(array, schema)


def total(address):
    """The sum of all values of the stream whose ArrowDeviceArrayStream is there."""
    return sum(sum(batch.to_pylist()) for batch in cdevice.import_stream_from_c(address))
