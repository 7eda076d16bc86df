"""Rules of the asynchronous device stream: of those who send, and of those who own a handler."""
# mypy: ignore-errors

from __future__ import annotations

import gc

from .consuming import words_of
from .layouts import values_of
from .standin import Node, batch, guarded, int64s
from .standin_handlers import LONG, Handler, Sender
from .structs import ArrowAsyncDeviceStreamHandler, Broken, NotDone
from .suite import Rules, Suite

ASYNC = "C device data interface, async stream"
HANDLER = f"{ASYNC}, ArrowAsyncDeviceStreamHandler"
PRODUCER = f"{ASYNC}, ArrowAsyncProducer"
TASK = f"{ASYNC}, ArrowAsyncTask"
HANDLER_RULES = Rules()


# ---- those who send ----
def sent(subject, fails=False, late=True, bare=False, then=None, **how):
    """A handler to which everything was sent; NotDone where its release does not come (``late``), or where it got no
    producer (``bare``: it may have none).  ``then``: called with the handler before its release is waited for."""
    if bool(subject.fails) != fails:
        raise NotDone("the producer is made to fail" if subject.fails else "no producer is made to fail")
    end = subject.make()
    if not hasattr(end, "start"):
        raise NotDone("it has no start(address)")
    handler = Handler(**how)
    handler.end = end
    handler.task = end.start(handler.handler())
    if then:
        then(handler)
    if not handler.released.wait(LONG / 10 if subject.never_releases else LONG):
        subject.never_releases = True
        if late:
            raise NotDone("release does not come")
    if not bare and not handler.had_producer:
        raise NotDone("there is no producer")
    if not bare and not handler.schema_was_live:
        raise NotDone("the schema is released")
    return handler


def drop(handler):
    handler.drop()
    gc.collect()


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_schema")
def schema_comes_first_and_once(subject):
    """on_schema is the first call, and comes once."""
    handler = sent(subject, bare=True)
    drop(handler)
    if handler.calls[:1] != ["on_schema"] or handler.calls.count("on_schema") != 1:
        raise Broken(f"the calls are {handler.calls}")


@HANDLER_RULES.add("MUST", f"{HANDLER}.producer")
def producer_is_there_before_the_schema(subject):
    """When on_schema comes the handler has a producer with its callbacks."""
    handler = sent(subject, bare=True)
    drop(handler)
    if "on_schema" in handler.calls and not handler.had_producer:
        raise Broken("producer is NULL, or lacks a callback")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_schema")
def schema_comes_live(subject):
    """The schema that comes is not marked released."""
    handler = sent(subject, bare=True)
    drop(handler)
    if handler.had_producer and not handler.schema_was_live:
        raise Broken("release of the schema is NULL")


@HANDLER_RULES.add("MUST", f"{ASYNC}, stream handler lifetime")
def release_is_the_last_call_and_comes_once(subject):
    """release comes once, and nothing after it."""
    handler = sent(subject, late=False, bare=True)
    if not handler.released.is_set():
        raise Broken(f"after {LONG:.0f} seconds it has not come; the calls are {handler.calls}")
    wrong = [w for w in handler.wrong if "after release" in w]
    drop(handler)
    if wrong or handler.calls[-1] != "release":
        raise Broken(f"the calls are {handler.calls + wrong}")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_next_task")
def end_is_a_null_task(subject):
    """The end of a stream that was not cancelled is on_next_task(NULL), once."""
    handler = sent(subject)
    drop(handler)
    if handler.calls.count("end") != 1 or handler.error:
        raise Broken(f"the calls are {handler.calls}, the error {handler.error}")


@HANDLER_RULES.add("MUST", f"{ASYNC}, thread safety")
def callbacks_come_one_at_a_time(subject):
    """A callback comes after the one before has returned."""
    handler = sent(subject, ask=1000, slow=True)
    wrong = [w for w in handler.wrong if "under way" in w]
    drop(handler)
    if wrong:
        raise Broken(wrong[0])


@HANDLER_RULES.add("MUST", f"{PRODUCER}.request")
def no_more_tasks_come_than_were_requested(subject):
    """There are never more tasks than were requested."""

    def ask_for_the_rest(handler):
        handler.released.wait(0.1)  # what comes meanwhile was not requested
        if not handler.released.is_set() and handler.struct.producer:
            handler.request(1000)

    handler = sent(subject, again=0, then=ask_for_the_rest)
    wrong = [w for w in handler.wrong if "requested" in w]
    drop(handler)
    if wrong:
        raise Broken(wrong[0])


