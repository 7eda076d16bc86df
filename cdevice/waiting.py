"""Waiting on the host so that Ctrl-C and a timeout work."""

import time


def wait_host(array, timeout=None):
    """Blocks until the event of ``array`` has passed.

    The main thread asks in short slices, so that signals are handled between them; other threads, and backends whose
    events cannot be asked, wait in one call.
    """
    if array.ready:
        return
    import threading

    if timeout is None and threading.current_thread() is not threading.main_thread():
        array._wait_host()
        return
    end = None if timeout is None else time.monotonic() + timeout
    pause = 20e-6
    while not array.ready:
        left = pause if end is None else min(pause, end - time.monotonic())
        if left <= 0:
            raise TimeoutError(f"the data on {array.device} was not ready after {timeout} s")
        time.sleep(left)
        pause = min(pause * 1.5, 2e-3)
