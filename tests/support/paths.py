"""Where things are, for tests: the root of the checkout, and this folder's parent."""

import pathlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
