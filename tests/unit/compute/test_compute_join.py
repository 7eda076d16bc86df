"""Joins by equal keys, on every device, against pyarrow."""

from join_checks import *  # noqa: F403
