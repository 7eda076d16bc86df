"""What the workers run: row groups to the worker's device, and queries of them, answered there."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from distributed import WorkerPlugin, get_worker

import cdevice

KERNEL = """
int there(global const uchar *bits, int k) { return !bits || bits[k / 8] >> k % 8 & 1; }

kernel void evening(global const long *departure, int d0, global const uchar *delay_bits, global const long *delay,
                    int y0, global const long *distance, int s0, global const uchar *air_bits, global const long *air,
                    int a0, int rows, global long *sums) {
  long count = 0, delays = 0, miles = 0, minutes = 0;
  for (int i = get_global_id(0); i < rows; i += get_global_size(0)) {
    if (departure[d0 + i] % 86400000 < 18 * 3600000 || !there(delay_bits, y0 + i) || delay[y0 + i] <= 60) continue;
    count++;
    delays += delay[y0 + i];
    miles += distance[s0 + i];
    if (there(air_bits, a0 + i)) minutes += air[a0 + i];
  }
  sums += 4 * get_global_id(0);
  sums[0] = count, sums[1] = delays, sums[2] = miles, sums[3] = minutes;
}
"""
ITEMS = 1024

queue = kernel = None


class OneQueue(WorkerPlugin):
    """Each worker gets its queue before an array arrives: a kernel takes memory of its own context only."""

    def setup(self, worker):
        global queue, kernel
        if not cdevice.device("opencl").is_available:
            return
        import pyopencl as cl

        queue = cl.CommandQueue(cl.create_some_context(interactive=False))
        kernel = cl.Program(queue.context, KERNEL).build().evening
        cdevice.set_default_stream("opencl", queue)  # unpickled arrays come to its context, too


def bring(path, group):
    """A row group on the worker's device."""
    table = cdevice.asarray(pq.ParquetFile(path).read_row_group(group))
    return table.to("opencl", stream=queue) if queue else table


def sums(table):
    """(count, minutes late, miles, minutes in the air) of flights that left after six, more than an hour late."""
    if table.device.type_id == cdevice.DeviceType.CPU:
        return with_pyarrow(pa.record_batch(table))
    import pyopencl as cl

    def column(name, nulls=False):
        one = table.field(name)  # the queue waits for its event, the host does not
        bits, values = (b.to_pyopencl(queue) if b.address else None for b in one.buffers)
        return (bits, values, np.int32(one.offset)) if nulls else (values, np.int32(one.offset))

    out = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, 4 * 8 * ITEMS)
    columns = column("departure"), column("delay", True), column("distance"), column("air_time", True)
    kernel(queue, (ITEMS,), None, *(part for c in columns for part in c), np.int32(table.length), out)
    parts = np.empty((ITEMS, 4), "i8")
    cl.enqueue_copy(queue, parts, out)
    return tuple(parts.sum(0).tolist())


def with_pyarrow(rows):
    """The same of a table or a record batch."""
    late = pc.and_(pc.greater_equal(pc.hour(rows["departure"]), 18), pc.greater(rows["delay"], 60))
    rows = rows.filter(late)  # a null in the mask drops the row
    return (rows.num_rows, *(pc.sum(rows[name]).as_py() or 0 for name in ("delay", "distance", "air_time")))


def read_and_sum(path, group):
    """One task: nothing but four numbers leaves the worker."""
    return sums(bring(path, group))


def sums_here(table):
    """The same of another worker's array, which worker has it now, and on which device."""
    return get_worker().address, str(table.device), sums(table)
