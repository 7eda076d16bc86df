"""Compiles the kernels with NVRTC or HIPRTC, without a device; ``ci/kernels`` calls it.

The texts are those that the package carries, the options those of ``backends/gpu_driver/``.  Printed are
sizes and, for each architecture, the most registers and the bytes spilled, as far as the compiler or its code tells.
"""

import ctypes
import glob
import itertools
import os
import pathlib
import re
import runpy
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

import build_ffi  # noqa: E402

NUMBERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")
WHOLE = NUMBERS[:8]
TIMES = ("date32", "s32", "ms32", "s64", "ms64", "us64", "ns64")


def _offsets(*words):
    """Those beside both types of offsets."""
    return tuple(f"{s} {t}" for s, t in itertools.product(words, ("i32", "i64")))


TYPES = {
    "arith": (*NUMBERS, "f16", "w128", "w256"),
    "binary": ("bits",),
    "boolean": ("bits",),
    "cast": tuple(f"{s} {t}" for s, t in itertools.permutations((*NUMBERS, "f16"), 2))
    + tuple(f"{t} {t}" for t in NUMBERS),
    "cast_bool": NUMBERS,
    "filter": ("bits",),
    "compare": (*NUMBERS, "f16", "w128", "w256"),
    "reduce": (*NUMBERS, "w128", "w256"),
    "reduce_bool": ("bool",),
    "decimal_real": tuple(f"{s} {t}" for s in ("i32", "i64", "w128", "w256") for t in ("f32", "f64")),
    "real_decimal": tuple(f"{s} {t}" for s in ("f32", "f64") for t in ("w128", "w256")),
    "decimal_rescale": (*(f"{s} w128" for s in (*WHOLE, "w128", "w256")), *(f"w128 {t}" for t in (*WHOLE, "w256")))
    + ("w256 w256",),
    "select": ("u8", "u16", "u32", "u64", "w128"),
    "timestamp_parts": ("i32", "i64"),
    "run_end": ("i16", "i32", "i64"),
    "radix": ("bits",),
    "sort_key": ("u8", "u16", "u32", "u64"),
    "sort_binary": ("i32", "i64"),
    "running": NUMBERS,
    "scatter": ("bits",),
    "accumulate": (*NUMBERS, "w128"),
    "list_reduce": NUMBERS,
    "moments": NUMBERS,
    "join_moments": ("f64",),
    "key_words": ("u8", "u16", "u32", "u64", "w128"),
    "key_bytes": ("i32", "i64"),
    "hash_table": ("bits",),
    "string_match": ("i32", "i64"),
    "string_regex": ("i32", "i64"),
    "string_class": ("i32", "i64"),
    "string_case": ("i32", "i64"),
    "string_pieces": ("i32", "i64"),
    "string_edit": ("i32", "i64"),
    "print_integer": _offsets("i64", "u64"),
    "print_bool": _offsets("bits"),
    "print_real": _offsets("f32", "f64"),
    "print_decimal": _offsets("w128", "w256"),
    "print_time": _offsets(*TIMES),
    "print_format": _offsets(*TIMES),
    "read_format": _offsets(*TIMES[3:]),
    "read_integer": _offsets(*WHOLE),
    "read_bool": _offsets("bits"),
    "read_real": _offsets("f32", "f64"),
    "read_decimal": _offsets("w128", "w256"),
    "read_time": _offsets(*TIMES),
    "temporal": tuple(f"{s} {t}" for s, t in itertools.product(("i32", "i64"), ("i32", "i64"))),
    "varlen": ("i32", "i64"),
    "time_fields": ("date32", "s32", "ms32", "s64", "ms64", "us64", "ns64"),
    "time_round": ("date32", "s32", "ms32", "s64", "ms64", "us64", "ns64"),
    "time_between": ("date32", "s32", "ms32", "s64", "ms64", "us64", "ns64"),
    "time_zone": ("s64", "ms64", "us64", "ns64"),
    "rounding": (*NUMBERS, "f16", "w128", "w256"),
    "integers": WHOLE,
    "pick": (*NUMBERS, "w128", "w256"),
    **dict.fromkeys(("exponential", "angles", "hyperbolic", "pairs"), ("f32", "f64")),
}
# as cdevice.compute.elementwise makes them: arguments, result, expression
OWN = (
    ([("f64", "a"), ("f64", "b")], "f64", "sqrt(a * a + b * b) + floor(exp(a))"),
    ([("bits", "yes"), ("i32", "a"), ("f32", "b")], "bits", "yes ? a < b : a > b"),
)
WARNINGS = {
    "nvrtc": ("--ptxas-options=-v",),
    "hiprtc": ("-Wall", "-Wno-unused-function", "-Wno-unused-const-variable"),
}


