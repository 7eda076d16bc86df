"""Writes docs/conformance.rst and the folder docs/conformance: see ci/conformance.

run ENVIRONMENT [LIBRARY ...]   checks the libraries of an environment, keeps what was found in
                                docs/conformance/found.json, writes the page
page                            writes the page from found.json
"""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.rst"
FOLDER = ROOT / "docs" / "conformance"
FOUND = FOLDER / "found.json"
APART = ("daft", "torch", "tensorflow", "paddle")  # in the environment conformance-apart
STANDINS = {"cupy": "ROCm", "hip": "ROCm", "numba": "CUDA"}  # libraries that run on the stand-ins of tests/hostrt
NOT_HERE = {
    "cupy for CUDA": "its wheel brings a CUDA runtime that asks the driver for more than the stand-in has: "
    "cudaErrorCallRequiresNewerDriver (cupy-cuda13x)",
}
SHOWN = ("MUST", "SHOULD")  # levels whose broken rules get a program
PROTOCOLS = {
    "aio": ("async stream", None),
    "schema": ("schema", None),
    "tensor": ("DLPack", None),
    "array": ("array", ("device_type_is_the_memorys", "any_number_of_the_cpu_is_accepted")),
    "stream": ("stream", ("device_type_is_the_arrays", "buffers_on_a_device_are_not_touched")),
}


def rules_of(suite):
    kept = dict.fromkeys(suite["kept"], ("kept", ""))
    not_done = {rule: ("not_done", detail) for rule, detail in suite["not_done"].items()}
    return {**kept, **not_done, **{r["rule"]: ("broken", r["detail"]) for r in suite["broken"]}}


def protocol_of(suite):
    """The words of a suite's protocol, derived from its rules."""
    rules = rules_of(suite)
    kind = (
        "aio"
        if "data_is_requested" in rules
        else "schema"
        if "schema_comes_live" in rules and "schema_capsule_is_named" in rules
        else "tensor"
        if "capsule_is_renamed" in rules or "device_is_a_pair_of_numbers" in rules
        else "stream"
        if "end_comes_again" in rules or "every_array_is_read_in_order" in rules
        else "array"
    )
    words, device = PROTOCOLS[kind]
    done = device and any(rules[name][0] != "not_done" for name in device if name in rules)
    return f"device {words}" if done else words


def copied(suite):
    group, detail = rules_of(suite).get("data_is_not_copied", ("", ""))
    return "no" if group == "kept" else "yes" if detail == "the data is copied" else "–"


def standin(runtime):
    """The environment of a process that finds a stand-in runtime, which is made, where it would look for a vendor's."""
    source, build = ROOT / "tests" / "hostrt", ROOT / "build" / "conformance-hostrt"
    if runtime == "CUDA":
        subprocess.run(["make", "-s", "-C", source, f"B={build}"], check=True)
        libraries = build / "cuda/lib"
        named = {"CUDA": "libcuda.so.1", "NVRTC": "libnvrtc.so.13"}
    else:
        libraries = build / "rocm-for-cupy/lib"
        command = [sys.executable, "-I", source / "cupy_stubs.py", libraries]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        plain = libraries / "libamdhip64.so"
        plain.unlink(missing_ok=True)
        plain.symlink_to("libamdhip64.so.7")
        named = {"HIP": "libamdhip64.so.7"}
    ours = {f"CDEVICE_{name}_LIBRARY": str(libraries / file) for name, file in named.items()}
    return {**os.environ, **ours, "LD_LIBRARY_PATH": str(libraries), "ROCM_PATH": str(libraries.parent)}


def environment(library):
    """The environment variables of a library's processes."""
    return standin(STANDINS[library]) if library in STANDINS else None


