"""Rules that the text of kernels and their driver keep, checked by reading them."""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from paths import ROOT

from cdevice import _native
from cdevice.compute.udf.source import program


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


# ---- arguments by name: see cdevice/kernels/lang/protocol.h ----
BY_NUMBER = re.compile(r"\b(?:RAW|OFFSET|IN|OUT|SCALAR)\((?:[^(),]*,\s*)?\d[^)]*\)")
LAUNCH = re.compile(r"\bstruct cdv_kernel_launch \*?(\w+)\b")
INITIALIZER = re.compile(r"\bstruct cdv_kernel_launch \w+ = \{([^;]*)\};")
FIRST_VALUE = re.compile(r",\s*\{(?!0\}|\{0\}|\[)([^{}]*)")  # of an array, without the name of its place


def numbered_in_kernel(text):
    return [m[0] for m in BY_NUMBER.finditer(without_comments(text))]


def numbered_in_driver(text):
    text = without_comments(text)
    launches = "|".join(sorted(set(LAUNCH.findall(text)))) or "(?!)"
    slots = re.findall(rf"\b(?:{launches})(?:\.|->)(?:buffers|scalars)\[\d+[^\]]*\]", text)
    return slots + [value for m in INITIALIZER.finditer(text) for value in FIRST_VALUE.findall(m[1])]


def test_arguments_of_kernels_are_named_on_both_sides():
    found, seen = [], 0
    for p in sorted((ROOT / "cdevice" / "kernels").rglob("*.h")):
        text = p.read_text(encoding="utf-8")
        seen += len(re.findall(r"\b(?:BUF|SCALAR)_\w+", text))
        found += [f"{p.relative_to(ROOT)}: {n}" for n in numbered_in_kernel(text)]
    for p in sorted((ROOT / "cdevice" / "core").rglob("*.[ch]")):
        text = p.read_text(encoding="utf-8")
        seen += len(re.findall(r"\b(?:BUF|SCALAR)_\w+", text))
        found += [f"{p.relative_to(ROOT)}: {n}" for n in numbered_in_driver(text)]
    found += numbered_in_kernel(program([("bits", "yes"), ("i32", "a"), ("f32", "b")], "bits", "yes ? a < b : a > b"))
    found += numbered_in_kernel(program([("i32", "a"), ("i32", "b")], "i32", "a + b"))
    assert found == [] and seen > 300


def test_an_argument_by_number_is_found_on_either_side():
    assert numbered_in_kernel("OUT(i64, 0)[i] = IN(T, BUF_ARG0)[i] + SCALAR(2 + k); /* SCALAR(1) */") == [
        "OUT(i64, 0)",
        "SCALAR(2 + k)",
    ]
    driver = """
      struct cdv_kernel_launch s = {"filter", "bits", "scan", CDV_SINGLE_BLOCK, n, {[BUF_OUT] = at}, {0}};
      struct cdv_kernel_launch k = {"filter", "bits", "rows", CDV_PER_ROW, n, {{0}}, {0, 0, first}};
      struct cdv_kernel_launch x = {"filter", "bits", "rows", CDV_PER_ROW, n, {to}, {[SCALAR_FIRST] = first}};
      k.buffers[3] = s.buffers[BUF_OUT];
      ends->buffers[1] = s.scalars[SCALAR_ROWS];
    """
    assert numbered_in_driver(driver) == ["k.buffers[3]", "0, 0, first", "to"]


# ---- floats: the bits of one text are the same on every processor, so nothing is fused, by any compiler ----
UNFUSED = {
    "-ffp-contract=off": (
        "build_ffi.py ci/lib.sh backends/cpu/jit.c backends/gpu_driver/rocm.c cdevice/testing/fake_compute.py "
        "tests/hostrt/kernels.c examples/plugin-native/src/kernels.c"
    ),
    "--fmad=false": "backends/gpu_driver/cuda.c",
    "#pragma OPENCL FP_CONTRACT OFF": "cdevice/kernels/lang/dialect.h",
}
FUSED = re.compile(r"\t(?:v?fn?m(?:add|sub)\w*|fml[as]|fn?m(?:add|sub))\s")  # of x86-64 and arm64


