"""C programs that link libcdevice: the examples, and everything that can go wrong at the start."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
from test_stream import child_env

import cdevice
from cdevice import config

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples" / "embed"
PROGRAMS = ("export_int32", "receive", "stream", "devices")

try:
    LIBRARY = pathlib.Path(config.get_library_dir()) / "libcdevice.so"
except FileNotFoundError as e:
    pytest.skip(str(e), allow_module_level=True)
if not shutil.which("gcc"):
    pytest.skip("no C compiler: apt-get install gcc g++", allow_module_level=True)
if os.environ.get("CDEVICE_SANITIZE"):
    pytest.skip("a program that links no sanitizer cannot load an extension that does", allow_module_level=True)


installed = pytest.mark.skipif(
    not (pathlib.Path(cdevice.__file__).parent / "backends").exists(),
    reason="the package is not installed: pip install .",
)


def flags():
    return [config.OPTIONS["cflags"][1](), *config.OPTIONS["libs"][1]().split()]


def build(directory, source, name="program", compiler="gcc", standard="gnu11", extra=()):
    out = directory / f"{name}-{compiler}-{standard}"
    if isinstance(source, str):
        (directory / f"{name}.c").write_text(source)
        source = directory / f"{name}.c"
    language = ["-x", "c++"] if standard.startswith("c++") else []
    command = [
        compiler,
        f"-std={standard}",
        "-Wall",
        "-Wextra",
        "-Werror",
        *extra,
        *language,
        str(source),
        "-o",
        str(out),
    ]
    subprocess.run([*command, *flags(), "-pthread"], check=True, capture_output=True, text=True)
    return out


def run(program, *args, env=None, ok=True, **kwargs):
    done = subprocess.run(
        [str(program), *map(str, args)], capture_output=True, text=True, timeout=60, env=env or child_env(), **kwargs
    )
    if ok:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = tmp_path_factory.mktemp("embed")
    return {name: build(directory, EXAMPLES / f"{name}.c", name) for name in PROGRAMS}


def example_env():
    env = child_env()
    return {**env, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), env["PYTHONPATH"]])}


# ---- the examples ----
@installed
def test_an_array_is_made_handed_out_and_read_back(built):
    out = run(built["export_int32"], "cpu").stdout
    assert out == "cpu: device type 1, id -1, format i, length 1000, no event\nsum 499500\n"
    assert "nothing_like_it" in run(built["export_int32"], "nothing_like_it", ok=False).stderr
    assert "no NVIDIA driver" in run(built["export_int32"], "cuda", ok=False).stderr


@installed
def test_an_array_on_opencl(built):
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    out = run(built["export_int32"], "opencl:0").stdout
    assert "device type 4, id 0, format i, length 1000, an event" in out and "sum 499500" in out


def test_python_fills_a_struct_and_reads_a_stream(built):
    out = run(built["receive"], env=example_env()).stdout
    assert "a batch of 10 rows: id (l) name (u)" in out
    assert run(built["stream"], env=example_env()).stdout == "Python says 124750\n"


@installed
def test_a_kernel_that_is_being_compiled_ends_before_a_program_that_leaves_main(tmp_path):
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    pytest.importorskip("numpy")
    (tmp_path / "side.py").write_text(
        "import numpy as np, cdevice, cdevice.compute as cc\n"
        "def begin(_):\n"
        "    global made\n"
        '    f = cc.elementwise("never_compiled", "float64 a -> float64", "a * 3.25 + 19.0")\n'
        '    made = f(cdevice.asarray(np.arange(1000.0)).to("opencl"))\n'
        "def is_ready(_):\n"
        "    return int(made.ready)\n"
    )
    program = build(
        tmp_path,
        """
