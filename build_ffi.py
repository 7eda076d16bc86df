"""The whole cffi build.  Importing it has no side effects.

``make_native()`` gives the FFI of ``cdevice._native`` (out-of-line API mode), ``build_embedding()`` compiles
``libcdevice.so``, which is C alone.  The cdefs are read from the headers that C users include; nothing is declared a
second time.  Environment: ``CDEVICE_CFLAGS`` and ``CDEVICE_LDFLAGS`` are added to the compiler's and the linker's
flags, ``CDEVICE_LIMITED_API=0`` builds for one Python version only, ``CDEVICE_BUILD_CACHE`` names a folder of objects
to use again (``build_cache.py``).

    python build_ffi.py      builds the extension beside the sources
"""

import functools
import glob
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else os.getcwd()
# where build/ is, with the files that are written for compilers: elsewhere for cdevice/CMakeLists.txt
THERE = os.environ.get("CDEVICE_GENERATED") or HERE
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
LIMITED_API = not FREE_THREADED and os.environ.get("CDEVICE_LIMITED_API", "1") != "0"
HEADERS = ("cdevice/include/cdevice/arrow_abi.h", "cdevice/include/cdevice/backend.h")  # whole; see core_headers()
PYTHON_SIDE = "int cdv_install(uintptr_t module, int hexversion);\n"


def read_cdef(path):
    """The declarations of a header as ``FFI.cdef`` wants them.

    Of a header of the core only what stands between ``cffi: begin`` and ``cffi: end``.  Of a public one everything but
    guards, includes and what stands between ``cffi: skip`` and ``cffi: end``.  Integer constants are kept (cffi
    compares each with the compiler's); any other directive is an error, with its line.
    """
    with open(path, encoding="utf-8") as f:
        text = f.read()

    def blank(match):
        return "\n" * match.group().count("\n")  # keeps line numbers

    if CFFI_BEGIN in text:
        text = re.sub(r"\A.*?/\* cffi: begin \*/|/\* cffi: end \*/.*\Z", blank, text, flags=re.S)
    text = re.sub(r"/\* cffi: skip \*/.*?/\* cffi: end \*/", blank, text, flags=re.S)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif[^\n]*", blank, text, flags=re.S | re.M)
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if not word.startswith("#") or re.fullmatch(r"#define\s+\w+\s+(0[xX][0-9a-fA-F]+|-?\d+)", word):
            lines.append(line)
        elif re.match(r"#(ifndef\s+\w+$|define\s+\w+$|endif\b|include\b)", word):
            lines.append("")
        else:
            raise ValueError(f"{path}:{number}: not allowed in a header shared with cffi: {word}")
    return "\n".join(lines)


CFFI_BEGIN = "/* cffi: begin */"


def core_headers():
    """The headers of the core that have something for Python, each behind those that it includes."""
    done = []

    def visit(path):
        with open(os.path.join(HERE, path), encoding="utf-8") as f:
            text = f.read()
        for name in re.findall(r'^#include "(core/[^"]+)"', text, flags=re.M):
            if f"cdevice/{name}" not in done:
                visit(f"cdevice/{name}")
        if path not in done:
            done.append(path)
        with_cffi[path] = CFFI_BEGIN in text

    with_cffi = {}
    for path in relative("cdevice/core/*/*.h"):
        if path not in done:
            visit(path)
    return [path for path in done if with_cffi[path]]


def builtin_backends():
    """Names of the built-in backends: of each ``cdevice_NAME_init`` that a C file in a folder of backends/ defines."""
    names = []
    for path in relative("backends/*/*.c"):
        with open(os.path.join(HERE, path), encoding="utf-8") as f:
            names += re.findall(r"^int cdevice_(\w+)_init\(", f.read(), re.M)
    return sorted(names)


