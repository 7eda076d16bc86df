"""What numbers of Arrow types are in Python's terms: struct codes, units, the epoch."""

from __future__ import annotations

import datetime

CODES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d", "e": "e"}
"""Arrow format -> code of the module struct."""
PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}
"""Letter of a unit in a format -> how many of it a second has."""
MILLISECONDS_A_DAY = 86400 * 10**3
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=datetime.timezone.utc)
EPOCH_DAY = EPOCH.toordinal()
