"""House rules that can be checked by reading the sources."""

import ast
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from paths import ROOT

VENDOR = re.compile(r"(?<![a-z])(cuda|hip|rocm|opencl|cupy|nvidia|amd|pocl|vulkan|metal)", re.I)
# The spec's constants, and the names it gives its device types, as whole strings: Arrow's words.
ARROWS = re.compile(r'\b(ARROW_DEVICE|kDL)_?\w*|"(cuda|cuda_host|opencl|vulkan|metal|rocm|rocm_host|cuda_managed)"')
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)

# cdevice's own headers and headers of the C library and POSIX.
LIBC = set(
    "assert complex ctype dirent dlfcn errno fcntl fenv float inttypes iso646 limits link locale math pthread sched semaphore "
    "setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings threads "
    "time uchar unistd wchar wctype".split()
)
TOP = {
    "setup.py", "build_ffi.py", "build_cache.py", "unicode_tables.py", "power_tables.py", "pyproject.toml", "README.rst", "LICENSE", "CHANGELOG.rst", "CONTRIBUTING.rst", "SECURITY.rst",
    "cdevice", "backends", "tests", "examples", "docs", "ci",
    ".ci", ".clang-format", ".gitattributes", ".gitignore", ".pre-commit-config.yaml", ".readthedocs.yaml", ".github",
}  # fmt: skip
# What tools leave behind; none of it is tracked.
LEFT_BEHIND = {".git", "build", "dist", "shared", "__pycache__"}
LEFT_BEHIND_RE = re.compile(
    r"\.(venv|cache|coverage|pytest_cache|hypothesis|ruff_cache|mypy_cache|idea|vscode|tox)|.*\.egg-info$"
)


def sources(folder, *patterns):
    base = ROOT / folder
    out = sorted(p for pattern in patterns for p in base.rglob(pattern) if base.is_dir())
    return [p for p in out if "__pycache__" not in p.parts]


def code(path):
    """C text without comments, line by line the same."""
    text = path.read_text(encoding="utf-8")
    return re.sub(
        r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*',
        lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]),
        text,
        flags=re.S,
    )


def rel(path):
    return str(path.relative_to(ROOT))


def is_libc(name):  # or the compiler's own
    return (
        name.removesuffix(".h") in LIBC or name in ("emmintrin.h", "windows.h") or name.startswith(("sys/", "linux/"))
    )


def test_python_h_lives_in_native_only():
    found = [
        rel(p)
        for p in [*sources("cdevice", "*.[ch]"), *sources("backends", "*.[ch]")]
        if "native" not in p.relative_to(ROOT).parts and any(n == "Python.h" for _, n in INCLUDE.findall(code(p)))
    ]
    assert found == []


def test_core_names_no_vendor():
    found = []
    for p in sources("cdevice/core", "*.[ch]"):
        for n, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1):
            m = VENDOR.search(ARROWS.sub("", line))
            if m:
                found.append(f"{rel(p)}:{n}: {m[0]}")
    assert found == []


def test_core_calls_nothing_above_it():
    found = []
    for p in sources("cdevice/core", "*.[ch]"):
        for kind, name in INCLUDE.findall(code(p)):
            own = (
                kind == '"'
                and (name.startswith("core/") or name == "kernels/lang/protocol.h")
                and (ROOT / "cdevice" / name).exists()
            )
            if not (name.startswith("cdevice/") or own or is_libc(name)):
                found.append(f"{rel(p)}: {name}")
    assert found == []


def test_backends_know_only_the_door():
    found = []
    for p in sources("backends", "*.[ch]"):
        for kind, name in INCLUDE.findall(code(p)):
            own = name.startswith(("common/", p.parent.name + "/")) and (ROOT / "backends" / name).exists()
            if not (
                name.startswith(("cdevice/", "kernels/", "build/unicode_", "build/powers.h"))
                or (kind == '"' and own)
                or is_libc(name)
            ):
                found.append(f"{rel(p)}: {name}")
    assert found == []


