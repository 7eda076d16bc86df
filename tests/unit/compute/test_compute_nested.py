"""Structs and maps on every device, against pyarrow.compute."""

from nested_checks import *  # noqa: F403