def check(library, variables):
    """What ``cdevice check --library`` finds, in a process of its own."""
    print(f"ci: {library}", file=sys.stderr, flush=True)
    began = time.monotonic()
    command = [sys.executable, "-I", "-m", "cdevice", "check", "--library", library, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, cwd="/", env=variables)
    if not done.stdout:
        words = done.stderr.strip().splitlines() or ["it says nothing"]
        print(f"ci: {library}: {words[-1]}", file=sys.stderr)
        return {"missing": words[-1].removeprefix("cdevice check: ")[:160], "date": time.strftime("%Y-%m-%d")}
    found = json.loads(done.stdout)
    if library in STANDINS:
        found["standin"] = STANDINS[library]
    found["date"], found["python"] = time.strftime("%Y-%m-%d"), platform.python_version()
    found["seconds"] = round(time.monotonic() - began, 1)
    return found


def program_name(library, suite, rule):
    title = re.sub(r"\W+", "_", suite["name"].partition(": ")[2].lower())
    return f"{title if title.startswith(library) else f'{library}_{title}'}_{rule['rule']}.py"


def programs_of(library, found):
    """(name, source, suite, rule) of the broken rules that are shown."""
    for suite in found["suites"]:
        for rule in suite["broken"]:
            if rule["level"] in SHOWN and library != "cdevice":
                yield program_name(library, suite, rule), rule["program"], suite, rule


def show(library, found, variables):
    """Writes the programs of a library, runs each, and notes what it prints."""
    for old in FOLDER.glob(f"{library}_*.py"):
        old.unlink()
    for name, source, _, rule in programs_of(library, found):
        path = FOLDER / name
        path.write_text(source)
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=60, cwd="/", env=variables
            )
            said = (done.stderr.strip() or done.stdout.strip() or " ").splitlines()
            last = next((line for line in said if line.startswith("Broken: ")), said[-1])
            rule["shown"] = f"died of signal {-done.returncode}" if done.returncode < 0 else last[:200]
            rule["shows"] = done.returncode != 0
        except subprocess.TimeoutExpired:
            rule["shown"], rule["shows"] = "it does not end", True
    for suite in found["suites"]:
        for rule in suite["broken"]:
            rule.pop("program")
        suite["kept"] = [rule["rule"] for rule in suite["kept"]]
        suite["not_done"] = {rule["rule"]: rule["detail"][:160] for rule in suite["not_done"]}


def run(environment_name, names):
    from cdevice.testing.conformance.libraries import LIBRARIES

    FOLDER.mkdir(exist_ok=True)
    all_found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for library in names or LIBRARIES:
        if (library in APART) != environment_name.endswith("-apart"):
            continue
        variables = environment(library)
        found = check(library, variables)
        if "missing" not in found:
            show(library, found, variables)
        if "missing" not in found or "suites" not in all_found.get(library, {}):
            all_found[library] = found
    FOUND.write_text(json.dumps({k: all_found[k] for k in LIBRARIES if k in all_found}, indent=1) + "\n")
    write()


# ---- the page ----
HEAD = """Conformance of libraries
========================

What wheels on the index do with the rules of Arrow's C data, device and stream interfaces, of their PyCapsule protocol
and of DLPack: ``cdevice check --library NAME`` for each, written by ``ci/conformance``. A rule is a MUST or SHOULD of a
specification, a GOAL that it names, or a READING where the texts are silent. A rule that was not done does not apply,
or the library lacks its method. What holds no Arrow data itself is checked through us: "by cdevice" in the name of the
object. cupy, hip-python and numba ran on stand-ins of their runtimes, on no GPU.

"""


def table(rows):
    """A list-table's lines."""
    out = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        out += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return [*out, ""]


def direction(suite):
    title = suite["name"].partition(": ")[2]
    for word in ("takes", "given"):
        if title.endswith(f" {word}"):
            return f"``{title[: -len(word) - 1]}``", {"takes": "takes", "given": "gives"}[word]
    return f"``{title}``", "both ends" if "aio" in title else "gives"


