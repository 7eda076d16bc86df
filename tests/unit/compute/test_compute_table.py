"""Every function on every device, against pyarrow.compute."""

from table_checks import *  # noqa: F403
