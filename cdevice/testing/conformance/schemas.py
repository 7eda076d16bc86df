"""Rules of ArrowSchema and of its capsule."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import gc
import struct

from .layouts import layout
from .structs import (
    ArrowSchema,
    Broken,
    NotDone,
    call_release,
    capsule_address,
    capsule_name,
    children_of,
    count_releases,
    dictionary_of,
    move,
    text_at,
)
from .suite import Rules, Suite

C_DATA = "C data interface"
SCHEMA_RULES = Rules()


def schema_of(subject):
    """A schema, moved out of the capsule that the object gave."""
    made = subject.make()
    if not hasattr(made, "__arrow_c_schema__"):
        raise NotDone("it has no __arrow_c_schema__")
    capsule = made.__arrow_c_schema__()  # held until its schema has been moved out
    found = ArrowSchema.from_address(capsule_address(capsule, "arrow_schema"))
    if not found.release:
        raise NotDone("the schema is released")
    return move(found)


def schema_nodes(schema, path="the schema"):
    yield path, schema
    for i, child in enumerate(children_of(schema)):
        yield from schema_nodes(child, f"{path}.children[{i}]")
    if schema.dictionary:
        yield from schema_nodes(dictionary_of(schema), f"{path}.dictionary")


def format_at(schema):
    """The format string, None where it cannot be read."""
    try:
        return text_at(schema.format)
    except Broken:
        return None


def each_schema(subject, look, only=None):
    """Calls look(path, format, schema) for a schema and everything below it, then releases it; ``only``: where
    only(format, schema), of which there must be one."""
    schema = schema_of(subject)
    try:
        found = 0
        for path, node in schema_nodes(schema):
            if only is None or only(format_at(node), node):
                look(path, format_at(node), node)
                found += 1
        if not found:
            raise NotDone("nothing that was given is of such a type")
    finally:
        call_release(schema)


@SCHEMA_RULES.add("MUST", "PyCapsule interface, capsule names")
def schema_capsule_is_named(subject):
    """__arrow_c_schema__ gives a capsule named "arrow_schema"."""
    made = subject.make()
    if not hasattr(made, "__arrow_c_schema__"):
        raise NotDone("it has no __arrow_c_schema__")
    name = capsule_name(made.__arrow_c_schema__())
    if name != "arrow_schema":
        raise Broken(f"the name is {name!r}")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.release")
def schema_comes_live(subject):
    """A schema that is given out has a release callback."""
    made = subject.make()
    if not hasattr(made, "__arrow_c_schema__"):
        raise NotDone("it has no __arrow_c_schema__")
    capsule = made.__arrow_c_schema__()
    if not ArrowSchema.from_address(capsule_address(capsule, "arrow_schema")).release:
        raise Broken("release is NULL")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.format")
def schema_format_is_known(subject):
    """The format string of each field is one of the specification's."""

    def look(path, format, schema):
        if layout(format) is None:
            raise Broken(f"{path} has the format {format!r}")

    each_schema(subject, look)


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.format")
def schema_format_is_the_types(subject):
    """The format string is that of the object's type."""
    if subject.format is None:
        raise NotDone("the format is not known to the suite")
    schema = schema_of(subject)
    found = format_at(schema)
    call_release(schema)
    if found != subject.format and layout(found) is not None:
        raise Broken(f"the format is {found!r}, not {subject.format!r}")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.name")
def schema_names_are_utf8(subject):
    """Names are UTF-8 with a zero behind them, or NULL."""
    each_schema(subject, lambda path, format, schema: text_at(schema.name))


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.metadata")
def schema_metadata_can_be_decoded(subject):
    """Metadata is a count and pairs of texts with their lengths."""

    def look(path, format, schema):
        if not schema.metadata:
            return
        at = schema.metadata
        n = struct.unpack("=i", ctypes.string_at(at, 4))[0]
        if not 0 <= n < 10_000:
            raise Broken(f"{path} has {n} pairs of metadata")
        at += 4
        for _ in range(2 * n):
            size = struct.unpack("=i", ctypes.string_at(at, 4))[0]
            if not 0 <= size < 1 << 24:
                raise Broken(f"{path} has metadata with a text of {size} bytes")
            at += 4 + size

    each_schema(subject, look, only=lambda f, s: bool(s.metadata))


@SCHEMA_RULES.add("READING", f"{C_DATA}, ArrowSchema.flags")
def schema_flags_are_known(subject):
    """No flag is set but the three that exist."""

    def look(path, format, schema):
        if schema.flags & ~7:
            raise Broken(f"{path} has the flags {schema.flags:#x}")

    each_schema(subject, look)


