"""Rules of those who give streams: ArrowArrayStream, ArrowDeviceArrayStream and their capsules."""
# mypy: ignore-errors

from __future__ import annotations

import gc
import threading

from .exporting import first_buffer, needs_host, sound_rows
from .layouts import is_view, layout, nodes, values_of
from .standin import heap
from .standin_streams import Failed, Opened
from .structs import (
    ArrowArrayStream,
    ArrowDeviceArrayStream,
    Broken,
    NotDone,
    call_release,
    capsule_address,
    capsule_name,
    children_of,
    count_releases,
    move,
    text_at,
)
from .suite import Rules, Suite

C_STREAM = "C stream interface"
DEVICE = "C device data interface, device streams"
CAPSULES = "PyCapsule interface"
STREAM_RULES = Rules()
KINDS = {
    "__arrow_c_device_stream__": (ArrowDeviceArrayStream, "arrow_device_array_stream"),
    "__arrow_c_stream__": (ArrowArrayStream, "arrow_array_stream"),
}


def stream_method(subject):
    made = subject.make()
    for name in KINDS:
        if subject.protocol in (None, name) and getattr(made, name, None) is not None:
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_stream__'}")


def stream_at(subject):
    """The capsule and the struct in it."""
    made, method = stream_method(subject)
    capsule = getattr(made, method)()
    kind, name = KINDS[method]
    return capsule, kind.from_address(capsule_address(capsule, name))


def opened(subject, fails=False):
    """A stream, moved out of its capsule; NotDone where it is one that is made to fail, or not to."""
    if bool(subject.fails) != fails:
        raise NotDone("the stream is made to fail" if subject.fails else "no stream is made to fail")
    _, at = stream_at(subject)
    if not at.release:
        raise NotDone("the stream is released")
    return Opened(move(at))


def end(stream, *structs):
    for struct in structs:
        call_release(struct)
    stream.release()


def batches(stream, told=NotDone):
    """All arrays of a stream, which end in a released one; where they do not, one rule alone tells it."""
    try:
        return stream.rest()
    except Failed as e:
        raise told(f"get_next gives {e.code}: {e.words}") from None
    except OverflowError as e:
        raise told(f"there is no end: {e}") from None


def schema_of(stream):
    try:
        return stream.schema()
    except Failed as e:
        raise Broken(f"get_schema gives {e.code}: {e.words}") from None


def arrays_of(found):
    return [array for _, array in found]


# ---- capsules ----
@STREAM_RULES.add("MUST", f"{CAPSULES}, __arrow_c_stream__")
def gives_one_named_capsule(subject):
    """The method gives one capsule that has the name of the protocol."""
    made, method = stream_method(subject)
    found = capsule_name(getattr(made, method)())
    if found != KINDS[method][1]:
        raise Broken(f"{method} gives {found!r}, not {KINDS[method][1]!r}")


@STREAM_RULES.add("MUST", f"{C_STREAM}, ArrowArrayStream")
def stream_comes_live(subject):
    """A stream that is given out has its four callbacks."""
    _, at = stream_at(subject)
    lacking = [n for n in ("get_schema", "get_next", "get_last_error", "release") if not getattr(at, n)]
    if lacking:
        raise Broken(f"{', '.join(lacking)} is NULL")


@STREAM_RULES.add("MUST", f"{CAPSULES}, lifetime")
def stream_capsule_dropped_unused_releases(subject):
    """Dropping an unused capsule releases the stream, once."""
    capsule, at = stream_at(subject)
    if not at.release:
        raise NotDone("the stream is released")
    calls = count_releases(at)
    del capsule, at
    gc.collect()
    if len(calls) != 1:
        raise Broken(f"release was called {len(calls)} times")


@STREAM_RULES.add("MUST", f"{CAPSULES}, __arrow_c_device_stream__, kwargs")
def unknown_keywords_that_are_none_are_accepted(subject):
    """A keyword that it does not know is accepted as long as it is None."""
    made, method = stream_method(subject)
    if "device" not in method:
        raise NotDone("it has no __arrow_c_device_stream__")
    try:
        getattr(made, method)(a_keyword_of_the_future=None)
    except (TypeError, NotImplementedError) as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


