"""What the rules of producers share: exports and how they are looked at."""
# mypy: ignore-errors

from __future__ import annotations

from .layouts import buffers_of, layout, nodes, values_of
from .structs import (
    ArrowArray,
    ArrowDeviceArray,
    ArrowSchema,
    NotDone,
    call_release,
    capsule_address,
    children_of,
    move,
)


def method_of(subject):
    """The object and the name of its method: the device's where it has that one."""
    made = subject.make()
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        if getattr(made, name, None) is not None and subject.protocol in (None, name):
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_device_array__'}")


def capsules_of(subject):
    """The two capsules, and the struct types and names that belong in them."""
    made, name = method_of(subject)
    try:
        given = getattr(made, name)()
    except NotDone:
        raise
    except Exception as e:  # gives_two_named_capsules tells it
        raise NotDone(f"{name}() raises {type(e).__name__}: {e}") from None
    if not isinstance(given, tuple) or len(given) != 2:
        raise NotDone("no pair of capsules came")
    device = name == "__arrow_c_device_array__"
    return given, (ArrowDeviceArray, "arrow_device_array") if device else (ArrowArray, "arrow_array")


def exported(subject):
    """(schema, device array or None, array), moved out of their capsules."""
    (schema, array), (kind, name) = capsules_of(subject)
    at = kind.from_address(capsule_address(array, name))
    plain = at.array if kind is ArrowDeviceArray else at
    if not plain.release:
        raise NotDone("the array is released")
    schema = move(ArrowSchema.from_address(capsule_address(schema, "arrow_schema")))
    at = move(at)
    return (schema, at, at.array) if kind is ArrowDeviceArray else (schema, None, at)


def each_array(subject, look, host=False, only=None):
    """Calls look(path, format, schema, array) for an array and all below it; ``host``: in CPU memory only; ``only``:
    where only(format, schema, array), of which there must be one."""
    schema, device, array = exported(subject)
    try:
        if host:
            needs_host(device)
        found = 0
        for path, format, s, a in nodes(schema, array):
            if only is None or only(format or "", s, a):
                look(path, format, s, a)
                found += 1
        if not found:
            raise NotDone("nothing that was given is of such a type")
    finally:
        call_release(array)
        call_release(schema)


def needs_host(device):
    if device is not None and device.device_type not in (1, 3, 11, 13):
        raise NotDone("the buffers are in the memory of a device")


def the_device(subject):
    """The device struct, whose array is released after the look at it."""
    schema, device, array = exported(subject)
    call_release(schema)
    call_release(array)
    if device is None:
        raise NotDone("it has no __arrow_c_device_array__")
    return device


def readable(format, array):
    """The buffers by name where counts make sense; None otherwise: other rules say so."""
    if array.length < 0 or array.offset < 0:
        return None
    return buffers_of(format, array)


def lacking(format, array):
    """The names of buffers that have content and are NULL."""
    buffers = readable(format, array)
    if not buffers or array.length + array.offset == 0:
        return []
    needed = [n for n in buffers if n != "validity" and not n.startswith("bytes")]
    if len(buffers) == 3:
        needed = [n for n in needed if n != "sizes"]
    return [n for n in needed if not buffers[n] and (n != "data" or layout(format)[2])]


def sound_rows(schema, array):
    """The rows; NotDone where the structs cannot be read, of which other rules speak."""
    for path, format, s, a in nodes(schema, array):
        known = layout(format)
        buffers = readable(format, a)
        offsets = offsets_in(format, buffers) if known and buffers else None
        whole = known and buffers is not None and not lacking(format, a) and (offsets is None or buffers[offsets])
        if not whole or s.n_children != len(children_of(a)) or bool(s.dictionary) != bool(a.dictionary):
            raise NotDone(f"{path} cannot be read")
    try:
        return values_of(schema, array)
    except (LookupError, ValueError, MemoryError, OverflowError, StopIteration) as e:
        raise NotDone(f"the rows cannot be read: {type(e).__name__}: {e}") from None


def offsets_in(format, buffers):
    name = next((n for n in buffers if n.startswith("offsets")), None)
    return name if name and not format.startswith(("+v", "+u")) else None


def first_buffer(schema, array):
    """The address of a buffer that has content for certain; one of texts may be empty, and its address any."""
    for _, format, _, at in nodes(schema, array):
        buffers = (buffers_of(format, at) or {}) if at.length > 0 and format != "w:0" else {}
        for name, address in reversed(buffers.items()):
            if address and not name.startswith(("bytes", "sizes")):
                return address
    raise NotDone("it has no buffer")