@HANDLER_RULES.add("MUST", f"{PRODUCER}.request")
def request_and_cancel_call_nothing_on_their_stack(subject):
    """No callback comes on the stack of request or cancel."""
    wrong = []
    for how in ({}, {"cancel_at": 0}):
        handler = sent(subject, **how)
        wrong += [w for w in handler.wrong if "stack" in w]
        drop(handler)
    if wrong:
        raise Broken(wrong[0])


@HANDLER_RULES.add("MUST", f"{TASK}.extract_data")
def tasks_give_live_arrays(subject):
    """extract_data gives 0 and an array that is not marked released."""
    handler = sent(subject)
    found = [(code, bool(out.array.release)) for code, out in handler.arrays]
    drop(handler)
    if not found:
        raise NotDone("no task came")
    if set(found) != {(0, True)}:
        raise Broken(f"code and liveness are {found}")


@HANDLER_RULES.add("MUST", f"{ASYNC}, semantics")
def values_are_the_streams(subject):
    """The rows of all tasks are the stream's, in their order."""
    if subject.values is None:
        raise NotDone("the values are not known to the suite")
    found = rows_of(sent(subject))
    if repr(found) != repr(subject.values):
        raise Broken(f"the rows are {str(found)[:200]}, not {subject.values}")


def rows_of(handler):
    """The rows of all arrays; NotDone where they cannot be read."""
    if any(code or out.device_type not in (1, 3, 11, 13) or not out.array.release for code, out in handler.arrays):
        raise NotDone("the arrays cannot be read")
    rows = [r for _, out in handler.arrays for r in values_of(handler.schema, out.array)]
    drop(handler)
    return rows


@HANDLER_RULES.add("MUST", f"{PRODUCER}.device_type")
def device_type_is_the_arrays(subject):
    """The device type of the producer is set, and each array's."""
    handler = sent(subject)
    types = {out.device_type for code, out in handler.arrays if not code}
    drop(handler)
    if handler.device_type < 1 or types - {handler.device_type}:
        raise Broken(f"device_type of the producer is {handler.device_type}, of its arrays {sorted(types)}")


@HANDLER_RULES.add("MUST", "C device data interface, ArrowDeviceArray.reserved")
def reserved_bytes_are_zero(subject):
    """The 24 reserved bytes of each array are zero."""
    handler = sent(subject)
    found = [list(out.reserved) for code, out in handler.arrays if not code]
    drop(handler)
    if not found:
        raise NotDone("no array came")
    if any(any(r) for r in found):
        raise Broken(f"reserved is {found}")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_next_task; result lifetimes")
def tasks_outlive_their_call(subject):
    """A task whose content was copied can be extracted after on_next_task has returned."""
    wanted = rows_of(sent(subject))
    end_of = sent(subject, ask=50, extract="later", late=False)
    if not all(t is not None for t in end_of.tasks) or not end_of.tasks:
        raise NotDone("no task came")
    end_of.take_rest()
    end_of.released.wait(LONG)
    found = rows_of(end_of)
    if repr(found) != repr(wanted):
        raise Broken(f"the rows are {str(found)[:200]}, not {wanted}")


@HANDLER_RULES.add("MUST", f"{TASK}.extract_data")
def data_can_be_dropped_by_extracting_into_null(subject):
    """extract_data(task, NULL) cleans up and gives 0."""
    handler = sent(subject, extract="null", ask=50, late=False)
    tasks = [t for t in handler.tasks if t is not None]
    if not tasks:
        raise NotDone("no task came")
    handler.take_rest()
    codes = {code for code, _ in handler.arrays}
    handler.released.wait(LONG)
    drop(handler)
    if codes != {0}:
        raise Broken(f"the codes are {codes}")


def only_release(subject, refuse, **how):
    handler = sent(subject, refuse=refuse, **how)
    refused = handler.calls.index("on_schema" if "schema" in refuse else "on_next_task")
    after = handler.calls[refused + 1 :]
    drop(handler)
    if after != ["release"]:
        raise Broken(f"after the refusal come {after}")


@HANDLER_RULES.add("MUST", f"{ASYNC}, error handling")
def refused_schema_is_followed_by_release_alone(subject):
    """After an on_schema that gives a code only release comes."""
    only_release(subject, {"schema": 5})


@HANDLER_RULES.add("MUST", f"{ASYNC}, error handling")
def refused_task_is_followed_by_release_alone(subject):
    """After an on_next_task that gives a code only release comes."""
    if "on_next_task" not in sent(subject).calls:
        raise NotDone("no task came")
    only_release(subject, {0: 5})


