"""Arrays made of parts of others.

This is the one way to take memory out of an array and to put it into another one: with its size, its owner and its
event.  Nothing else reads ``_buffer()`` to hand memory on; ``tests/project/test_architecture.py`` looks for it.
"""

from __future__ import annotations

from .._runtime.ext import _native
from .._runtime.release_thread import ensure_release_thread
from .events import behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._types import DeviceArray, Schema, StreamLike, Validate

    Part = tuple[DeviceArray, int] | None

_CPU = 1  # has no events


def parts_of(array: DeviceArray, first: int = 0) -> list[Part]:
    """All buffers of an array, from a number on, for :func:`assemble`."""
    return [(array, i) for i in range(first, array._n_buffers)]


def children_of(array: DeviceArray) -> list[DeviceArray]:
    """The whole arrays below an array, which its slices do not cut."""
    return [array._raw_child(i) for i in range(array._n_children)]


def dictionary_of(array: DeviceArray) -> DeviceArray | None:
    """The values of a dictionary array, or None."""
    return None if array._schema.dictionary is None else array._raw_child(-1)


def assemble(
    schema: Schema,
    length: int,
    buffers: Iterable[Part] = (),
    children: Sequence[DeviceArray] = (),
    dictionary: DeviceArray | None = None,
    *,
    offset: int = 0,
    null_count: int = -1,
    near: DeviceArray | None = None,
    made: Sequence[DeviceArray] | None = None,
    stream: StreamLike = None,
    validate: Validate = None,
) -> DeviceArray:
    """An array of ``schema`` over parts of others, without a copy.

    ``buffers``: for each buffer of the layout (array, index), or None where there is none.  ``near``: an array of the
    device, for what has no parts; else that of the first part.  ``made``: the arrays that one call put on one
    stream, one after the other, the last one last, which waited there for all other parts; the result then waits for
    the last.  Else it waits for all that any of its parts still waits for, ``stream`` being where their events are
    joined.  The host does not wait.
    """
    sources = [*children]
    if dictionary is not None:
        sources.append(dictionary)
    addresses: list[int | None] = []
    for b in buffers:
        if b is None:
            addresses.append(None)
        else:
            array, index = b
            addresses.append(array._buffer(index)[0])
            sources.append(array)
    first = sources[0] if near is None else near
    event: int | None = None
    kept: object = None
    if made is None:
        event, kept = behind(sources, stream)
    elif first.device_type_id != _CPU:
        for x in (*reversed(made), *sources):
            event = x.sync_event
            if event:
                kept = x
                break
    ensure_release_thread()
    return _native.build(
        schema,
        device_type=first.device_type_id,
        device_id=first.device_id,
        length=length,
        offset=offset,
        null_count=null_count,
        buffers=tuple(addresses),
        children=tuple(children),
        dictionary=dictionary,
        owner=(*sources, kept),
        sync_event=event or None,
        validate=validate,
    )


def under(array: DeviceArray, schema: Schema, *, validate: Validate = None) -> DeviceArray:
    """The same rows under another schema of the same layout."""
    return assemble(
        schema,
        array.length,
        parts_of(array),
        children_of(array),
        dictionary_of(array),
        offset=array.offset,
        null_count=array.null_count,
        near=array,
        made=(array,),
        validate=validate,
    )