def test_public_headers_stand_alone():
    found = []
    for p in sources("cdevice/include", "*.h"):
        for _, name in INCLUDE.findall(code(p)):
            if not (name.startswith("cdevice/") or is_libc(name)):
                found.append(f"{rel(p)}: {name}")
    assert found == []


# ---- Python's floors ----
FLOORS = (
    ("_runtime", "_schema", "config", "device_types", "errors", "schema"),
    ("_devices", "backend", "backend_compute", "backends"),
    ("_arrays", "_values", "ipc"),
    ("interop",),
    (
        "_async",
        "_core",
        "_loading",
        "aio",
        "array",
        "buffer",
        "compute",
        "dask",
        "loading",
        "mutable",
        "pickling",
        "scan",
        "stream",
    ),
    ("__main__", "bench", "cli", "demo", "testing"),
)


def modules():
    """{dotted name: path} of the package; the backends are installed inside it."""
    out = {}
    for p in [*sources("cdevice", "*.py"), *sources("backends", "*.py")]:
        parts = p.relative_to(ROOT).with_suffix("").parts
        parts = ("cdevice", *parts) if parts[0] == "backends" else parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = p
    return out


def imports(name, path, known, types):
    """The modules of the package that a file imports, inside functions and by LazyModule() too; ``types``: for type
    checkers alone as well."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING" and not types:
            node.body = []
    for node in ast.walk(tree):
        asked = []
        if isinstance(node, ast.Import):
            asked = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(x for x in (base, node.module) if x)
            asked = [f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "LazyModule":
            assert isinstance(node.args[0], ast.Constant), f"{rel(path)}:{node.lineno}: the module in words, please"
            asked = [node.args[0].value]
            assert asked[0] in known, f"{rel(path)}:{node.lineno}: there is no {asked[0]}"
        yield from (m for m in asked if m in known and m not in (name, "cdevice"))


def circles(graph):
    """What is left of a graph when everything that asks for nothing left is taken away, again and again."""
    graph = {a: set(b) for a, b in graph.items()}
    while leaves := [a for a, b in graph.items() if not b & graph.keys()]:
        for a in leaves:
            del graph[a]
    return {a: sorted(b & graph.keys()) for a, b in graph.items()}


def python_imports(types=False):
    known = modules()
    # cdevice/__init__.py names what it hands out, and imports nothing; types are for checkers alone
    return {name: set(imports(name, path, known, types)) for name, path in known.items() if name != "cdevice"}


def test_pythons_files_import_each_other_without_a_circle():
    graph = python_imports()
    assert len(graph) > 40 and sum(map(len, graph.values())) > 100
    assert circles(graph) == {}


def test_nothing_imports_upwards():
    floor = {word: n for n, words in enumerate(FLOORS) for word in words}
    found = []
    for name, asked in python_imports(types=True).items():
        here = floor[name.split(".")[1]]
        found += [f"{name} imports {m}" for m in asked if floor[m.split(".")[1]] > here]
    assert found == []


def test_modules_that_c_imports_are_there():
    known = modules()
    named = re.compile(r'(?:PyImport_ImportModule|capi_call)\("(cdevice[\w.]*)"')
    asked = {m for p in sources("cdevice/native", "*.c") for m in named.findall(code(p))}
    assert asked and asked <= known.keys()


# who may ask for the address of a buffer, and why it needs no event
BUFFERS = {
    "cdevice/_arrays/assemble.py": "takes the event with it",
    "cdevice/_arrays/buffer_access.py": "Buffer: keeps the array, which has the event; view() is called behind _readable()",
    "cdevice/_arrays/serialize.py": "sizes, and whether there is a buffer",
    "cdevice/_arrays/record_batch.py": "_bits() is called behind _readable()",
    "cdevice/_devices/backends.py": "asks which context a handle is of",
    "cdevice/mutable.py": "uninitialized memory: waits, or orders the stream, before it hands it out",
    "cdevice/interop/pyopencl.py": "orders the queue behind the event",
    "cdevice/interop/cuda_array_interface.py": "orders the stream that it names behind the event",
    "cdevice/interop/cupy.py": "orders the stream behind the event",
    "cdevice/compute/dispatch/call.py": "whether there is a bitmap",
}
BUILDERS = {
    "cdevice/_arrays/assemble.py": "arrays of parts of others",
    "cdevice/_arrays/from_buffers.py": "from_buffers() joins the events of all parts",
    "cdevice/_arrays/record_batch.py": "a batch without columns",
    "cdevice/compute/kernels/selection/take.py": "rows of type null",
}


@pytest.mark.parametrize(("call", "allowed"), [("._buffer(", BUFFERS), ("_native.build(", BUILDERS)])
def test_memory_is_taken_out_of_arrays_in_one_place(call, allowed):
    """An address that is handed on without its event is memory that is still being written."""
    found = {
        str(p.relative_to(ROOT))
        for p in sources("cdevice", "*.py")
        if call in p.read_text(encoding="utf-8") and p.parent.name not in ("bench", "testing", "areas")
    }
    assert found == allowed.keys()


def test_top_level():
    extra = {
        p.name for p in ROOT.iterdir() if p.name not in LEFT_BEHIND and not LEFT_BEHIND_RE.match(p.name)
    } - TOP  # fmt: skip
    assert extra == set()


@pytest.mark.parametrize("name", sorted({"README.rst", "LICENSE", "CHANGELOG.rst", "CONTRIBUTING.rst", ".ci/run"}))
def test_is_there(name):
    assert (ROOT / name).stat().st_size > 0


def test_one_version():
    wanted = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    init = ROOT / "cdevice" / "__init__.py"
    assert re.search(r'^__version__ = "(.+)"$', init.read_text(), re.M)[1] == wanted
    assert re.search(r"^(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.rst").read_text(), re.M)[1] == wanted


def test_tests_do_not_sleep():
    sleep = re.compile(r"\btime\.sleep\(|\b(?:u|nano)?sleep\((?!0\))")
    found = []
    for p in [*sources("tests", "*.py"), *sources("tests", "*.[ch]")]:
        slow_on_purpose = "hostrt" in p.parts or p.name == "slow_unlock.c"  # stand-ins, and what widens a race
        if p == Path(__file__).resolve() or slow_on_purpose:
            continue
        found += [f"{rel(p)}:{n}" for n, line in enumerate(p.read_text().splitlines(), 1) if sleep.search(line)]
    assert found == []


def test_python_waits_for_nothing_without_a_limit():
    """A Ctrl-C that comes just before such a wait is noticed behind it."""
    endless = re.compile(r"(?<!await )\b\w+\.(wait|join|acquire)\((timeout(=timeout)?)?\)")
    found = []
    for p in sources("cdevice", "*.py"):
        if {"testing", "bench", "cli"} & set(p.parts):
            continue
        for n, line in enumerate(p.read_text().splitlines(), 1):
            if endless.search(line) and line.strip() not in (
                "self.thread.join()",
                "wait = event.wait()",
            ):  # ends; trio's
                found.append(f"{rel(p)}:{n}")
    assert found == []


def test_commands_are_executable():
    scripts = [p for p in sources("ci", "*") if p.is_file() and p.suffix == ""] + [ROOT / ".ci" / "run"]
    assert {"test", "demo", "bench", "sanitize"} <= {p.name for p in scripts}
    for p in scripts:
        assert os.access(p, os.X_OK), rel(p)
        text = p.read_text()
        assert text.startswith("#!/usr/bin/env bash\n") and "set -euo pipefail" in text, rel(p)


def test_no_machine_is_named():
    """Paths of somebody's machine do not belong in sources."""
    machine = re.compile(r"(?<![\w.])/(?:home|root|work|Users|tmp/dev)/[\w.]")
    found = []
    for folder in ("cdevice", "backends", "ci", "docs", "examples", "tests"):
        for p in sources(folder, "*.py", "*.pyi", "*.c", "*.h", "*.rst", "*.sh"):
            if p == Path(__file__).resolve():
                continue
            text = p.read_text(encoding="utf-8", errors="replace")
            found += [f"{rel(p)}:{n}" for n, line in enumerate(text.splitlines(), 1) if machine.search(line)]
    assert found == []


