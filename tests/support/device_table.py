"""Which functions give the CPU's rows on which device, type by type: docs/functions.rst.

python tests/support/device_table.py opencl     asks a device and keeps its answers in docs/functions.json
python tests/support/device_table.py cuda rocm  the stand-ins of tests/hostrt where there is no driver
python tests/support/device_table.py            writes the page from what is kept
  --only A,B    asks for these functions alone, new or changed ones, and forgets those that are gone

Four rows of each type go through each function, by cdevice's kernels alone.  With PoCL and an empty cache of programs it
takes an hour or two; what a stopped run has asked of the same package is not asked again (build/functions).
"""

import argparse
import atexit
import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import sys
import tempfile

import pyarrow as pa
from function_table import REFUSED, TYPES, arguments, rows

import cdevice
import cdevice.compute as cc

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, KEPT = ROOT / "docs" / "functions.rst", ROOT / "docs" / "functions.json"
BEGIN, END = ".. The table: python tests/support/device_table.py\n", "\n.. The end of the table.\n"
FLAT = {str(t): t for types in TYPES.values() for t in types}


def _there(value, device):
    return cdevice.asarray(value).to(device) if isinstance(value, pa.Array) else value


def _rows(result):
    if isinstance(result, cc.Scalar):
        return result.as_py()
    return result.to("cpu").to_pylist()


def rows_of(f, t, device):
    """repr of the rows: NaN is itself there, and -0.0 is not 0.0."""
    with cc.fallback("error"):
        if f.kind == "hash_aggregate":
            batch = cdevice.record_batch({"key": pa.array([7, 8, 7, 8]), "value": rows(t)}).to(device)
            grouped = cc.group_by(batch, "key").aggregate([("value", f.name.removeprefix("hash_"))])
            return repr(_rows(grouped))
        args, options = arguments(f, t)
        return repr(_rows(f(*(_there(a, device) for a in args), **options)))


def asked(f, t, device):
    """None: the CPU does not take the type; "": the same rows; or what came in their place."""
    try:
        expected = rows_of(f, t, "cpu")
    except REFUSED:
        return None
    try:
        found = rows_of(f, t, device)
    except REFUSED as e:
        return " ".join(str(e).split())[:200]
    return "" if found == expected else f"{found} where the CPU gives {expected}"[:200]


def own_kernels_alone():
    os.environ["CDEVICE_BACKENDS"] = "-pyarrow"


def types_of(name, device):
    """{type: "" or what came in place of the CPU's rows} of the types that a function takes."""
    given = {label: asked(cc.get_function(name), t, device) for label, t in FLAT.items()}
    return {label: answer for label, answer in given.items() if answer is not None}


def package():
    """A digest of the installed package's files."""
    return hashlib.sha256(importlib.metadata.distribution("cdevice").read_text("RECORD").encode()).hexdigest()[:16]


def ask(device):
    """Asks a device for all functions; the answers of each go to build/functions at once."""
    part = ROOT / "build" / "functions" / f"{device}-{package()}.json"
    part.parent.mkdir(parents=True, exist_ok=True)
    answers = json.loads(part.read_text()) if part.exists() else {}
    for name in cc.list_functions():
        if name not in answers:
            answers[name] = types_of(name, device)
            part.write_text(json.dumps(answers))
    return answers


def summary(runtime, answers):
    """What is kept of the answers."""
    other = {n: {t: a for t, a in types.items() if a} for n, types in answers.items()}
    return {
        "runtime": runtime,
        "date": datetime.date.today().isoformat(),
        "cpu": {n: len(types) for n, types in answers.items()},
        "other": {n: types for n, types in other.items() if types},
    }


def put_in(one, answers):
    """What is kept of a device, with the answers of some functions in place of older ones."""
    new = summary(one["runtime"], answers)
    names = set(cc.list_functions())
    for part in ("cpu", "other"):
        old = {n: v for n, v in one[part].items() if n in names and n not in answers}
        one[part] = dict(sorted({**old, **new[part]}.items()))
    return one


def table_of(kept):
    """A paragraph a device, a table of functions by devices, and what differs."""
    out = []
    for device, one in kept.items():
        pairs, differing = sum(one["cpu"].values()), sum(map(len, one["other"].values()))
        out += [
            f"* ``{device}``: {one['runtime']}, {one['date']}: {pairs - differing:,} of {pairs:,} pairs of a function and a type"
            " give the CPU's rows."
        ]
    names = list(next(iter(kept.values()))["cpu"])
    head = ["function", "types", *kept]
    table = []
    untried = [n for n in names if not any(one["cpu"].get(n) for one in kept.values())]
    for name in names:
        if name in untried:
            continue
        counts = [one["cpu"].get(name, 0) - len(one["other"].get(name, ())) for one in kept.values()]
        n = max(one["cpu"].get(name, 0) for one in kept.values())
        table.append([name, str(n), *map(str, counts)])
    widths = [max(len(r[i]) for r in (head, *table)) for i in range(len(head))]
    rule = " ".join("=" * w for w in widths)
    lines = [" ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in (head, *table)]
    out += ["", rule, lines[0], rule, *lines[1:], rule, ""]
    if untried:
        out += [f"Of other arguments: {', '.join(f'``{n}``' for n in untried)}.", ""]
    for device, one in kept.items():
        for name, types in one["other"].items():
            out += [f"* ``{device}``, ``{name}`` of {', '.join(types)}: {next(iter(types.values()))}"]
    return out if out[-1] else out[:-1]


def write_page():
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    PAGE.write_text(text[:begin] + "\n" + "\n".join(table_of(kept)) + "\n" + text[end:], encoding="utf-8")


def _runtime(device):
    """Its name, after the stand-ins were started where it has no driver."""
    if device in ("cuda", "rocm") and not cdevice.device(device).is_available:
        import standin

        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        standin.start(pathlib.Path(folder))
    info = cdevice.device(device).info
    if "hostrt" in info.name:
        return "stand-in of tests/hostrt, kernels by gcc"
    return f"{info.name}, {info.driver}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("devices", nargs="*")
    parser.add_argument("--only", default="", metavar="A,B")
    given = parser.parse_args()
    own_kernels_alone()
    for device in given.devices:
        runtime = _runtime(device)
        names = [n for n in given.only.split(",") if n in cc.list_functions()]
        answers = {n: types_of(n, device) for n in names} if given.only else ask(device)
        # now: another one may have ended meanwhile
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        kept[device] = put_in(kept[device], answers) if given.only else summary(runtime, answers)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if not given.devices:
        write_page()
    sys.exit(0)
