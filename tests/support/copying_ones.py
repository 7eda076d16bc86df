"""Peers that copy and peers that share, for the goal of the interfaces: {suite: (what copies, what shares)}."""

import ctypes

from cdevice.testing.conformance import wrong, wrong_consumers, wrong_streams, wrong_tensors
from cdevice.testing.conformance.standin import int64s
from cdevice.testing.conformance.structs import call_release

MEMORY = (ctypes.c_int64 * 2)(1, 2)  # all exports of what shares have it


class SharingProducer(wrong.SharesMemory):
    def change(self, schema, device):
        pass


class CopyingConsumer(wrong_consumers.Consumer):
    """Lets go of what it took as soon as it has read it, where the CPU can read it."""

    __arrow_c_device_array__ = None
    rows = None

    def __init__(self, offered):
        super().__init__(offered)
        if not self.device or self.outer.device_type == 1:
            self.rows = super().to_pylist()
            self.release()

    def to_pylist(self):
        return super().to_pylist() if self.rows is None else self.rows


class SharingStream(wrong_streams.Stream):
    """Every stream of the object has the same memory."""

    def __init__(self):
        super().__init__()
        self.nodes = [int64s([1, 2])]
        self.nodes[0].buffers[1] = ctypes.addressof(MEMORY)
        self.schema = self.nodes[0]


class SharingTaker(wrong_streams.Taker):
    """Keeps the arrays that it has read."""

    def drop_array(self, array):
        self.kept = [*getattr(self, "kept", ()), array]

    def __del__(self):
        self.close()
        for array in getattr(self, "kept", ()):
            call_release(array)


class CopyingTensor(wrong_tensors.Tensor):
    """Every tensor of the object has memory of its own."""

    def share(self, live, copy):
        if copy:
            self.mark(live)


class CopyingTensorTaker(wrong_tensors.TensorTaker):
    """Deletes the tensor as soon as it has read it."""

    def __init__(self, offered):
        super().__init__(offered)
        self.rows = super().tolist()
        self.close()

    def tolist(self):
        return self.rows


CASES = {
    "ProducerSuite": (wrong.RIGHT["int64"][0], SharingProducer),
    "ConsumerSuite": (CopyingConsumer, wrong_consumers.Consumer),
    "StreamProducerSuite": (wrong_streams.Stream, SharingStream),
    "StreamConsumerSuite": (wrong_streams.Taker, SharingTaker),
    "DLPackSuite": (CopyingTensor, wrong_tensors.Tensor),
    "DLPackConsumerSuite": (CopyingTensorTaker, wrong_tensors.TensorTaker),
}
