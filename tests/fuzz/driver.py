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
    seed = int(time.time()) if seed is None else seed
    end, n, count, note = time.monotonic() + seconds, 0, {}, os.environ.get("FUZZ_NOTE")
    faulthandler.enable()
    while time.monotonic() < end or not n:
        if note:
            with open(note, "w") as f:
                f.write(str(seed + n))
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            outcome = case(seed + n)
        except BaseException:
            print(f"{name}: case {seed + n}: ci/fuzz 0 {name} with FUZZ_SEED={seed + n}", file=sys.stderr, flush=True)
            raise
        count[outcome] = count.get(outcome, 0) + 1
        n += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"{name}: {n} cases from seed {seed}:", ", ".join(f"{o} {c}" for o, c in sorted(count.items())))


def arguments():
    """(seconds, seed or None) of the command line."""
    return float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