#include <cdevice/cdevice.h>
#include <stdio.h>
#include <stdlib.h>
static void look(void) { /* registered first: exit() calls it last */
  int64_t ready = -1;
  cdevice_call_python("side", "is_ready", NULL, &ready);
  printf("%d\\n", (int)ready);
  fflush(stdout);
}
int main(void) {
  atexit(look);
  if (!cdevice_call_python("side", "begin", NULL, NULL)) return 0;
  fputs(cdevice_error_text(), stderr);
  return 1;
}
""",
    )
    folders = {"POCL_CACHE_DIR": str(tmp_path / "pocl"), "XDG_CACHE_HOME": str(tmp_path / "ours")}
    env = {**child_env(), **folders}
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])
    assert run(program, env=env).stdout == "1\n"


@installed
def test_the_devices_are_those_of_the_command_line(built):
    lines = run(built["devices"]).stdout.splitlines()
    found = {line.split()[0].rstrip(":") for line in lines if not line.startswith("-")}
    code = "import cdevice; print(*(f'{d}' for d in cdevice.devices()))"
    there = run(sys.executable, "-c", code).stdout.split()
    assert {d.replace("cpu", "cpu:0") for d in there} == found
    assert any("no NVIDIA driver" in line for line in lines if line.startswith("-"))


@pytest.mark.parametrize(
    ("compiler", "standard"),
    [("gcc", "c11"), ("g++", "c++17"), ("g++", "c++11"), ("clang", "c11"), ("clang++", "c++17")],
)
def test_the_header_compiles_without_a_warning(compiler, standard, tmp_path):
    found = [c for c in (compiler, *(f"{compiler}-{n}" for n in range(21, 12, -1))) if shutil.which(c)]
    if not found:
        pytest.skip(f"apt-get install {'clang' if 'clang' in compiler else 'g++'}")
    compiler = found[0]
    for name in PROGRAMS:
        program = build(tmp_path, EXAMPLES / f"{name}.c", name, compiler, standard, ["-pedantic"])
        run(program, env=example_env())


def test_make_builds_and_runs_the_examples(tmp_path):
    if not shutil.which("make"):
        pytest.skip("apt-get install make")
    command = ["make", "-s", "-C", str(EXAMPLES), f"PYTHON={sys.executable}", f"B={tmp_path}", "run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=child_env())
    assert done.returncode == 0 and "Python says 124750" in done.stdout, done.stderr


def test_cmake_and_pkg_config_find_it(tmp_path):
    if shutil.which("pkg-config"):
        env = {**os.environ, "PKG_CONFIG_PATH": config.OPTIONS["pkgconfigdir"][1]()}
        found = subprocess.run(["pkg-config", "--cflags", "--libs", "cdevice"], capture_output=True, text=True, env=env)
        words = found.stdout.split()
        assert found.returncode == 0, found.stderr
        subprocess.run(["gcc", str(EXAMPLES / "devices.c"), "-o", str(tmp_path / "d"), *words], check=True)
        run(tmp_path / "d")
    if shutil.which("cmake"):
        command = [
            "cmake",
            "-S",
            str(EXAMPLES),
            "-B",
            str(tmp_path / "b"),
            f"-Dcdevice_DIR={config.OPTIONS['cmakedir'][1]()}",
        ]
        subprocess.run(command, check=True, capture_output=True)
        subprocess.run(["cmake", "--build", str(tmp_path / "b")], check=True, capture_output=True)
        run(tmp_path / "b" / "devices")
    if not shutil.which("pkg-config") and not shutil.which("cmake"):
        pytest.skip("apt-get install pkg-config cmake")


# ---- the library ----
def test_only_its_own_names_are_visible():
    names = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True).stdout
    assert {line.split()[-1] for line in names.splitlines() if not line.split()[-1].startswith("cdevice_")} == set()


def test_every_function_of_the_header_is_there():
    header = (pathlib.Path(config.get_include()) / "cdevice" / "cdevice.h").read_text()
    declared = set(re.findall(r"^[a-z][\w *]*?\b(cdevice_\w+)\(", header, re.M))
    library = ctypes.CDLL(str(LIBRARY))
    assert len(declared) > 55 and [n for n in sorted(declared) if not hasattr(library, n)] == []


def test_inside_python_it_shares_the_registry():
    code = f"""
import source_tree, ctypes, cdevice, threading
from cdevice.testing.fake import FakeBackend
for loader in (ctypes.CDLL, ctypes.PyDLL):
    lib = loader({str(LIBRARY)!r})
    lib.cdevice_backend_for.restype = ctypes.c_void_p
    lib.cdevice_start_error.restype = ctypes.c_char_p
    results = []
    threads = [threading.Thread(target=lambda: results.append(lib.cdevice_start())) for _ in range(16)]
    [t.start() for t in threads]; [t.join() for t in threads]
    assert results == [0] * 16, lib.cdevice_start_error()
    assert lib.cdevice_backend_for(6001) is None
    cdevice.register_backend(FakeBackend(6001, "both"))
    assert lib.cdevice_backend_for(6001)
    assert lib.cdevice_version() == 0x000100
    cdevice.unregister_backend(6001)
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.stdout == "ok\n", done.stderr


