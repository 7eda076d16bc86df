"""Tools for testing backends."""
