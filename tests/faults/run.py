"""Every allocation, every vendor's call and every callback fails once, on every path of a fixed list of operations.

    python run.py [TARGET...] [--quick] [--only PATTERN] [--device DEVICE] --build FOLDER

TARGET: malloc (the extension's requests to the system), opencl, cuda, rocm (the vendor's calls; the last two on the stand-in),
callbacks (a Python backend's methods, allocators, sources, handlers).  Each operation runs in a process of its own: undisturbed, to
see how often it could fail, then with its n-th fault.  With ``--cold`` each fault has a process of its own, whose first use of
the package it is.  The operation must give the right result or raise what the target says; the next call must work, and
nothing may be left.  Exit status 1: a finding.
"""

import argparse
import faulthandler
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
DEVICES = {
    "malloc": ["cpu", "fake", "opencl", "cuda"],
    "opencl": ["opencl"],
    "cuda": ["cuda", "cuda_host", "cuda_managed"],
    "rocm": ["rocm"],
    "callbacks": ["fake"],
}
QUICK = {"malloc": 16, "opencl": 6, "cuda": 5, "rocm": 5, "callbacks": 12}  # faults an operation
IN_A_HURRY = {("malloc", "cpu"), ("malloc", "fake"), ("opencl", "opencl"), ("cuda", "cuda"), ("rocm", "rocm")}
IN_A_HURRY.add(("callbacks", "fake"))
HANG = 30  # seconds for one call
GROWN = {"blocks", "bytes", "program", "kernel"}  # of what grows
SLOW = 2  # faults of an operation that takes long, when in a hurry


def spread(n, most):
    """At most so many of range(n), the first and the last among them."""
    if not most or n <= most:
        return list(range(n))
    return sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})


class Tried:
    """One operation under the faults of a target."""

    def __init__(self, target, make, most):
        import operations

        self.target, self.make, self.most, self.wrong = target, make, most, operations.Wrong
        self.places = self.injected = self.raised = self.succeeded = self.missed = 0
        self.findings, self.grown = [], False

    def found(self, n, code, what, text):
        self.findings.append(f"n={n}{f' code={code}' if code else ''} {what or ''}: {text}")

    def alone(self):
        self.operation()

    def run(self):
        target = self.target
        self.operation = self.make(target.device)
        for _ in range(3):
            self.alone()
        gc.collect()
        gc.freeze()  # what the imports made is not looked through thousands of times
        self.before = target.state()
        for _ in range(3):  # once all that is made once is there
            target.arm(-1)
            self.alone()
            self.places = max(self.places, target.disarm()[0])
            after = target.state()
            settled, self.before = after == self.before, after
            if settled:
                break
        slow = self.make.slow and self.most
        for number, n in enumerate(spread(self.places, min(SLOW, self.most) if slow else self.most)):
            codes = target.codes if not self.most else [target.codes[number % len(target.codes)]]
            for code in codes:
                self.one(n, code)
                if len(self.findings) > 12:
                    return

    def one(self, n, code):
        target, error = self.target, None
        faulthandler.dump_traceback_later(HANG, exit=True)
        target.arm(n, code)
        try:
            self.operation()
        except BaseException as e:
            error = e
        what = target.disarm()[1]
        self.injected += what is not None
        if error is None:
            self.succeeded += what is not None
            self.missed += what is None
        elif isinstance(error, self.wrong) or what is None:
            self.found(n, code, what, f"{type(error).__name__}: {error}")
        else:
            self.raised += 1
            bad = target.complaint(error, what, code)
            if bad:
                self.found(n, code, what, bad)
                if os.environ.get("FAULTS_TRACE"):
                    traceback.print_exception(error)
        self.trace = "".join(traceback.format_exception(error)) if error and os.environ.get("FAULTS_TRACE") else ""
        error = None
        try:
            self.alone()
        except BaseException as e:
            self.found(n, code, what, f"the next call: {type(e).__name__}: {e}")
        self.look(n, code, what)
        faulthandler.cancel_dump_traceback_later()

    def look(self, n, code, what):
        """What is there once threads of the package have come to their end."""
        end, pause = time.monotonic() + 3, threading.Event()
        while (left := self.left()) and time.monotonic() < end:
            pause.wait(0.002)
        if left and self.a_table_grew():
            return
        if left:
            self.found(n, code, what, "left behind: " + ", ".join(left))
            print(self.trace, file=sys.stderr)
            self.before = self.target.state()

    def left(self):
        after, grows = self.target.state(), GROWN if self.make.grows else ()
        return [f"{after[k] - v:+} {k}" for k, v in self.before.items() if after[k] > v and k not in grows]

    def a_table_grew(self):
        """More bytes in as many blocks: a table that lives as long as the process got room, once; twice would be a leak."""
        after = self.target.state()
        more = {k for k, v in self.before.items() if after[k] > v}
        if more != {"bytes"} or self.grown:
            return False
        self.grown = True
        self.before = {**self.before, "bytes": after["bytes"]}
        return True

    def report(self):
        return {k: getattr(self, k) for k in ("places", "injected", "raised", "succeeded", "missed", "findings")}


