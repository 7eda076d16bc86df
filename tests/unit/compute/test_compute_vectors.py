"""Lists of one size as vectors on every device: their values cast and computed with, sums along them, their shape."""

from vectors_checks import *  # noqa: F403
