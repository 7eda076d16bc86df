"""What the rules of consumers share: offers, and how their rows are read."""
# mypy: ignore-errors

from __future__ import annotations

import gc

from .exporting import exported
from .standin import TWICE, ArrayOffer, DeviceOffer, Offer, batch
from .structs import Broken, NotDone

DEVICE_METHOD = "__arrow_c_device_array__"


def offer_of(subject, node, kind=None, **device):
    """An offer by the methods that are to be checked, as a batch of one column where the library takes batches."""
    if kind is None:
        kind = {"__arrow_c_array__": ArrayOffer, DEVICE_METHOD: DeviceOffer}.get(subject.protocol, Offer)
    return kind(batch({"column": node}) if subject.batch else node, **device)


def device_offer(subject, node, **device):
    if subject.protocol not in (None, DEVICE_METHOD):
        raise NotDone(f"{DEVICE_METHOD} is not to be checked")
    return offer_of(subject, node, DeviceOffer, **device)


def rows_expected(subject, rows):
    return [{"column": r} for r in rows] if subject.batch else rows


def accept(subject, offer):
    """What the library makes of an offer; NotDone where it refuses it."""
    try:
        out = subject.make()(offer)
    except BaseException as e:
        raise NotDone(f"it is refused: {words_of(e)}") from None
    if not offer.called:
        raise NotDone("it calls no method of the protocol")
    return out


def must_accept(subject, offer, plain, rows):
    """The rows of an offer are read right; Broken where it is refused although the plain offer is accepted."""
    rows_read(subject, accept(subject, plain))
    try:
        out = subject.make()(offer)
        found = rows_read(subject, out)
    except NotDone:
        raise
    except BaseException as e:
        raise Broken(f"it is refused: {words_of(e)}") from None
    compare(subject, offer, found, rows)


def words_of(e):
    return " ".join(f"{type(e).__name__}: {e}".split())[:200]


def rows_read(subject, out):
    """The rows as Python values: by ``read``, by to_pylist, or out of the structs that come back."""
    read = subject.read
    if isinstance(read, str):
        read = eval(read)
    if read is not None:
        return read(out)
    if hasattr(out, "to_pylist"):
        return out.to_pylist()
    raise NotDone("there is no way to read what it made: give read=")


def compare(subject, offer, found, rows):
    wanted = rows_expected(subject, rows)
    if repr(found) != repr(wanted):
        if offer.count.arrays:
            raise NotDone("it has released what it reads")
        raise Broken(f"the rows are {str(found)[:200]}, not {wanted}")


def reads(subject, node, rows, **device):
    """The rows of a node are read right; NotDone where it is refused."""
    offer = offer_of(subject, node, **device)
    out = accept(subject, offer)
    try:
        found = rows_read(subject, out)
    except NotDone:
        raise
    except Exception as e:
        if offer.count.arrays:
            raise NotDone("it has released what it reads") from None
        raise Broken(f"it is taken and cannot be read: {words_of(e)}") from None
    compare(subject, offer, found, rows)


def refuses(subject, offer, what):
    """An exception comes, when the offer is taken or at the latest when it is read."""
    TWICE.clear()
    try:
        out = subject.make()(offer)
        if not offer.called:
            raise NotDone("it calls no method of the protocol")
        found = rows_read(subject, out)
    except NotDone:
        raise
    except Exception:
        if not offer.called:
            raise NotDone("it calls no method of the protocol") from None
        return
    except BaseException as e:
        raise Broken(f"{what} ends in what no handler of exceptions catches: {words_of(e)}") from None
    raise Broken(f"{what} is taken and read as {str(found)[:120]}")


def made_again(subject, out):
    """The device struct that the library makes of what it has taken, still live, and its schema."""
    if getattr(out, DEVICE_METHOD, None) is None:
        raise NotDone(f"what it made has no {DEVICE_METHOD}")
    schema, device, array = exported(type(subject)(lambda: out, protocol=DEVICE_METHOD))
    return schema, device


def collect(*offers):
    """The capsules of the offers are gone, and so is everything that nothing refers to."""
    gc.collect()
    for offer in offers:
        offer.capsules.clear()
    gc.collect()
