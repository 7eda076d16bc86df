"""The checks of the conformance suite, one file for each area."""

from __future__ import annotations

from . import copies, events, failures, kernels, layouts, memory, protocols, release, streams, table, threads

AREAS = (
    table,
    memory,
    copies,
    layouts,
    events,
    release,
    failures,
    protocols,
    streams,
    threads,
)  # the order they run in
CHECKS = [check for area in AREAS for check in area.check.found]
KERNEL_CHECKS = kernels.check.found  # of KernelSuite
