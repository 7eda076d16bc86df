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
from children import child_env
from embedding import EXAMPLES, LIBRARY, build, example_env, find_compiler, flags, installed, run
from paths import ROOT

import cdevice
from cdevice import config

VERSION = sum(int(n) << bits for n, bits in zip(cdevice.__version__.split("."), (16, 8, 0)))
PROGRAMS = ("export_int32", "receive", "stream", "devices", "group")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = tmp_path_factory.mktemp("embed")
    return {name: build(directory, EXAMPLES / f"{name}.c", name) for name in PROGRAMS}


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


GROUPED = """\
city     trips      sum     mean
Bergen       2    20.00    10.00
Narvik       3    18.00     6.00
Oslo         2     6.00     3.00
"""


@installed
@pytest.mark.parametrize("name", ["cpu", "opencl:0"])
def test_trips_are_grouped_joined_and_sorted_in_c(built, name):
    if not cdevice.device(name).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    assert run(built["group"], name).stdout == GROUPED


def test_python_fills_a_struct_and_reads_a_stream(built):
    out = run(built["receive"], env=example_env()).stdout
    assert "a batch of 10 rows: id (l) name (u)" in out
    assert run(built["stream"], env=example_env()).stdout == "Python's sum: 124750\n"


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
    compiler = find_compiler(compiler)
    for name in PROGRAMS:
        program = build(tmp_path, EXAMPLES / f"{name}.c", name, compiler, standard, ["-pedantic"])
        run(program, env=example_env())


