"""Moments by fractions, which round once at the end: what the ones of floats are held against."""

import fractions
import math


def exact_moments(rows, ddof=0, biased=True):
    """Of finite numbers: a float by each name, None where it is null, NaN where all rows are equal."""
    rows = [fractions.Fraction(x) for x in rows]
    n = len(rows)
    if not n:
        return dict.fromkeys(("variance", "stddev", "skew", "kurtosis"))
    mean = sum(rows) / n
    m2, m3, m4 = (sum((x - mean) ** p for x in rows) for p in (2, 3, 4))
    variance = m2 / (n - ddof) if n > ddof else None
    skew, kurtosis = math.nan, math.nan
    if m2:
        skew = math.sqrt(n * m3**2 / m2**3) * (-1 if m3 < 0 else 1)
        kurtosis = n * m4 / m2**2 - 3
        if not biased and n > 2:
            skew *= math.sqrt(n * (n - 1)) / (n - 2)
        if not biased and n > 3:
            kurtosis = fractions.Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * kurtosis + 6)
    return {
        "variance": None if variance is None else _float(variance),
        "stddev": None if variance is None else math.sqrt(_float(variance)),
        "skew": None if not biased and n < 3 else skew,
        "kurtosis": None if not biased and n < 4 else float(kurtosis),
    }


def _float(x):
    try:
        return float(x)
    except OverflowError:
        return math.inf
