"""Rules of those who take streams: what they call of an ArrowArrayStream and an ArrowDeviceArrayStream."""
# mypy: ignore-errors

from __future__ import annotations

from .consuming import collect, rows_read, words_of
from .standin import TWICE, Node, batch, guarded, int64s
from .standin_streams import DeviceStreamOffer, PlainStreamOffer, StreamOffer
from .structs import Broken, NotDone, call_release
from .suite import Rules, Suite

C_STREAM = "C stream interface"
CAPSULES = "PyCapsule interface"
DEVICE = "C device data interface"
TAKER_RULES = Rules()
DEVICE_METHOD = "__arrow_c_device_stream__"
CHUNKS = ([1, None], [3], [4, 5])
ROWS = [1, None, 3, 4, 5]


def node_of(subject, rows):
    return int64s(rows) if subject.batch is False else batch({"column": int64s(rows)})


def rows_expected(subject, rows):
    return rows if subject.batch is False else [{"column": r} for r in rows]


def offer_of(subject, chunks=CHUNKS, kind=None, **more):
    """A stream by the methods that are to be checked: of batches of one column, or of arrays."""
    if kind is None:
        kind = {"__arrow_c_stream__": PlainStreamOffer, DEVICE_METHOD: DeviceStreamOffer}.get(
            subject.protocol, StreamOffer
        )
    return kind([node_of(subject, c) for c in chunks], node_of(subject, []), **more)


def called(offer):
    if not offer.called:
        raise NotDone("it calls no method of the protocol")


def accept(subject, offer):
    """What the library makes of a stream; NotDone where it refuses it."""
    try:
        out = subject.make()(offer)
    except BaseException as e:
        raise NotDone(f"it is refused: {words_of(e)}") from None
    called(offer)
    return out


def read(subject, offer):
    """The rows of a stream; NotDone where it is refused."""
    out = accept(subject, offer)
    try:
        return rows_read(subject, out)
    except NotDone:
        raise
    except BaseException as e:
        raise NotDone(f"it cannot be read: {words_of(e)}") from None


def read_all(subject, **more):
    """The offer of a stream that was read to its end and dropped."""
    TWICE.clear()
    offer = offer_of(subject, **more)
    read(subject, offer)
    collect(offer)
    return offer


def calls_of(offer):
    return [c for s in offer.streams for c in s.calls]


def attempt(subject, offer):
    """Takes and reads a stream; the exception that comes, or None."""
    try:
        rows_read(subject, subject.make()(offer))
    except NotDone:
        raise
    except BaseException as e:
        called(offer)
        return e
    called(offer)
    return None


# ---- values ----
@TAKER_RULES.add("MUST", f"{C_STREAM}, get_next")
def every_array_is_read_in_order(subject):
    """The rows are those of all arrays, in their order."""
    offer = offer_of(subject)
    out = accept(subject, offer)
    try:
        found = rows_read(subject, out)
    except NotDone:
        raise
    except Exception as e:
        raise Broken(f"it is taken and cannot be read: {words_of(e)}") from None
    same_rows(subject, found, ROWS)


def same_rows(subject, found, rows):
    """The rows are those wanted; in any order where the library keeps none (``unordered``)."""
    wanted = rows_expected(subject, rows)
    order = (lambda x: sorted(x, key=repr)) if subject.unordered else list
    if repr(order(found)) != repr(order(wanted)):
        raise Broken(f"the rows are {str(found)[:200]}, not {wanted}")


@TAKER_RULES.add("MUST", f"{C_STREAM}, get_next")
def streams_without_arrays_are_read(subject):
    """A stream may end at once: there are no rows."""
    read(subject, offer_of(subject))
    found = attempt_rows(subject, offer_of(subject, ()))
    if len(found):
        raise Broken(f"the rows are {str(found)[:200]}")


def attempt_rows(subject, offer):
    try:
        return rows_read(subject, subject.make()(offer))
    except NotDone:
        raise
    except BaseException as e:
        raise Broken(f"it is refused: {words_of(e)}") from None


@TAKER_RULES.add("MUST", f"{C_STREAM}, get_next")
def arrays_without_rows_are_no_end(subject):
    """An array without rows is no end: what comes after it is read."""
    read(subject, offer_of(subject))
    found = attempt_rows(subject, offer_of(subject, ([], [1], [], [2])))
    same_rows(subject, found, [1, 2])


# ---- ownership ----
@TAKER_RULES.add("MUST", f"{C_STREAM}, release")
def stream_is_released_when_its_taker_is_gone(subject):
    """A stream that was read to its end is released."""
    offer = read_all(subject)
    if any(not s.releases for s in offer.streams):
        raise Broken("the stream was not released")


@TAKER_RULES.add("MUST", f"{C_STREAM}, release")
def stream_left_before_its_end_is_released(subject):
    """A stream that was taken and not read is released."""
    if any(not s.releases for s in read_all(subject).streams):
        raise NotDone("a stream that was read is not released either")
    offer = offer_of(subject)
    out = accept(subject, offer)
    del out
    collect(offer)
    if any(not s.releases for s in offer.streams):
        raise Broken("the stream was not released")


