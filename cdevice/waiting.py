"""Waiting on the host so that Ctrl-C and a timeout work."""

import time

SLICE = 0.02  # seconds between two looks at pending signals


def wait_host(array, timeout=None):
    """Blocks until the event of ``array`` has passed; TimeoutError after ``timeout`` seconds."""
    if timeout is None:
        while not array._wait_for(SLICE):
            pass  # Ctrl-C is raised here
        return
    end = time.monotonic() + timeout
    while not array._wait_for(min(SLICE, end - time.monotonic())):
        if time.monotonic() >= end:
            raise TimeoutError(f"the data on {array.device} was not ready after {timeout} s")
