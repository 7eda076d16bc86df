"""Queues of pyopencl, and a gate that holds one."""

import pytest

cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")


def new_queue():
    device = next(d for p in cl.get_platforms() for d in p.get_devices())
    context = cl.Context([device])  # Intel's queues do not keep theirs
    yield cl.CommandQueue(context)
    del context


def hold(queue):
    """A closed gate on a queue: (open(), what must be kept until then)."""
    gate = cl.UserEvent(queue.context)
    barrier = cl.enqueue_barrier(queue, wait_for=[gate])  # kept: PoCL aborts when its event is released early
    queue.flush()
    opened = []

    def open_gate():
        if not opened:
            opened.append(True)
            gate.set_status(cl.command_execution_status.COMPLETE)

    return open_gate, barrier
