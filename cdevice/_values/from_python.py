"""Python values as arrays of every Arrow type.

A value goes in as what it is, or is refused with its row: nothing is rounded, cut, or read as something else.
"""

from __future__ import annotations

from .convert import nulls_as_none
from .encode import encode_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, Schema


def from_list(values: list[Any], schema: Schema | None = None) -> DeviceArray:
    """A CPU array of Python values, None (and pandas' NA and NaT) as null.  ``schema`` None: inferred, see
    :func:`cdevice._values.infer.infer`.

    Raises TypeError for a value of a kind that the type has not, ValueError for one that it cannot hold exactly; floats
    alone are rounded to the width of the type.
    """
    try:
        if schema is None:
            from .infer import infer

            values = nulls_as_none(values)
            schema = infer(values)
        return encode_values(values, schema)
    except RecursionError:
        raise ValueError("values nested deeper than Python's stack, or inside themselves") from None
