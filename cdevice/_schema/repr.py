"""Schemas as ``repr`` and ``print`` show them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schema import Schema

SHOWN = 40  # fields of a schema that are shown


def field_lines(schema: Schema) -> list[str]:
    """ "name: type" of each field below."""
    return [f"{c.name}: {c.label}" + ("" if c.nullable else " not null") for c in schema.children]


def described(schema: Schema) -> str:
    """What ``repr`` shows: of a struct one field a line."""
    if schema.format != "+s":
        return (
            f"<cdevice.Schema {schema.name}: {schema._title}>" if schema.name else f"<cdevice.Schema {schema._title}>"
        )
    lines = field_lines(schema)
    n = len(lines)
    if n > SHOWN:
        lines = [*lines[: SHOWN - 10], f"... {n - SHOWN} more fields ...", *lines[-10:]]
    name = f" {schema.name!r}" if schema.name else ""
    keys = ", ".join(k.decode("utf-8", "replace") for k in schema.metadata or ())
    head = f"<cdevice.Schema{name} of {n} field{'' if n == 1 else 's'}" + (f", metadata {keys}>" if keys else ">")
    return "\n  ".join([head, *lines])
