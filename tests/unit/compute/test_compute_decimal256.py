"""Decimals of 256 bits, on every device, against pyarrow.compute."""

from decimal256_checks import *  # noqa: F403
