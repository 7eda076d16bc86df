"""Lists of every layout, on every device, against pyarrow.compute."""

from lists_checks import *  # noqa: F403
