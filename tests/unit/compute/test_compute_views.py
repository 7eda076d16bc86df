"""Strings and bytes as views on every device: casts, and each function with the result that it has for strings."""

from views_checks import *  # noqa: F403