def write_builtin_list(names=None, path="build/builtin.c"):
    """Writes the list of built-in tables, so that the core does not name them even at link time; names: of all."""
    names = builtin_backends() if names is None else names
    lines = ["/* Written by build_ffi.py. */", '#include "core/backend/registry.h"', '#include "core/base/error.h"']
    lines += ["#include <errno.h>", "#include <string.h>"]
    lines += [f"int cdevice_{n}_init(uint32_t, int64_t, const cdevice_backend **, cdevice_error *);" for n in names]
    lines += ["static const struct {", "  const char *name;", "  cdevice_backend_init_fn init;", "} builtin[] = {"]
    lines += [f'    {{"{n}", cdevice_{n}_init}},' for n in names]
    lines += [
        "};",
        "/* Registers every table of a built-in backend; ENOENT: no such name. */",
        "int cdv_load_builtin(const char *name, int replace) {",
        "  for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)",
        "    if (!strcmp(builtin[i].name, name)) return cdv_load_tables(builtin[i].init, name, replace);",
        '  return cdv_fail(CDV_ARGUMENT, ENOENT, "no built-in backend \\"%s\\"", name);',
        "}",
        "",
    ]
    return write(path, lines)


# by folder of cdevice/kernels
KERNELS = {
    "scalar": "arith compare boolean cast cast_bool decimal_rescale decimal_real real_decimal temporal timestamp_parts "
    "binary",
    "aggregate": "reduce reduce_bool list_reduce moments join_moments",
    "selection": "select filter varlen run_end scatter",
    "sort": "radix sort_key sort_binary",
    "scan": "running",
    "group_by": "accumulate",
    "hash": "key_words key_bytes hash_table",
    "temporal": "time_fields time_zone time_round time_between",
    "math": "rounding integers pick exponential angles hyperbolic pairs",
    "strings": "string_match string_regex string_class string_pieces string_case string_edit",
    "text": "print_integer print_bool print_real print_decimal print_time print_format "
    "read_integer read_bool read_real read_decimal read_time read_format",
}
# what a family has in front of its text; "build/": written by this file
SHARED = {
    "reduce": ["aggregate/tiles"],
    **{family: ["aggregate/tiles", "aggregate/moment_state"] for family in ("moments", "join_moments")},
    **{family: ["hash/words"] for family in KERNELS["hash"].split()},
    **{family: ["temporal/calendar"] for family in KERNELS["temporal"].split()},
    "time_zone": ["temporal/calendar", "temporal/zone"],
    **{family: ["math/each"] for family in KERNELS["math"].split()},
    "rounding": ["math/each", "math/rounder"],
    **{family: ["math/each", "math/reals"] for family in ("exponential", "angles", "hyperbolic", "pairs")},
    "string_match": ["strings/utf8", "build/unicode_case", "strings/case_of"],
    "string_case": ["strings/utf8", "build/unicode_case", "strings/case_of"],
    "string_regex": ["strings/utf8"],
    "string_pieces": ["strings/utf8"],
    "string_edit": ["strings/utf8"],
    "string_class": ["strings/utf8", "build/unicode_class", "strings/class_of"],
    "print_integer": ["strings/utf8", "text/digits", "text/print"],
    "print_bool": ["strings/utf8", "text/digits", "text/print"],
    "print_real": ["strings/utf8", "text/digits", "build/powers", "text/shortest", "text/print"],
    "print_decimal": ["strings/utf8", "text/digits", "text/decimal", "text/print"],
    "print_format": ["strings/utf8", "text/digits", "temporal/calendar", "text/clock", "text/format", "text/print"],
    "print_time": ["strings/utf8", "text/digits", "temporal/calendar", "text/clock", "text/print"],
    "read_integer": ["strings/utf8", "text/digits", "text/integer"],
    "read_bool": ["strings/utf8", "text/digits", "text/integer"],
    "read_real": ["strings/utf8", "text/digits", "build/powers", "text/integer", "text/real"],
    "read_decimal": ["strings/utf8", "text/digits", "text/decimal"],
    "read_time": ["strings/utf8", "text/digits", "temporal/calendar", "text/clock"],
    "read_format": ["strings/utf8", "text/digits", "temporal/calendar", "text/clock", "text/format"],
}