class Cold(Tried):
    """One operation, its arguments and the start of its device with it, each time in a process that has done nothing yet."""

    def operation(self):
        self.make(self.target.device)()

    def undisturbed(self):
        """What is there at the end, for the others to compare with."""
        self.target.arm(-1)
        self.alone()
        places = self.target.disarm()[0]
        self.alone()
        return {"places": places, "state": self.target.state()}

    def fault(self, n, code, state):
        self.before = state
        self.one(n, code)
        return {k: getattr(self, k) for k in ("injected", "raised", "succeeded", "missed", "findings")}

    def run(self):
        """In the process that has imported everything, and forks one for each fault."""
        for _ in range(2):  # the first time programs are compiled, and then they are read from the disk
            first = forked(self.target, lambda: Cold(self.target, self.make, 0).undisturbed())
        if "state" not in first:
            self.findings += first["findings"]
            return
        self.places = first["places"]
        for number, n in enumerate(spread(self.places, self.most)):
            code = self.target.codes[number % len(self.target.codes)]
            told = forked(
                self.target, lambda n=n, code=code: Cold(self.target, self.make, 0).fault(n, code, first["state"])
            )
            for k, v in told.items():
                setattr(
                    self,
                    k,
                    getattr(self, k) + ([f"n={n} {x}" for x in v] if k == "findings" and "raised" not in told else v),
                )
            if len(self.findings) > 12:
                return


def forked(target, work):
    """What work() gives in a child."""
    there, back = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(there)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        warnings.simplefilter("ignore")  # of productions whose failure nobody asked for
        sys.unraisablehook = lambda told: None  # what gives back has nobody to raise to
        try:
            target.prepare()
            report = work()
        except BaseException as e:
            report = {"findings": [f"{type(e).__name__}: {e}"]}
            traceback.print_exc()
        with os.fdopen(back, "w") as f:
            json.dump(report, f)
        sys.stderr.flush()
        os._exit(0)
    os.close(back)
    with os.fdopen(there) as f:
        text = f.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    report = json.loads(text) if text else {}
    if status or not text:
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        report.setdefault("findings", []).append(f"the process ended with {how}")
    return report


def warm(target, make, most):
    tried = Tried(target, make, most)

    def work():
        tried.run()
        return tried.report()

    return {**tried.report(), **forked(target, work)}


def cold(target, make, most):
    tried = Cold(target, make, most)
    tried.run()
    return tried.report()