# ---- how native code comes to core pointers: see the head of array_incref() in native/pyarray.c ----
C_FUNCTION = re.compile(r"^(?:static |PyMODINIT_FUNC )[^;{}]*?\b(\w+)\([^;{}]*\) \{\n(.*?)^\}", re.M | re.S)
CONVERTS = re.compile(r"\b(PyArg_Parse\w*|PyLong_As\w+|PyFloat_As\w+|PyObject_IsTrue|to_int64|to_int|level_of|share)\(")
TAKES = re.compile(r"\b(?:array_incref|hold_schema|hold_part)\(|\b(?:array|schema)_of\(")
# Borrowed pointers: the two functions that count, what takes no reference because the export does, and schemas whose
# object is kept by a tuple or is asked in one expression.
BORROWS = {"array_incref", "hold_schema", "export_pair", "m_make_schema"}


def native_functions():
    for p in sources("cdevice/native", "*.c"):
        for m in C_FUNCTION.finditer(code(p)):
            yield p.name, m[1], m[2]


def test_native_code_converts_arguments_before_it_takes_core_pointers():
    found, seen = [], 0
    for where, name, body in native_functions():
        takes = [m.start() for m in TAKES.finditer(body)]
        late = [m for m in CONVERTS.finditer(body) if takes and m.start() > takes[0]]
        seen += bool(takes)
        found += [f"{where}: {name}: {m[1]} after a pointer was taken" for m in late]
    assert found == [] and seen > 20


