"""Open descriptors of this process, without those of the stand-in's memory (``HOSTRT_IPC``)."""

import os


def _is_standins(name):
    try:
        return "memfd:hostrt" in os.readlink(f"/proc/self/fd/{name}")
    except OSError:  # the listing's own
        return False


def count():
    return sum(not _is_standins(name) for name in os.listdir("/proc/self/fd"))