@pytest.mark.parametrize("flag", UNFUSED)
def test_whatever_compiles_kernels_is_told_to_fuse_nothing(flag):
    missing = [name for name in UNFUSED[flag].split() if flag not in (ROOT / name).read_text(encoding="utf-8")]
    assert missing == []


@pytest.mark.nosan
@pytest.mark.skipif(not shutil.which("objdump"), reason="apt-get install binutils")
def test_the_extension_has_no_fused_instruction():
    """Its kernels for AVX2 and those for arm64 are compiled for processors that have such instructions."""
    command = ["objdump", "-d", "--no-show-raw-insn", _native.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as objdump:
        instructions, found = 0, []
        for line in objdump.stdout:
            instructions += 1
            if FUSED.search(line):
                found.append(line.strip())
    assert objdump.returncode == 0 and instructions > 100_000 and found == []


@pytest.mark.skipif(not shutil.which("objdump") or not shutil.which("cc"), reason="apt-get install gcc")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="other names of instructions")
def test_a_fused_instruction_would_be_found(tmp_path):
    target = '__attribute__((target("fma"))) ' if platform.machine() == "x86_64" else ""
    (tmp_path / "sum.c").write_text(f"{target}double sum(double a, double b, double c) {{ return a * b + c; }}\n")
    subprocess.run(["cc", "-O2", "-ffp-contract=fast", "-c", "sum.c"], cwd=tmp_path, check=True)
    command = ["objdump", "-d", "--no-show-raw-insn", "sum.o"]
    assert FUSED.search(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)


# ---- barriers: every work item of a group comes to each ----
# A kernel reaches a barrier through blocks, and through loops that all items go through equally often: the head of such
# a loop names nothing but its own variable, which the body does not set, and no jump leaves it.  No jump leaves the
# kernel.  So no value of a work item decides.
BARRIER = "__syncthreads"
TYPES = "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 w128 w256".split()
FAMILIES = {  # S and T; which of them matters to the text alone
    "cast": ["f32 i64", "i64 f16"],
    "decimal_rescale": ["i64 w128", "w128 w256", "w256 w128"],
    "decimal_real": ["i32 f32", "w128 f64", "w256 f64"],
    "real_decimal": ["f32 w128", "f64 w256"],
    "temporal": ["i64 i32"],
    "arith": ["i64", "f16", "w128", "w256"],
    "compare": ["i64", "f16", "w128", "w256"],
    "reduce": ["i64", "f32", "w128", "w256"],
    "cast_bool": ["i64"],
    "timestamp_parts": ["i64"],
    "run_end": ["i64"],
    "select": ["u8", "w128"],
    "varlen": ["i32", "i64"],
    "reduce_bool": ["bool"],
    "binary": ["bits"],
    "boolean": ["bits"],
    "filter": ["bits"],
    "radix": ["bits"],
    "sort_key": ["u8", "u64"],
    "sort_binary": ["i32"],
    "running": ["i8", "u64", "f32"],
    "scatter": ["bits"],
    "accumulate": ["i8", "f32", "w128"],
    "list_reduce": ["i8", "f32"],
    "moments": ["i8", "f64"],
    "join_moments": ["f64"],
    "key_words": ["u8", "w128"],
    "key_bytes": ["i32"],
    "hash_table": ["bits"],
    "time_fields": ["date32", "ms32", "s64", "ns64"],
    "time_round": ["date32", "ms32", "s64"],
    "time_between": ["date32", "ms32", "ns64"],
    "time_zone": ["s64", "ns64"],
    "string_match": ["i32"],
    "string_regex": ["i32"],
    "string_class": ["i32"],
    "string_case": ["i32"],
    "string_pieces": ["i32"],
    "string_edit": ["i32"],
    "print_integer": ["i64 i32"],
    "print_bool": ["bits i32"],
    "print_real": ["f32 i32", "f64 i64"],
    "print_decimal": ["w128 i32", "w256 i32"],
    "print_time": ["date32 i32", "ms32 i32", "ns64 i32"],
    "print_format": ["date32 i32", "ns64 i32"],
    "read_format": ["ns64 i32"],
    "read_integer": ["i8 i32", "u64 i64"],
    "read_bool": ["bits i32"],
    "read_real": ["f32 i32", "f64 i64"],
    "read_decimal": ["w128 i32", "w256 i32"],
    "read_time": ["date32 i32", "ms32 i32", "ns64 i32"],
    "rounding": ["i64", "f32", "f16", "w128", "w256"],
    "integers": ["i64", "u8"],
    "pick": ["i64", "f32", "w128"],
    "exponential": ["f32"],
    "angles": ["f64"],
    "hyperbolic": ["f32"],
    "pairs": ["f64"],
}