def test_native_code_counts_the_arrays_that_it_works_on():
    """array_of() borrows: for getters of one expression alone."""
    found = []
    for where, name, body in native_functions():
        if (
            name not in BORROWS
            and re.search(r"\barray_of\(", body)
            and re.search(r"cdv_\w+\(|raise_last|Py_BEGIN", body)
        ):
            found.append(f"{where}: {name}")
    assert found == []


def test_destructors_save_the_pending_exception():
    """A function that CPython runs while something dies: dealloc, capsule destructors, deferred drops."""
    found, seen = [], 0
    for where, name, body in native_functions():
        if re.fullmatch(r"\w+_dealloc|free_\w+", name) and re.search(r"unref|release\(|deleter\(|cdv_\w+close", body):
            seen += 1
            if not re.search(r"save_exception|let_go|release_gil|free_array\(", body):
                found.append(f"{where}: {name}")
    assert found == [] and seen >= 6


# ---- the core's files, from the lowest to the highest ----
CORE_DEFINES = re.compile(  # a function, or a variable
    r"^(?!static|extern)[A-Za-z_][^\n;{}=]*?\b(cdv_\w+)(?:\([^;{}]*\) \{|(?:\[\d+\])?(?: = [^;\n]+)?;)", re.M
)


def circle_of(graph):
    """Some circle of a graph {from: {to}} as a list that begins and ends with the same name, or None."""
    done = set()

    def walk(name, way):
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return None
        for other in sorted(graph.get(name, ())):
            found = walk(other, [*way, name])
            if found:
                return found
        done.add(name)
        return None

    return next(filter(None, (walk(name, []) for name in sorted(graph))), None)


