"""Running totals, differences of rows, rows in the place of others and run ends, on every device, against pyarrow."""

from running_checks import *  # noqa: F403
