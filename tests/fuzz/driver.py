"""Cases one after the other for a number of seconds: what the fuzzers of one process share."""

import faulthandler
import os
import sys
import time


def run(name, case, seconds, seed=None):
    """Calls ``case(seed)``, ``case(seed + 1)`` ... and prints how they ended; case gives a word.  One case for 0 seconds.

    What a case raises is a finding: its seed is printed and it goes on to the caller.  FUZZ_NOTE names a file that always
    holds the seed of the case under way, for whoever looks after a signal.
    """
    first = [*kept(name)] if seconds else []
    seed = int(time.time()) if seed is None else seed
    end, n, count, note = time.monotonic() + seconds, 0, {}, os.environ.get("FUZZ_NOTE")
    faulthandler.enable()
    while first or time.monotonic() < end or not n:
        this = first.pop() if first else seed + n
        if note:
            with open(note, "w") as f:
                f.write(str(this))
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            outcome = case(this)
        except BaseException:
            print(f"{name}: case {this}: ci/fuzz 0 {name} with FUZZ_SEED={this}", file=sys.stderr, flush=True)
            raise
        count[outcome] = count.get(outcome, 0) + 1
        n += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"{name}: {n} cases from seed {seed}:", ", ".join(f"{o} {c}" for o, c in sorted(count.items())))


def kept(name):
    """Seeds that found something once; they come first, but where a single case is asked for."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds.txt")) as f:
        for line in f:
            target, _, number = line.partition(" ")
            if target == name:
                yield int(number)


def arguments():
    """(seconds, seed or None) of the command line."""
    return float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