@SCHEMA_RULES.add("SHOULD", f"{C_DATA}, ArrowSchema.flags")
def schema_flags_fit_the_type(subject):
    """Ordered dictionaries are dictionaries, maps with sorted keys are maps."""

    def look(path, format, schema):
        if schema.flags & 1 and not schema.dictionary:
            raise Broken(f"{path} is ordered and has no dictionary")
        if schema.flags & 4 and format != "+m":
            raise Broken(f"{path} has sorted keys and the format {format!r}")

    each_schema(subject, look)


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.n_children")
def schema_has_the_types_children(subject):
    """The number of children is the type's."""

    def look(path, format, schema):
        known = layout(format)
        if known and known[1] is not None and schema.n_children != known[1] or schema.n_children < 0:
            raise Broken(f"{path}, {format!r}, has {schema.n_children} children")

    each_schema(subject, look)


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ArrowSchema.children")
def schema_children_are_there_and_live(subject):
    """Pointers to children are not NULL, and each child has a release callback."""

    def look(path, format, schema):
        if 0 < schema.n_children < 100_000 and len(children_of(schema)) != schema.n_children:
            raise Broken(f"{path} has {schema.n_children} children and a NULL among the pointers")
        for i, child in enumerate(children_of(schema)):
            if not child.release:
                raise Broken(f"{path}.children[{i}] is released")

    each_schema(subject, look, only=lambda f, s: s.n_children > 0)


@SCHEMA_RULES.add("MUST", f"{C_DATA}, dictionary-encoded arrays")
def schema_indices_are_integers(subject):
    """What has a dictionary has the format of an integer."""

    def look(path, format, schema):
        if schema.dictionary and format not in ("c", "C", "s", "S", "i", "I", "l", "L"):
            raise Broken(f"{path} has a dictionary and the format {format!r}")

    each_schema(subject, look, only=lambda f, s: bool(s.dictionary))


@SCHEMA_RULES.add("MUST", f"{C_DATA}, map type")
def schema_map_has_two_fields(subject):
    """The child of a map is a struct of two fields, and neither it nor the key is nullable."""

    def look(path, format, schema):
        if format != "+m" or schema.n_children != 1:
            return
        entries = children_of(schema)[0]
        if format_at(entries) != "+s" or entries.n_children != 2:
            raise Broken(f"the entries of {path} are {format_at(entries)!r} with {entries.n_children} fields")
        if entries.flags & 2 or children_of(entries)[0].flags & 2:
            raise Broken(f"the entries or the keys of {path} are nullable")

    each_schema(subject, look, only=lambda f, s: f == "+m")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, run-end encoded arrays")
def schema_run_ends_are_integers(subject):
    """Run ends are int16, int32 or int64 and not nullable."""

    def look(path, format, schema):
        if format != "+r" or schema.n_children != 2:
            return
        ends = children_of(schema)[0]
        if format_at(ends) not in ("s", "i", "l") or ends.flags & 2:
            nullable = "nullable " if ends.flags & 2 else ""
            raise Broken(f"the run ends of {path} are {nullable}{format_at(ends)!r}")

    each_schema(subject, look, only=lambda f, s: f == "+r")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def schema_release_marks_it(subject):
    """After its release the schema is marked released."""
    schema = schema_of(subject)
    call_release(schema)
    if schema.release:
        raise Broken("release is not NULL after the call")


@SCHEMA_RULES.add("MUST", "PyCapsule interface, lifetime")
def schema_capsule_dropped_unused_releases(subject):
    """Dropping an unused capsule releases its schema, once."""
    made = subject.make()
    if not hasattr(made, "__arrow_c_schema__"):
        raise NotDone("it has no __arrow_c_schema__")
    capsule = made.__arrow_c_schema__()
    found = ArrowSchema.from_address(capsule_address(capsule, "arrow_schema"))
    if not found.release:
        raise NotDone("the schema is released")
    calls = count_releases(found)
    del capsule, found
    gc.collect()
    if len(calls) != 1:
        raise Broken(f"release was called {len(calls)} times")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, moving child structures")
def schema_child_outlives_its_parent(subject):
    """A child that was moved out stays valid after its parent was released."""
    schema = schema_of(subject)
    below = children_of(schema)
    if not below or not all(c.release for c in below):
        call_release(schema)
        raise NotDone("it has no children")
    child = move(below[0])
    before = format_at(child), ctypes.string_at(child.name) if child.name else None
    call_release(schema)
    gc.collect()
    after = format_at(child), ctypes.string_at(child.name) if child.name else None
    call_release(child)
    if before != after:
        raise Broken(f"the child was {before} and is {after}")


@SCHEMA_RULES.add("MUST", f"{C_DATA}, ownership")
def schema_outlives_its_source(subject):
    """A schema stays valid when the object and the capsule it came from are gone."""
    source = subject.make()
    schema = schema_of(type(subject)(lambda: source))
    before = [(p, format_at(s), s.name and ctypes.string_at(s.name)) for p, s in schema_nodes(schema)]
    source = None
    gc.collect()
    churn = [bytes(n) for n in range(0, 4096, 16)]
    after = [(p, format_at(s), s.name and ctypes.string_at(s.name)) for p, s in schema_nodes(schema)]
    del churn
    call_release(schema)
    if before != after:
        raise Broken(f"it was {before} and is {after}")


class SchemaSuite(Suite):
    """Rules of ArrowSchema, held against objects with ``__arrow_c_schema__``: ``SchemaSuite(make).run()``.

    Known of the objects: ``format``, the format string."""

    rules = SCHEMA_RULES
    what = "schema"
