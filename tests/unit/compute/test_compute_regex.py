"""Functions that take a regular expression, against pyarrow.compute and Python's re."""

from regex_checks import *  # noqa: F403
