"""Conditions as pyarrow's scanner takes them, which skips what they rule out."""

from __future__ import annotations

from .graph import Called, Column, Literal, Node, post_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def pushed_down(where: Node) -> Any:
    """A ``pyarrow.compute.Expression`` that is true for every row that ``where`` is true for; None: all rows.

    Of conditions that must all be true, those are taken that pyarrow's scanner holds against statistics: columns beside
    values, and lists of values.  The rows are filtered again.
    """
    found = None
    stack = [where]
    while stack:
        e = stack.pop()
        value = e._value
        if isinstance(value, Called) and value.function.name in ("and_kleene", "and"):
            stack += e._arguments
            continue
        made = _condition(e)
        if made is not None:
            found = made if found is None else found & made
    return found


def _condition(root: Node) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    made: dict[int, Any] = {}
    for e in post_order(root):
        value, args = e._value, [made[id(x)] for x in e._arguments]
        if any(a is None for a in args):
            made[id(e)] = None
        elif isinstance(value, Column):
            made[id(e)] = pc.field(value.name)
        elif isinstance(value, Literal):
            try:
                made[id(e)] = pc.scalar(pa.scalar(value.value))
            except (pa.ArrowException, TypeError, ValueError):
                made[id(e)] = None
        else:
            made[id(e)] = _function(value, e, args)
    return made[id(root)]


def _function(called: Called, e: Node, args: list[Any]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    name = called.function.name
    if name in _COMPARED:
        kinds = {type(x._value) for x in e._arguments}
        return getattr(pc, name)(*args) if kinds == {Column, Literal} else None
    if name == "or_kleene":
        return args[0] | args[1]
    if name in ("is_null", "is_valid") and isinstance(e._arguments[0]._value, Column):
        return getattr(args[0], name)()
    if name == "is_in" and isinstance(e._arguments[0]._value, Column):
        values = called.options.value_set
        try:
            return args[0].isin(pa.array(values))
        except (pa.ArrowException, TypeError, ValueError):
            return None
    return None
