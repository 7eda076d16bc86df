"""Writes a loader that stands between OpenCL and the package: ``loader.py OPENCL_API_H OUT_C``.

It has the functions that the header lists, passes them on, fails the n-th one that could fail, and counts what was made,
retained and released.
"""

import pathlib
import re
import sys

HEAD = """/* Written by tests/faults/loader.py. */
#define _GNU_SOURCE
#include "opencl/api.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#define API __attribute__((visibility("default")))
enum { CONTEXT, QUEUE, MEM, EVENT, PROGRAM, KERNEL, KINDS };
static atomic_long live[KINDS];
static atomic_int seen, target = -1, code;
static _Atomic(const char *) what;
API void faults_arm(int n, int with) { what = NULL; seen = 0; code = with; target = n; }
API int faults_seen(void) { return seen; }
API const char *faults_what(void) { return what; }
API long faults_live(int kind) { return live[kind]; }
static int fails(const char *name) {
  if (seen++ != target) return 0;
  what = name;
  return code;
}
static void *next(const char *name) {
  static void *_Atomic handle;
  if (!handle) {
    const char *path = getenv("FAULTS_OPENCL");
    void *h = dlopen(path ? path : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!h) abort();
    handle = h;
  }
  return dlsym(handle, name);
}
"""
KINDS = {"Context": "CONTEXT", "CommandQueue": "QUEUE", "MemObject": "MEM", "Event": "EVENT", "Program": "PROGRAM"}
KINDS.update(Kernel="KERNEL", Buffer="MEM", SubBuffer="MEM", UserEvent="EVENT", ProgramWithSource="PROGRAM")
KINDS.update(ProgramWithBinary="PROGRAM", CommandQueueWithProperties="QUEUE")


def one(result, symbol, types):
    types = [t.strip() for t in re.split(r",(?![^(]*\))", types)]
    names = [f"a{i}" for i in range(len(types))]
    given, passed = ", ".join(f"{t} {n}" for t, n in zip(types, names)), ", ".join(names)
    verb = re.match(r"cl(Create|Retain|Release|)", symbol)[1]
    kind = KINDS.get(symbol.removeprefix(f"cl{verb}"))
    lines = [
        f"API {result} {symbol}({given}) {{",
        f"  static {result} (*_Atomic real)({', '.join(types)});",
        f'  if (!real) real = ({result} (*)({", ".join(types)}))next("{symbol}");',
    ]
    if verb == "Release":
        lines += [f"  {result} r = real({passed});", f"  if (!r) live[{kind}]--;"]
    else:
        lines += [f'  int bad = fails("{symbol}");']
        if result == "cl_int":
            lines += ["  if (bad) return bad;", f"  cl_int r = real({passed});"]
            if verb == "Retain":
                lines += [f"  if (!r) live[{kind}]++;"]
            elif types[-1] == "cl_event *":
                lines += [f"  if (!r && {names[-1]}) live[EVENT]++;"]
        else:
            if types[-1] == "cl_int *":
                lines += [f"  if (bad && {names[-1]}) *{names[-1]} = bad;"]
            lines += ["  if (bad) return NULL;", f"  {result} r = real({passed});"]
            if kind:
                lines += [f"  if (r) live[{kind}]++;"]
    return "\n".join([*lines, "  return r;", "}"])


def main(header, out):
    text = pathlib.Path(header).read_text()
    table = text[text.index("#define OPENCL_FUNCTIONS") :].replace("\\\n", " ")
    rows = re.findall(r'X\([01], ([^,]+), \w+, "(\w+)",\s*\(((?:[^()]|\([^()]*\))*)\)\)', table)
    assert len(rows) > 40, "the header reads otherwise now"
    pathlib.Path(out).write_text(HEAD + "\n".join(one(*r) for r in rows) + "\n")


main(*sys.argv[1:])
