"""Functions that choose rows."""
