"""Filter and take of batches: how often they cross into C and wait, and what nested layouts become."""

from selection_checks import *  # noqa: F403