def kernel_sources():
    """The text of cdevice/kernels without its comments, by family; "": the language, which stands before each."""
    texts = {}
    families = {"": [f"lang/{part}" for part in ("protocol", "dialect", "wide", "half", "bits")]}
    write_tables()
    for folder, names in KERNELS.items():
        families |= {family: [*SHARED.get(family, ()), f"{folder}/{family}"] for family in names.split()}
    for family, parts in families.items():
        text = ""
        for part in parts:
            folder = (THERE,) if part.startswith("build/") else (HERE, "cdevice", "kernels")
            with open(os.path.join(*folder, f"{part}.h"), encoding="utf-8") as f:
                text += re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
        rows = [
            line.rstrip().removesuffix("\\").rstrip() + "\\" * line.rstrip().endswith("\\") for line in text.split("\n")
        ]
        texts[family] = guarded("".join(r + "\n" for r in rows if r.strip()))
    return texts


def guarded(text):
    """A text whose kernels, those of macros too, stand between ``#if KERNEL_ENABLED(name)`` and ``#endif``."""
    makers = ["KERNEL", *re.findall(r"^#define (\w+)\((\w+)\b.*\\\n\s*KERNEL\(\2\)", text, flags=re.M)]
    begin = "|".join(m if isinstance(m, str) else m[0] for m in makers)
    one = rf"^(?:{begin})\(((?:\w+)|OF\([^)]*\))(?:,[^\n]*|\) {{ [^\n]* }}|\) {{\n.*?^}})\n"
    return re.sub(one, r"#if KERNEL_ENABLED(\1)\n\g<0>#endif\n", text, flags=re.M | re.S)


def write_kernel_sources():
    """Writes build/texts.c: the texts, for compilers at run time."""
    lines = ["/* Written by build_ffi.py. */", '#include "core/compute/kernel_source.h"', "#include <string.h>"]
    lines += ["static const struct {", "  const char *family, *text;", "} texts[] = {"]
    for family, text in kernel_sources().items():
        quoted = [r.replace("\\", "\\\\").replace('"', '\\"') for r in text.splitlines()]
        lines += [f'    {{"{family}",', *(f'     "{q}\\n"' for q in quoted), "    },"]
    lines += [
        "};",
        "const char *cdv_kernel_source(const char *family) {",
        "  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)",
        "    if (!strcmp(texts[i].family, family)) return texts[i].text;",
        "  return NULL;",
        "}",
        "",
    ]
    return write("build/texts.c", lines)


def write_unicode_tables():
    """Writes build/unicode_case.h and build/unicode_class.h: tables for kernels, of the Unicode of this Python.

    They take seconds: what the same text has written for the same Unicode stays."""
    import hashlib
    import runpy
    import unicodedata

    path = os.path.join(HERE, "unicode_tables.py")
    with open(path, "rb") as f:
        of = hashlib.sha256(f.read()).hexdigest()[:16]
    first = f"/* Written by unicode_tables.py ({of}) of Unicode {unicodedata.unidata_version}. */"
    if all(_first_line(f"build/{name}.h") == first for name in ("unicode_case", "unicode_class")):
        return
    for name, lines in runpy.run_path(path)["texts"]().items():
        write(f"build/{name}.h", [first, *lines, ""])


def _first_line(name):
    try:
        with open(os.path.join(THERE, name), encoding="utf-8") as f:
            return f.readline().rstrip("\n")
    except FileNotFoundError:
        return None


def write_tables():
    """Writes tables for kernels: those of Unicode, and build/powers.h."""
    import runpy

    write_unicode_tables()
    for name, lines in runpy.run_path(os.path.join(HERE, "power_tables.py"))["texts"]().items():
        write(f"build/{name}.h", ["/* Written by power_tables.py. */", *lines, ""])


