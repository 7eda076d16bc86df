"""Conditions as pyarrow's scanner takes them, which skips what they rule out."""

from __future__ import annotations

from .graph import Called, Column, Literal, Node, post_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def pushed_down(where: Node, schema: Any) -> Any:
    """A ``pyarrow.compute.Expression`` that is true for every row that ``where`` is true for; None: all rows.
    ``schema``: pyarrow's, of the columns.

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
        made = _condition(e, schema)
        if made is not None:
            found = made if found is None else found & made
    return found


def _condition(root: Node, schema: Any) -> Any:
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
            found = _value(pa.scalar, value.value, None)
            made[id(e)] = None if found is None else pc.scalar(found)
        else:
            made[id(e)] = _function(value, e, args, schema)
    return made[id(root)]


def _type_of(column: Column, schema: Any) -> Any:
    """The type that values are to have before pyarrow compares them with a column; None: it casts them itself."""
    import pyarrow as pa

    type = schema.field(column.name).type
    plain = pa.types.is_decimal(type) or pa.types.is_uint64(type) or pa.types.is_timestamp(type)
    return type if plain else None


def _value(make: Any, value: Any, type: Any) -> Any:
    """A value, or rows, as pyarrow's; None: it has none, or none that is equal."""
    import pyarrow as pa

    try:
        if type is None or pa.types.is_decimal(type) or isinstance(value, int):
            return make(value, type)
        made = make(value)  # the type at once would cut 2.5 to an integer
        return made.cast(type) if pa.types.is_uint64(type) or pa.types.is_timestamp(made.type) else made
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _compared(name: str, arguments: Any, schema: Any) -> Any:
    """A column beside a value; None: others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = [x._value for x in arguments]
    if {*map(type, values)} != {Column, Literal}:
        return None
    wanted = next(_type_of(v, schema) for v in values if isinstance(v, Column))
    both = []
    for v in values:
        made = v.name if isinstance(v, Column) else _value(pa.scalar, v.value, wanted)
        if made is None:
            return None
        both.append(pc.field(made) if isinstance(v, Column) else pc.scalar(made))
    return getattr(pc, name)(*both)


def _function(called: Called, e: Node, args: list[Any], schema: Any) -> Any:
    import pyarrow as pa

    name = called.function.name
    if name in _COMPARED:
        return _compared(name, e._arguments, schema)
    if name == "or_kleene":
        return args[0] | args[1]
    column = e._arguments[0]._value if e._arguments else None
    if isinstance(column, Column):
        if name in ("is_null", "is_valid"):
            return getattr(args[0], name)()
        if name == "is_in":
            values = _value(pa.array, called.options.value_set, _type_of(column, schema))
            return None if values is None else args[0].isin(values)
    return None
