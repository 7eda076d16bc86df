"""Kernels of other libraries."""
