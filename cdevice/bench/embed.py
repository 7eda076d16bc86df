"""C programs beside their bounds: the start, a call, an array.  For ``python -m cdevice bench``; needs a compiler."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from .process import child, environment
from .table import bounds, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SOURCE = r"""
#include <cdevice/cdevice.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int64_t values[1000];
static cdevice_array *make(void) {
  cdevice_schema *s = NULL;
  cdevice_array *a = NULL;
  const void *buffers[2] = {NULL, values};
  cdevice_array_parts p;
  memset(&p, 0, sizeof p);
  p.device_type = 1; p.device_id = -1; p.length = 1000; p.n_buffers = 2; p.buffers = buffers;
  if (cdevice_schema_new("l", "", 0, 0, NULL, NULL, &s) || cdevice_array_build(s, &p, 1, &a)) {
    fprintf(stderr, "%s %s\n", cdevice_start_error(), cdevice_error_text());
    exit(1);
  }
  return a;
}
enum { N = 2000000 };
static void *exports(void *p) {
  cdevice_array *a = make();
  struct ArrowDeviceArray out;
  (void)p;
  for (int i = 0; i < N; i++) {
    cdevice_array_export(a, &out);
    out.array.release(&out.array);
  }
  cdevice_array_unref(a);
  return NULL;
}
int main(void) {
  double t = now();
  cdevice_array *a = make();
  double cold = now() - t;
  volatile int64_t sink = 0;
  t = now();
  for (int i = 0; i < N; i++) sink += cdevice_array_length(a);
  double call = (now() - t) / N;
  t = now();
  for (int i = 0; i < N; i++) sink += cdevice_backend_for(1)->device_type;
  double lookup = (now() - t) / N;
  t = now();
  exports(NULL);
  double one = (now() - t) / N;
  pthread_t threads[8];
  t = now();
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, exports, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  double two = (now() - t) / N;
  t = now();
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, exports, NULL);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  double eight = (now() - t) / N;
  printf("%f %f %f %f %f %f\n", cold / 1e6, call, lookup, one, two, eight);
  cdevice_array_unref(a);
  return 0;
}
"""


def rows(rounds: int) -> Any:
    """[(title, value, unit, bound, reached)], or the reason as a string."""
    from ..config import OPTIONS

    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        return "apt-get install gcc"
    try:
        flags = [OPTIONS["cflags"][1](), *OPTIONS["libs"][1]().split()]
    except FileNotFoundError as e:
        return str(e)
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "b.c"), os.path.join(folder, "b")
        with open(source, "w") as f:
            f.write(SOURCE)
        subprocess.run([compiler, "-O2", "-std=gnu11", source, "-o", program, *flags, "-pthread"], check=True)
        samples, starts = [], []
        for _ in range(rounds + 1):
            starts.append(child("pass")[0] * 1e3)
            done = subprocess.run([program], capture_output=True, text=True, env=_environment())
            if done.returncode:
                return done.stderr.strip()
            samples.append([float(x) for x in done.stdout.split()])
    cold, call, lookup, one, two, eight = (statistics.median(column) for column in zip(*samples[1:]))
    cores = min(8, os.cpu_count() or 1)
    return [
        ("an empty Python, beside it", statistics.median(starts[1:]), "ms", None, None),
        ("cold start to the first CPU array", cold, "ms", 15, cold <= 15),
        ("warm call (length of an array)", call, "ns", 5, call <= 5),
        ("look up a registered backend", lookup, "ns", 10, lookup <= 10),
        ("int64 array, export + release", one, "ns", 60, one <= 60),
        ("2 threads, each an array of its own: time of 1", two / one, "x", 1.5, two / one <= 1.5),
        (f"8 threads on {cores} cores: time of {8 // cores} after another", eight / (one * 8 / cores), "x", 1.5,
         eight / (one * 8 / cores) <= 1.5),
    ]  # fmt: skip


def _environment() -> Any:
    return {**environment(), "CDEVICE_PYTHON": sys.executable}


def section(libs: Any, options: Any) -> Any:
    found = rows(3 if options.quick else 7)
    if isinstance(found, str):
        print(f"left out: C programs; {found}", file=sys.stderr)
        return {}
    bounds("C programs", found)
    return {"embed": named(found, "row", "value", "unit", "bound", "reached")}