def calls(folder, defines, names):
    """{file: {file it calls: [names]}} of the C files of a folder; ``names``: what counts as one of theirs."""
    base = ROOT / folder
    texts = {str(p.relative_to(base)): re.sub(r'"(?:\\.|[^"\\\n])*"', '""', code(p)) for p in sources(folder, "*.c")}
    home = {m[1]: name for name, text in texts.items() for m in defines.finditer(text)}
    graph = {}
    for name, text in texts.items():
        for used in set(re.findall(rf"(?<!struct )\b({names})", text)):
            if home.get(used, name) != name:
                graph.setdefault(name, {}).setdefault(home[used], []).append(used)
    return home, graph


def no_circle(graph):
    way = circle_of(graph)
    told = way and [f"{a} -> {b}: {', '.join(sorted(graph[a][b]))}" for a, b in zip(way, way[1:], strict=False)]
    assert told is None, "\n".join(told)


def test_the_cores_files_call_each_other_without_a_circle():
    home, graph = calls("cdevice/core", CORE_DEFINES, r"cdv_\w+")
    assert len(home) > 150 and {"cdv_backends", "cdv_async_objects", "cdv_fail", "cdv_array_copy"} <= set(home)
    no_circle(graph)
    assert len(graph["copy/copy.c"]) > 3


def test_the_files_of_a_backend_call_each_other_without_a_circle():
    defines = re.compile(r"^(?!static|extern)[A-Za-z_][^\n;{}=]*?\b(\w+)\([^;{}]*\) \{", re.M)
    home, graph = calls("backends", defines, r"(?:ocl|opencl|cuda|rocm)_\w+")
    assert {"ocl_defer_release", "ocl_wait_for", "opencl_event_record"} <= set(home) and len(
        graph["opencl/copies.c"]
    ) > 2
    no_circle(graph)


LONGEST_FUNCTION = 80
C_BODY = re.compile(
    r"^(?:\w[^\n;{}=]*\b(\w+)\([^;{}]*\)|\w[^\n;{}]*X\((\w+)\)\([^;{}]*\)) \{\n(?:.*?\n)?^\}", re.M | re.S
)


def test_no_function_is_longer_than_80_lines():
    found, seen = [], 0
    for folder in ("cdevice/core", "cdevice/native", "backends"):
        for p in sources(folder, "*.[ch]"):
            for m in C_BODY.finditer(code(p)):
                seen += 1
                lines = m[0].count("\n") + 1
                if lines > LONGEST_FUNCTION:
                    found.append(f"{rel(p)}: {m[1] or m[2]}: {lines} lines")
    assert found == [] and seen > 500


def test_no_macro_returns_out_of_a_function():
    """A macro that makes whole functions may have a return in each."""
    found = []
    for folder in ("cdevice/core", "cdevice/native"):
        for p in sources(folder, "*.[ch]"):
            text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', code(p)).replace("\\\n", " ")
            for m in re.finditer(r"^#define (\w+).*\b(return|goto|break|continue)\b.*$", text, re.M):
                if not re.match(r"#define \w+\([^)]*\)\s+(static|EXPORTED) ", m[0]):
                    found.append(f"{rel(p)}: {m[1]}")
    assert found == []


# What a template says when it is read without its parameters.
ASKS_FOR_PARAMETERS = re.compile(r"#error .* is a template: its parameters are said at its head")


def test_every_header_is_whole(tmp_path):
    """A header needs nothing of the file that includes it: alone it compiles, or it is a template and says so."""
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    python = sysconfig.get_path("include")
    if not compiler or not os.path.exists(os.path.join(python, "Python.h")):
        pytest.skip("no compiler, or no headers of Python")
    folders = [ROOT / "cdevice" / "include", ROOT / "cdevice", python]
    flags = ["-std=gnu11", "-fsyntax-only", "-w", *(f"-I{f}" for f in folders)]
    found, seen = [], 0
    for p in [*sources("cdevice/core", "*.h"), *sources("cdevice/native", "*.h")]:
        seen += 1
        alone = tmp_path / "alone.c"
        alone.write_text(f'#include "{p}"\n')
        result = subprocess.run([compiler, *flags, str(alone)], capture_output=True, text=True)
        if result.returncode and not ASKS_FOR_PARAMETERS.search(p.read_text(encoding="utf-8")):
            found.append(f"{rel(p)}: {result.stderr}")
    assert found == [] and seen > 5