@TAKER_RULES.add("MUST", f"{C_STREAM}, release")
def stream_is_not_released_twice(subject):
    """A stream is released once."""
    offer = read_all(subject)
    if any(len(s.releases) > 1 for s in offer.streams):
        if offer.dropped:
            raise NotDone("it does not move the stream")
        raise Broken("the stream was released twice")


@TAKER_RULES.add("SHOULD", f"{C_STREAM}, moving a stream; {CAPSULES}, lifetime")
def stream_is_moved_out_of_its_capsule(subject):
    """The struct in a capsule is marked released once its content was taken."""
    offer = offer_of(subject)
    out = accept(subject, offer)
    live = [s for s in offer.structs if s.release]
    del out
    collect(offer)
    if live:
        raise Broken("release is not NULL while the library uses the stream")
    if offer.dropped and any(len(s.releases) > 1 for s in offer.streams):
        raise Broken("the struct was copied, and its source was not marked released")


@TAKER_RULES.add("MUST", "C data interface, release callback semantics")
def every_array_is_released_once(subject):
    """Each array that the stream gave is released, once."""
    offer = read_all(subject)
    found = [len(a) for s in offer.streams for a in s.arrays]
    if set(found) - {1} or "ArrowArray" in TWICE:
        raise Broken(f"the arrays were released {found} times" + (", then again" if TWICE else ""))


@TAKER_RULES.add("MUST", "C data interface, release callback semantics")
def every_schema_is_released_once(subject):
    """Each schema that the stream gave is released, once."""
    offer = read_all(subject)
    found = [len(a) for s in offer.streams for a in s.schemas]
    if set(found) - {1} or "ArrowSchema" in TWICE:
        raise Broken(f"the schemas were released {found} times" + (", then again" if TWICE else ""))


# ---- calls ----
@TAKER_RULES.add("MUST", f"{C_STREAM}, release")
def nothing_is_called_after_the_release(subject):
    """No callback is called after the release of the stream."""
    wrong = [c for c in calls_of(read_all(subject)) if "after the release" in c]
    if wrong:
        raise Broken(wrong[0])


@TAKER_RULES.add("MUST", f"{C_STREAM}, thread safety")
def calls_come_one_at_a_time(subject):
    """No callback is called before the one before has returned."""
    offer = read_all(subject, chunks=[[i] for i in range(20)], slow=True)
    if "two calls at once" in calls_of(offer):
        raise Broken("get_next was called while a call was under way")


@TAKER_RULES.add("MUST", f"{C_STREAM}, get_last_error")
def last_error_is_asked_for_after_failures_alone(subject):
    """get_last_error is called only where the call before it failed."""
    if "get_last_error without a failure" in calls_of(read_all(subject)):
        raise Broken("get_last_error was called after a call that did not fail")


# ---- failures ----
def failing(subject, where, words="words of the stream", code=5):
    read(subject, offer_of(subject))
    return offer_of(subject, fails={where: (code, words)})


@TAKER_RULES.add("MUST", f"{C_STREAM}, get_next")
def failure_of_get_next_is_raised(subject):
    """A get_next that fails is an exception, also after arrays came."""
    for where in (0, 1):
        if attempt(subject, failing(subject, where)) is None:
            raise Broken(f"nothing is raised where get_next fails at array {where}")


@TAKER_RULES.add("MUST", f"{C_STREAM}, get_schema")
def failure_of_get_schema_is_raised(subject):
    """A get_schema that fails is an exception."""
    if attempt(subject, failing(subject, "schema")) is None:
        raise Broken("nothing is raised where get_schema fails")


@TAKER_RULES.add("SHOULD", f"{C_STREAM}, get_last_error")
def words_of_a_failure_are_in_the_exception(subject):
    """The exception has the words of get_last_error."""
    offer = failing(subject, 1)
    e = attempt(subject, offer)
    if e is None:
        raise NotDone("nothing is raised")
    if "words of the stream" not in f"{e} {e.__cause__} {e.__context__}":
        raise Broken(f"the exception is {words_of(e)}")


@TAKER_RULES.add("MUST", f"{C_STREAM}, get_last_error")
def failure_without_words_is_raised(subject):
    """A failure is an exception also where get_last_error gives NULL, whichever code it has."""
    for code in (5, 12345):
        if attempt(subject, failing(subject, 1, None, code)) is None:
            raise Broken(f"nothing is raised for the code {code}")


@TAKER_RULES.add("MUST", f"{C_STREAM}, release; checklist 35")
def failed_stream_is_released(subject):
    """A stream that failed is released, whichever call failed."""
    if any(not s.releases for s in read_all(subject).streams):
        raise NotDone("a stream that did not fail is not released either")
    for where in ("schema", 1):
        offer = failing(subject, where)
        attempt(subject, offer)
        collect(offer)
        if any(not s.releases for s in offer.streams):
            raise Broken(
                f"the stream whose {'get_schema' if where == 'schema' else 'get_next'} failed was not released"
            )


