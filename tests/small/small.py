"""Conditions that a small program must work under, or say in a sentence what is missing: each in a process of its own.

    python small.py [--short] [--only PATTERN] --build FOLDER

A line for each: what was said, in its own words.  A finding is another exit status than 0, a minute without an end, a word
on stderr, something that is refused though it is not named here, and a descriptor that is left.
"""

import argparse
import errno
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import sandbox  # noqa: E402

HANG = 60
PROGRAM = str(HERE / "program.py")
LIBRARIES = ["numpy", "pyarrow", "opencl"]
CONDITIONS = {}
NO_MEMFD = {"share": "memfd_create", "share_stream": "memfd_create"}
NO_THREADS = dict.fromkeys(("produce", "loop", "share", "share_stream", "opencl"), "thread")


class Condition:
    """``before`` runs in the process before the program begins; ``refuses``: what each part that may fail must say."""

    def __init__(
        self,
        name,
        before=None,
        *,
        refuses=(),
        without=(),
        env=(),
        flags=(),
        wrap=(),
        drop=(),
        short=False,
        program=None,
        status=0,
        says="",
        need=None,
    ):
        self.name, self.before, self.refuses, self.without = name, before, dict(refuses), list(without)
        self.env, self.flags, self.wrap, self.drop, self.short = dict(env), list(flags), list(wrap), list(drop), short
        self.program, self.status, self.says, self.need = program, status, says, need
        CONDITIONS[name] = self


def limit(what, n):
    return lambda: resource.setrlimit(what, (n, n))


def need(done):
    if not done:
        os._exit(77)  # no such filters here


def forbidden(*names, code=errno.EPERM):
    return lambda: need(sandbox.forbid(*names, code=code))


def mounted(commands):
    """In a mount namespace of its own; where this process may have none it is left out."""
    return ["unshare", "-m", "sh", "-c", f'{commands} || exit 77; exec "$@"', "sh"]


