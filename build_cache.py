"""Compiled objects, kept in a folder and used again.

The build uses it where ``CDEVICE_BUILD_CACHE`` names a folder, the scripts in ``ci/`` for everything they compile:

    python build_cache.py FOLDER OUTPUT FLAG... -- SOURCE...     OUTPUT/a-b.o of each source a/b.c

An object is used again where these are equal: the compiler (its version, and size and time of the programs behind
it), the command but for the folders that are searched, the working directory, the output of the preprocessor, and the
content of every file that the preprocessor read.  So a header that changes, appears before another on the search path
or disappears is noticed, and so are flags, macros, environment variables and Python's own headers.  Entries are written
under another name and renamed; each begins with its own checksum.  A command that reads or writes more than this is run
as it is.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

MAGIC = b"cdevice object 1\n"
MOST_BYTES = 1 << 30
FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")  # that the preprocessor searches
WITH_OPERAND = {*FOLDERS, "-D", "-U", "-include", "-imacros"}
KNOWN = re.compile(r"-(?:[OgWfmDUI].*|std=.*|isystem.+|pthread|pipe|w|ansi|pedantic)")
# files beside the object, files that no dependency list names, and processors that differ
MORE = re.compile(
    r"-gsplit-dwarf|-W[pal],.*|.*=native|.*list=.*|-f(?:profile|test-coverage|auto-profile|branch|plugin|dump|compare-debug|"
    r"stack-usage|callgraph|opt-info|save-opt|working-directory|time).*"
)
ENVIRONMENT = ("COMPILER_PATH", "GCC_EXEC_PREFIX", "LANG", "LC_ALL", "LC_MESSAGES", "SOURCE_DATE_EPOCH")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def split(command):
    """(compiler, arguments, source, object) of a command that compiles one file, or None: its result cannot be kept."""
    first = next((i for i, word in enumerate(command) if word.startswith("-")), len(command))
    compiler, rest = command[:first], iter(command[first:])
    arguments, sources, outputs, compiles = [], [], [], 0
    for word in rest:
        if word == "-c":
            compiles += 1
        elif word == "-o":
            outputs.append(next(rest, ""))
        elif word in WITH_OPERAND:
            arguments += [word, next(rest, "")]
        elif not word.startswith("-"):
            sources.append(word)
        elif KNOWN.fullmatch(word) and not MORE.fullmatch(word):
            arguments.append(word)
        else:
            return None
    if not compiler or compiles != 1 or len(sources) != 1 or len(outputs) != 1 or not sources[0].endswith(".c"):
        return None
    return compiler, arguments, sources[0], outputs[0]


def without_folders(arguments):
    """The arguments but for the folders that are searched: what was found there is in the preprocessor's output."""
    found, rest = [], iter(arguments)
    for word in rest:
        if word in FOLDERS:
            next(rest)
        elif not word.startswith(FOLDERS):
            found.append(word)
    return found


