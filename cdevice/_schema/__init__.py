"""Parts of ``cdevice.schema``, and the flags and units that all of them know."""

NULLABLE = 2
DICTIONARY_ORDERED = 1
KEYS_SORTED = 4

UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
UNIT_LETTERS = {v: k for k, v in UNITS.items()}
