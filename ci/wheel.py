"""The wheel that the scripts here share, and its installation.

    wheel.py build NAME     prints build/wheels/NAME-<key>: the wheel of the sources as they are, and build.log
    wheel.py install FOLDER puts the wheel of that folder into the environment of the interpreter that runs this

A build is made from a clean copy, build/src-NAME, in an environment of its own that has what pyproject.toml asks for,
build/venv-build, with the objects in build/objects.  Where only the content of Python files differs from an earlier
build, its wheel is taken and these files are exchanged: the result has the same files as a build, and takes no time.
"""

import base64
import contextlib
import csv
import fcntl
import hashlib
import importlib.util
import io
import json
import os
import py_compile
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PARTS = (
    "setup.py",
    "build_ffi.py",
    "build_cache.py",
    "unicode_tables.py",
    "power_tables.py",
    "pyproject.toml",
    "README.rst",
    "LICENSE",
    "cdevice",
    "backends",
)
NO_SOURCE = {".so", ".o", ".pyc"}
# what setuptools, the compiler and the linker look at
ENVIRONMENT = """
    CC LDSHARED CFLAGS CPPFLAGS LDFLAGS AR CPATH C_INCLUDE_PATH LIBRARY_PATH
    CDEVICE_CFLAGS CDEVICE_LDFLAGS CDEVICE_EMBED CDEVICE_LIMITED_API
""".split()
KEPT, KEPT_SECONDS = 8, 3 * 3600  # wheels: as many, and those used that lately


def say(text):
    print(f"ci: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def locked(path):
    """One process at a time."""
    with open(path, "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def read_sources(root=ROOT):
    """{path: content} of what the package is made of.  No git here: a release archive has none."""
    found = {}
    for part in PARTS:
        path = root / part
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            name = file.relative_to(root)
            inner = any(p == "__pycache__" or p.endswith(".egg-info") for p in name.parts)
            if file.is_file() and file.suffix not in NO_SOURCE and not inner:
                found[name.as_posix()] = file.read_bytes()
    return found


def checksum(data):
    return hashlib.sha256(data).hexdigest()


def requirements():
    """What pyproject.toml's [build-system] asks for."""
    try:
        import tomllib
    except ImportError:  # before 3.11
        from pip._vendor import tomli as tomllib
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]


def build_environment():
    """The interpreter of build/venv-build, which has what a build needs and nothing else."""
    venv = BUILD / "venv-build"
    python, mark = venv / "bin" / "python", venv / ".made-for"
    wanted = json.dumps([sys.version, sys.executable, str(ROOT), requirements()])
    if not python.exists() or not mark.exists() or mark.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--prefer-binary", *requirements()], check=True)
        mark.write_text(wanted)
    return python


def surroundings():
    """What a build depends on beside the sources."""
    spec = importlib.util.spec_from_file_location("build_cache", ROOT / "build_cache.py")
    build_cache = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_cache)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    tools = sorted(p.name for p in (BUILD / "venv-build").glob("lib/python*/site-packages/*.dist-info"))
    compilers = [build_cache.identity(compiler), build_cache.identity(shlex.split(sysconfig.get_config_var("CC")))]
    ours = checksum(Path(__file__).read_bytes())
    return [ours, str(ROOT), sys.version, sys.executable, tools, compilers, [os.environ.get(e) for e in ENVIRONMENT]]


def whole(folder):
    """The state of a folder whose wheel is as it was built and whose build would read the same files; else None."""
    try:
        state = json.loads((folder / "state.json").read_text())
        if state["copy"] and (BUILD / state["copy"] / "build" / "made").read_text() != state["made"]:
            return None
        for name, told in state["outside"].items():
            status = os.stat(name)
            if [status.st_size, status.st_mtime_ns] != told:
                return None
        return state if checksum(the_wheel(folder).read_bytes()) == state["wheel"] else None
    except (OSError, StopIteration, ValueError, KeyError):
        return None


def the_wheel(folder):
    return next(folder.glob("cdevice-*.whl"))


def build(name):
    """The folder with the wheel of the sources as they are."""
    wheels = BUILD / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    with locked(BUILD / f"wheels-{name}.lock"):
        with locked(BUILD / "venv-build.lock"):
            python = build_environment()
        sources = read_sources()
        told = {
            "sources": {path: checksum(content) for path, content in sources.items()},
            "surroundings": surroundings(),
        }
        folder = wheels / f"{name}-{checksum(json.dumps(told).encode())[:20]}"
        if not whole(folder):
            with tempfile.TemporaryDirectory(prefix=".new-", dir=wheels) as new:
                made = Path(new) / "made"
                made.mkdir()
                exchange(name, sources, told, made) or compile_wheel(name, sources, told, made, python)
                shutil.rmtree(folder, ignore_errors=True)
                made.rename(folder)
        os.utime(folder)
        forget(wheels, name)
    return folder


def forget(wheels, name):
    old = sorted(wheels.glob(f"{name}-*"), key=lambda p: p.stat().st_mtime, reverse=True)[KEPT:]
    for folder in old:
        if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder)


