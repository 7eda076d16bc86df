"""Functions of numbers on every device, against pyarrow and models from their definitions."""

from number_checks import *  # noqa: F403
from number_few_checks import *  # noqa: F403
