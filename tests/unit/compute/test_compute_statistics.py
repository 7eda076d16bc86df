"""Moments, quantiles, ends, extremes, parts of an order and rows by their targets, on every device, against pyarrow."""

from statistics_checks import *  # noqa: F403
