"""Sends batches that are on a device to the server, and brings its answer to a device."""

import sys

import pyarrow as pa
import pyarrow.flight as flight
from server import Server

import cdevice
import cdevice.compute as cc

ROWS, BATCHES = 10_000, 8


def flights(k):
    rows = range(k * ROWS, (k + 1) * ROWS)
    return cdevice.asarray(
        {"distance": [90 + i % 2700 for i in rows], "air_time": [None if i % 50 == 0 else 20.0 + i % 400 for i in rows]}
    )


def answers(client, batches, condition):
    """The answers, one a batch, whose batch is sent when its answer is asked for."""
    with batches.to("cpu") as here:
        stream = pa.RecordBatchReader.from_stream(here)
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(condition))
        with writer:
            writer.begin(stream.schema)
            for batch in stream:
                writer.write_batch(batch)
                yield reader.read_chunk().data
            writer.done_writing()


def ask(client, batches, condition, device):
    """The rows of all answers, on a device."""
    return cdevice.asstream(answers(client, batches, condition)).read_all(device)


def main(device):
    with Server(device=device) as server, flight.connect(f"grpc://127.0.0.1:{server.port}") as client:
        here = [flights(k).to(device) for k in range(BATCHES)]
        answer = ask(client, cdevice.asstream(here), "distance > 2000 and air_time > 60", device)
        print("rows of the answer:", answer.length, "on the device:", answer.device == cdevice.device(device))
        print("its columns:", *answer.column_names)
        whole = cdevice.concat(here)
        kept = whole.filter((cc.field("distance") > 2000) & (cc.field("air_time") > 60))
        expected = kept.with_columns(speed=cc.field("distance") / cc.field("air_time") * 60)
        print("as computed here:", answer == expected)
        assert answer == expected
        try:
            ask(client, cdevice.asstream(here), "distnce > 2000", device)
        except pa.ArrowException as e:
            print("what the server refuses:", str(e).splitlines()[0])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "opencl" if cdevice.device("opencl").is_available else "cpu")
