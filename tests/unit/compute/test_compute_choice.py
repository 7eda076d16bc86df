"""case_when, choose, if_else and coalesce of every layout, on every device, against pyarrow.compute."""

from choice_checks import *  # noqa: F403
