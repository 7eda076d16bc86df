"""Which values there are, and ranks, on every device, against pyarrow.compute."""

from distinct_checks import *  # noqa: F403