def test_make_builds_and_runs_the_examples(tmp_path):
    if not shutil.which("make"):
        pytest.skip("apt-get install make")
    command = ["make", "-s", "-C", str(EXAMPLES), f"PYTHON={sys.executable}", f"B={tmp_path}", "run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=child_env())
    assert done.returncode == 0 and "Python's sum: 124750" in done.stdout and "Oslo         1" in done.stdout, (
        done.stderr
    )


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
    assert lib.cdevice_version() == {VERSION}
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
  cdevice_array_parts p;
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
      cdevice_producer *p;
      int n = 0, code;
      cdevice_array *many[10];
      for (int i = 0; i < 10; i++) many[i] = a;
      if (cdevice_stream_new(cdevice_array_schema(a), 1, many, 10, &s)) return 1;
      if (cdevice_consumer_new(3, 1, &c) || cdevice_produce(s, cdevice_consumer_handler(c), NULL, &p)) return 2;
      while (!(code = cdevice_consumer_next(c, -1, &b)) && b) { n += (int)cdevice_array_length(b); cdevice_array_unref(b); }
      if (code || n != 40) return 3;
      if (!cdevice_producer_wait(p, -1) || cdevice_producer_outcome(p, &code) != CDEVICE_FINISHED) return 4;
      cdevice_producer_unref(p);
      cdevice_consumer_unref(c);
      if (cdevice_stream_new(cdevice_array_schema(a), 1, many, 10, &s)) return 5;
      if (cdevice_consumer_new(3, 1, &c) || cdevice_produce(s, cdevice_consumer_handler(c), NULL, &p)) return 6;
      if (cdevice_consumer_stream(c, &bridge)) return 7;
      struct ArrowDeviceArrayStream out;
      struct ArrowDeviceArray d;
      if (cdevice_stream_export(bridge, &out)) return 8;
      for (n = 0; !out.get_next(&out, &d) && d.array.release; n++) d.array.release(&d.array);
      out.release(&out);
      cdevice_producer_unref(p);
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


# ---- functions ----
def test_a_function_is_called_by_its_name_with_options_and_scalars(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    static int first(cdevice_array *x) { /* of int32, int64 or a bit */
      struct ArrowDeviceArray d;
      if (cdevice_array_export(x, &d)) return -1;
      const char *format; struct ArrowSchema s;
      cdevice_schema_export(cdevice_array_schema(x), &s);
      format = s.format;
      int v = *format == 'i' ? ((int32_t *)d.array.buffers[1])[d.array.offset] : *format == 'l'
            ? (int)((int64_t *)d.array.buffers[1])[d.array.offset] : ((uint8_t *)d.array.buffers[1])[0] & 15;
      s.release(&s);
      d.array.release(&d.array);
      cdevice_array_unref(x);
      return v;
    }
    int main(void) {
      cdevice_array *a = make(), *out, *two[2] = {a, a}, *half[2] = {a, NULL}, *none[2] = {NULL, a};
      if (cdevice_call("add", two, 2, NULL, &out) || cdevice_array_length(out) != 4 || first(out) != 2) return 1;
      if (cdevice_call("sum", &a, 1, NULL, &out) || cdevice_array_length(out) != 1 || first(out) != 10) return 2;
      if (cdevice_call("sum", &a, 1, "{\\"min_count\\": 5}", &out) || cdevice_array_null_count(out) != 1) return 3;
      cdevice_array_unref(out);
      if (cdevice_call("greater", half, 2, "{\\"scalars\\": [2]}", &out) || first(out) != 12) return 4;
      if (cdevice_call("subtract", none, 2, "{\\"scalars\\": [10]}", &out) || first(out) != 9) return 5;
      if (cdevice_call("array_sort_indices", &a, 1, "{\\"order\\": \\"descending\\"}", &out)) return 6;
      cdevice_array_unref(out);
      if (cdevice_array_length(a) != 4) return 7;
      cdevice_array_unref(a);
      return 0;
    }""")  # fmt: skip
    done = run(program, ok=False)
    assert done.returncode == 0, done.stderr


def test_a_call_that_cannot_be_is_a_code_and_a_sentence(tmp_path):
    program = build(tmp_path, "#include <errno.h>\n#include <string.h>\n" + HEAD + MAKE + """
    static int code; /* and the text */
    #define CALL(name, arguments, n, options, want, text)                                                   \\
      (out = (cdevice_array *)&code, code = cdevice_call(name, arguments, n, options, &out),                 \\
       (code == want && strstr(cdevice_error_text(), text) && out == (cdevice_array *)&code) ? 0             \\
       : (fprintf(stderr, "line %d: %d %s", __LINE__, code, cdevice_error_text()), 1))
    int main(void) {
      cdevice_array *a = make(), *out, *two[2] = {a, a}, *half[2] = {a, NULL};
      int bad = CALL("no_such", two, 2, NULL, EINVAL, "no_such");
      bad |= CALL("add", two, -1, NULL, EINVAL, "n is -1");
      bad |= CALL("add", NULL, 2, NULL, EINVAL, "arguments is NULL");
      bad |= CALL("add", two, 2, "{", EINVAL, "cdevice_call(): add: the options are not JSON");
      bad |= CALL("add", two, 2, "[1]", EINVAL, "not a JSON object: [1]");
      bad |= CALL("add", half, 2, NULL, EINVAL, "1 arguments are NULL");
      bad |= CALL("add", two, 2, "{\\"scalars\\": [1]}", EINVAL, "has 1 values");
      bad |= CALL("add", half, 2, "{\\"scalars\\": 1}", EINVAL, "must be a list");
      bad |= CALL("add", half, 2, "{\\"scalars\\": [\\"x\\"]}", ENOTSUP, "add");
      bad |= CALL("sum", &a, 1, "{\\"min_cont\\": 1}", EINVAL, "min_cont");
      bad |= CALL("group_by", two, 2, "{\\"keys\\": [\\"a\\"], \\"aggregations\\": []}", EINVAL, "takes 1 argument, not 2");
      bad |= CALL("group_by", &a, 1, NULL, EINVAL, "\\"keys\\"");
      bad |= CALL("group_by", &a, 1, "{\\"keys\\": []}", EINVAL, "\\"aggregations\\"");
      bad |= CALL("group_by", &a, 1, "{\\"keys\\": [], \\"aggregations\\": []}", EINVAL, "batch");
      bad |= CALL("join", two, 2, "{\\"keys\\": [\\"a\\"], \\"join_type\\": \\"inner\\"}", EINVAL, "join");
      bad |= CALL("\\xff", two, 2, NULL, EINVAL, "utf-8");
      cdevice_array_unref(a);
      return bad;
    }""")  # fmt: skip
    done = run(program, ok=False)
    assert done.returncode == 0, done.stderr


def test_functions_are_called_by_many_threads(tmp_path):
    program = build(tmp_path, HEAD + MAKE + """
    static void *work(void *p) {
      for (int i = 0; i < 50; i++) {
        cdevice_array *two[2] = {p, p}, *out;
        if (cdevice_call("multiply", two, 2, NULL, &out)) return p;
        cdevice_array_unref(out);
      }
      return NULL;
    }
    int main(void) {
      pthread_t t[8];
      void *r;
      int bad = 0;
      cdevice_array *a = make();
      for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, work, a);
      for (int i = 0; i < 8; i++) pthread_join(t[i], &r), bad |= r != NULL;
      cdevice_array_unref(a);
      return bad;
    }""")  # fmt: skip
    run(program)


# ---- what is NULL, what is wrong, and what the header says of it ----
def listed():
    """{function: (names of its parameters, {name in messages: parameter} that must not be NULL)} of capi.h."""
    text = (ROOT / "cdevice" / "native" / "embed" / "capi.h").read_text()
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
      cdevice_stream *t; cdevice_array_parts p; int code;
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
      cdevice_producer_unref(NULL); cdevice_producer_stop(NULL); cdevice_array_device(NULL, &type, &id);
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
      if (cdevice_version() != (CDEVICE_VERSION_MAJOR << 16 | CDEVICE_VERSION_MINOR << 8 | CDEVICE_VERSION_PATCH)) return 5; /* any other call does */
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

    for i, version in enumerate(("", "0.2", "0.2.0", "0.2.0 EXACT", "0")):
        done = found(version, f"right{i}")
        assert done.returncode == 0 and "found 0.2.0" in done.stdout, done.stderr
    for i, version in enumerate(("0.3", "1.0", "0.2.7", "0.1.0")):
        done = found(version, f"wrong{i}")
        assert done.returncode and "0.2.0" in done.stderr, version
    from importlib.metadata import version as of

    assert cdevice.__version__ == "0.2.0" and of("cdevice") == cdevice.__version__


def test_the_devices_of_the_example_come_with_the_reasons_of_the_others(built):
    """As examples/embed/README.rst says."""
    text = (EXAMPLES / "README.rst").read_text()
    assert "with their numbers, and why there are no others" in text
    lines = run(built["devices"]).stdout.splitlines()
    assert any(line.startswith("cpu:0") for line in lines)


# ---- forks, starts that fail, and return values of third-party C ----
def test_a_process_that_looked_at_a_capsule_is_not_ended():
    """cffi's embedding takes the version tag of the capsules' type for its lock; any look-up of an attribute sets that."""
    code = f"""
import source_tree, ctypes, cdevice
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
schema, array = cdevice.asarray([1]).__arrow_c_device_array__()
get(schema, b"arrow_schema")
schema.__class__.__doc__, hasattr(schema, "nothing")
print(ctypes.CDLL({str(LIBRARY)!r}).cdevice_version())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert (done.returncode, done.stdout) == (0, f"{VERSION}\n"), done.stderr


TOLD = """
#include <sys/wait.h>
#include <errno.h>
static int told[2], go[2]; /* the Python side writes one byte, then waits for one */
static void pipes(void) {
  char text[16];
  if (pipe(told) || pipe(go)) _exit(90);
  snprintf(text, sizeof text, "%d", told[1]); setenv("TOLD", text, 1);
  snprintf(text, sizeof text, "%d", go[0]); setenv("GO", text, 1);
}
static void wait_until_told(void) { char c; if (read(told[0], &c, 1) != 1) _exit(91); }
static void let_go(void) { if (write(go[1], "x", 1) != 1) _exit(92); }
"""


def side_env(path, **modules):
    """An environment whose Python finds these modules."""
    for name, text in modules.items():
        (path / f"{name}.py").write_text(text)
    env = child_env()
    return {**env, "PYTHONPATH": os.pathsep.join([str(path), env["PYTHONPATH"]])}


def test_a_fork_during_the_first_call_leaves_a_child_that_gets_an_error(tmp_path):
    program = build(tmp_path, HEAD + MAKE + TOLD + """
    static void *starts(void *p) { return cdevice_start() ? p : NULL; }
    int main(void) {
      pthread_t t; int status; void *failed;
      pipes();
      pthread_create(&t, NULL, starts, (void *)1);
      wait_until_told();
      pid_t p = fork();
      if (!p) {
        alarm(30);
        int64_t n; int r = cdevice_start();
        if (cdevice_device_count(1, &n) != ENOSYS || !*cdevice_error_text()) _exit(3);
        printf("%d %s\\n", r, cdevice_start_error());
        fflush(stdout);
        _exit(0);
      }
      waitpid(p, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status)) return 1;
      let_go();
      pthread_join(t, &failed);
      if (failed || !make()) return 2;
      p = fork(); /* now it is there */
      if (!p) { alarm(30); _exit(make() ? 0 : 1); }
      waitpid(p, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
    }""")  # fmt: skip
    hold = "import os\nif 'TOLD' in os.environ:\n    os.write(int(os.environ['TOLD']), b'x'); os.read(int(os.environ['GO']), 1)\n"
    out = run(program, env=side_env(tmp_path, sitecustomize=hold)).stdout
    assert out.startswith("-1 the process was forked while another thread was starting Python"), out


def test_a_fork_outside_python_leaves_a_child_whose_calls_of_python_are_errors(tmp_path):
    program = build(tmp_path, HEAD + MAKE + TOLD + """
    static void *inside(void *p) { return cdevice_call_python("side", "hold", NULL, NULL) ? p : NULL; }
    int main(void) {
      pthread_t t; int status; void *failed; int32_t type; int64_t id;
      pipes();
      if (cdevice_find_device("cpu", &type, &id)) return 1;
      pthread_create(&t, NULL, inside, (void *)1);
      wait_until_told(); /* that thread has the GIL */
      pid_t p = fork();
      if (!p) {
        alarm(30);
        if (cdevice_find_device("cpu", &type, &id) != EPERM) _exit(2);
        if (!strstr(cdevice_error_text(), "forked")) _exit(3);
        cdevice_array *a = make(), *b;
        if (!a || cdevice_array_slice(a, 1, 2, &b)) _exit(4); /* what is in C goes on */
        struct ArrowDeviceArray out;
        if (cdevice_array_export(b, &out)) _exit(5);
        out.array.release(&out.array);
        cdevice_device_info info; /* of a backend that was not looked up: only Python could */
        memset(&info, 0, sizeof info);
        info.struct_size = sizeof info;
        int r = cdevice_get_device_info(4, 0, &info);
        if (r != EPERM || !strstr(cdevice_error_text(), "forked")) _exit(6);
        if (cdevice_array_copy(a, 4, 0, NULL, 1, &b) != EPERM) _exit(7);
        _exit(0);
      }
      waitpid(p, &status, 0);
      if (!WIFEXITED(status)) return 99;
      if (WEXITSTATUS(status)) return WEXITSTATUS(status);
      let_go();
      pthread_join(t, &failed);
      return failed || cdevice_find_device("cpu", &type, &id); /* the parent is as it was */
    }""")  # fmt: skip
    hold = """
import ctypes, os
def hold(_):
    os.write(int(os.environ["TOLD"]), b"x")
    ctypes.PyDLL(None).read(int(os.environ["GO"]), ctypes.create_string_buffer(1), 1)  # with the GIL
"""
    run(program, env=side_env(tmp_path, side=hold))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork()")
def test_a_fork_by_python_leaves_a_child_in_which_python_can_be_called():
    code = f"""
import source_tree, ctypes, os
lib = ctypes.CDLL({str(LIBRARY)!r})
find = lambda: lib.cdevice_find_device(b"cpu", ctypes.byref(ctypes.c_int32()), ctypes.byref(ctypes.c_int64()))
assert find() == 0
child = os.fork()
if not child:
    os._exit(find())
assert os.waitpid(child, 0)[1] == 0
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.stdout == "ok\n", done.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("PYTHONHOME", "/nonexistent"), ("PYTHONIOENCODING", "no-such-encoding")]
)  # fmt: skip
def test_a_python_that_does_not_start_keeps_its_reason(tmp_path, name, value):
    program = build(tmp_path, HEAD + """
    int main(int argc, char **argv) {
      char first[1024]; int64_t n;
      (void)argc;
      if (!cdevice_device_count(1, &n)) return 1;
      snprintf(first, sizeof first, "%s", cdevice_start_error());
      unsetenv(argv[1]);
      if (cdevice_start() != -1 || strcmp(first, cdevice_start_error())) return 2;
      if (!cdevice_device_count(1, &n) || strcmp(first, cdevice_error_text())) return 3;
      printf("%s\\n", first);
      return 0;
    }""")  # fmt: skip
    out = run(program, name, env={**child_env(), "PYTHONPATH": "", name: value}).stdout
    assert out.startswith("Python (") and "does not start" in out and "frozen getpath" not in out, out


PLUGIN = """
#include <errno.h>
static int mode;
static int st(void *s, const cdevice_host *h, cdevice_error *e) { (void)s; (void)h; (void)e; return 0; }
static int dc(void *s, int64_t *o, cdevice_error *e) { (void)s; (void)e; *o = mode == 5 ? -3 : 1; return 0; }
static int freed;
static int al(void *s, int64_t d, int64_t n, void *q, cdevice_block *o, cdevice_error *e) {
  (void)s; (void)q; (void)e;
  memset(o, 0, sizeof *o);
  if (mode == 4) return -7;
  o->data = mode == 1 ? NULL : malloc((size_t)n);
  o->nbytes = mode == 2 ? 8 : mode == 3 ? -n : n;
  o->device_id = d;
  return 0;
}
static void fr(void *s, const cdevice_block *b) {
  (void)s;
  if (b->opaque[0] == s) freed++, free(b->data); /* no view */
}
static int cp(void *s, int k, const cdevice_copy *c, int64_t n, void *q, cdevice_error *e) {
  (void)s; (void)k; (void)q; (void)e;
  for (int64_t i = 0; i < n; i++) memcpy((char *)c[i].dst + c[i].dst_offset, (const char *)c[i].src + c[i].src_offset, (size_t)c[i].nbytes);
  return 0;
}
static int vw(void *s, const cdevice_block *w, int64_t o, int64_t n, cdevice_block *out, cdevice_error *e) {
  (void)s; (void)e;
  memset(out, 0, sizeof *out);
  out->data = mode == 6 ? NULL : (char *)w->data + o;
  out->nbytes = mode == 7 ? n - 1 : n;
  out->opaque[0] = out;
  return 0;
}
static int rec(void *s, int64_t d, void *q, cdevice_event *o, cdevice_error *e) { (void)s; (void)d; (void)q; (void)e; memset(o, 0, sizeof *o); o->slot = o; o->sync_event = &o->slot; return 0; }
static int done(void *s, int64_t d, void *v, int *o, cdevice_error *e) { (void)s; (void)d; (void)v; (void)e; *o = mode == 8 ? -1 : mode == 9 ? 1234 : 1; return mode == 10 ? -9 : 0; }
static int wh(void *s, int64_t d, void *v, cdevice_error *e) { (void)s; (void)d; (void)v; (void)e; return 0; }
static int ws(void *s, int64_t d, void *v, void *q, cdevice_error *e) { (void)s; (void)d; (void)v; (void)q; (void)e; return 0; }
static void de(void *s, int64_t d, cdevice_event *v) { (void)s; (void)d; (void)v; }
static int inf(void *s, int64_t d, cdevice_device_info *o, cdevice_error *e) {
  (void)s; (void)d; (void)e;
  o->alignment = mode == 11 ? 48 : 64;
  memset(o->name, 'n', sizeof o->name); o->name[3] = (char)0xFF; /* no end, no UTF-8 */
  return 0;
}
static cdevice_backend table;
static int plug(uint64_t capabilities) {
  cdevice_backend *b = &table;
  b->abi_version = CDEVICE_BACKEND_ABI; b->struct_size = sizeof *b; b->device_type = 12; b->name = "acme";
  b->capabilities = capabilities | CDEVICE_CAP_EVENTS | CDEVICE_CAP_HOST_ACCESSIBLE;
  b->start = st; b->device_count = dc; b->alloc = al; b->free = fr; b->copy = cp; b->view = vw; b->device_info = inf;
  b->event_record = rec; b->event_done = done; b->event_wait_host = wh; b->event_wait_stream = ws; b->event_destroy = de;
  return cdevice_register_backend(b, 1);
}
"""


def test_memory_that_is_less_than_was_asked_for_is_refused(tmp_path):
    program = build(tmp_path, HEAD + MAKE + PLUGIN + """
    static int only(int n, cdevice_array *a, const char *text) {
      cdevice_array *b = NULL;
      mode = n;
      int r = cdevice_array_copy(a, 12, 0, NULL, 1, &b);
      printf("%d: %d %s\\n", n, r, cdevice_error_text());
      return r <= 0 || b || !strstr(cdevice_error_text(), text);
    }
    static int lent(void *s, int64_t d, int64_t n, void *q, cdevice_block *o, cdevice_error *e) { return al(s, d, n, q, o, e); }
    int main(void) {
      cdevice_array *a = make(), *b = NULL;
      if (plug(CDEVICE_CAP_ADDRESS)) return 1;
      if (only(1, a, "returned no memory") || freed || only(2, a, "returned 8 bytes, ") || freed != 1) return 2;
      if (only(3, a, "returned -") || freed != 2 || only(4, a, "its code is -7") || only(5, a, "device_count() returned -3")) return 3;
      cdevice_allocator allocator = {sizeof allocator, 0, NULL, lent, fr, NULL};
      if (cdevice_set_allocator(12, &allocator)) return 4;
      if (only(1, a, "returned no memory") || freed != 2 || only(2, a, "returned 8 bytes") || freed != 3) return 5;
      if (cdevice_set_allocator(12, NULL) || plug(0)) return 6;
      if (only(6, a, "view() reported success") || only(7, a, "view() returned")) return 7;
      mode = 0;
      return cdevice_array_copy(a, 12, 0, NULL, 1, &b);
    }""")  # fmt: skip
    run(program)


def test_answers_of_a_plug_in_that_mean_nothing_are_errors(tmp_path):
    program = build(tmp_path, HEAD + MAKE + PLUGIN + """
    int main(void) {
      cdevice_array *a = make(), *b = NULL; cdevice_device_info info; int ready = 7; int64_t n = 7;
      if (plug(CDEVICE_CAP_ADDRESS) || cdevice_array_copy(a, 12, 0, NULL, 1, &b)) return 1;
      for (mode = 8; mode <= 10; mode++) {
        int r = cdevice_array_ready(b, &ready);
        if (r <= 0 || ready || !*cdevice_error_text()) return mode;
      }
      mode = 5;
      if (cdevice_device_count(12, &n) <= 0 || n) return 2;
      mode = 0;
      if (cdevice_get_device_info(12, 0, &info) || strncmp(info.name, "nnn?n", 5) || strlen(info.name) != sizeof info.name - 1) return 3;
      if (cdevice_get_device_info(12, -1, &info) != EINVAL || cdevice_get_device_info(12, 1, &info) != EINVAL) return 4;
      mode = 11;
      if (cdevice_get_device_info(12, 0, &info) <= 0 || !strstr(cdevice_error_text(), "48")) return 5;
      mode = 0;
      return cdevice_array_ready(b, &ready) || ready != 1;
    }""")  # fmt: skip
    run(program)


def test_a_start_may_ask_about_devices_and_one_that_waits_for_itself_is_an_error(tmp_path):
    program = build(tmp_path, HEAD + PLUGIN + """
    static int asks(void *s, const cdevice_host *h, cdevice_error *e) {
      int64_t n; (void)h; (void)e;
      return cdevice_device_count(*(int32_t *)s, &n);
    }
    static int add(cdevice_backend *b, int32_t type, const char *name, int32_t *other) {
      plug(CDEVICE_CAP_ADDRESS);
      *b = table;
      b->device_type = type; b->name = name; b->self = other; b->start = asks;
      return cdevice_register_backend(b, 1);
    }
    static void *count(void *p) { int64_t n; return (void *)(intptr_t)cdevice_device_count((int32_t)(intptr_t)p, &n); }
    int main(void) {
      static cdevice_backend b[4];
      static int32_t one = 1, itself = 6101, next = 6103, back = 6102;
      int64_t n; void *r; pthread_t t[2];
      alarm(30);
      if (add(&b[0], 6100, "fine", &one) || add(&b[1], 6101, "mirror", &itself)) return 1;
      if (add(&b[2], 6102, "left", &next) || add(&b[3], 6103, "right", &back)) return 2;
      if (cdevice_device_count(6100, &n) || n != 1) return 3;
      if (cdevice_device_count(6101, &n) != EDEADLK || !strstr(cdevice_error_text(), "mirror")) return 4;
      if (cdevice_device_count(6102, &n) != EDEADLK) return 5;
      for (int k = 0; k < 200; k++) { /* from both sides at once: whichever closes the circle */
        for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, count, (void *)(intptr_t)(6102 + i));
        for (int i = 0; i < 2; i++) { pthread_join(t[i], &r); if ((intptr_t)r != EDEADLK) return 6; }
      }
      next = 1; /* and it is not remembered */
      return cdevice_device_count(6103, &n) || n != 1;
    }""")  # fmt: skip
    run(program)


def test_one_producer_of_two_consumers_may_end_both_at_once(tmp_path):
    """A tee: its cancel for one consumer ends the other, inside that one's request."""
    program = build(tmp_path, HEAD + MAKE + """
    static cdevice_consumer *c1, *c2; static struct ArrowAsyncDeviceStreamHandler *h1, *h2;
    static int taken, deep; static cdevice_array *arr;
    static int ex(struct ArrowAsyncTask *t, struct ArrowDeviceArray *o) { (void)t; return o ? cdevice_array_export(arr, o) : 0; }
    static struct ArrowAsyncTask task = {ex, NULL};
    static void end(struct ArrowAsyncDeviceStreamHandler *h) { h->on_next_task(h, NULL, NULL); h->release(h); }
    static void req1(struct ArrowAsyncProducer *p, int64_t n) { (void)p; (void)n; if (taken) cdevice_consumer_close(c2); }
    static void can1(struct ArrowAsyncProducer *p) { (void)p; }
    static void req2(struct ArrowAsyncProducer *p, int64_t n) { (void)p; (void)n; }
    static void can2(struct ArrowAsyncProducer *p) {
      cdevice_array *a;
      (void)p;
      cdevice_consumer_next(c2, 0, &a); /* the user's code may ask, too: no lock is held here */
      if (deep) cdevice_consumer_close(c1);
      end(h2); end(h1);
    }
    static struct ArrowAsyncProducer p1 = {1, req1, can1, NULL, NULL}, p2 = {1, req2, can2, NULL, NULL};
    int main(void) {
      cdevice_array *a; struct ArrowSchema x;
      alarm(30);
      if (!(arr = make())) return 1;
      for (deep = 0; deep < 2; deep++) {
        taken = 0;
        if (cdevice_consumer_new(1, 1, &c1) || cdevice_consumer_new(1, 1, &c2)) return 2;
        h1 = cdevice_consumer_handler(c1); h2 = cdevice_consumer_handler(c2);
        h1->producer = &p1; h2->producer = &p2;
        if (cdevice_schema_export(cdevice_array_schema(arr), &x) || h1->on_schema(h1, &x)) return 3;
        if (cdevice_schema_export(cdevice_array_schema(arr), &x) || h2->on_schema(h2, &x)) return 4;
        if (h1->on_next_task(h1, &task, NULL) || h2->on_next_task(h2, &task, NULL)) return 5;
        taken = 1;
        if (cdevice_consumer_next(c1, -1, &a) || !a || cdevice_array_length(a) != 4) return 6;
        cdevice_array_unref(a);
        cdevice_consumer_unref(c1); cdevice_consumer_unref(c2);
      }
      return 0;
    }""")  # fmt: skip
    header = (pathlib.Path(config.get_include()) / "cdevice" / "arrow_abi.h").read_text()
    assert "struct ArrowAsyncProducer" in header
    run(program)