class RaisesStream(StreamOffer):
    def __arrow_c_stream__(self, requested_schema=None):
        self.called.append("__arrow_c_stream__")
        raise ValueError("words of the producer")

    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        return self.__arrow_c_stream__()


@TAKER_RULES.add("MUST", f"{CAPSULES}, semantics")
def exceptions_of_the_producer_are_raised(subject):
    """An exception of the producer's method is raised, with its words."""
    read(subject, offer_of(subject))
    e = attempt(subject, offer_of(subject, kind=RaisesStream))
    if e is None:
        raise Broken("nothing is raised")
    if "words of the producer" not in f"{e} {e.__cause__} {e.__context__}":
        raise Broken(f"it is raised as {words_of(e)}")


# ---- refusals ----
class OtherStreamName(StreamOffer):
    def name_of(self, name):
        return "arrow_stream"


class ReleasedStream(StreamOffer):
    def change(self, struct):
        call_release(struct)


@TAKER_RULES.add("MUST", f"{CAPSULES}, capsule names")
def streams_of_other_names_are_refused(subject):
    """A capsule that does not have the name it should have is an exception."""
    read(subject, offer_of(subject))
    if attempt(subject, offer_of(subject, kind=OtherStreamName)) is None:
        raise Broken("a capsule 'arrow_stream' is taken")


@TAKER_RULES.add("SHOULD", f"{C_STREAM}, released structure")
def released_streams_are_refused(subject):
    """A stream that is marked released is an exception."""
    read(subject, offer_of(subject))
    offer = offer_of(subject, kind=ReleasedStream)
    e = attempt(subject, offer)
    if e is None:
        raise Broken("a released stream is taken and read")


@TAKER_RULES.add("READING", "checklist 17: wrong child count")
def arrays_that_do_not_fit_the_schema_are_refused(subject):
    """An array with other columns than the schema is an exception."""
    if subject.batch is False:
        raise NotDone("its arrays have no columns")
    read(subject, offer_of(subject))
    offer = offer_of(subject)
    offer.nodes = [batch({"column": int64s([1]), "other": int64s([1])}), *offer.nodes]
    if attempt(subject, offer) is None:
        raise Broken("an array with a column more than the schema is read")


# ---- devices ----
@TAKER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.array")
def buffers_on_a_device_are_not_touched(subject):
    """Buffers of arrays on a device that is not the CPU are not read when the stream is taken."""
    if subject.protocol not in (None, DEVICE_METHOD):
        raise NotDone(f"{DEVICE_METHOD} is not to be checked")
    read(subject, offer_of(subject, kind=DeviceStreamOffer))
    node = Node("l", 3, [None, guarded("the buffer data of an array of a stream")])
    offer = offer_of(subject, kind=DeviceStreamOffer, device_type=12, device_id=0)
    offer.nodes = [node if subject.batch is False else batch({"column": node})]
    try:
        out = subject.make()(offer)
    except Exception:
        out = None
    del out
    called(offer)


@TAKER_RULES.add("READING", "readings: arrays and streams of one device")
def arrays_of_another_device_are_refused(subject):
    """A CPU stream whose arrays are on another device is an exception, and they are not touched."""
    if subject.protocol not in (None, DEVICE_METHOD):
        raise NotDone(f"{DEVICE_METHOD} is not to be checked")
    read(subject, offer_of(subject, kind=DeviceStreamOffer))
    offer = offer_of(subject, kind=DeviceStreamOffer, device_type=12)
    offer.change = lambda struct: setattr(struct, "device_type", 1)
    if attempt(subject, offer) is None:
        raise Broken("arrays of device type 12 in a stream of device type 1 are read")


@TAKER_RULES.add("GOAL", f"{DEVICE}, goals: zero-copy sharing")
def data_is_not_copied(subject):
    """What was read uses the buffers that it came with."""
    offer = offer_of(subject)
    out = accept(subject, offer)
    rows = rows_read(subject, out)
    collect(offer)
    arrays = [a for s in offer.streams for a in s.arrays]
    kept = [a for a in arrays if not a]
    del out, rows
    if not kept:
        raise NotDone("the data is copied, or gone once it was read")


class StreamConsumerSuite(Suite):
    """Rules of those who take streams: ``StreamConsumerSuite(take).run()``.

    ``take`` is called with an object that has ``__arrow_c_stream__`` and ``__arrow_c_device_stream__``, and gives what
    the library makes of it, read or to be read.  Known of it: ``read``, which makes a list of rows of that (default:
    its ``to_pylist``), a callable or an expression; ``batch``, False where it takes streams of arrays in the place of
    record batches; ``unordered``, True where rows are read in any order; ``protocol``, the name of the
    method to be checked.
    """

    rules = TAKER_RULES
    what = "stream consumer"
    one_death_is_all = False
    given_is_the_subject = True