@STREAM_RULES.add("SHOULD", f"{CAPSULES}, requested_schema")
def the_streams_own_schema_may_be_requested(subject):
    """The schema that a stream has is granted where it is requested."""
    stream = opened(subject)
    schema = schema_of(stream)
    stream.release()
    wanted = text_at(schema.format)
    made, method = stream_method(subject)
    request = heap(schema, "arrow_schema")
    try:
        again = getattr(made, method)(requested_schema=request)
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None
    kind, name = KINDS[method]
    stream = Opened(move(kind.from_address(capsule_address(again, name))))
    schema = schema_of(stream)
    found = text_at(schema.format)
    end(stream, schema)
    if found != wanted:
        raise Broken(f"{found!r} comes where {wanted!r} was requested")


# ---- calls ----
@STREAM_RULES.add("MUST", f"{C_STREAM}, get_schema")
def schema_can_be_asked_for_twice(subject):
    """get_schema gives the same schema again, before, between and after the arrays; each is released alone."""
    stream = opened(subject)
    found = []
    for step in (None, stream.next, stream.rest):
        if step:
            try:
                out = step()
            except (Failed, OverflowError) as e:
                raise NotDone(f"there is no end: {e}") from None
            for one in out if isinstance(out, list) else [out] if out else []:
                call_release(one[1])
        schema = schema_of(stream)
        if not schema.release:
            raise Broken("a released schema comes")
        found.append((text_at(schema.format), schema.n_children))
        call_release(schema)
    stream.release()
    if len(set(found)) > 1:
        raise Broken(f"format and number of children are {found}")


@STREAM_RULES.add("MUST", f"{C_STREAM}, get_next")
def schema_need_not_be_asked_for(subject):
    """get_next works where get_schema was never called."""
    stream = opened(subject)
    try:
        one = stream.next()
    except Failed as e:
        raise Broken(f"get_next gives {e.code}: {e.words}") from None
    finally:
        stream.release()
    if one:
        call_release(one[1])


@STREAM_RULES.add("MUST", f"{C_STREAM}, get_next")
def stream_ends_in_a_released_array(subject):
    """The end is a released array and the code 0."""
    stream = opened(subject)
    call_release(schema_of(stream))
    end(stream, *arrays_of(batches(stream, Broken)))


@STREAM_RULES.add("READING", "checklist 30: a released array, again and again")
def end_comes_again(subject):
    """After the end each further get_next gives the end."""
    stream = opened(subject)
    call_release(schema_of(stream))
    try:
        found = stream.rest()
    except (Failed, OverflowError):
        raise NotDone("there is no end") from None
    again = []
    for _ in range(2):
        try:
            again.append(stream.next())
        except Failed as e:
            again.append(e)
    end(stream, *arrays_of(found))
    if again != [None, None]:
        raise Broken(f"after the end come {again}")


def each_batch(subject, look):
    """Calls look(i, schema, device, array) for each array, which is released afterwards."""
    stream = opened(subject)
    schema = schema_of(stream)
    found = []
    try:
        found = batches(stream)
        for i, (device, array) in enumerate(found):
            look(i, schema, device, array)
        if not found:
            raise NotDone("the stream has no array")
    finally:
        end(stream, *arrays_of(found), schema)


@STREAM_RULES.add("MUST", f"{C_STREAM}, get_schema")
def arrays_fit_the_schema(subject):
    """Every array has the children, the buffers and the dictionaries of the schema."""

    def look(i, schema, device, array):
        for path, format, s, a in nodes(schema, array, f"array {i}"):
            known = layout(format)
            if a.n_children != s.n_children or bool(a.dictionary) != bool(s.dictionary):
                raise Broken(f"{path} has {a.n_children} children, the schema {s.n_children}")
            if known and not is_view(format) and a.n_buffers != len(known[0]):
                raise Broken(f"{path}, {format!r}, has {a.n_buffers} buffers")

    each_batch(subject, look)