# ---- locks: see "Threads, locks and forks" in cdevice/DESIGN.rst ----
LOCKED = re.compile(r"pthread_mutex_lock\(&([^;]*?)\);(.*?)pthread_mutex_unlock\(&\1\);", re.S)
UNLOCKED = re.compile(r"pthread_mutex_unlock\(&([^;]*?)\);(.*?)pthread_mutex_lock\(&\1\);", re.S)
# What may be called under a lock: it runs no third-party code and waits for nothing but the lock's own condition.
HARMLESS = re.compile(
    r"if|for|while|switch|return|sizeof|_Atomic|(__)?atomic_\w+|pthread_(cond|attr|mutex)_\w+|pthread_(self|equal|create|detach)"
    r"|CDV_ASSERT|clock_gettime|sched_yield|str\w*cmp|mem\w+|malloc|calloc|realloc|free|write|cdv_cond_\w+|cdv_deadline|cdv_fail(_memory)?"
    r"|cdv_error_(last|save|restore|clear|take_cause|set_cause)|cdv_shared_(ref|unref)|cdv_backend_(lookup|cell|table|table_at|count)"
    r"|cdv_start_thread|cdv_doorbell_ring|cdv_segment_ref|cdv_array_ref|cdv_is_interrupted|cdv_device_type_name|PyThreadState_New"
)  # an exception that the core drops waits for a thread with the GIL (drop_later); a new thread state is only memory


def called_under(text, bodies, seen):
    """Names of what a piece of C calls, through the functions of its own file, that is not harmless."""
    for dot, name in re.findall(r"(->|\.)?\b([A-Za-z_]\w*)\(", text):
        if dot:
            yield dot + name  # through a pointer: third-party code
        elif name in bodies:
            if name not in seen:
                seen.add(name)
                yield from called_under(UNLOCKED.sub("", bodies[name]), bodies, seen)
        elif not HARMLESS.fullmatch(name):
            yield name


def test_no_lock_is_held_while_foreign_code_is_called():
    found, seen = [], 0
    for p in [*sources("cdevice/core", "*.c"), *sources("cdevice/native", "*.c")]:
        whole = {m[1] or m[2]: m[0] for m in C_BODY.finditer(re.sub(r" +$", "", code(p), flags=re.M))}
        bodies = {name: text.split("{\n", 1)[1] for name, text in whole.items()}
        for name, text in bodies.items():
            for m in LOCKED.finditer(text):
                seen += 1
                found += [f"{rel(p)}: {name} calls {c} under {m[1]}" for c in called_under(m[2], bodies, set())]
    assert found == [] and seen > 30


PYTHONS_LOCK = re.compile(r"(?:^|[_.])(lock|gate|mutex)$", re.I)
QUICK = {"append", "remove", "discard", "add", "pop", "clear", "get", "set", "is_set", "values", "items", "list", "all", "any",
         "Event", "Thread", "start", "current_thread", "get_ident", "cdv_ring_interrupt"}  # fmt: skip


def test_no_lock_of_python_is_held_while_something_is_imported_or_called():
    found, seen = [], 0
    for p in sources("cdevice", "*.py"):
        if {"testing", "bench", "cli"} & set(p.parts):
            continue
        for node in ast.walk(ast.parse(p.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.With) or not PYTHONS_LOCK.search(ast.unparse(node.items[0].context_expr)):
                continue
            seen += 1
            for inner in (x for statement in node.body for x in ast.walk(statement)):
                if isinstance(inner, (ast.Import, ast.ImportFrom, ast.Await, ast.Yield, ast.YieldFrom)):
                    found.append(f"{rel(p)}:{inner.lineno}: {ast.unparse(inner)}")
                if isinstance(inner, ast.Call):
                    name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "?")
                    if name not in QUICK:
                        found.append(f"{rel(p)}:{inner.lineno}: {ast.unparse(inner)}")
    assert found == [] and seen >= 6


