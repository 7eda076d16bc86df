"""The order of rows on every device, against pyarrow.compute and against Python's sort, which is stable as well."""

from sort_checks import *  # noqa: F403