HEAD = (
    "#include <cdevice/cdevice.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
)
MAKE = """
static int32_t values[4] = {1, 2, 3, 4};
static cdevice_array *make(void) {
  cdevice_schema *s = NULL;
  cdevice_array *a = NULL;
  const void *buffers[2] = {NULL, values};
  cdevice_parts p;
  memset(&p, 0, sizeof p);
  p.device_type = 1; p.device_id = -1; p.length = 4; p.n_buffers = 2; p.buffers = buffers;
  if (cdevice_schema_new("i", "", ARROW_FLAG_NULLABLE, 0, NULL, NULL, &s)) return NULL;
  if (cdevice_array_build(s, &p, 1, &a)) a = NULL;
  cdevice_schema_unref(s);
  return a;
}
"""


def test_sixteen_threads_may_be_first(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    static void *work(void *p) {
      (void)p;
      for (int i = 0; i < 200; i++) {
        cdevice_array *a = make();
        struct ArrowDeviceArray out;
        if (!a || cdevice_array_length(a) != 4 || cdevice_array_export(a, &out)) return (void *)1;
        cdevice_array_unref(a);
        out.array.release(&out.array);
      }
      return NULL;
    }
    int main(void) {
      pthread_t t[16];
      int bad = 0;
      for (int i = 0; i < 16; i++) pthread_create(&t[i], NULL, work, NULL);
      for (int i = 0; i < 16; i++) { void *r; pthread_join(t[i], &r); bad += r != NULL; }
      if (bad) fprintf(stderr, "%s\\n", cdevice_start_error());
      return bad;
    }""")  # fmt: skip
    for _ in range(5):
        run(program)


def test_release_after_main_from_exit_handlers_and_from_any_thread(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    static struct ArrowDeviceArray ours, theirs;
    static void *release(void *p) { struct ArrowDeviceArray *a = p; a->array.release(&a->array); return NULL; }
    static void at_exit(void) {
      pthread_t t;
      ours.array.release(&ours.array);
      pthread_create(&t, NULL, release, &theirs);
      pthread_join(t, NULL);
      cdevice_array *a = make();
      if (!a) _exit(3);
      cdevice_array_unref(a);
      write(1, "released\\n", 9);
    }
    int main(void) {
      atexit(at_exit);
      cdevice_array *a = make();
      if (!a || cdevice_array_export(a, &ours)) return 1;
      cdevice_array_unref(a);
      struct ArrowSchema schema;
      void *addresses[2] = {&theirs, &schema};
      if (cdevice_call_python("python_side", "fill", addresses, NULL)) { fprintf(stderr, "%s", cdevice_error_text()); return 2; }
      schema.release(&schema);
      return 0;
    }""")  # fmt: skip
    for _ in range(3):
        assert run(program, env=example_env()).stdout == "released\n"


def test_it_works_in_a_forked_child(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    #include <sys/wait.h>
    int main(void) {
      int status;
      if (!make()) return 1;
      pid_t p = fork();
      if (!p) _exit(make() ? 0 : 1);
      waitpid(p, &status, 0);
      return WEXITSTATUS(status);
    }""")  # fmt: skip
    run(program)


def test_streams_and_asynchronous_streams_in_c(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    int main(void) {
      cdevice_array *a = make(), *b;
      cdevice_stream *s, *bridge;
      cdevice_consumer *c;
      cdevice_production *p;
      int n = 0, code;
      cdevice_array *many[10];
      for (int i = 0; i < 10; i++) many[i] = a;
      if (cdevice_stream_new(cdevice_array_schema(a), 1, many, 10, &s)) return 1;
      if (cdevice_consumer_new(3, 1, &c) || cdevice_produce(s, cdevice_consumer_handler(c), NULL, &p)) return 2;
      while (!(code = cdevice_consumer_next(c, -1, &b)) && b) { n += (int)cdevice_array_length(b); cdevice_array_unref(b); }
      if (code || n != 40) return 3;
      if (!cdevice_production_wait(p, -1) || cdevice_production_ending(p, &code) != CDEVICE_FINISHED) return 4;
      cdevice_production_unref(p);
      cdevice_consumer_unref(c);
      if (cdevice_stream_new(cdevice_array_schema(a), 1, many, 10, &s)) return 5;
      if (cdevice_consumer_new(3, 1, &c) || cdevice_produce(s, cdevice_consumer_handler(c), NULL, &p)) return 6;
      if (cdevice_consumer_stream(c, &bridge)) return 7;
      struct ArrowDeviceArrayStream out;
      struct ArrowDeviceArray d;
      if (cdevice_stream_export(bridge, &out)) return 8;
      for (n = 0; !out.get_next(&out, &d) && d.array.release; n++) d.array.release(&d.array);
      out.release(&out);
      cdevice_production_unref(p);
      cdevice_array_unref(a);
      return n == 10 ? 0 : 9;
    }""")  # fmt: skip
    run(program)


