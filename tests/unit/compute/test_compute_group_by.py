"""Groups of equal rows and their aggregates, on every device, against pyarrow."""

from group_by_checks import *  # noqa: F403
