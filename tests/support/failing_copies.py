"""A device that fails where it is told to."""

import cdevice
from cdevice.testing.fake import FakeBackend

N = 4096


class Failing(FakeBackend):
    """Fails where it is told to, in reads from the device."""

    trouble = None  # a function of (self, name), which may raise
    waits = True  # can the host wait for a stream?

    def _look(self, name):
        if self.trouble is not None:
            self.trouble(name)

    def event_wait(self, event, *, device_id, stream=None):
        if stream is None:
            self._look("event_wait")
        return super().event_wait(event, device_id=device_id, stream=stream)

    def event_record(self, *, device_id, stream=0):
        self._look("event_record")
        return super().event_record(device_id=device_id, stream=stream)

    def copy(self, kind, copies, *, stream=0):
        if kind == 2 and self.trouble is not None:  # the first is under way when the second fails
            super().copy(kind, copies[:1], stream=stream)
            self._look("copy")
            copies = copies[1:]
        return super().copy(kind, copies, stream=stream)

    def stream_wait(self, *, device_id, stream=0):
        if not self.waits:
            raise RuntimeError("the host cannot wait now")
        return super().stream_wait(device_id=device_id, stream=stream)


def zeros():
    return [cdevice.asarray([0] * N, schema="int64").to("cpu", copy=True) for _ in range(12)]
