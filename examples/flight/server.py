"""A Flight server of ten lines: it gets batches, computes on its device, and streams the answer."""

import pyarrow as pa
import pyarrow.flight as flight

import cdevice
import cdevice.compute as cc


class Server(flight.FlightServerBase):
    """``do_exchange``: the command is a condition; an answer has the rows that it is true for, and a speed."""

    def __init__(self, location="grpc://127.0.0.1:0", device="cpu"):
        super().__init__(location)
        self.device = device

    def do_exchange(self, context, descriptor, reader, writer):
        batches = cdevice.asstream(reader.to_reader()).to(self.device, prefetch=0)
        found = batches.filter(cc.Expression.parse(descriptor.command.decode()))
        answer = found.with_columns(speed=cc.field("distance") / cc.field("air_time") * 60)
        out = pa.RecordBatchReader.from_stream(answer.to("cpu", prefetch=0))
        writer.begin(out.schema)
        for batch in out:
            writer.write_batch(batch)