def zygote(target_name, device, most, pattern, build, how):
    """Has imported everything and touched no device; one line for each operation."""
    import operations
    import targets

    if target_name == "callbacks":
        import callbacks  # noqa: F401 - more operations
    target = targets.target(target_name, device, build)
    target.compares_processes = how is cold
    for name in operations.chosen(target.device, pattern):
        begun = time.monotonic()
        report = how(target, operations.OPERATIONS[name], most)
        report.update(operation=name, seconds=round(time.monotonic() - begun, 1))
        print(json.dumps(report), flush=True)


class Runner:
    def __init__(self, options):
        self.options, self.lock, self.totals, self.findings = options, threading.Lock(), {}, 0
        self.build = pathlib.Path(options.build)

    def jobs(self):
        for t in self.options.targets or DEVICES:
            for d in DEVICES[t]:
                if self.options.device in (None, d) and (not self.options.quick or (t, d) in IN_A_HURRY):
                    yield t, d

    def environment(self, target):
        env = {**os.environ, "CDEVICE_CACHE_DIR": str(self.build / "cache"), "HOSTRT_IPC": "1"}
        if target == "malloc":
            env["LD_PRELOAD"] = str(self.build / "interpose.so")
        if target == "opencl":
            env["CDEVICE_OPENCL_LIBRARY"] = str(self.build / "libOpenCL.so")
        return env

    def one(self, target, device):
        o = self.options
        most = o.most or (QUICK[target] if o.quick else 0)
        command = [sys.executable, __file__, "--zygote", target, "--device", device, "--build", o.build]
        command += ["--most", str(most)]
        command += ["--only", o.only] if o.only else []
        command += ["--cold"] if o.cold else []
        p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment(target))
        for line in p.stdout:
            if line.startswith("{"):
                self.say(target, device, json.loads(line))
        if p.wait():
            self.say(target, device, {"operation": "all", "findings": [f"the process ended with {p.returncode}"]})

    def say(self, target, device, r):
        numbers = [r.get(k, 0) for k in ("places", "injected", "raised", "succeeded")]
        with self.lock:
            total = self.totals.setdefault(target, [0, 0, 0, 0, 0, 0])
            for i, n in enumerate((1, *numbers, len(r["findings"]))):
                total[i] += n
            words = "{:>6} places {:>6} faults {:>6} raised {:>6} succeeded".format(*numbers)
            print(
                f"{target + ' ' + str(device):<22} {r['operation']:<34} {words}  {r.get('seconds', 0):>5} s", flush=True
            )
            for f in r["findings"]:
                print(f"    FOUND {f}", flush=True)

    def run(self):
        jobs, slots = [*self.jobs()], threading.Semaphore(self.options.jobs)

        def work(job):
            with slots:
                self.one(*job)

        threads = [threading.Thread(target=work, args=(j,)) for j in jobs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for target, (operations, places, faults, raised, succeeded, findings) in self.totals.items():
            print(
                f"{target}: {operations} operations, {places} places, {faults} faults:"
                f" {raised} raised, {succeeded} succeeded, {findings} findings"
            )
        findings = sum(t[5] for t in self.totals.values())
        print(f"faults: {sum(t[2] for t in self.totals.values())} in all, {findings} findings")
        return bool(findings) or not self.totals


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("targets", nargs="*", choices=[[], *DEVICES])
    p.add_argument("--zygote", choices=[*DEVICES])
    p.add_argument("--quick", action="store_true", help="some faults of each operation, one code each")
    p.add_argument("--most", type=int, default=0, help="so many faults an operation, one code each")
    p.add_argument(
        "--cold", action="store_true", help="each fault in a process that has done nothing yet, one code each"
    )
    p.add_argument("--only", help="operations whose name has this pattern")
    p.add_argument("--device")
    p.add_argument("--build", required=True)
    p.add_argument("--jobs", type=int, default=2)
    o = p.parse_args()
    if o.zygote:
        return zygote(o.zygote, o.device, o.most, o.only, pathlib.Path(o.build), cold if o.cold else warm)
    return Runner(o).run()


if __name__ == "__main__":
    sys.exit(main())