def test_dlpack_slices_children_and_comparison_in_c(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    int main(void) {
      cdevice_array *a = make(), *b, *c, *d;
      DLManagedTensorVersioned *t;
      int equal = 0;
      if (cdevice_array_slice(a, 1, 2, &b) || cdevice_dlpack_export(b, &t)) return 1;
      if (t->dl_tensor.shape[0] != 2 || ((int32_t *)t->dl_tensor.data)[0] != 2 || !(t->flags & 1)) return 2;
      if (cdevice_dlpack_import(t, NULL, CDEVICE_CHECK_FULL, &c)) return 3;
      if (cdevice_array_equal(b, c, 0, &equal) || !equal) return 4;
      if (cdevice_array_equal(a, c, 0, &equal) || equal) return 5;
      if (cdevice_array_slice(a, 3, 9, &d) == 0 || !strstr(cdevice_error_text(), "slice")) return 6;
      if (cdevice_array_check(a, CDEVICE_CHECK_FULL) || cdevice_array_wait(a)) return 7;
      if (cdevice_array_null_count(a) != 0 || cdevice_array_nbytes(a) != 16) return 8;
      cdevice_array_unref(a);
      cdevice_array_unref(b);
      cdevice_array_unref(c);
      return 0;
    }""")  # fmt: skip
    run(program)


def test_two_copies_of_the_library_in_one_process_share_one_registry(tmp_path):
    copies = [tmp_path / "libone.so", tmp_path / "libtwo.so"]
    for c in copies:
        shutil.copy(LIBRARY, c)
    program = build(tmp_path, "#include <dlfcn.h>\n" + HEAD + """
    int main(int argc, char **argv) {
      const void *found[2];
      (void)argc;
      for (int i = 0; i < 2; i++) {
        void *l = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
        int (*start)(void) = l ? (int (*)(void))dlsym(l, "cdevice_start") : NULL;
        const void *(*backend)(int32_t) = l ? (const void *(*)(int32_t))dlsym(l, "cdevice_backend_for") : NULL;
        if (!start || start()) return 1 + i;
        found[i] = backend(1);
      }
      return found[0] && found[0] == found[1] ? 0 : 3;
    }""")  # fmt: skip
    run(program, *copies)


def test_the_examples_are_clean_under_valgrind_and_the_address_sanitizer(tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("apt-get install valgrind")
    plain = build(tmp_path, EXAMPLES / "stream.c", "stream")
    env = {**example_env(), "PYTHONMALLOC": "malloc"}
    command = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=no", "--undef-value-errors=no", str(plain)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    checked = build(tmp_path, EXAMPLES / "stream.c", "checked", extra=["-fsanitize=address,undefined", "-g"])
    run(checked, env={**env, "ASAN_OPTIONS": "detect_leaks=0"})


# ---- where it finds Python ----
def isolated():
    return {"PATH": "/nonexistent"}


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory):
    where = tmp_path_factory.mktemp("environments") / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(where)], check=True)
    return where


def site_packages(environment):
    return environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


@installed
def test_an_installed_library_finds_its_own_environment(built, empty_environment, tmp_path):
    """Copied into an environment as pip would put it, and started without any variable."""
    site = site_packages(empty_environment)
    package = pathlib.Path(cdevice.__file__).parent
    shutil.copytree(package, site / "cdevice", dirs_exist_ok=True)
    library = site / "cdevice" / "lib" / "libcdevice.so"
    program = tmp_path / "moved"
    command = ["gcc", str(EXAMPLES / "export_int32.c"), "-o", str(program), config.OPTIONS["cflags"][1]()]
    subprocess.run([*command, f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-lcdevice"], check=True)
    done = run(program, env=isolated(), ok=False)  # no cffi there yet: an error, not an abort
    assert done.returncode == 1 and "cffi is not installed" in done.stderr and str(empty_environment) in done.stderr
    import _cffi_backend
    import cffi

    shutil.copytree(pathlib.Path(cffi.__file__).parent, site / "cffi")
    shutil.copy(_cffi_backend.__file__, site)
    assert "sum 499500" in run(program, env=isolated()).stdout
    # the package is gone: named, in C
    shutil.rmtree(site / "cdevice" / "core", ignore_errors=True)
    os.rename(site / "cdevice" / "_core.py", site / "cdevice" / "_gone.py")
    done = run(program, env=isolated(), ok=False)
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr
    os.rename(site / "cdevice" / "_gone.py", site / "cdevice" / "_core.py")
    # the environment was moved
    moved = empty_environment.with_name("elsewhere")
    os.rename(empty_environment, moved)
    try:
        there = {"PATH": "/nonexistent", "LD_LIBRARY_PATH": str(site_packages(moved) / "cdevice" / "lib")}
        assert "sum 499500" in run(program, env=there).stdout
    finally:
        os.rename(moved, empty_environment)


def test_a_wrong_python_is_an_error_in_c_and_a_second_try_is_possible(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    int main(int argc, char **argv) {
      (void)argc;
      if (cdevice_start() != -1) return 1;
      printf("%s\\n", cdevice_start_error());
      if (cdevice_array_length(NULL) != -1) return 2;
      setenv("CDEVICE_PYTHON", argv[1], 1);
      if (cdevice_start()) { fprintf(stderr, "%s\\n", cdevice_start_error()); return 3; }
      return make() ? 0 : 4;
    }""")  # fmt: skip
    env = {**child_env(), "CDEVICE_PYTHON": "/nowhere/python"}
    out = run(program, sys.executable, env=env).stdout
    assert "CDEVICE_PYTHON: /nowhere/python" in out