@STREAM_RULES.add("MUST", f"{C_STREAM}, semantics")
def values_are_the_streams(subject):
    """The rows of all arrays together are the object's."""
    if subject.values is None:
        raise NotDone("the values are not known to the suite")
    rows = []

    def look(i, schema, device, array):
        needs_host(device)
        rows.extend(sound_rows(schema, array))

    each_batch(subject, look)
    if repr(rows) != repr(subject.values):
        raise Broken(f"the rows are {str(rows)[:200]}, not {subject.values}")


@STREAM_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArrayStream.device_type")
def device_type_is_the_arrays(subject):
    """The device type of the stream is set, and each array's."""
    stream = opened(subject)
    if not stream.device:
        stream.release()
        raise NotDone("it has no __arrow_c_device_stream__")
    wanted = stream.struct.device_type
    call_release(schema_of(stream))
    found = batches(stream)
    types = {device.device_type for device, _ in found}
    end(stream, *arrays_of(found))
    if wanted < 1 or types - {wanted}:
        raise Broken(f"device_type of the stream is {wanted}, of its arrays {sorted(types)}")


@STREAM_RULES.add("MUST", "C device data interface, ArrowDeviceArray.reserved")
def reserved_bytes_of_arrays_are_zero(subject):
    """The 24 reserved bytes of each array are zero."""

    def look(i, schema, device, array):
        if device is None:
            raise NotDone("it has no __arrow_c_device_stream__")
        if any(device.reserved):
            raise Broken(f"reserved of array {i} is {list(device.reserved)}")

    each_batch(subject, look)


# ---- ownership ----
@STREAM_RULES.add("MUST", f"{C_STREAM}, release")
def release_marks_the_stream(subject):
    """After its release the stream is marked released."""
    stream = opened(subject)
    stream.release()
    if stream.struct.release:
        raise Broken("release is not NULL after the call")


@STREAM_RULES.add("MUST", f"{C_STREAM}, lifetime")
def arrays_outlive_their_stream(subject):
    """An array stays valid when its stream was released before the end."""
    stream = opened(subject)
    schema, one = schema_of(stream), stream.next()
    if one is None:
        end(stream, schema)
        raise NotDone("the stream has no array")
    device, array = one
    needs_host(device)
    before = sound_rows(schema, array)
    stream.release()
    gc.collect()
    churn = [bytes(n) for n in range(0, 4096, 16)]
    after = values_of(schema, array) if array.release else None
    del churn
    call_release(array)
    call_release(schema)
    if repr(before) != repr(after):
        raise Broken(f"the rows were {before} and are {after}")


@STREAM_RULES.add("MUST", f"{C_STREAM}, lifetime")
def schema_outlives_its_stream(subject):
    """A schema stays valid when its stream was released."""
    stream = opened(subject)
    schema = schema_of(stream)
    before = shape(schema)
    stream.release()
    gc.collect()
    churn = [bytes(n) for n in range(0, 4096, 16)]
    after = shape(schema)
    del churn
    call_release(schema)
    if before != after:
        raise Broken(f"the schema was {before} and is {after}")


def shape(schema):
    if not schema.release:
        return "released"
    return text_at(schema.format), [(text_at(c.format), text_at(c.name)) for c in children_of(schema)]


@STREAM_RULES.add("MUST", f"{C_STREAM}, moving a stream")
def moved_streams_work(subject):
    """A stream that was moved to other memory between two calls goes on."""
    stays = opened(subject)
    end(stays, *arrays_of(batches(stays)))
    stream = opened(subject)
    call_release(schema_of(stream))
    old = stream.struct
    stream.struct = move(old)
    before = bytes(old)
    try:
        found = stream.rest()
    except Failed as e:
        raise Broken(f"get_next gives {e.code}: {e.words}") from None
    changed = bytes(old) != before
    end(stream, *arrays_of(found))
    if changed:
        raise Broken("it writes to the struct that it was moved from")