# Their locks are a vendor's runtime's company: of what the parent started nothing is called in a child (cdv_backend_usable_in_process).
LOST_IN_A_CHILD = re.compile(r"backends/(opencl|gpu_driver)/\w+\.[ch]")


def test_every_lock_knows_forks():
    found, seen = [], 0
    for p in [*sources("cdevice/core", "*.c"), *sources("cdevice/native", "*.c"), *sources("backends", "*.[ch]")]:
        text = code(p)
        if "pthread_mutex_lock(" not in text or LOST_IN_A_CHILD.fullmatch(rel(p)):
            continue
        seen += 1
        made_anew = re.search(r"(pthread_at|cdv_at_)fork\(", text)  # one for the process
        refused = (
            "cdv_fork_generation()" in text or p.name == "producer_run.c"
        )  # one for each object; producer.c looks for both
        if not (made_anew or refused):
            found.append(rel(p))
    for p in sources("cdevice", "*.py"):
        text = p.read_text(encoding="utf-8")
        if re.search(r"^\w*(lock|gate)\w* = .*(Lock|allocate_lock)\(\)", text, re.M) and "register_at_fork" not in text:
            found.append(rel(p))
    assert found == [] and seen > 8


def test_threads_are_started_only_where_an_interrupt_out_of_the_start_is_expected():
    """threading's start() waits: one that is interrupted may have started the thread or not."""
    found = set()
    for p in sources("cdevice", "*.py"):
        if not {"testing", "bench", "cli"} & set(p.parts) and re.search(
            r"\bThread\(|start_new_thread", p.read_text(encoding="utf-8")
        ):
            found.add(rel(p))
    assert found == {"cdevice/_async/producer.py", "cdevice/_runtime/release_thread.py", "cdevice/ipc/streams.py"}


ANSWERS = "alloc|view|device_count|device_info|event_done|stage_alloc|prepare"


def test_answers_of_backends_are_looked_at_in_one_place():
    call = re.compile(rf"(?:->|\.)({ANSWERS})\(")
    found = {
        f"{rel(p)}: {m[1]}"
        for p in [*sources("cdevice/core", "*.c"), *sources("cdevice/native", "*.c")]
        for m in call.finditer(code(p))
        if p.name != "checked_calls.c"
    }
    assert found == set()


def test_memory_of_the_small_cache_goes_back_to_it():
    found, seen = [], 0
    for p in sources("cdevice/core", "*.c"):
        for m in C_BODY.finditer(code(p)):
            for taken in re.finditer(r"(\w+) = (?:\w+ \? )?cdv_(?:small|block|node)_alloc\(", m[0]):
                seen += 1
                if re.search(rf"(?<!_)\bfree\({taken[1]}\)", m[0]):
                    found.append(f"{rel(p)}: {m[1]}: free({taken[1]})")
    assert found == [] and seen > 1


def test_no_test_module_imports_another():
    """What several tests use is in tests/support/."""
    files = sources("tests", "*.py")
    modules = {p.stem for p in files if p.stem.startswith("test_")}
    asks = re.compile(r"^\s*(?:import|from)\s+(?:[\w.]+\.)?(test_\w+)|import_module\(.(test_\w+)", re.M)
    found = []
    for p in files:
        found += [f"{rel(p)}: {a or b}" for a, b in asks.findall(p.read_text(encoding="utf-8")) if (a or b) in modules]
    assert len(modules) > 50 and found == []