def write(name, lines):
    """Writes a file of these lines, unless it says so already."""
    path, text = os.path.join(THERE, name), "\n".join(lines)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path) or open(path).read() != text:
        with open(f"{path}.{os.getpid()}", "w") as f:
            f.write(text)
        os.replace(f.name, path)  # another process never reads half of it
    return name


def relative(pattern):
    return sorted(os.path.relpath(p, HERE) for p in glob.glob(os.path.join(HERE, pattern)))


@functools.lru_cache
def compiler_takes(*flags):
    """Whether the compiler of the extension compiles a file with these flags, and without a warning."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "empty.c")
        with open(source, "w") as f:
            f.write("#include <string.h>\nint main(void) { return 0; }\n")
        command = [*compiler, "-O2", "-Werror", *flags, "-c", source, "-o", os.path.join(folder, "empty.o")]
        try:
            return not subprocess.run(command, capture_output=True).returncode
        except OSError:
            return False  # the build itself reports that there is none


def hardening():
    """(flags for the compiler, for the linker): what a write beyond a buffer meets, jumps that end at their targets
    alone where the processor checks them, and tables that are read-only after loading.  A flag that the compiler does
    not know is left out: gcc before 12 and old headers have FORTIFY_SOURCE=2.  CDEVICE_CFLAGS and CDEVICE_LDFLAGS come
    behind them; the sanitizers see more without."""
    given = os.environ.get("CDEVICE_CFLAGS", "")
    if not sys.platform.startswith("linux") or "-fsanitize" in given:
        return [], []
    compile_ = []
    for choices in (
        [["-fstack-protector-strong"]],
        [["-U_FORTIFY_SOURCE", f"-D_FORTIFY_SOURCE={level}"] for level in (3, 2)],
        [["-fcf-protection"]],  # x86 alone
    ):
        compile_ += next((flags for flags in choices if compiler_takes(*flags)), [])
    return compile_, ["-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"]


def check_platform():
    """Ends a build for a system, an interpreter or a processor that the package cannot run on, in one sentence."""
    if not sys.platform.startswith("linux"):
        name, instead = {"win32": ("Windows", "use WSL 2"), "darwin": ("macOS", "use a virtual machine")}.get(
            sys.platform, (sys.platform, "use another machine")
        )
        sys.exit(
            f"cdevice: the extension module is not written for {name}: event loops are woken by eventfd and memory is"
            f" shared by memfd_create, both of Linux alone, so {instead} with Linux"
        )
    if sys.implementation.name != "cpython":
        sys.exit(
            f"cdevice: this interpreter is {sys.implementation.name}; the extension module makes types by the API of"
            " CPython, so use CPython 3.10 or newer"
        )
    if sys.byteorder != "little":
        with open(os.path.join(HERE, "cdevice", "core", "base", "error.h"), encoding="utf-8") as f:
            sys.exit(re.search(r'^#error "(.*)"', f.read(), re.M)[1])


def make_native():
    """The FFI of cdevice._native.  Paths are relative to this file: build from here."""
    check_platform()
    from cffi import FFI

    ffi = FFI()
    for header in (*HEADERS, *core_headers()):
        ffi.cdef(read_cdef(os.path.join(HERE, header)))
    ffi.cdef(PYTHON_SIDE)
    headers = relative("cdevice/include/cdevice/*.h") + relative("cdevice/core/*/*.h") + relative("backends/*/*.h")
    headers += relative("cdevice/kernels/*/*.h")
    ffi.set_source(
        "cdevice._native",
        "".join(f'#include "{name.removeprefix("cdevice/")}"\n' for name in core_headers())
        + '#include "native/module.c"\n',
        sources=relative("cdevice/core/*/*.c")
        + relative("backends/*/*.c")
        + [write_builtin_list(), write_kernel_sources()],
        depends=headers + relative("cdevice/native/*") + relative("cdevice/native/*/*"),
        include_dirs=["cdevice/include", "cdevice", "backends", "."],
        libraries=["dl", "m"],
        extra_compile_args=["-std=gnu11", "-O2", "-g0", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"]
        + ["-Wno-unused-parameter", "-Wno-missing-field-initializers", "-ffp-contract=off", "-fno-math-errno"]
        + hardening()[0]
        + shlex.split(os.environ.get("CDEVICE_CFLAGS", "")),
        extra_link_args=["-pthread"] + hardening()[1] + shlex.split(os.environ.get("CDEVICE_LDFLAGS", "")),
        py_limited_api=LIMITED_API,
        define_macros=[("Py_LIMITED_API", "0x030A0000")] if LIMITED_API else [("_CFFI_NO_LIMITED_API", None)],
    )
    return ffi


def bill_of_materials(distribution):
    """CycloneDX: the package and what it needs at run time.  No other library's code is inside; the definitions of the
    Arrow and DLPack interfaces are those of their specifications."""
    name, version = distribution.get_name(), distribution.get_version()
    reference = f"pkg:pypi/{name}@{version}"
    needs = [re.match(r"[\w.-]+", line)[0] for line in distribution.install_requires]
    licence = {"license": {"id": "Apache-2.0"}}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": reference,
                "name": name,
                "version": version,
                "purl": reference,
                "licenses": [licence],
            }
        },
        "components": [
            {"type": "library", "bom-ref": f"pkg:pypi/{n}", "name": n, "purl": f"pkg:pypi/{n}", "scope": "required"}
            for n in needs
        ],
        "dependencies": [{"ref": reference, "dependsOn": [f"pkg:pypi/{n}" for n in needs]}],
    }


def can_embed():
    """None, or why this Python cannot be embedded by linking."""
    if os.environ.get("CDEVICE_EMBED", "1") == "0":
        return "CDEVICE_EMBED=0"
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return "this Python has no shared libpython"
    return None


def build_embedding(output, python=None, run=subprocess.check_call):
    """Compiles libcdevice.so into the folder ``output``; ``python``: the interpreter it starts when it is found in no
    environment; ``run``: what runs the compiler and the linker."""
    var = sysconfig.get_config_var
    os.makedirs(output, exist_ok=True)
    os.makedirs(os.path.join(HERE, "build"), exist_ok=True)
    source, library = os.path.join(HERE, "cdevice", "native", "embed", "embed.c"), os.path.join(output, "libcdevice.so")
    compiler, made = shlex.split(os.environ.get("CC", "cc")), os.path.join(HERE, "build", "embed.o")
    command = [*compiler, "-fPIC", "-std=gnu11", "-O2", "-fvisibility=hidden"]
    command += ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function", "-Wno-missing-field-initializers"]
    command += hardening()[0] + shlex.split(os.environ.get("CDEVICE_CFLAGS", ""))
    command += [f"-I{os.path.join(HERE, 'cdevice', 'include')}", f"-I{os.path.join(HERE, 'cdevice')}"]
    command += [f"-I{sysconfig.get_path('include')}", f'-DCDEVICE_BUILT_WITH="{python or sys.executable}"']
    run([*command, "-pthread", "-c", source, "-o", made])
    names = os.path.join(HERE, "build", "embed.map")
    with open(names, "w") as f:
        f.write("{ global: cdevice_*; local: *; };\n")
    command = [
        *compiler,
        *hardening()[0],
        *shlex.split(os.environ.get("CDEVICE_CFLAGS", "")),
        "-shared",
        made,
        "-o",
        library,
        "-Wl,-soname,libcdevice.so",
        f"-Wl,--version-script={names}",
        f"-L{var('LIBDIR')}",
        f"-Wl,-rpath,{var('LIBDIR')}",
    ]
    command += [f"-lpython{var('LDVERSION')}", "-pthread", "-ldl"] + hardening()[1]
    command += shlex.split(os.environ.get("CDEVICE_LDFLAGS", ""))
    run(command)
    return library


if __name__ == "__main__":
    # not ffi.compile(): it changes the directory, or leaves objects inside the package
    subprocess.check_call([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=HERE)