@STREAM_RULES.add("READING", "C stream interface, thread safety: calls may come from threads in turn")
def threads_may_take_turns(subject):
    """Each call may come from another thread than the one before."""
    stream = opened(subject)
    out = []

    def attempt(call):
        try:
            out.append(call())
        except Exception as e:
            out.append(e)

    def elsewhere(call):
        thread = threading.Thread(target=attempt, args=(call,))
        thread.start()
        thread.join()

    attempt(stream.schema)
    elsewhere(stream.next)
    attempt(stream.next)
    structs = [x[1] if isinstance(x, tuple) else x for x in out if x is not None and not isinstance(x, Exception)]
    for struct in structs:
        elsewhere(lambda struct=struct: call_release(struct))
    elsewhere(stream.release)
    wrong = [e for e in out if isinstance(e, Exception)]
    if wrong:
        raise Broken(f"{type(wrong[0]).__name__}: {wrong[0]}")
    if stream.struct.release:
        raise NotDone("its release does not mark it")


# ---- failures ----
def failure(subject):
    """The failure of a stream that is made to fail, and the stream."""
    stream = opened(subject, fails=True)
    try:
        call_release(stream.schema())
        for _, array in stream.rest():
            call_release(array)
    except Failed as e:
        return stream, e
    stream.release()
    raise NotDone("it does not fail")


@STREAM_RULES.add("MUST", f"{C_STREAM}, get_next")
def failure_has_an_errno(subject):
    """A call that fails gives a positive errno."""
    stream, e = failure(subject)
    stream.release()
    if not 0 < e.code < 4096:
        raise Broken(f"the code is {e.code}")


@STREAM_RULES.add("SHOULD", f"{C_STREAM}, get_last_error")
def failure_has_words(subject):
    """get_last_error gives words for a failure."""
    stream, e = failure(subject)
    stream.release()
    if not e.words:
        raise Broken("get_last_error gives NULL or nothing")


@STREAM_RULES.add("MUST", f"{C_STREAM}, get_last_error")
def words_of_a_failure_last(subject):
    """The words of a failure are the same until the next call."""
    stream, e = failure(subject)
    again = [stream.words() for _ in range(2)]
    stream.release()
    if again != [e.words] * 2:
        raise Broken(f"the words were {e.words!r} and are {again}")


@STREAM_RULES.add("READING", "checklist 34: get_next after an error returns an error")
def failed_streams_stay_failed(subject):
    """A get_next after a failure fails too, and the stream can be released."""
    stream, _ = failure(subject)
    try:
        one = stream.next()
    except Failed:
        one = False
    if one:
        call_release(one[1])
    stream.release()
    if one is not False:
        raise Broken("an array comes" if one else "the end comes")


@STREAM_RULES.add("GOAL", "C device data interface, goals: zero-copy sharing")
def data_is_not_copied(subject):
    """Two streams of an object have the same buffers."""
    made, _ = stream_method(subject)
    twice = type(subject)(lambda: made, protocol=subject.protocol, fails=subject.fails)
    found, streams = [], [opened(twice)]
    try:
        streams.append(opened(twice))
    except Exception:
        streams[0].release()
        raise NotDone("it cannot be read twice") from None
    schemas = []
    try:
        for stream in streams:
            schemas.append(schema_of(stream))
            try:
                found += [stream.next()]
            except Failed:
                found += [None]
        if None in found:
            raise NotDone("it cannot be read twice")
        same = first_buffer(schemas[0], found[0][1]) == first_buffer(schemas[1], found[1][1])
    finally:
        for stream in streams:
            stream.release()
        for struct in (*schemas, *(one[1] for one in found if one)):
            call_release(struct)
    if not same:
        raise NotDone("the data is copied")


class StreamProducerSuite(Suite):
    """Rules of ArrowArrayStream and ArrowDeviceArrayStream, held against objects with ``__arrow_c_device_stream__`` or
    ``__arrow_c_stream__``: ``StreamProducerSuite(make).run()``.

    Known of the objects: ``values``, the rows of all arrays; ``fails``, True where the stream is made to fail;
    ``protocol``, the name of the method to be checked.
    """

    rules = STREAM_RULES
    what = "stream producer"
