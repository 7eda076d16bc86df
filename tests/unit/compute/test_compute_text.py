"""Functions of strings and bytes, against pyarrow.compute and Python's own."""

from text_checks import *  # noqa: F403
