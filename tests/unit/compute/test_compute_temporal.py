"""Dates, times and time zones on every device, against pyarrow, Python's datetime and zoneinfo, and a plain model."""

from temporal_checks import *  # noqa: F403
