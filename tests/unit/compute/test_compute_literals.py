"""Values of Python and numpy beside a column, on every device, against pyarrow.compute."""

from literal_checks import *  # noqa: F403
