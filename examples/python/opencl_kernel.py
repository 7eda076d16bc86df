"""A column with nulls to OpenCL, a kernel of one's own that knows about them, the result as an array, to pyarrow."""

import numpy as np
import pyarrow as pa
import pyopencl as cl

import cdevice

KERNEL = """
kernel void celsius(global const uchar *valid, global const double *f, int offset, global double *out) {
  int i = get_global_id(0), k = i + offset;
  out[i] = (valid[k / 8] >> k % 8 & 1) ? (f[k] - 32) * 5 / 9 : 0;
}
"""

queue = cl.CommandQueue(cl.create_some_context(interactive=False))
program = cl.Program(queue.context, KERNEL).build()

column = pa.array([32.0, None, 212.0, 50.0])
there = cdevice.asarray(column).to(queue)  # memory of the queue's context, behind an event
valid, values = (b.to_pyopencl(queue) for b in there.buffers)  # the queue waits for the event, the host does not
out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 8 * there.length)
done = program.celsius(queue, (there.length,), None, valid, values, np.int32(there.offset), out)

# The validity is shared, so that no bit is copied; the event tells everybody when the values may be read.
result = cdevice.from_buffers(
    "float64",
    there.length,
    [there.buffers[0], out],
    offset=there.offset,
    null_count=there.null_count,
    device=there.device,
    event=done,
)
print(result.type, result.length, result.null_count, result.to("cpu").to_pylist())
print(pa.array(result.to("cpu")).equals(pa.array([0.0, None, 100.0, 10.0])))
