"""Functions that users define."""
