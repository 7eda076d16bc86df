"""Casts, by the types that they are from and to."""