@HANDLER_RULES.add("MUST", f"{PRODUCER}.cancel")
def cancel_ends_in_release_without_an_error(subject):
    """After a cancel, called twice, release comes, and on_error does not."""
    handler = sent(subject, cancel_at=0)
    if "on_next_task" not in handler.calls:
        raise NotDone("no task came")
    found, error = handler.calls, handler.error
    drop(handler)
    if error:
        raise Broken(f"the calls are {found}, the error {error}")


@HANDLER_RULES.add("SHOULD", f"{PRODUCER}.request")
def request_of_nothing_is_an_error(subject):
    """request(0) is answered by on_error and release."""
    sent(subject)
    handler = sent(subject, ask=0, again=0)
    found = handler.calls
    drop(handler)
    if "on_error" not in found or found[-1] != "release":
        raise Broken(f"the calls are {found}")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_error")
def failure_comes_as_an_error_with_an_errno(subject):
    """A failure is on_error with a positive errno, and then release."""
    handler = sent(subject, fails=True)
    found, error = handler.calls, handler.error
    drop(handler)
    if found[-2:] != ["on_error", "release"] or not error or error[0] <= 0:
        raise Broken(f"the calls are {found}, the error {error}")


# ---- those who own a handler ----
ROWS = [1, None, 3, 4, 5]


def node_of(subject, rows):
    return batch({"column": int64s(rows)})


def rows_expected(subject, rows=ROWS):
    return [{"column": r} for r in rows]


def nodes_of(subject):
    return [node_of(subject, c) for c in ([1, None], [3], [4, 5])]


def owned(subject):
    end = subject.make()
    if not hasattr(end, "handler"):
        raise NotDone("it has no handler()")
    return end


def received(subject, nodes=None, sender=Sender, patient=True, **how):
    """(sender, rows or the exception, end) after a stream was sent to the handler."""
    end = owned(subject)
    nodes = nodes_of(subject) if nodes is None else nodes
    sender = sender(nodes, node_of(subject, []), **how)
    sender.start(end.handler())
    try:
        out = end.read()
    except Exception as e:
        out = e
    if not sender.finished.wait(LONG) and patient:
        raise NotDone("the handler holds its producer up")
    return sender, out, end


def plain(subject):
    """A stream that is read well, before harder ones are tried."""
    if subject.unread:
        raise NotDone(subject.unread)
    sender, out, end = received(subject)
    if repr(out) != repr(rows_expected(subject)):
        subject.unread = f"it cannot be read: {words_of(out)}" if isinstance(out, Exception) else "other rows are read"
        raise NotDone(subject.unread)
    return sender, out, end


@HANDLER_RULES.add("MUST", f"{HANDLER}")
def handler_has_its_callbacks(subject):
    """A handler has its four callbacks."""
    end = owned(subject)
    struct = ArrowAsyncDeviceStreamHandler.from_address(end.handler())
    names = ("on_schema", "on_next_task", "on_error", "release")
    lacking = [n for n in names if not getattr(struct, n)]
    sender = Sender([], node_of(subject, []))
    if not lacking:
        sender.start(end.handler())
        sender.finished.wait(LONG)
    if lacking:
        raise Broken(f"{', '.join(lacking)} is NULL")


@HANDLER_RULES.add("MUST", f"{ASYNC}, semantics")
def every_task_is_read_in_order(subject):
    """The rows are those of all tasks, in their order."""
    sender, out, end = received(subject)
    if not sender.requests or isinstance(out, TimeoutError):
        raise NotDone("it does not read to the end")
    if repr(out) != repr(rows_expected(subject)):
        raise Broken(f"the rows are {str(out)[:200]}, not {rows_expected(subject)}")


@HANDLER_RULES.add("MUST", f"{PRODUCER}.request")
def data_is_requested(subject):
    """A handler whose stream is to be read requests data."""
    sender, out, end = received(subject, patient=False)
    if not sender.requests and sender.code_of_schema == 0:
        raise Broken("request was never called")


@HANDLER_RULES.add("MUST", f"{PRODUCER}.request")
def requests_are_positive(subject):
    """No request is of zero or less."""
    sender, out, end = received(subject, patient=False)
    if any(n <= 0 for n in sender.requests):
        raise Broken(f"the requests are {sender.requests}")


