"""Bridges to other libraries: one file a library, which it imports inside its functions."""
