"""How much memory this process holds, and how much more a program of its own holds after its work."""

import os
import subprocess
import sys

from children import child_env


def resident():
    """Bytes of memory that this process holds."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def growth(program, few, many, timeout=300):
    """Bytes by which a new process grows in `many` turns after `few`; `program` defines run(turns).

    In a process that has run other tests, what they freed hides growth or looks like it.
    """
    program = (
        f"import source_tree\nfrom memory import resident\n{program}\n"
        f"run({few})\nbefore = resident()\nrun({many})\nprint(resident() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=child_env(), timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