def test_numbers_of_c_programs_that_cannot_be_meant_are_refused(tmp_path):
    program = build(tmp_path, "#include <errno.h>\n" + HEAD + MAKE + """
    #define SAYS(text) (strstr(cdevice_error_text(), text) != NULL)
    static int streams_released;
    static void rel(struct ArrowDeviceArrayStream *s) { streams_released++; s->release = NULL; }
    static void rel_cpu(struct ArrowArrayStream *s) { streams_released++; s->release = NULL; }
    int main(void) {
      cdevice_array *a = make(), *b = NULL, *list[1] = {a}; cdevice_stream *s = NULL; cdevice_consumer *c = NULL;
      cdevice_device_info info; cdevice_array_parts p; const void *buffers[2] = {NULL, values};
      cdevice_schema *i32 = cdevice_array_schema(a);
      int levels[] = {-1, 3, 12345};
      for (int k = 0; k < 3; k++) {
        struct ArrowDeviceArray da; struct ArrowSchema sc; DLManagedTensorVersioned *t;
        if (cdevice_array_check(a, levels[k]) != EINVAL || !SAYS("cdevice_array_check(): check is")) return 1;
        if (cdevice_consumer_new(4, levels[k], &c) != EINVAL || c) return 2;
        if (cdevice_array_export(a, &da) || cdevice_schema_export(i32, &sc)) return 3;
        if (cdevice_array_import(&sc, &da, levels[k], &b) != EINVAL || b || !da.array.release || !sc.release) return 4;
        da.array.release(&da.array); sc.release(&sc);
        if (cdevice_dlpack_export(a, &t) || cdevice_dlpack_import(t, NULL, levels[k], &b) != EINVAL || b) return 5;
        t->deleter(t);
        struct ArrowDeviceArrayStream in; memset(&in, 0, sizeof in); in.device_type = 1; in.release = rel;
        if (cdevice_stream_import(&in, levels[k], &s) != EINVAL || s || in.release) return 6;
        struct ArrowArrayStream cpu; memset(&cpu, 0, sizeof cpu); cpu.release = rel_cpu;
        if (cdevice_stream_import_cpu(&cpu, levels[k], &s) != EINVAL || s || cpu.release) return 7;
        memset(&p, 0, sizeof p);
        p.device_type = 1; p.device_id = -1; p.length = 4; p.n_buffers = 2; p.buffers = buffers;
        if (cdevice_array_build(i32, &p, levels[k], &b) != EINVAL || b) return 8;
      }
      if (streams_released != 6) return 9;
      int32_t types[] = {0, -5, INT32_MIN};
      for (int k = 0; k < 3; k++) {
        if (cdevice_stream_new(i32, types[k], list, 1, &s) != EINVAL || s || !SAYS("device type")) return 10;
        if (cdevice_array_copy(a, types[k], 0, NULL, 1, &b) != EINVAL || b) return 11;
        if (cdevice_array_wait_stream(a, types[k], 0, NULL) != EINVAL) return 12;
        if (cdevice_get_device_info(types[k], 0, &info) != EINVAL) return 13;
      }
      int64_t counts[] = {-1, INT64_MAX, INT64_MAX / 8, (int64_t)1 << 40};
      for (int k = 0; k < 4; k++) {
        p.n_buffers = counts[k]; p.n_children = 0;
        if (cdevice_array_build(i32, &p, 1, &b) != EINVAL || b || SAYS("memory")) return 14;
        if (cdevice_array_build(i32, &p, 0, &b) != EINVAL || b || SAYS("memory")) return 15;
        p.n_buffers = 2; p.n_children = counts[k]; p.children = list;
        if (cdevice_array_build(i32, &p, 1, &b) != EINVAL || b || SAYS("memory")) return 16;
        if (cdevice_stream_new(i32, 1, list, counts[k], &s) != EINVAL || s) return 17;
        if (cdevice_array_slice(a, counts[k], 1, &b) != EINVAL || cdevice_array_slice(a, 1, counts[k], &b) != EINVAL) return 18;
        if (cdevice_array_child(a, counts[k], &b) != EINVAL && counts[k] != -1) return 19;
        if (cdevice_consumer_new(counts[k], 1, &c) != EINVAL || c) return 20;
      }
      return 0;
    }""")  # fmt: skip
    run(program)


