"""Rows of every layout chosen, taken and compared on every device, against pyarrow.compute, or Python where it has
none."""

from layouts_checks import *  # noqa: F403