def test_paths_that_the_scripts_of_ci_name_exist():
    """A file that moves takes its place in the scripts with it."""
    # from the root, or from tests/, where pytest runs
    named = re.compile(
        r"(?<![\w.-])(?<!build/)"
        r"((?:tests|examples|cdevice|backends|docs|devices|unit|project|gpu|clients|fuzz|faults)/[\w./*-]*\w)"
    )
    made = {"cdevice/include/cdevice/x.h", "tests/benchmarks/results/gpu-DATE.rst", "tests/benchmarks/results/gpu"}
    found, seen = [], 0
    for p in [*sources("ci", "*"), ROOT / ".ci" / "run"]:
        if not p.is_file():
            continue
        for name in named.findall(p.read_text(encoding="utf-8").replace('" / "', "/")):
            seen += 1
            places = [name, f"{name}.py", f"tests/{name}"]
            if name not in made and not any(place for word in places for place in ROOT.glob(word)):
                found.append(f"{rel(p)}: {name}")
    assert seen > 40 and found == []


WEAK = re.compile(
    r"(?:atomic_\w+_explicit|__atomic_\w+)\(&?([^,;]+),[^;]*?(?:memory_order_|__ATOMIC_)(?:RELAXED|ACQUIRE|RELEASE|relaxed|acquire|release|acq_rel)"
)


def weakly_ordered(text):
    """Names of the fields with another order than the strongest one."""
    return {re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]+", "", m[1]))[-1] for m in WEAK.finditer(text)}


def test_every_weaker_order_of_memory_is_argued_for():
    page = (ROOT / "cdevice" / "DESIGN.rst").read_text(encoding="utf-8")
    table = page[page.index("Atomics. All operations") : page.index("``tests/c/test_core_explore.c``")]
    used = {}
    for p in [*sources("cdevice/core", "*.[ch]"), *sources("cdevice/native", "*.[ch]"), *sources("backends", "*.[ch]")]:
        used |= dict.fromkeys(weakly_ordered(code(p)), rel(p))
    named = set(re.findall(r"\w+", " ".join(re.findall(r"``([^`]*)``", table))))
    assert {name: where for name, where in used.items() if name not in named} == {} and len(used) > 30


def test_the_field_of_a_weaker_order_is_found():
    text = "x = atomic_load_explicit(&places[i % N].n, memory_order_relaxed); __atomic_store_n(&(*out)->queue, q, __ATOMIC_RELEASE);"
    assert weakly_ordered(text + " y = atomic_load_explicit(&top, memory_order_seq_cst);") == {"n", "queue"}


def test_who_counts_itself_in_then_looks_by_the_strongest_order():
    """cdv_unregister hides a backend, then reads how many use it: one of the two must see the other."""
    found = 0
    for p in sources("cdevice/core", "*.[ch]"):
        text = code(p)
        for m in re.finditer(r"cdv_backend_addref\([^;]*, 1\);\s*if \([^;{]*?(cdv_backend_\w+)\(", text):
            assert m[1] == "cdv_backend_still_serves", rel(p)
            found += 1
    table = code(ROOT / "cdevice" / "core" / "backend" / "table.h")
    body = re.search(r"cdv_backend_still_serves\(.*?^}", table, re.S | re.M)[0]
    assert found == 2 and "atomic_load(" in body and "_explicit" not in body


def test_findings_of_opencl_are_read_before_what_follows_from_them():
    """A trial sets deaf, then its findings: who reads them the other way round may see neither."""
    writes = code(ROOT / "backends" / "opencl" / "trials.c")
    reads = re.search(r"^static int is_deaf\(.*?^}", code(ROOT / "backends" / "opencl" / "events.c"), re.S | re.M)[0]
    assert writes.index("ocl_state.deaf = 1") < writes.index("atomic_store(&slot->findings")
    assert reads.index(".findings") < reads.index("ocl_state.deaf") and "_explicit" not in reads