def test_what_keeps_a_device_from_being_found_keeps_its_code(tmp_path):
    program = build(tmp_path, "#include <errno.h>\n" + HEAD + """
    int main(void) {
      int32_t type; int64_t id;
      if (cdevice_find_device("cpu", &type, &id)) return 1;
      int64_t n;
      if (cdevice_call_python("side", "begin", NULL, &n)) return 2;
      printf("%d\\n", cdevice_find_device("memory", &type, &id));
      printf("%d\\n", cdevice_find_device("descriptors", &type, &id));
      printf("%d\\n", cdevice_find_device("huge", &type, &id));
      printf("%d\\n", cdevice_find_device("nothing is called so", &type, &id));
      printf("%d\\n", cdevice_find_device("\\xff\\xfe", &type, &id));
      if (cdevice_device_count(6150, &n) != ENODEV || !*cdevice_error_text()) return 3;
      return 0;
    }""")  # fmt: skip
    side = """
import errno, cdevice
def begin(_):
    real = cdevice.device
    def device(name):
        if name == "memory": raise MemoryError
        if name == "descriptors": raise OSError(errno.EMFILE, "too many")
        if name == "huge": return type("D", (), {"type_id": 1, "id": 2**80})
        return real(name)
    cdevice.device = device
    from cdevice._devices import backends as registry
    def silent(number): raise cdevice.BackendUnavailable("")
    registry.ensure_backend = silent
"""
    import errno

    out = run(program, env=side_env(tmp_path, side=side)).stdout.split()
    assert [int(x) for x in out] == [errno.ENOMEM, errno.EMFILE, errno.EIO, errno.EINVAL, errno.EINVAL]


