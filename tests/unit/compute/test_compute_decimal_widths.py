"""Decimals of several widths, on every device, against pyarrow.compute."""

from decimal_widths_checks import *  # noqa: F403
