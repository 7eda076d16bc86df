"""``cdevice query``: rows of files chosen, grouped, sorted, on a device."""

from __future__ import annotations

import json
import sys
import time

from ..errors import ArgumentError, BackendUnavailable, Error
from .names import named_columns
from .output import complain
from .show import OK, UNAVAILABLE, USAGE, columns, plain
from .tables import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray

_NUMBERS = "cCsSiIlLefgd"  # the first letters of formats
SHOWN = 40  # rows, without --limit, of a table for people


class _Wrong(Exception):
    """An argument that cannot be used; the text names it."""


def _aggregations(specs: list[str], known: list[str]) -> Any:
    out: dict[str, Any] = {}
    for spec in specs:
        of, colon, words = spec.rpartition(":")
        if not colon:
            of, words = "", spec
        for word in words.split(","):
            word = word.strip()
            if not of:
                if word not in ("count", "count_all"):
                    raise _Wrong(f"--agg {spec!r}: expected COLUMN:AGGREGATE,... or count")
                out["count"] = ([], "count_all")
                continue
            for name, expression in named_columns(of.strip(), known).items():
                out[f"{name}_{word}"] = (expression, word)
    return out


def _sort_keys(text: str) -> list[tuple[str, str]]:
    keys = []
    for part in text.split(","):
        name, _, order = part.strip().rpartition(":")
        if name and order in ("ascending", "descending", "asc", "desc"):
            keys.append((name, "descending" if order.startswith("desc") else "ascending"))
        else:
            keys.append((part.strip(), "ascending"))
    return keys


def _answer(args: Any) -> DeviceArray:
    import cdevice

    from .. import compute as cc
    from ..compute.expressions.bound import bind
    from ..compute.expressions.graph import names_in

    source = args.file if len(args.file) > 1 else args.file[0]
    where = None if args.filter is None else cc.Expression.parse(args.filter)
    schema = cdevice.scan(source, batch_rows=1).schema
    known = [c.name for c in schema.children]
    keys = named_columns(args.by, known) if args.by else {}
    wanted = _aggregations(args.agg or [], known)
    shown = named_columns(args.columns, known) if args.columns else None
    if shown is not None and (keys or wanted):
        raise _Wrong("--columns is for rows: --by and --agg name the columns of groups")
    if where is not None and bind(where, schema).type.format not in "bn":
        raise _Wrong(f"--filter {args.filter!r}: expected a condition, not {bind(where, schema).type.type}")
    read = shown
    if keys or wanted:
        used = [*keys.values(), *(spec[0] for spec in wanted.values() if isinstance(spec[0], cc.Expression))]
        names = names_in(used)
        read = {n: cc.field(n) for n in names} or {known[0]: cc.field(known[0])}
    progress = True if args.progress else None
    stream = cdevice.scan(source, columns=read, where=where, device=args.device, progress=progress)
    if keys:
        out = stream.group_by(keys).aggregate(wanted or {"count": ([], "count_all")})
    elif wanted:
        out = stream.aggregate(wanted)
    elif args.sort and args.limit:
        return stream.top_k(args.limit, _sort_keys(args.sort))
    else:
        out = _first(stream, args.limit) if args.limit and not args.sort else stream.read_all()
    if args.sort:
        order = _sort_keys(args.sort)
        for name, _ in order:
            if name not in out.column_names:
                raise _Wrong(f"--sort: no column {name!r}; there are {', '.join(out.column_names)}")
        out = cc.sort_by(out, order)
    return out[: args.limit] if args.limit else out


def _first(stream: Any, n: int) -> DeviceArray:
    """The first rows; the rest is not read."""
    from ..interop.concat import concat

    some: list[Any] = []
    with stream:
        for batch in stream:
            some.append(batch[: n - sum(x.length for x in some)])
            if sum(x.length for x in some) >= n:
                break
        return concat(some) if some else stream._none()


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _print_table(out: DeviceArray, seconds: float, device: str) -> None:
    rows = out[:SHOWN].to("cpu").to_pylist()
    names = out.column_names
    numeric = [c.format[:1] in _NUMBERS for c in out.schema.children]
    align = "".join("<>"[n] for n in numeric)
    print("\n".join(columns([names, *([_shown(r[n]) for n in names] for r in rows)], align=align)))
    more = f", the first {SHOWN} are shown" if out.length > SHOWN else ""
    complain(f"{out.length} row{'s' * (out.length != 1)}{more}; {seconds:.2f} s on {device}")


def _print_csv(out: DeviceArray) -> None:
    import csv

    w = csv.writer(sys.stdout, lineterminator="\n")
    w.writerow(out.column_names)
    for row in out.to("cpu"):
        w.writerow(["" if v is None else v for v in row.values()])


def _is_there(device: str) -> bool:
    import cdevice

    try:
        return cdevice.device(device).is_available
    except ValueError:  # no name of a device
        return True


def run(args: Any) -> int:
    """The command."""
    from . import plot

    try:
        if args.plot:
            plot.ready(args.plot)
        begin = time.perf_counter()
        out = _answer(args)
        out.synchronize()
        seconds = time.perf_counter() - begin
        if args.output:
            import cdevice

            cdevice.asstream(out).write_parquet(args.output)
            complain(f"{out.length} rows written to {args.output}; {seconds:.2f} s on {out.device}")
        elif args.json:
            print(json.dumps([plain(row) for row in out.to("cpu")], indent=2, allow_nan=False))
        elif args.csv:
            _print_csv(out)
        else:
            _print_table(out, seconds, str(out.device))
        if args.plot:
            keys = [*named_columns(args.by)] if args.by else []
            numbers = [c.name for c in out.schema.children if c.format[:1] in _NUMBERS and c.name not in keys]
            plot.draw_answer(args.plot, out[:SHOWN].to("cpu").to_pylist(), numbers)
        return OK
    except BackendUnavailable as e:
        complain(f"cdevice query: {e}")
        return UNAVAILABLE
    except ArgumentError as e:
        complain(f"cdevice query: {e}")
        return UNAVAILABLE if args.device and not _is_there(args.device) else USAGE
    except (_Wrong, InputError, Error, ValueError, LookupError, TypeError, OSError, ModuleNotFoundError) as e:
        text = e.args[0] if e.args and isinstance(e.args[0], str) and not isinstance(e, OSError) else str(e)
        complain(f"cdevice query: {text}")
        return USAGE