def page():
    """{path: text} of the page and of the letters to the libraries."""
    everything = json.loads(FOUND.read_text())
    found = {k: r for k, r in everything.items() if "suites" in r}
    rows = [("library", "object", "direction", "protocol", "copied", "kept", "broken", "not done")]
    for library, report in found.items():
        for suite in report["suites"]:
            counts = [len(suite[g]) for g in ("kept", "broken", "not_done")]
            what, way = direction(suite)
            rows.append((named(library, report), what, way, protocol_of(suite), copied(suite), *counts))
    lines = [*HEAD.splitlines(), *table(rows), "", *broken(found), *dates(found), *missing(everything)]
    return {PAGE: text_of(lines), **{FOLDER / f"{k}.rst": letter(k, r) for k, r in found.items() if letter(k, r)}}


def named(library, report):
    standin = f" (stand-in of {report['standin']})" if "standin" in report else ""
    return f"{library} {report['version']}{standin}"


def missing(everything):
    """Libraries that could not be had."""
    lines = [f"* {k}: {plain(r['missing'])} ({r['date']})" for k, r in everything.items() if "missing" in r]
    return ["", "Not here", "--------", "", *lines, *(f"* {k}: {plain(words)}" for k, words in NOT_HERE.items())]


def text_of(lines):
    return "\n".join(lines).rstrip() + "\n"


def write():
    for old in FOLDER.glob("*.rst"):
        old.unlink()
    for path, text in page().items():
        path.write_text(text)


def letter(library, report):
    """What can be sent to a library: each broken rule that has a program, with the expected and the observed."""
    rules = [(s, r) for s in report["suites"] for r in s["broken"] if "shows" in r]
    if not rules:
        return ""
    title = f"{library} {report['version']}"
    lines = [title, "=" * len(title), "", f"Seen on {report['date']} with Python {report['python']}, Linux.", ""]
    for suite, rule in rules:
        what, way = direction(suite)
        head = rule["rule"].replace("_", " ").capitalize()
        lines += [f"{head}: {what.strip('`')}", "-" * len(f"{head}: {what.strip('`')}"), ""]
        lines += ["Expected", f"    {plain(rule['sentence'])} ({rule['level']}: {plain(rule['source'])})", ""]
        lines += ["Observed", f"    {plain(rule['detail'][:400])}", ""]
        name = program_name(library, suite, rule)
        lines += ["To reproduce", f"    ``python {name}`` ends in ``{rule['shown'].rstrip()}``.", ""]
    return text_of(lines)


def plain(text):
    """Words as they are, in reStructuredText."""
    text = " ".join(text.split())
    return re.sub(r"([*|`]|\b__|__\b|_\b)", r"\\\1", text)


def broken(found):
    """The broken rules, by library, in a line or three each."""
    out = ["Broken rules", "------------", ""]
    for library, report in found.items():
        rules = [(s, r) for s in report["suites"] for r in s["broken"]]
        if not rules:
            continue
        title = f"{library} {report['version']}"
        out += [title, "~" * len(title), ""]
        for suite, rule in rules:
            out += entry(library, suite, rule)
        out.append("")
    return out


def entry(library, suite, rule):
    what, way = direction(suite)
    lines = [f"* **{rule['level']}** {plain(rule['sentence'])} ({plain(rule['source'])})."]
    lines.append(f"  {what} {way}: {plain(rule['detail'][:240])}")
    if "shows" in rule:
        name = program_name(library, suite, rule)
        shown = "" if rule["shows"] else ", which shows it now and then"
        lines.append(f"  Program: `conformance/{name} <conformance/{name}>`__{shown}.")
    return [*lines, ""]


def dates(found):
    out = ["When", "----", ""]
    rows = [("library", "version", "date", "Python", "seconds")]
    rows += [(k, r["version"], r["date"], r["python"], r["seconds"]) for k, r in found.items()]
    return [*out, *table(rows)]


if __name__ == "__main__":
    write() if sys.argv[1] == "page" else run(sys.argv[2], sys.argv[3:])
