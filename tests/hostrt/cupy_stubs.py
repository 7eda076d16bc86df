"""Makes the libraries that cupy's ROCm wheel links to, out of the stand-in:  python cupy_stubs.py FOLDER

The HIP library is hostrt with its HIP face; whatever else the wheel's modules want (kernels, the maths libraries) is
there by name and answers 801, not supported.  Arrays, copies, streams, events and pools work; a kernel raises.
Needs gcc, nm and readelf; run it where cupy-rocm-7-0 is installed.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COMPILE = ["gcc", "-O1", "-w", "-shared", "-fPIC", "-pthread"]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wanted():
    """(libraries, symbols) that the wheel's modules do not bring themselves."""
    libraries, symbols = set(), set()
    for package in ("cupy", "cupy_backends"):
        folder = importlib.util.find_spec(package).submodule_search_locations[0]
        for module in pathlib.Path(folder).rglob("*.so"):
            needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", str(module)))
            libraries |= {n for n in needed if re.match("lib(roc|hip|rccl|amdhip)", n)}
            undefined = output("nm", "-D", "--undefined-only", str(module)).split("\n")
            symbols |= {line.split()[-1].split("@")[0] for line in undefined if line.strip()}
    return libraries, {s for s in symbols if re.match("(_*hip|roc|rccl|nccl)", s)}


def make(folder):
    """Compiles them into `folder`; gives the paths in the order in which they are to be loaded."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    libraries, symbols = wanted()
    there = set(re.findall(r"\b(hip\w+)\(", (HERE / "hip_face.c").read_text()))
    lines = [
        f'__attribute__((visibility("default"))) int {s}(void) {{ return {0 if s.startswith("_") else 801}; }}'
        for s in sorted(symbols - there)
    ]
    (folder / "stubs.c").write_text("\n".join(lines) + "\n")
    (folder / "empty.c").write_text("static int unused;\n")
    hip = folder / "libamdhip64.so.7"
    sources = [str(HERE / "hostrt.c"), str(HERE / "kernels.c"), str(HERE / "hip_face.c"), str(folder / "stubs.c")]
    output(*COMPILE, "-fvisibility=hidden", f"-Wl,-soname,{hip.name}", "-o", str(hip), *sources, "-ldl")
    made = [hip]
    for name in sorted(libraries - {hip.name}):
        made.append(folder / name)
        output(
            *(*COMPILE, "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", f"-Wl,-soname,{name}"),
            *("-o", str(made[-1]), str(folder / "empty.c"), str(hip)),
        )
    return made


if __name__ == "__main__":
    print(*make(sys.argv[1]), sep="\n")
