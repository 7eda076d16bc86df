"""Whether what comes back is what was sent: buffers by address, values one by one."""

from __future__ import annotations

from .tables import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def source_addresses(batch: Any) -> Any:
    """Addresses of pyarrow's buffers, without the empty ones (anything may stand for those)."""
    out: set[int] = set()
    todo = [batch.column(i) for i in range(batch.num_columns)]
    while todo:
        a = todo.pop()
        out.update(b.address for b in a.buffers() if b is not None and b.size)
        if getattr(a, "dictionary", None) is not None:
            todo.append(a.dictionary)
    return out


def taken_addresses(arr: Any) -> Any:
    out: set[int] = set()
    todo = [arr]
    while todo:
        a = todo.pop()
        out.update(b.address for b in a.buffers if b is not None and b.address)
        todo.extend(a.children or ())
        if a.dictionary is not None:
            todo.append(a.dictionary)
    return out


def same_values(pa: Any, a: Any, b: Any) -> Any:
    """Equal, where a NaN equals the same NaN, at any depth."""
    if a.type != b.type or len(a) != len(b):
        return False
    if a.equals(b):
        return True
    bits = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(a.type)
    if bits is not None:
        return a.view(bits).equals(b.view(bits))
    if not a.is_valid().equals(b.is_valid()):
        return False
    inner = _inside(pa, a), _inside(pa, b)
    if None not in inner:
        return len(inner[0]) == len(inner[1]) and all(same_values(pa, x, y) for x, y in zip(*inner))
    if not a.type.num_fields:
        return False
    try:
        # The rest: a NaN in a union or behind run ends; the text of a NaN equals itself.
        return repr(a.to_pylist()) == repr(b.to_pylist())
    except (ValueError, OverflowError) as exc:  # a date that Python cannot represent
        raise InputError(f"two arrays of {a.type} cannot be compared: {exc}") from None


def _inside(pa: Any, a: Any) -> Any:
    """The arrays that make up the valid rows of a nested one, or None."""
    types, rows = pa.types, a.drop_null() if a.null_count else a
    if types.is_struct(a.type):
        return rows.flatten()
    if types.is_dictionary(a.type):
        return [rows.dictionary.take(rows.indices)]
    if types.is_map(a.type):
        return [_lengths(pa, rows), rows.keys, rows.items] if rows.offset == 0 else None
    if types.is_list(a.type) or types.is_large_list(a.type) or types.is_fixed_size_list(a.type):
        return [_lengths(pa, rows), rows.flatten()]
    return None


def _lengths(pa: Any, lists: Any) -> Any:
    import pyarrow.compute

    if pa.types.is_map(lists.type):
        offsets = lists.offsets
        return pyarrow.compute.subtract(offsets[1:], offsets[:-1])
    return pyarrow.compute.list_value_length(lists)


def same_field(f: Any, g: Any) -> Any:
    """Same name, type, nullability and metadata; the names inside lists and maps do not affect the type."""
    return (f.name, f.type, f.nullable, f.metadata or {}) == (g.name, g.type, g.nullable, g.metadata or {})


def difference(pa: Any, want: Any, got: Any) -> Any:
    """None, or where the two batches differ."""
    if len(want.schema) != len(got.schema) or (want.schema.metadata or {}) != (got.schema.metadata or {}):
        return "the schema came back different"
    for f, g in zip(want.schema, got.schema):
        if not same_field(f, g):
            words = (f, g) if f.type == g.type else (f.type, g.type)
            return f"column {f.name}: {words[0]} came back as {words[1]}"
    if want.num_rows != got.num_rows:
        return f"{want.num_rows} rows came back as {got.num_rows}"
    for i, field in enumerate(want.schema):
        a, b = want.column(i), got.column(i)
        if same_values(pa, a, b):
            continue
        for row in range(len(a)):
            if not same_values(pa, a.slice(row, 1), b.slice(row, 1)):
                return f"column {field.name}, row {row}: {shown(a[row])} came back as {shown(b[row])}"
        return f"column {field.name} came back different"
    return None


def shown(scalar: Any) -> Any:
    try:
        return str(scalar)
    except (ValueError, OverflowError):
        return "what Python cannot show"