def test_a_plug_in_without_device_info_has_a_name_and_an_alignment(tmp_path):
    program = build(tmp_path, HEAD + PLUGIN + """
    int main(void) {
      cdevice_device_info info; cdevice_backend bare;
      if (plug(CDEVICE_CAP_ADDRESS)) return 1;
      bare = table;
      bare.device_type = 6200; bare.name = "bare"; bare.device_info = NULL;
      if (cdevice_register_backend(&bare, 0) || cdevice_get_device_info(6200, 0, &info)) return 2;
      return strcmp(info.name, "bare") || info.alignment != 64 || info.total_bytes != -1;
    }""")  # fmt: skip
    run(program)


def without_search_paths():
    gone = ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "LIBRARY_PATH", "CPATH")
    return {k: v for k, v in child_env().items() if k not in gone}


def install(project, prefix, cmakedir, *given):
    """Configures, builds and installs a project, and removes its build folder."""
    cmake = shutil.which("cmake") or pytest.skip("apt-get install cmake")
    where = prefix.parent / "b"
    for command in (
        [cmake, "-S", str(project), "-B", str(where), f"-Dcdevice_DIR={cmakedir}", *given],
        [cmake, "--build", str(where)],
        [cmake, "--install", str(where), "--prefix", str(prefix)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(where)


def test_installed_examples_find_the_library(tmp_path):
    install(EXAMPLES, tmp_path / "i", config.OPTIONS["cmakedir"][1]())
    assert "cpu:0" in run(tmp_path / "i" / "bin" / "devices", env=without_search_paths()).stdout
    assert "Bergen" in run(tmp_path / "i" / "bin" / "trips", env=without_search_paths()).stdout


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(cdevice 0.2 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE cdevice::cdevice)
install(TARGETS program DESTINATION bin)
"""
ONE = '#include <cdevice/cdevice.h>\n#include <stdio.h>\nint main(void) { return printf("%u\\n", cdevice_version()) < 0; }\n'


@pytest.mark.parametrize(
    "given",
    [[], ["-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib"], ["-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=OFF"]],
    ids=["plain", "an rpath of its own", "no rpath of links"],
)
def test_an_installed_program_finds_the_library_of_an_environment_inside_its_project(given, tmp_path):
    project = tmp_path / "a project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(CMAKE)
    (project / "program.c").write_text(ONE)
    (project / ".venv").symlink_to(LIBRARY.parents[2], target_is_directory=True)
    install(project, tmp_path / "i", project / ".venv" / "cdevice" / "lib" / "cmake" / "cdevice", *given)
    assert run(tmp_path / "i" / "bin" / "program", env=without_search_paths()).stdout == f"{VERSION}\n"


def test_a_program_of_pkg_config_finds_the_library_after_it_was_moved(tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("apt-get install pkg-config")
    env = {**os.environ, "PKG_CONFIG_PATH": config.OPTIONS["pkgconfigdir"][1]()}
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "cdevice"], capture_output=True, text=True, env=env)
    (tmp_path / "program.c").write_text(ONE)
    command = ["gcc", str(tmp_path / "program.c"), "-o", str(tmp_path / "program"), *found.stdout.split()]
    subprocess.run(command, check=True, capture_output=True)
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.move(tmp_path / "program", tmp_path / "elsewhere" / "program")
    assert run(moved, env=without_search_paths()).stdout == f"{VERSION}\n"
    cflags = subprocess.run(["pkg-config", "--modversion", "cdevice"], capture_output=True, text=True, env=env)
    assert cflags.stdout.strip() == cdevice.__version__


RULES = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cdevice/cdevice.h"
static int released;
static void release_array(struct ArrowArray *a) { released++; a->release = NULL; }
static void release_schema(struct ArrowSchema *s) { released++; s->release = NULL; }
static int64_t values[3] = {1, 2, 3};
static const void *buffers[2] = {NULL, values};
static struct ArrowSchema schema = {.format = "l", .flags = 2, .release = release_schema};
static struct ArrowDeviceArray array = {
    .array = {.length = 3, .n_buffers = 2, .buffers = buffers, .release = release_array}, .device_id = -1, .device_type = 1};
static int next_of(struct ArrowArrayStream *s, struct ArrowArray *out) {
  memset(out, 0, sizeof *out);
  if (!s->private_data) *out = array.array, s->private_data = values;
  return 0;
}
static int schema_of(struct ArrowArrayStream *s, struct ArrowSchema *out) { (void)s; *out = schema; return 0; }
static const char *no_error(struct ArrowArrayStream *s) { (void)s; return NULL; }
static void release_stream(struct ArrowArrayStream *s) { released++; s->release = NULL; }
static struct ArrowArrayStream stream = {schema_of, next_of, no_error, release_stream, NULL};
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the rules are checked in forks")
def test_structs_of_a_c_program_are_held_against_the_rules_and_stay_its_own(tmp_path):
    program = build(tmp_path, RULES + """
    int main(void) {
      char *report = NULL;
      int64_t broken = -1;
      if (cdevice_check_array(&schema, &array, NULL, &broken, &report) || broken) { puts(report); return 1; }
      if (released || !array.array.release || !strstr(report, "kept      MUST     release_marks_the_array")) return 2;
      free(report);
      if (cdevice_check_stream_cpu(&stream, "text", &broken, &report) || broken) { puts(report); return 3; }
      if (released || stream.private_data || !strstr(report, "kept      MUST     stream_ends_in_a_released_array")) return 4;
      free(report);
      array.reserved[1] = 7, array.array.null_count = 9;
      if (cdevice_check_array(&schema, &array, "json", &broken, &report) || broken != 2 || report[0] != '{') return 5;
      if (!strstr(report, "reserved_bytes_are_zero") || !strstr(report, "the array has 9 nulls in 3 rows")) return 6;
      free(report);
      array.reserved[1] = 0, array.array.null_count = 0, array.array.release = (void (*)(struct ArrowArray *))abort;
      if (cdevice_check_array(&schema, &array, NULL, &broken, &report) || !broken) return 7;
      if (!strstr(report, "died of SIGABRT")) { puts(report); return 8; }
      free(report);
      report = NULL;
      if (cdevice_check_array(&schema, &array, "xml", &broken, &report) != EINVAL || report) return 9;
      if (!strstr(cdevice_error_text(), "format must be text or json, not xml")) return 10;
      array.array.release = NULL;
      if (cdevice_check_array(&schema, &array, NULL, &broken, &report) != EINVAL) return 11;
      return strstr(cdevice_error_text(), "the array is released") ? 0 : 12;
    }""")  # fmt: skip
    run(program)