def compile_wheel(name, sources, told, made, python):
    """Builds the wheel, and build.log, into the folder ``made``."""
    say("building cdevice")
    copy = BUILD / f"src-{name}"
    shutil.rmtree(copy, ignore_errors=True)
    for path, content in sources.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(content)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "PYTHONPATH")}
    env["CDEVICE_BUILD_CACHE"] = str(BUILD / "objects")
    command = [python, "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation", "-w", made, copy]
    with open(made / "build.log", "wb") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=env, cwd=copy)
    if done.returncode:
        sys.stderr.write((made / "build.log").read_text(errors="replace"))
        say("the package does not build")
        sys.exit(1)
    cache = json.loads((copy / "build" / "cache.json").read_text())
    wheel = checksum(the_wheel(made).read_bytes())
    state = {**told, "wheel": wheel, "outside": cache["outside"], "made": wheel, "copy": None}
    if "--coverage" in os.environ.get("CDEVICE_CFLAGS", ""):  # gcov finds its notes beside the objects
        state["copy"] = copy.name
        (copy / "build" / "made").write_text(wheel)
    (made / "state.json").write_text(json.dumps(state))


def exchange(name, sources, told, made):
    """Makes the wheel, in the folder ``made``, from an earlier one; False where a build would make another."""
    folders = sorted((BUILD / "wheels").glob(f"{name}-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for folder in folders:
        state = whole(folder)
        if not state or state["surroundings"] != told["surroundings"]:
            continue
        before, now = state["sources"], told["sources"]
        changed = [path for path in now if before.get(path) != now[path]]
        if before.keys() != now.keys() or not all(is_python(path) for path in changed):
            continue
        wheel = made / the_wheel(folder).name
        new = {in_wheel(path): sources[path] for path in changed}
        if not rewrite(the_wheel(folder), wheel, new):
            continue
        shutil.copy(folder / "build.log", made)
        state.update(told, wheel=checksum(wheel.read_bytes()))
        (made / "state.json").write_text(json.dumps(state))
        return True
    return False


def is_python(path):
    """A file that goes into the wheel as it is, and that no build reads."""
    return path.startswith(("cdevice/", "backends/")) and path.endswith((".py", ".pyi"))


def in_wheel(path):
    """Where setup.py's package_dir puts a file."""
    return f"cdevice/{path}" if path.startswith("backends/") else path


def record_line(path, content):
    value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return [path, f"sha256={value}", str(len(content))]


def as_csv(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def rewrite(old, new, contents):
    """Writes a wheel with other contents of some of its files, and its RECORD; False: it has no such file."""
    with zipfile.ZipFile(old) as before, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as after:
        if not contents.keys() <= set(before.namelist()):
            new.unlink()
            return False
        for entry in before.infolist():
            content = contents.get(entry.filename, before.read(entry))
            if entry.filename.endswith(".dist-info/RECORD"):
                rows = csv.reader(content.decode().splitlines())
                content = as_csv(record_line(r[0], contents[r[0]]) if r[0] in contents else r for r in rows)
            after.writestr(entry, content, compresslevel=1)
    return True


def install(folder):
    """Installs the wheel of a folder: by pip, or only the Python files that differ from the installed ones."""
    wheel = the_wheel(folder)
    if update(wheel, Path(sysconfig.get_path("purelib"))):
        return
    say("installing cdevice")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel]
    subprocess.run(command, check=True)


def installed(site):
    """(RECORD's path, its rows by name) of the one installation there is, or None."""
    records = list(site.glob("cdevice-*.dist-info/RECORD"))
    if len(records) != 1:
        return None
    with open(records[0], newline="") as f:
        return records[0], {row[0]: row for row in csv.reader(f)}


def update(wheel, site):
    """Brings what pip installed to the state of a wheel; does nothing, False, where more than Python files differ."""
    found = installed(site)
    if not found:
        return False
    record, rows = found
    info = record.parent.name
    with zipfile.ZipFile(wheel) as z:
        if f"{info}/RECORD" not in z.namelist():
            return False  # another version
        theirs = {row[0]: row for row in csv.reader(z.read(f"{info}/RECORD").decode().splitlines())}
        changed = [name for name, row in theirs.items() if row[1] and row != rows.get(name)]
        # pip adds its own notes, the program and compiled files
        extra = [n for n in rows if n not in theirs and not is_pips(n, info)]
        if extra or any(name not in rows or not name.endswith((".py", ".pyi")) for name in changed):
            return False
        if any(
            checksum_of(site / n) != row[1] for n, row in rows.items() if row[1] and n in theirs and n not in changed
        ):
            return False  # an installed file was edited
        contents = {name: z.read(name) for name in changed}
    contents[f"{info}/direct_url.json"] = direct_url(wheel)
    for name, content in contents.items():
        rows[name] = record_line(name, content)
        write(site / name, content)
        if name.endswith(".py"):  # two edits of one second would share a compiled file
            py_compile.compile(str(site / name), quiet=1)
    write(record, as_csv(rows.values()))
    return True


def is_pips(name, info):
    path = PurePosixPath(name)
    ours = {"INSTALLER", "REQUESTED", "direct_url.json"}
    return path.suffix == ".pyc" or name.startswith("../") or (path.parts[0] == info and path.name in ours)


def checksum_of(path):
    try:
        return record_line("", path.read_bytes())[1]
    except OSError:
        return None


def direct_url(wheel):
    """What pip notes of a wheel that it was given as a file."""
    value = checksum(wheel.read_bytes())
    told = {"archive_info": {"hash": f"sha256={value}", "hashes": {"sha256": value}}, "url": wheel.resolve().as_uri()}
    return json.dumps(told).encode()


def write(path, content):
    """Exchanges a file for another."""
    handle, new = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as f:
        f.write(content)
    os.chmod(new, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    os.replace(new, path)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "build" and re.fullmatch(r"\w[\w.-]*", arguments[1]):
        print(build(arguments[1]))
    elif len(arguments) == 2 and arguments[0] == "install":
        install(Path(arguments[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
