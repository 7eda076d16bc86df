"""Times by the calendar, written from the definitions with Python's integers: slow, plain, and for every year."""

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86400
SMALL = ["nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day", "week"]
SIZES = dict(zip(SMALL, (1, 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9, DAY * 10**9, 7 * DAY * 10**9), strict=True))


def days(year, month, day):
    """Days since 1970-01-01."""
    y = year - (month < 3)
    return (
        y // 400 * 146097
        + y % 400 * 365
        + y % 400 // 4
        - y % 400 // 100
        + (153 * ((month + 9) % 12) + 2) // 5
        + day
        - 719469
    )


def date(day):
    """(year, month, day) of a day."""
    year = 1970 + day * 400 // 146097
    while days(year + 1, 1, 1) <= day:
        year += 1
    while days(year, 1, 1) > day:
        year -= 1
    month = next(m for m in range(12, 0, -1) if days(year, m, 1) <= day)
    return year, month, day - days(year, month, 1) + 1


def towards_zero(a, b):
    return a // b if a >= 0 else -(-a // b)


def rounded(how, tick, per_day, unit, multiple=1, monday=True, strict=False, origin=False, duration=False):
    """floor, ceil or round of a count of which a day has ``per_day``."""
    per = DAY * 10**9 // per_day  # nanoseconds of a tick
    if unit in ("month", "quarter", "year"):
        size = multiple * {"month": 1, "quarter": 3, "year": 12}[unit]
        year, month, _ = date(tick // per_day)
        at = year * 12 + month - 1
        begin = year * 12 if origin else 1970 * 12
        low = towards_zero(year, multiple) * size if unit == "year" else begin + (at - begin) // size * size
        first, next_ = (days(m // 12, m % 12 + 1, 1) * per_day for m in (low, low + size))
    else:
        size, ns = SIZES[unit] * multiple, tick * per
        begin = 0
        if unit == "week" and not duration:
            begin = (-3 if monday else -4) * SIZES["day"]
        if origin and multiple > 1:
            begin = beginning(unit, ns, monday)
        steps = (ns - begin) // size
        if origin and multiple > 1 and unit == "week":  # pyarrow's, of a later day: up to 4 days behind the time
            steps = towards_zero(ns + (3 if monday else 4) * SIZES["day"] - begin, size)
        first = towards_zero(begin + steps * size, per)
        next_ = first + size // per
    if how == "floor":
        return first
    greater = unit in ("month", "quarter", "year")  # of these pyarrow's are always the next one
    up = next_ if first < tick or strict or (greater and how == "ceil") else first
    if how == "ceil":
        return up
    return first if tick - first < up - tick else up


def beginning(unit, ns, monday):
    """Of the next greater unit."""
    day = ns // SIZES["day"]
    if unit == "week":
        year = date(day + (3 if monday else 4))[0]
        fourth = days(year, 1, 4)
        back = (fourth + 3) % 7 if monday else (fourth + 4) % 7
        return (fourth - back) * SIZES["day"]
    if unit == "day":
        year, month, _ = date(day)
        return days(year, month, 1) * SIZES["day"]
    size = SIZES[SMALL[SMALL.index(unit) + 1]]
    return ns // size * size