def declare(build):
    mib, c = 1 << 20, Condition
    c("nothing special", short=True)
    # ---- memory ----
    c(
        "64 MiB of addresses",
        limit(resource.RLIMIT_AS, 64 * mib),
        without=LIBRARIES,
        short=True,
        refuses=dict.fromkeys(
            "imports devices copies compute texts produce loop share share_stream pickles waits".split(),
            "emory|thread|lib-dynload/.*failed to map segment",  # a module of Python's own
        ),
    )
    for n in (96, 128, 256):
        c(
            f"{n} MiB of addresses, without numpy and pyarrow",
            limit(resource.RLIMIT_AS, n * mib),
            without=LIBRARIES,
            short=n == 128,
        )
    c(
        "1 GiB of addresses",
        limit(resource.RLIMIT_AS, 1024 * mib),
        refuses={**NO_THREADS, "compute": "^MemoryError", "copies": "emory", "opencl": "emory|thread"},
        env={"OPENBLAS_NUM_THREADS": "1"},
    )
    c("a stack of 256 KiB", limit(resource.RLIMIT_STACK, 256 << 10), short=True)
    c(
        "threads with stacks of 64 KiB",
        program="""
import threading, program
threading.stack_size(64 << 10)
thread = threading.Thread(target=program.main, args=([],))
thread.start()
thread.join()
""",
    )
    c("PYTHONMALLOC=debug", env={"PYTHONMALLOC": "debug"})
    # ---- threads, processors, signals ----
    c(
        "no threads",
        lambda: need(sandbox.forbid_threads()),
        refuses={**NO_THREADS, "waits": "thread"},
        env={"OPENBLAS_NUM_THREADS": "1"},
        short=True,
    )
    c("one processor", lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]))
    c(
        "a signal each millisecond",
        short=True,
        program="""
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
import program
program.main([])
big = program.cdevice.empty("int64", 12_000_000, shared=True).freeze()
shared = big.share()
assert program.cdevice.open_shared(shared.token).length == big.length
signal.setitimer(signal.ITIMER_REAL, 0)
""",
    )
    c("SIGCHLD ignored", lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    c("SIGPIPE ends the process", lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    c("a clock that jumps by hours", env={"LD_PRELOAD": str(build / "clock.so")}, short=True, need=build / "clock.so")
    # ---- descriptors ----
    c(
        "no descriptor but 8",
        limit(resource.RLIMIT_NOFILE, 8),
        without=["numpy", "pyarrow"],
        short=True,
        flags=["-W", "ignore"],
        refuses={
            "loop": "open files|no file descriptor is free",
            "share": "open files|file descriptor",
            "share_stream": "open files|file descriptor",
            "opencl": ".",
            "pickles": "open files",
        },
    )
    c("no descriptor but 16", limit(resource.RLIMIT_NOFILE, 16), refuses={"share_stream": "file descriptor|open files"})
    for code in ("EPERM", "ENOSYS"):
        c(
            f"no memfd_create ({code})",
            forbidden("memfd_create", code=getattr(errno, code)),
            refuses=NO_MEMFD,
            short=code == "EPERM",
        )
    c(
        "no eventfd",
        forbidden("eventfd", "eventfd2", code=errno.ENOSYS),
        refuses={"loop": "no eventfd is there"},
        short=True,
    )
    c(
        "no epoll",
        forbidden("epoll_create", "epoll_create1", code=errno.ENOSYS),
        refuses={"share": "epoll", "share_stream": "epoll"},
    )
    c("no sockets", forbidden("socket"), refuses={"share_stream": "a Unix socket"})
    # ---- files ----
    c("no /dev/shm", wrap=mounted("mount -t tmpfs -o ro none /dev/shm"))
    c("no /proc", wrap=mounted("umount -l /proc"))
    c(
        "file systems that cannot be written to",
        env={"HOME": "/tmp/home"},
        refuses={"opencl": "no device|cannot"},
        wrap=mounted("for d in /tmp /dev/shm /var; do mount --bind $d $d && mount -o remount,bind,ro $d; done"),
        short=True,
    )
    c("no HOME", drop=["HOME"])
    c("a HOME and a TMPDIR that are not there", env={"HOME": "/nonexistent/home", "TMPDIR": "/nonexistent/tmp"})
    c("umask 777", lambda: os.umask(0o777))
    c("no core file", limit(resource.RLIMIT_CORE, 0))
    c("a pid namespace", wrap=["unshare", "-p", "-f", "--mount-proc"] if os.geteuid() == 0 else ["sh", "-c", "exit 77"])
    # ---- Python ----
    c("python -OO", flags=["-OO"], short=True)
    c(
        "python -I -S",
        flags=["-I", "-S"],
        program=f"import sys\nsys.path[:0] = {[str(HERE), *site_folders()]!r}\nimport program\nprogram.main([])\n",
    )
    c("python -X dev -bb -W error", flags=["-X", "dev", "-bb", "-W", "error"], without=["numpy"])
    c(
        "no standard streams",
        program=f"""
import os
for fd in (0, 1, 2):
    os.close(fd)
import program, sys
lines = []
program.main([], lines.append)
os.dup2(os.open({str(build / "said")!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.write(1, "".join(x + "\\n" for x in lines).encode())
""",
    )
    # ---- locales ----
    c("locale C", env={"LC_ALL": "C"})
    c(
        "a locale with a decimal comma",
        env={"LC_ALL": "de_DE.UTF-8", "LOCPATH": str(build / "locales")},
        short=True,
        need=build / "locales/de_DE.UTF-8",
    )
    # ---- the command ----
    for words in (["devices"], ["demo"], ["help"], ["demo", "--help"]):
        name = "cdevice " + " ".join(words)
        full = (
            "import sys, runpy; sys.argv[1:] = "
            + repr(words)
            + '; runpy.run_module("cdevice", run_name="__main__", alter_sys=True)'
        )
        c(
            f"{name} >/dev/full",
            wrap=["sh", "-c", 'exec "$@" >/dev/full', "sh"],
            program=full,
            status=2,
            says="standard output cannot be written to: No space left on device",
            short=words == ["devices"],
        )
        c(
            f"{name} >&-",
            wrap=["sh", "-c", 'exec "$@" <&- >&-', "sh"],
            program=full,
            status=2,
            says="standard output cannot be written to: it is closed",
        )


def site_folders():
    import cdevice

    return [str(pathlib.Path(cdevice.__file__).resolve().parent.parent)]


def make(build):
    """The shim and the locale; what cannot be made is left out with its condition."""
    build.mkdir(parents=True, exist_ok=True)
    cc = os.environ.get("CC", "cc")
    if shutil.which(cc):
        subprocess.run([cc, "-shared", "-fPIC", "-O1", "-o", build / "clock.so", HERE / "clock.c"], check=True)
    if shutil.which("localedef") and not (build / "locales/de_DE.UTF-8").exists():
        (build / "locales").mkdir(exist_ok=True)
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", build / "locales/de_DE.UTF-8"], capture_output=True)


# on stderr, of other software: pyarrow's allocator, asyncio without a descriptor
OF_OTHERS = r"(?s)<jemalloc>: [^\n]*background thread[^\n]*\n|Exception ignored in: <function BaseEventLoop\.__del__.*?_ssock'[^\n]*\n"
# CPython's own end where there is no memory to import anything
NO_IMPORT = "SystemError: error return without exception set"


def run(c):
    """(findings, what was said, seconds)"""
    env = {k: v for k, v in {**os.environ, "PYTHONPATH": str(HERE), **c.env}.items() if k not in c.drop}
    what = ["-c", c.program] if c.program else [PROGRAM, *c.without]
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [*c.wrap, sys.executable, *c.flags, *what],
            env=env,
            preexec_fn=c.before,
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=HANG,
        )
    except subprocess.TimeoutExpired as e:
        return [f"no end in {HANG} s: {(e.stdout or b'')[-300:]!r}"], [], HANG
    seconds, findings, said = time.monotonic() - begin, [], []
    if done.returncode == 77:
        return [], ["left out: not permitted here"], seconds
    if done.returncode != c.status and done.stderr.rstrip().endswith(NO_IMPORT):
        return [], ["left out: CPython itself does not import here"], seconds
    if done.returncode != c.status:
        return [f"exit status {done.returncode}: {done.stdout[-200:]} {done.stderr[-1500:]}"], [], seconds
    if c.says:
        lines = done.stderr.strip().splitlines()
        if len(lines) != 1 or c.says not in lines[0]:
            findings.append(f"it says {done.stderr!r}")
        return findings, lines, seconds
    if stderr := re.sub(OF_OTHERS, "", done.stderr):
        findings.append(f"stderr: {stderr[-1500:]}")
    parts = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    if parts.get("end") != "ok" and "refused" not in parts:
        findings.append(f"it did not come to its end: {done.stdout[-300:]}")
    for name, words in parts.items():
        if words == "ok" or name in ("opencl",) and "BackendUnavailable" in words and not opencl_is_here():
            continue
        if name not in c.refuses or not re.search(c.refuses[name], words):
            findings.append(f"{name}: {words}")
        said.append(f"{name}: {words}")
    return findings, said, seconds


def opencl_is_here():
    import cdevice

    return cdevice.device("opencl").is_available


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    make(options.build)
    declare(options.build)
    found = ran = 0
    for c in CONDITIONS.values():
        if options.short and not c.short or not re.search(options.only, c.name):
            continue
        if c.need and not c.need.exists():
            print(f"{c.name}: left out: {c.need.name} cannot be made here")
            continue
        findings, said, seconds = run(c)
        ran += 1
        print(f"{c.name}: {seconds:.1f} s: {'works' if not said else '; '.join(said)}", flush=True)
        for finding in findings:
            found += 1
            print(f"  FINDING {finding}", flush=True)
    print(f"{ran} conditions, {found} findings")
    return 1 if found or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