def programs():
    """Family, types and text of every program."""
    texts = build_ffi.kernel_sources()
    assert set(texts) - {""} == set(TYPES), "a family whose types are not known here"
    for family, words in TYPES.items():
        for word in words:
            *source, target = word.split()
            defined = "".join(f"#define S {s}\n" for s in source) + f"#define T {target}\n"
            yield family, word, defined + texts[""] + texts[family]
    own = runpy.run_path(str(HERE / "cdevice" / "compute" / "udf" / "source.py"))["program"]
    for arguments, out, expression in OWN:
        yield "own", out, f"#define T {out}\n" + texts[""] + own(arguments, out, expression)
    made = (HERE / "tests" / "support" / "generated_kernels.txt").read_text(encoding="utf-8")
    for sample in made.split("==== ")[1:]:
        head, text = sample.split("\n", 1)
        out = head.rpartition(" ")[2]
        yield "own", out, f"#define T {out}\n" + texts[""] + text


def options_of(vendor):
    with open(HERE / "backends" / "gpu_driver" / f"{vendor}.c", encoding="utf-8") as f:
        return re.findall(r'"([^"]+)"', re.search(r"#define RT_COMPILER_OPTIONS (.*)", f.read())[1])


class Compiler:
    """One library; NVRTC and HIPRTC have the same functions under two prefixes."""

    def __init__(self, prefix, path):
        self.prefix, self.library = prefix, ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("Version", ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def call(self, name, *arguments):
        code = getattr(self.library, self.prefix + name)(*arguments)
        if code:
            raise RuntimeError(f"{self.prefix}{name}: {code}")

    def text(self, program, what, size):
        n = ctypes.c_size_t()
        self.call(size, program, ctypes.byref(n))
        room = ctypes.create_string_buffer(n.value + 1)
        self.call(what, program, room)
        return room.raw[: n.value]

    def architectures(self):
        n = ctypes.c_int()
        self.call("GetNumSupportedArchs", ctypes.byref(n))
        known = (ctypes.c_int * n.value)()
        self.call("GetSupportedArchs", known)
        return list(known)

    def compile(self, text, options):
        """(does it compile, code, log)"""
        program = ctypes.c_void_p()
        self.call("CreateProgram", ctypes.byref(program), text.encode(), b"cdevice", 0, None, None)
        try:
            given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
            code = getattr(self.library, f"{self.prefix}CompileProgram")(program, len(options), given)
            log = self.text(program, "GetProgramLog", "GetProgramLogSize").rstrip(b"\0").decode(errors="replace")
            if code:
                return False, b"", f"{self.prefix}CompileProgram: {code}\n{log}"
            if self.prefix == "hiprtc":
                return True, self.text(program, "GetCode", "GetCodeSize"), log
            binary = self.text(program, "GetCUBIN", "GetCUBINSize")
            return True, binary or self.text(program, "GetPTX", "GetPTXSize"), log
        finally:
            self.call("DestroyProgram", ctypes.byref(program))


def nvidia_kernels(log):
    """{kernel: (registers, bytes spilled, stack)} of ptxas' output, and what else stands in the log."""
    kernels, rest, name = {}, [], None
    for line in log.splitlines():
        if m := re.search(r"(?:Compiling entry function|Function properties for) '?(\w+)", line):
            name = m[1]
            kernels.setdefault(name, [0, 0, 0])
        elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            kernels[name][1:] = int(m[2]) + int(m[3]), int(m[1])
        elif m := re.search(r"Used (\d+) registers", line):
            kernels[name][0] = int(m[1])
        elif line.strip() and not re.search(r"bytes gmem|Compile time|^ptxas info\s*:\s*(Overriding|\(C)", line):
            rest.append(line)
    return {k: tuple(v) for k, v in kernels.items()}, "\n".join(rest)


def packed(data, at):
    """The whole number of msgpack at a place."""
    kind = data[at]
    if kind < 0x80:
        return kind
    wide = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}[kind]
    return struct.unpack_from(wide, data, at + 1)[0]


