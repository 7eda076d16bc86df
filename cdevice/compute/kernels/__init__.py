"""The functions, by family."""