def test_a_missing_package_can_be_put_in_place_and_tried_again(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    int main(int argc, char **argv) {
      (void)argc;
      if (cdevice_start() != -1) return 1;
      printf("%s\\n", cdevice_start_error());
      if (rename(argv[1], argv[2])) return 2;
      if (cdevice_start()) { fprintf(stderr, "%s\\n", cdevice_start_error()); return 3; }
      return make() ? 0 : 4;
    }""")  # fmt: skip
    import _cffi_backend

    path = tmp_path / "path"
    path.mkdir()
    os.symlink(pathlib.Path(cdevice.__file__).parent, path / "hidden")
    os.symlink(_cffi_backend.__file__, path / pathlib.Path(_cffi_backend.__file__).name)
    base = (
        pathlib.Path(sysconfig.get_config_var("exec_prefix"))
        / "bin"
        / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    )
    python = pathlib.Path(sys.base_exec_prefix) / "bin" / base.name
    env = {"PATH": "/nonexistent", "PYTHONPATH": str(path), "CDEVICE_PYTHON": str(python)}
    out = run(program, path / "hidden", path / "cdevice", env=env).stdout
    assert "ModuleNotFoundError: No module named 'cdevice'" in out


def test_an_exception_inside_python_is_a_code_and_a_text(tmp_path):
    program = build(tmp_path, HEAD + """
    int main(void) {
      int64_t n;
      if (cdevice_call_python("json", "loads", &n, NULL) == 0) return 1;
      printf("%s\\n", cdevice_error_text());
      if (cdevice_call_python("nothing_like_it", "f", &n, NULL) == 0) return 2;
      printf("%s\\n", cdevice_error_text());
      return 0;
    }""")  # fmt: skip
    out = run(program).stdout.splitlines()
    assert out[0].startswith("TypeError: ") and out[1].startswith("ModuleNotFoundError: ")


HOST = """
#include <Python.h>
#include <cdevice/cdevice.h>
#include <string.h>
static int works(void) { int64_t n; return !cdevice_start() && !cdevice_call_python("operator", "index", (void *)42, &n) && n == 42; }
"""


def host(tmp_path, body):
    """A program that starts Python itself."""
    var = sysconfig.get_config_var
    extra = [f"-I{sysconfig.get_path('include')}", "-Wno-unused-parameter"]
    program = HOST + "int main(void) {" + body + "  return 0; }"
    (tmp_path / "host.c").write_text(program)
    out = tmp_path / "host"
    libraries = [*flags(), f"-L{var('LIBDIR')}", f"-Wl,-rpath,{var('LIBDIR')}", f"-lpython{var('LDVERSION')}"]
    subprocess.run(["gcc", *extra, str(tmp_path / "host.c"), "-o", str(out), *libraries], check=True)
    path = [str(pathlib.Path(cdevice.__file__).parent.parent), sysconfig.get_path("platlib")]
    return run(out, env={**child_env(), "PYTHONPATH": os.pathsep.join(path)}).stdout


def test_a_python_that_was_ended_and_started_again_by_its_host_gets_a_sentence(tmp_path):
    out = host(tmp_path, """
      Py_Initialize();
      if (!works()) return 1;
      Py_Finalize();
      Py_Initialize();
      if (cdevice_start() != -1) return 2;
      printf("%s\\n", cdevice_start_error());
      int64_t n = 0;
      if (cdevice_device_count(1, &n) || n != 1) return 3;
      Py_Finalize();
    """)  # fmt: skip
    assert "Python has ended in this process" in out


def test_an_exception_that_is_pending_in_the_host_stays_so(tmp_path):
    host(tmp_path, """
      int32_t type; int64_t id;
      Py_Initialize();
      PyErr_SetString(PyExc_KeyError, "mine");
      if (!works() || !PyErr_ExceptionMatches(PyExc_KeyError)) return 1;
      if (cdevice_find_device("cpu", &type, &id) || !cdevice_find_device("no such", &type, &id)) return 2;
      if (!PyErr_ExceptionMatches(PyExc_KeyError)) return 3;
      PyErr_Clear();
      Py_Finalize();
    """)  # fmt: skip


def test_a_start_from_a_sub_interpreter_is_refused_and_harms_nothing(tmp_path):
    out = host(tmp_path, """
      Py_Initialize();
      PyThreadState *m = PyThreadState_Get(), *s = Py_NewInterpreter();
      if (cdevice_start() != -1) return 1;
      printf("%s\\n", cdevice_start_error());
      Py_EndInterpreter(s);
      PyThreadState_Swap(m);
      if (!works()) return 2;
      Py_Finalize();
    """)  # fmt: skip
    assert "sub-interpreter" in out


def test_the_library_of_another_python_says_so():
    others = sorted(pathlib.Path(os.path.expanduser("~/.pyenv/versions")).glob("3.*/bin/python3"))
    here = f"{sys.version_info[0]}.{sys.version_info[1]}."
    others = [p for p in others if not p.parts[-3].startswith(here)]
    if not others:
        pytest.skip("another Python: pyenv install 3.12")
    code = (
        f"import ctypes; l = ctypes.CDLL({str(LIBRARY)!r}); l.cdevice_start_error.restype = ctypes.c_char_p\n"
        "print(l.cdevice_start(), l.cdevice_start_error().decode())"
    )
    done = subprocess.run([str(others[0]), "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("-1 libcdevice.so was built for Python"), done.stdout + done.stderr


def test_the_command_line_prints_what_compilers_need():
    run_cli = lambda *a: subprocess.run(
        [sys.executable, "-m", "cdevice", "config", *a], capture_output=True, text=True, env=child_env()
    )
    done = run_cli("--cflags", "--libs")
    assert done.stdout.split() == flags(), done.stderr
    assert run_cli().returncode == 2


# ---- what is NULL, what is wrong, and what the header says of it ----
def listed():
    """{function: (names of its parameters, {name in messages: parameter} that must not be NULL)} of capi.h."""
    text = (pathlib.Path(__file__).resolve().parents[1] / "cdevice" / "native" / "capi.h").read_text()
    text = text[text.index("#define CDEVICE_FUNCTIONS") : text.index("struct cdevice_api {")].replace("\\\n", " ")
    out, depth, start = {}, 0, 0
    text = text[text.index(")") + 1 :]
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "(" and depth == 1:
            start = i
        if c == ")" and depth == 0:
            entry = " ".join(text[start + 1 : i].split())
            name, parameters = re.search(r"(\w+), \((.*?)\), \(", entry).groups()
            names = [re.findall(r"\w+", p)[-1] for p in parameters.split(",") if p.strip() != "void"]
            out[name] = names, dict(re.findall(r'\{"(\w+)", (\w+)\}', entry))
    return out


# These may be NULL: what they are is optional.
OPTIONAL = {"set_allocator", "backend_for", "unregister_backend"}


def test_null_is_a_code_and_a_sentence_for_every_function():
    functions = listed()
    assert len(functions) > 50
    assert {name for name, (_, needs) in functions.items() if not needs} <= OPTIONAL
    code = f"""
import source_tree, ctypes, errno, cdevice
functions = {functions!r}
lib = ctypes.CDLL({str(LIBRARY)!r})
lib.cdevice_error_text.restype = ctypes.c_char_p
assert lib.cdevice_start() == 0
somewhere = ctypes.create_string_buffer(4096)
found = set()
for name, (parameters, needs) in functions.items():
    f = getattr(lib, "cdevice_" + name)
    f.restype = ctypes.c_int64
    for word, parameter in needs.items():
        values = {{p: ctypes.addressof(somewhere) for p in needs.values() if p != parameter}}
        r = f(*(ctypes.c_void_p(values.get(p)) for p in parameters))
        text = lib.cdevice_error_text().decode()
        assert text == f"cdevice_{{name}}(): {{word}} is NULL", (name, word, text)
        found.add(ctypes.c_int32(r).value if name not in ("schema_unref",) else 0)
assert errno.EINVAL in found
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.stdout == "ok\n", done.stderr


def test_null_in_c_is_einval_also_inside_structs_and_lists(tmp_path):
    program = build(tmp_path, "#include <errno.h>\n" + HEAD + MAKE + """
    #define SAYS(text) (strstr(cdevice_error_text(), text) != NULL)
    int main(void) {
      int32_t type; int64_t id; cdevice_schema *s = NULL, *none[1] = {NULL}; cdevice_array *a = make(), *b = a, *gone[2] = {a, NULL};
      cdevice_stream *t; cdevice_parts p; int code;
      if (cdevice_find_device(NULL, &type, &id) != EINVAL || !SAYS("cdevice_find_device(): name is NULL")) return 1;
      if (cdevice_schema_new(NULL, "", 0, 0, NULL, NULL, &s) != EINVAL || s) return 2;
      if (cdevice_schema_new("+s", "", 0, 2, NULL, NULL, &s) != EINVAL || !SAYS("children is NULL, and there are 2")) return 3;
      if (cdevice_schema_new("+s", "", 0, 1, none, NULL, &s) != EINVAL || !SAYS("children[0] is NULL")) return 4;
      if (cdevice_schema_new("+s", "", 0, -1, NULL, NULL, &s) != EINVAL) return 5;
      if (cdevice_array_copy(NULL, 1, 0, NULL, 1, &b) != EINVAL || b != a) return 6;
      if (cdevice_array_copy(a, 1, 0, NULL, 1, NULL) != EINVAL || !SAYS("out is NULL")) return 7;
      if (cdevice_array_slice(NULL, 0, 1, &b) != EINVAL || cdevice_array_slice(a, 0, 1, NULL) != EINVAL) return 8;
      memset(&p, 0, sizeof p);
      p.device_type = 1; p.length = 4; p.n_buffers = 2;
      if (cdevice_schema_new("i", "", 0, 0, NULL, NULL, &s)) return 9;
      if (cdevice_array_build(s, &p, 1, &b) != EINVAL || !SAYS("parts.buffers is NULL, and there are 2")) return 10;
      p.n_buffers = 0; p.n_children = 1; p.children = (cdevice_array *const *)none;
      if (cdevice_array_build(s, &p, 1, &b) != EINVAL || !SAYS("parts.children[0] is NULL")) return 11;
      if (cdevice_stream_new(s, 1, gone, 2, &t) != EINVAL || !SAYS("arrays[1] is NULL")) return 12;
      if (cdevice_array_length(NULL) != -1 || cdevice_array_schema(NULL) || cdevice_array_ref(NULL)) return 13;
      cdevice_array_unref(NULL); cdevice_schema_unref(NULL); cdevice_stream_close(NULL); cdevice_consumer_unref(NULL);
      cdevice_production_unref(NULL); cdevice_production_stop(NULL); cdevice_array_device(NULL, &type, &id);
      code = cdevice_array_copy(a, 1, 7, NULL, 1, &b); /* the CPU has no number */
      if (code) return 14;
      cdevice_array_unref(a); cdevice_array_unref(b); cdevice_schema_unref(s);
      return 0;
    }""")  # fmt: skip
    run(program)


def test_the_error_text_after_a_failed_start_is_its_reason(tmp_path):
    program = build(tmp_path, "#include <errno.h>\n" + HEAD + """
    int main(int argc, char **argv) {
      int64_t n;
      (void)argc;
      if (cdevice_device_count(1, &n) != ENOSYS) return 1;
      if (!*cdevice_error_text() || strcmp(cdevice_error_text(), cdevice_start_error())) return 2;
      printf("%s\\n", cdevice_error_text());
      if (cdevice_version() != 0 || cdevice_error_vendor_code() != 0) return 3;
      setenv("CDEVICE_PYTHON", argv[1], 1);
      if (strcmp(cdevice_error_text(), cdevice_start_error()) || !*cdevice_error_text()) return 4; /* asking starts nothing */
      if (cdevice_version() != 0x000100) return 5; /* any other call does */
      if (*cdevice_start_error()) return 6;
      return cdevice_device_count(1, &n);
    }""")  # fmt: skip
    out = run(program, sys.executable, env={**child_env(), "CDEVICE_PYTHON": "/nowhere/python"}).stdout
    assert out == "CDEVICE_PYTHON: /nowhere/python: No such file or directory\n"


def test_the_header_says_what_find_device_and_device_info_do(tmp_path):
    header = " ".join(
        (pathlib.Path(config.get_include()) / "cdevice" / "cdevice.h").read_text().replace("\n *", "").split()
    )
    assert (
        "It reads the name and starts no backend" in header and "its struct_size too, which need not be set" in header
    )
    assert "not started" not in header
    program = build(tmp_path, "#include <errno.h>\n" + HEAD + MAKE + """
    int main(void) {
      int32_t type; int64_t id; cdevice_array *a = make(), *b = NULL;
      cdevice_device_info info;
      if (cdevice_find_device("cuda:9", &type, &id) || type != 2 || id != 9) return 1; /* reads the name alone */
      memset(&info, 0xFF, sizeof info);
      if (cdevice_get_device_info(1, 0, &info) || info.struct_size != sizeof info || !info.alignment) return 2;
      if (cdevice_array_copy(a, 6150, 5, NULL, 1, &b) != ENODEV || b) return 3;
      cdevice_array_unref(a);
      return 0;
    }""")  # fmt: skip
    run(program)


def test_cmake_takes_a_version_that_fits_and_refuses_others(tmp_path):
    cmake = shutil.which("cmake") or pytest.skip("apt-get install cmake")

    def found(version, name):
        here = tmp_path / name
        here.mkdir()
        (here / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject(x C)\nfind_package(cdevice {version} REQUIRED)\n"
            'message(STATUS "found ${cdevice_VERSION}")\n'
        )
        directory = config.OPTIONS["cmakedir"][1]()
        return subprocess.run(
            [cmake, "-S", here, "-B", here / "b", f"-Dcdevice_DIR={directory}"], capture_output=True, text=True
        )

    for i, version in enumerate(("", "0.1", "0.1.0", "0.1.0 EXACT", "0")):
        done = found(version, f"right{i}")
        assert done.returncode == 0 and "found 0.1.0" in done.stdout, done.stderr
    for i, version in enumerate(("0.2", "1.0", "0.1.7", "0.0.9")):
        done = found(version, f"wrong{i}")
        assert done.returncode and "0.1.0" in done.stderr, version
    from importlib.metadata import version as of

    assert cdevice.__version__ == "0.1.0" and of("cdevice") == cdevice.__version__


def test_the_devices_of_the_example_come_with_the_reasons_of_the_others(built):
    """As examples/embed/README.rst says."""
    text = (EXAMPLES / "README.rst").read_text()
    assert "with their numbers, and why there are no others" in text
    lines = run(built["devices"]).stdout.splitlines()
    assert any(line.startswith("cpu:0") for line in lines)
