"""``cdevice trace PROGRAM``: runs a Python program; a trace and a picture of what each device did meanwhile."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack

from .output import complain
from .show import OK, UNAVAILABLE, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._devices.profile import Profile
    from .timeline import Span

_COLOURS = {"kernel": "#228833", "copy to device": "#ccbb44", "copy to host": "#4477aa", "copy on device": "#aa3377"}


def _chosen(names: list[str] | None) -> list[Any]:
    """The devices to record; those of ``names`` must be there and have times.  Raises Error."""
    import cdevice

    if names is None:
        return list(cdevice.devices())
    devices = [cdevice.device(name) for name in names]
    for device in devices:
        device.info  # noqa: B018 - raises for a missing one
    return devices


def _run(program: str, arguments: list[str], module: bool) -> int:
    """Runs it as Python does; its exit status.  What it raises is printed as Python prints it."""
    import runpy
    import traceback

    before, path = sys.argv, sys.path[:]
    sys.argv = [program, *arguments]
    try:
        if module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
            runpy.run_path(program, run_name="__main__")
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code or 0
        complain(str(e.code))
        return 1
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BaseException as e:
        inner = e.__traceback__  # from the program's first frame on
        while inner and (inner.tb_frame.f_code.co_filename == __file__ or "runpy" in inner.tb_frame.f_code.co_filename):
            inner = inner.tb_next
        traceback.print_exception(type(e), e, inner)
        return 1
    finally:
        sys.argv, sys.path[:] = before, path
    return 0


def _spans(profiles: list[tuple[Profile, int]]) -> tuple[list[Span], list[dict[str, Any]], int]:
    """(for the picture, for the trace viewers, how many events have no times)"""
    from .timeline import Span

    spans, events, without = [], [], 0
    for profile, offset in profiles:
        streams: dict[int, str] = {}
        device = str(profile.device)
        for e in profile.events:
            stream = streams.setdefault(e.stream, f"stream {len(streams)}")
            if e.end_ns is None:
                without += 1
                continue
            begin, end = e.begin_ns + offset, e.end_ns + offset
            amount = f"{e.rows:,} rows" if e.kind == "kernel" else f"{e.nbytes:,} bytes"
            text = f"{e.name}, {amount}, {(end - begin) / 1e3:,.1f} µs"
            spans.append(Span(f"{device} {stream}", begin / 1e6, end / 1e6, _COLOURS[e.kind], "", text))
            args = {"rows": e.rows} if e.kind == "kernel" else {"bytes": e.nbytes}
            where = {"pid": device, "tid": stream}
            common = {"name": e.name, "cat": e.kind, "ph": "X", **where, "args": args}
            events.append({**common, "ts": begin / 1e3, "dur": (end - begin) / 1e3})
    return spans, events, without


def run(args: Any) -> int:
    from ..errors import BackendUnavailable, Unsupported

    if not args.module and not os.path.exists(args.program):
        complain(f"cdevice trace: no file {args.program!r}; with -m NAME a module is run")
        return USAGE
    for path in (args.output, args.svg):
        if path and not os.path.isdir(os.path.dirname(path) or "."):
            complain(f"cdevice trace: there is no folder {os.path.dirname(path)}")
            return USAGE
    begun = time.monotonic_ns()
    profiles = []
    with ExitStack() as stack:
        try:
            devices = _chosen(args.device)
        except BackendUnavailable as e:
            complain(f"cdevice trace: {e}")
            return UNAVAILABLE
        for device in devices:
            offset = time.monotonic_ns() - begun
            profile = device.profile()
            try:
                stack.enter_context(profile)
            except Unsupported as e:
                if args.device:
                    complain(f"cdevice trace: {e}")
                    return UNAVAILABLE
                continue
            profiles.append((profile, offset))
        program_begun = time.monotonic_ns() - begun
        status = _run(args.program, args.arguments, args.module)
        program_ended = time.monotonic_ns() - begun
    spans, events, without = _spans([(profile, offset - program_begun) for profile, offset in profiles])
    whole = {"name": os.path.basename(args.program), "cat": "program", "ph": "X", "pid": "host", "tid": "program"}
    events.insert(0, {**whole, "ts": 0, "dur": (program_ended - program_begun) / 1e3})
    with open(args.output, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, f)
    if args.svg:
        from . import timeline

        with open(args.svg, "w", encoding="utf-8") as f:
            f.write(timeline.svg(spans, os.path.basename(args.program), legend=_COLOURS))
    for profile, _ in profiles:
        if profile.events:
            print(f"{profile.device}\n{profile}\n", file=sys.stderr)
    count = sum(len(profile.events) for profile, _ in profiles)
    print(f"{count:,} kernels and copies: {args.output} (for chrome://tracing or Perfetto)", file=sys.stderr)
    if without:
        text = f"{without:,} of them have no times and are left out: a queue of OpenCL needs PROFILING_ENABLE"
        print(text, file=sys.stderr)
    return status or OK