def kernel_sources():
    sys.path.insert(0, str(ROOT))
    try:
        import build_ffi
    finally:
        sys.path.remove(str(ROOT))
    return build_ffi.kernel_sources()


def expanded(text, *flags):
    """The text as a compiler for CUDA reads it, but that every kernel is a function of C."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        pytest.skip("no C compiler: install gcc")
    empty = [f"-D{name}=" for name in ("__device__", "__shared__", "__restrict__", "inline")]
    command = [*compiler, "-E", "-P", "-w", "-undef", *empty, *flags, "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout.replace('extern "C" __global__', "__global__")


def functions(text):
    """What stands outside of braces and the braces behind it, one by one."""
    depth = begin = 0
    for m in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[m[0]]
        if depth == 0:
            yield text[begin : m.end()].strip()
            begin = m.end()


def names_in(node, kind="ID"):
    if type(node).__name__ == kind:
        yield node.name
    for _, child in node.children():
        yield from names_in(child, kind)


def kinds_in(node):
    yield type(node).__name__, node
    for _, child in node.children():
        yield from kinds_in(child)


def is_barrier(node):
    return type(node).__name__ == "FuncCall" and getattr(node.name, "name", "") == BARRIER


def has_barrier(node):
    return any(is_barrier(n) for _, n in kinds_in(node))


def sets(node, name):
    for kind, n in kinds_in(node):
        if kind == "Assignment" and name in names_in(n.lvalue):
            return True
        if kind == "UnaryOp" and n.op in ("++", "--", "p++", "p--", "&") and name in names_in(n.expr):
            return True
    return False


def is_equal_for_all(loop):
    """Does every work item go through this loop as often as the others?"""
    if type(loop.init).__name__ != "DeclList" or len(loop.init.decls) != 1:
        return False
    own = loop.init.decls[0].name
    head = {n for part in (loop.init, loop.cond, loop.next) if part is not None for n in names_in(part)}
    jumps = any(kind in ("Break", "Continue") for kind, _ in kinds_in(loop.stmt))
    return head <= {own} and not sets(loop.stmt, own) and not jumps


def misplaced(node):
    """The barriers below a statement that some work items may not come to, as words of what is in the way."""
    kind = type(node).__name__
    if is_barrier(node) or not has_barrier(node):
        return []
    if kind == "Compound":
        return [what for child in node.block_items for what in misplaced(child)]
    if kind == "For" and is_equal_for_all(node):
        return misplaced(node.stmt)
    return [kind]


def barriers_in(text):
    """(kernels with barriers, what is wrong with them) of a text that is expanded."""
    from pycparser import CParser

    names, wrong = [], []
    structs = re.findall(r"typedef struct\s*\{[^}]*\}\s*(\w+);", text)
    for function in functions(text):
        if BARRIER not in function:
            continue
        name = re.search(r"\b(\w+)\s*\(", function)[1]
        names.append(name)
        if not function.startswith("__global__"):
            wrong.append((name, "not in a kernel"))
            continue
        types = f"typedef int {', '.join([*TYPES, *structs])};\n"
        body = CParser().parse(types + function.removeprefix("__global__")).ext[-1].body
        wrong += [(name, what) for what in misplaced(body)]
        wrong += [(name, kind) for kind, _ in kinds_in(body) if kind in ("Return", "Goto")]
    return names, wrong


def defined(types):
    *source, target = types.split()
    return "".join(f"#define S {s}\n" for s in source) + f"#define T {target}\n"


def test_every_work_item_of_a_group_comes_to_each_barrier():
    texts, seen, found = kernel_sources(), set(), []
    assert set(texts) - {""} == set(FAMILIES), "a family whose types are not known here"
    programs = [(family, defined(t) + texts[""] + texts[family]) for family in FAMILIES for t in FAMILIES[family]]
    arguments = [("bits", "yes"), ("i32", "a"), ("f32", "b")]
    own = program(arguments, "bits", "yes ? a < b : a > b")
    programs.append(("own", defined("bits") + texts[""] + own))
    for family, text in programs:
        names, wrong = barriers_in(expanded(text))
        seen |= {(family, name) for name in names}
        found += [(family, *w) for w in wrong]
        assert BARRIER not in expanded(text, "-DCDV_COARSE=1"), f"{family}: an item that does much has no group"
    assert found == []
    assert len(seen) > 30 and {"filter", "select", "varlen", "reduce", "compare", "own"} <= {f for f, _ in seen}


BROKEN = {
    "a branch": "if (LID < 16) { s[LID] = 1; SYNC; }",
    "a branch without braces": "if (!LID) SYNC;",
    "the other side of a branch": "if (LID) s[0] = 1; else { SYNC; }",
    "rows, the last of which may be missing": "ROWS(i, n) { s[LID] = i; SYNC; }",
    "rows, in a macro": "ROWS(i, n) PACK(OUT(u32, BUF_OUT), n, i, 1)",
    "a loop to the rows": "for (i64 i = 0; i < n; i++) { SYNC; }",
    "a loop from the work item": "for (int d = LID; d; d >>= 1) { SYNC; }",
    "a loop whose variable is set": "for (int d = 64; d; d >>= 1) { if (LID) d = 1; SYNC; }",
    "a loop that some leave": "for (int d = 64; d; d >>= 1) { if (LID > d) break; SYNC; }",
    "a loop that some pass over": "for (int d = 64; d; d >>= 1) { if (LID > d) continue; SYNC; }",
    "a loop without an end": "while (n > LID) { SYNC; }",
    "an early return": "if (LID >= n) return; SYNC;",
    "a conditional expression": "LID ? SYNC : (void)0;",
    "a logical expression": "LID && (SYNC, 1);",
    "a case": "switch (LID) { case 0: SYNC; }",
}
WHOLE = {
    "the body of the kernel": "s[LID] = LID; SYNC; if (!LID) OUT(u32, BUF_OUT)[BID] = s[0];",
    "a loop over halves": "for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) { if (LID < d) s[LID] += s[LID + d]; SYNC; }",
    "a macro": "PACK(OUT(u32, BUF_OUT), n, i, 1)",
}


def kernel_of(body):
    text = "KERNEL(k) {\n  PACK_ROOM;\n  SHARED(u32, s, WORK_GROUP_SIZE);\n  const i64 n = SCALAR(SCALAR_ROWS);\n"
    return defined("bits") + kernel_sources()[""] + text + f"  {body}\n}}\n"


@pytest.mark.parametrize("where", BROKEN)
def test_a_barrier_that_some_work_items_miss_is_found(where):
    names, wrong = barriers_in(expanded(kernel_of(BROKEN[where])))
    assert names == ["k_bits"] and wrong


@pytest.mark.parametrize("where", WHOLE)
def test_a_barrier_that_all_work_items_reach_is_no_error(where):
    assert barriers_in(expanded(kernel_of(WHOLE[where]))) == (["k_bits"], [])


def test_a_barrier_in_a_function_that_kernels_call_is_found():
    text = defined("bits") + kernel_sources()[""] + "FN void wait(void) { SYNC; }\n"
    assert barriers_in(expanded(text)) == (["wait"], [("wait", "not in a kernel")])


def test_a_name_of_the_protocol_has_one_meaning():
    text = (ROOT / "cdevice" / "kernels" / "lang" / "protocol.h").read_text()
    names = re.findall(r"^#define (\w+)", text, re.M)
    assert len(names) > 100 and sorted(names) == sorted(set(names))
