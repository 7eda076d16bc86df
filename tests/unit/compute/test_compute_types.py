"""Casts of times, dictionaries and nulls on every device, against pyarrow.compute."""

from types_checks import *  # noqa: F403
