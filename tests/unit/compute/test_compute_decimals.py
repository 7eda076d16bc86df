"""Decimals on every device, against pyarrow.compute."""

from decimals_checks import *  # noqa: F403
