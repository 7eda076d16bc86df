"""What ``cdevice check`` starts for each area: ``check_area.py ARGUMENTS FD NAME ...``, see ``testing/apart.py``."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace


def main(arguments: str, fd: str, *names: str) -> None:
    from ..testing import apart
    from .check import suite_of

    args = SimpleNamespace(**json.loads(arguments))
    apart.serve(lambda: suite_of(args, args.device), int(fd), list(names))


if __name__ == "__main__":
    main(*sys.argv[1:])
