"""Rows found by their values, on every device, against pyarrow.compute."""

from set_lookup_checks import *  # noqa: F403