@HANDLER_RULES.add("MUST", f"{TASK}.extract_data")
def every_task_is_extracted_once(subject):
    """extract_data is called for each task, once."""
    sender, out, end = plain(subject)
    del out, end
    gc.collect()
    if sorted(sender.extracted) != [0, 1, 2]:
        raise Broken(f"extracted were the tasks {sender.extracted}")


@HANDLER_RULES.add("MUST", f"{ASYNC}, result lifetimes")
def every_array_is_released(subject):
    """Each array that was extracted is released."""
    sender, out, end = plain(subject)
    del out, end
    gc.collect()
    if len(sender.arrays) != len([n for n in sender.extracted if n not in sender.bad]):
        raise Broken(f"{len(sender.arrays)} of {len(sender.extracted)} arrays were released")


@HANDLER_RULES.add("MUST", f"{ASYNC}, result lifetimes")
def schema_is_moved_and_released(subject):
    """The schema is moved to the handler's memory before on_schema returns, and released."""
    sender, out, end = plain(subject)
    del out, end
    gc.collect()
    if len(sender.schemas) != 1:
        raise Broken("the schema was not released")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_error, .release")
def producer_is_not_called_from_error_and_release(subject):
    """on_error and release call nothing of the producer, and nothing of it is called after release."""
    plain(subject)
    for how in ({}, {"fails": {1: (5, "words of the producer")}}):
        sender, out, end = received(subject, **how)
        if sender.wrong:
            raise Broken(sender.wrong[0])


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_error")
def error_is_raised(subject):
    """An error is an exception where the stream is read."""
    plain(subject)
    for number in (0, 1):
        _, out, _ = received(subject, fails={number: (5, "words of the producer")})
        if not isinstance(out, Exception):
            raise Broken(f"nothing is raised where the error comes in the place of task {number}")


@HANDLER_RULES.add("SHOULD", f"{HANDLER}.on_error")
def words_of_an_error_are_in_the_exception(subject):
    """The exception has the words of the error."""
    plain(subject)
    _, out, _ = received(subject, fails={1: (5, "words of the producer")})
    if not isinstance(out, Exception):
        raise NotDone("nothing is raised")
    if "words of the producer" not in f"{out} {out.__cause__}":
        raise Broken(f"the exception is {words_of(out)}")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_error")
def error_without_words_is_raised(subject):
    """An error whose words are NULL is an exception."""
    plain(subject)
    _, out, _ = received(subject, fails={1: (5, None)})
    if not isinstance(out, Exception):
        raise Broken("nothing is raised")


@HANDLER_RULES.add("MUST", f"{TASK}.extract_data")
def failure_of_extract_data_is_raised(subject):
    """An extract_data that gives a code is an exception."""
    plain(subject)
    _, out, _ = received(subject, bad=(1,))
    if not isinstance(out, Exception):
        raise Broken("nothing is raised")


@HANDLER_RULES.add("MUST", f"{HANDLER}.on_next_task")
def streams_without_tasks_are_read(subject):
    """A stream may end at once: there are no rows."""
    plain(subject)
    _, out, _ = received(subject, nodes=[])
    if isinstance(out, Exception) or len(out):
        raise Broken(f"the result is {words_of(out) if isinstance(out, Exception) else out}")


@HANDLER_RULES.add("READING", "readings: a producer may only release after a cancel; nobody waits for ever")
def release_alone_ends_the_stream(subject):
    """A stream that is released without an end or an error is over."""
    plain(subject)
    _, out, _ = received(subject, only_releases=True)
    if isinstance(out, TimeoutError):
        raise Broken("the end is waited for")


@HANDLER_RULES.add("MUST", "C device data interface, ArrowDeviceArray.array")
def buffers_on_a_device_are_not_touched(subject):
    """Buffers on a device that is not the CPU are not read when a task is extracted."""
    plain(subject)
    node = batch({"column": Node("l", 3, [None, guarded("the buffer data of a task")])})
    received(subject, nodes=[node], device_type=12, device_id=0)


class HandlerSuite(Suite):
    """Rules of the asynchronous device stream, of both its ends: ``HandlerSuite(make).run()``.

    What ``make`` gives has ``start(address)``, which sends a stream to the handler at that address, or ``handler()``,
    the address of a handler, and ``read()``, which waits for the end and gives the rows of record batches as
    dictionaries, or raises what came as an error.  Known of it: ``values``, the rows that are sent; ``fails``, True
    where the stream is made to fail.
    """

    rules = HANDLER_RULES
    what = "handler"
    one_death_is_all = False