def identity(compiler):
    """What tells one compiler from another: its version, and which programs it runs."""

    def ask(question):
        done = subprocess.run([*compiler, question], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    programs = []
    for name in [*compiler, ask("-print-prog-name=cc1"), ask("-print-prog-name=as")]:
        path = shutil.which(name) if name else None
        if path:
            found = os.stat(path)
            programs.append([os.path.realpath(path), found.st_size, found.st_mtime_ns])
    return [ask("--version"), programs]


def dependencies(text):
    """The files that a rule of make, as compilers write it, names after its colon."""
    text = re.sub(r"\\\r?\n", " ", text).split(": ", 1)[-1]
    names = re.findall(r"(?:\\.|[^\s\\])+", text)
    return [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in names]


class Cache:
    """A folder of objects.  Threads and processes may share it."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.compiled, self.reused = [], []  # sources, in the order in which they were ready
        self.read = set()  # every file that was read
        self._identities = {}

    def run(self, command):
        """Does what the command does: runs it, or copies the object and the warnings of an equal run.

        Raises subprocess.CalledProcessError after the command has printed why.
        """
        if "-c" not in command:
            subprocess.check_call(command)
            return
        parts = split(command)
        key, files = self._key(*parts[:3]) if parts else (None, {})
        self.read |= files.keys()
        kept = self._load(key) if key else None
        source = parts[2] if parts else next((word for word in command if word.endswith(".c")), command[-1])
        if kept:
            warnings, content = kept
            replace(parts[3], content)
            self.reused.append(source)
        else:
            done = subprocess.run(command, stderr=subprocess.PIPE)
            warnings = done.stderr
            self.compiled.append(source)
        sys.stderr.write(warnings.decode(errors="replace"))
        sys.stderr.flush()
        if kept:
            return
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, shlex.join(command))
        # files may have changed between the preprocessor and the compiler
        if key and files == read_all(files):
            with open(parts[3], "rb") as f:
                self._store(key, warnings, f.read())

    def _key(self, compiler, arguments, source):
        """(what the object depends on, {file: checksum of its content}); (None, {}) where that is not known."""
        name = tuple(compiler)
        if name not in self._identities:
            self._identities[name] = identity(compiler)
        with tempfile.TemporaryDirectory() as folder:
            rule = os.path.join(folder, "rule")
            command = [*compiler, *arguments, "-E", "-MD", "-MF", rule, "-MT", "object", source]
            done = subprocess.run(command, capture_output=True)
            if done.returncode or b".incbin" in done.stdout or not os.path.exists(rule):
                return None, {}
            with open(rule, encoding="utf-8", errors="surrogateescape") as f:
                files = read_all(dependencies(f.read()))
        if None in files.values():
            return None, {}
        told = [self._identities[name], compiler, without_folders(arguments), source, os.getcwd()]
        told += [sorted(files.items()), [os.environ.get(e) for e in ENVIRONMENT]]
        return digest(json.dumps(told).encode() + b"\0" + done.stdout), files

    def _path(self, key):
        return os.path.join(self.folder, key[:2], key[2:])

    def _load(self, key):
        """(warnings, object), or None: there is none, or it is not what was stored."""
        path = self._path(key)
        try:
            with open(path, "rb") as f:
                data = f.read()
            os.utime(path)
        except OSError:
            return None
        start = len(MAGIC) + 64
        body = data[start:]
        if not data.startswith(MAGIC) or data[len(MAGIC) : start] != digest(key.encode() + body).encode():
            return None
        size = int.from_bytes(body[:8], "little")
        return body[8 : 8 + size], body[8 + size :]

    def _store(self, key, warnings, content):
        body = len(warnings).to_bytes(8, "little") + warnings + content
        os.makedirs(os.path.dirname(self._path(key)), exist_ok=True)
        replace(self._path(key), MAGIC + digest(key.encode() + body).encode() + body)

    def finish(self, path):
        """Ends a build: tells what was done, on stdout and in a file (JSON), and removes what is too much.

        The file has "compiled", "reused" and "outside": the files elsewhere that were read, as :func:`outside` tells.
        """
        print(f"objects: {len(self.compiled)} compiled, {len(self.reused)} used again", flush=True)
        told = {"compiled": sorted(self.compiled), "reused": sorted(self.reused), "outside": outside(self.read)}
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, json.dumps(told, indent=1).encode())
        self.prune()

    def prune(self, most=MOST_BYTES):
        """Removes the objects that were not used for longest, down to three quarters, where there are too many."""
        entries = []
        for base, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(base, name)
                try:
                    found = os.stat(path)
                except OSError:
                    continue  # another process was first
                if name.endswith(".new") and time.time() - found.st_mtime > 3600:
                    remove(path)  # its writer was ended
                else:
                    entries.append((found.st_mtime, found.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total <= most:
            return
        for _, size, path in sorted(entries):
            if total <= most * 3 // 4:
                break
            remove(path)
            total -= size


def read_all(names):
    """{name: checksum of the file's content, None where it cannot be read}."""
    found = {}
    for name in names:
        try:
            with open(name, "rb") as f:
                found[name] = digest(f.read())
        except OSError:
            found[name] = None
    return found


def outside(names):
    """{name: [size, time of change]} of the files among these that are not below the working directory."""
    found = {}
    for name in sorted(names):
        if os.path.isabs(name) and not name.startswith(os.getcwd() + os.sep):
            status = os.stat(name)
            found[name] = [status.st_size, status.st_mtime_ns]
    return found


def replace(path, content):
    """Writes a file that is there whole or not at all."""
    handle, new = tempfile.mkstemp(suffix=".new", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(content)
        os.chmod(new, 0o644)
        os.replace(new, path)
    except BaseException:
        remove(new)
        raise


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def compile_all(cache, output, compiler, flags, sources):
    """Compiles C sources into a folder, as many at a time as there are processors; gives those that do not compile."""
    os.makedirs(output, exist_ok=True)

    def one(source):
        name = os.path.relpath(source).removesuffix(".c").replace(os.sep, "-")
        made = os.path.join(output, f"{name}.o")
        try:
            cache.run([*compiler, *flags, "-c", source, "-o", made])
        except subprocess.CalledProcessError:
            remove(made)
            return source

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # those that take longest first
        first = sorted(sources, key=lambda name: ("kernels" not in name, name))
        return [source for source in pool.map(one, first) if source]


def main(arguments):
    folder, output, *rest = arguments
    flags, sources = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    cache = Cache(folder)
    failed = compile_all(cache, output, shlex.split(os.environ.get("CC", "cc")), flags, sources)
    cache.finish(os.path.join(output, "cache.json"))
    for source in failed:
        print(f"{source} does not compile", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
