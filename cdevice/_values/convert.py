"""Values one by one: nulls, and errors that name the row."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._types import Schema


def nulls_as_none(values: list[Any]) -> list[Any]:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return values
    other = {type(x) for x in (getattr(pandas, "NaT", None), getattr(pandas, "NA", None))} - {type(None)}
    if not other or other.isdisjoint(map(type, values)):
        return values
    return [None if type(v) in other else v for v in values]


def _shown(v: Any) -> str:
    try:
        text = repr(v)
    except Exception:
        text = "(a value whose repr fails)"
    return text if len(text) <= 60 else text[:57] + "..."


def refused(k: int, v: Any, schema: Schema, why: Any, kind: type[Exception]) -> Exception:
    field = f"field {schema.name!r}, " if schema.name else ""
    return kind(f"{field}row {k}: cannot convert {_shown(v)} ({type(v).__name__}) to {schema.type}: {why}")


def converted(values: list[Any], convert: Callable[..., Any], schema: Schema, missing: Any) -> list[Any]:
    """convert(v) of each value, ``missing`` for None; an error names the row."""
    out = []
    for k, v in enumerate(values):
        if v is None:
            out.append(missing)
            continue
        try:
            out.append(convert(v))
        except TypeError as e:
            raise refused(k, v, schema, e, TypeError) from None
        except (ValueError, ArithmeticError) as e:
            raise refused(k, v, schema, e, ValueError) from None
    return out


def bitmap(flags: Sequence[object]) -> bytearray:
    out = bytearray((len(flags) + 7) // 8)
    for i, f in enumerate(flags):
        if f:
            out[i >> 3] |= 1 << (i & 7)
    return out


def validity_of(values: list[Any]) -> tuple[bytearray | None, int]:
    nulls = sum(v is None for v in values)
    return (bitmap([v is not None for v in values]) if nulls else None), nulls