def amd_kernels(code):
    """{kernel: (vector registers, registers spilled, private bytes)} of the notes in AMD's code.

    There is one map for each kernel, whose keys are in the order of the alphabet.
    """
    found = {}
    for m in re.finditer(rb"\.symbol[\xa0-\xbf\xd9].", code):
        name = re.match(rb"\w+", code[m.end() - (code[m.end() - 1 : m.end()].isalpha()) :])[0].decode()
        later = {key: code.find(key, m.end()) + len(key) for key in (b".vgpr_count", b".vgpr_spill_count")}
        sgprs = code.rfind(b".sgpr_spill_count", 0, m.start()) + len(b".sgpr_spill_count")
        private = code.rfind(b".private_segment_fixed_size", 0, m.start()) + len(b".private_segment_fixed_size")
        spilled = packed(code, later[b".vgpr_spill_count"]) + packed(code, sgprs)
        found[name] = packed(code, later[b".vgpr_count"]), spilled, packed(code, private)
    return found


def all_of(compiler, vendor, option, architecture, verbose):
    """Compiles everything for one architecture; how many programs failed."""
    failed = size = count = 0
    kernels, begin = {}, time.perf_counter()
    for family, word, text in programs():
        options = [option + architecture, *options_of(vendor), *WARNINGS[compiler.prefix]]
        good, code, log = compiler.compile(text, options)
        if good and vendor == "cuda":
            found, log = nvidia_kernels(log)
        else:
            found = amd_kernels(code) if good else {}
        if not good or log.strip("\0\n ") or (not found and not architecture.startswith("compute")):
            failed += 1
            print(f"FAILED {family} {word} for {architecture}: {log[:2000] or 'no kernels'}")
        kernels |= {f"{family}/{word}/{k}": v for k, v in found.items()}
        count, size = count + 1, size + len(code)
    seconds = time.perf_counter() - begin
    spilled = {k: v for k, v in kernels.items() if v[1]}
    print(
        f"{compiler.prefix.upper()} {compiler.version} {architecture}: {count - failed} of {count} programs "
        f"compiled, not run; {len(kernels)} kernels, {size / 1024:.0f} KiB, {seconds:.0f} s, "
        f"{seconds / count * 1000:.0f} ms each"
    )
    if kernels:
        most = sorted(kernels.items(), key=lambda kv: -kv[1][0])[:3]
        words = ", ".join(f"{v[0]} ({k.split('/')[-1]} of {k.split('/')[0]})" for k, v in most)
        print(f"  registers, the most: {words}; spilled: {len(spilled)} kernels {[*spilled][:6] or ''}")
    for k, v in kernels.items() if verbose else ():
        print(f"    {k}: {v[0]} registers, {v[1]} spilled, {v[2]} bytes of stack")
    return failed


def wheel(name):
    (path,) = glob.glob(os.path.join(sys.prefix, "lib", "python*", "site-packages", "nvidia", name))
    return path


def main():
    target, verbose = sys.argv[1], "-v" in sys.argv
    if target == "rocm":
        compiler = Compiler("hiprtc", os.environ["CDEVICE_HIPRTC_LIBRARY"])
        return sum(all_of(compiler, "rocm", "--offload-arch=", a, verbose) for a in ("gfx90a", "gfx1030"))
    path = "cu13/lib/libnvrtc.so.13" if target == "cuda13" else "cuda_nvrtc/lib/libnvrtc.so.12"
    compiler = Compiler("nvrtc", wheel(path))
    known = compiler.architectures()
    wanted = [*(a for a in (75, 80, 90) if a in known), max(known)]
    names = [f"sm_{a}" for a in wanted] + [f"compute_{max(known)}"]
    if "--newest" in sys.argv:
        names = [f"sm_{max(known)}"]
    return sum(all_of(compiler, "cuda", "--gpu-architecture=", a, verbose) for a in names)


if __name__ == "__main__":
    sys.exit(bool(main()))
