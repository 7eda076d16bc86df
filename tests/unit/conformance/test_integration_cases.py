"""The cases of Arrow's integration tests go from JSON through peers and cdevice by the C data interface and come back as
they were: the schema and each batch, and every byte is given back."""

import gc
import json

import pytest
from integration_cases import CASES, case
from integration_json import file_of, nodes_of
from waiting import settle

import cdevice
from cdevice._runtime.ext import lib
from cdevice.testing.conformance.exporting import exported
from cdevice.testing.conformance.standin import USED, Offer, make_schema
from cdevice.testing.conformance.standin_streams import StreamOffer
from cdevice.testing.conformance.structs import ArrowSchema, call_release, capsule_address, move
from cdevice.testing.conformance.suite import Subject

METHODS = ("__arrow_c_array__", "__arrow_c_device_array__")


def pyarrow_batch(given):
    return pytest.importorskip("pyarrow").record_batch(given)


def nanoarrow_array(given):
    return pytest.importorskip("nanoarrow").c_array(given)


def arro3_batch(given):
    return pytest.importorskip("arro3.core").RecordBatch.from_arrow(given)


PEERS = {"nobody": lambda given: given, "pyarrow": pyarrow_batch, "nanoarrow": nanoarrow_array, "arro3": arro3_batch}
DEADLY = {("binary_view", "nanoarrow")}  # 0.9 exports the sizes of views' buffers as it likes: docs/conformance
CHANGED = {  # what a peer itself makes another thing of
    ("map_non_canonical", "pyarrow"),  # its own names
    ("map", "arro3"),  # whether keys are sorted
    ("dictionary", "arro3"),  # whether words are ordered
}
PAIRS = [(name, peer) for name in CASES for peer in PEERS if (name, peer) not in DEADLY]


def written(objects, schema=None, method="__arrow_c_array__"):
    """The file of exported batches; with ``schema``, a struct, also without any."""
    found = [exported(Subject(lambda o=o: o, protocol=method)) for o in objects]
    try:
        return file_of(found[0][0] if found else schema, [array for _, _, array in found])
    finally:
        for struct, _, array in found:
            call_release(array)
            call_release(struct)


def alone(file, i):
    """The file with one of its batches."""
    return {**file, "batches": [file["batches"][i]]}


def normal(file):
    """A file whose pairs of metadata are sorted: some peers keep them in a table of hashes."""
    if isinstance(file, list):
        return [normal(one) for one in file]
    if not isinstance(file, dict):
        return file
    ordered = {"metadata": sorted(file["metadata"], key=repr)} if "metadata" in file else {}
    return {**{k: normal(v) for k, v in file.items()}, **ordered}


def same(found, wanted, peer):
    return normal(found) == normal(wanted) if peer == "arro3" else found == wanted


def expected(file, i, node, name, peer):
    """The batch as the peer alone gives it: as it was, but for what is known."""
    theirs = written([PEERS[peer](Offer(node))])
    assert same(theirs, alone(file, i), peer) or (name, peer) in CHANGED
    return theirs


def live():
    gc.collect()
    settle()
    return lib.cdv_live_arrays(), lib.cdv_live_exports(), lib.cdv_live_schemas(), lib.cdv_backend_live(1)


def pyarrows_bytes():
    import sys

    pa = sys.modules.get("pyarrow")
    return pa.total_allocated_bytes() if pa else 0


@pytest.fixture(autouse=True)
def what_was_released_is_forgotten():
    """The stand-ins keep it, so that a second release is seen, and a collection of garbage would look through it."""
    yield
    USED.clear()


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_json_and_is_written_as_it_was_read(name):
    file = case(name)
    assert json.loads(json.dumps(file)) == file == case(name)
    schema, batches = nodes_of(file)
    struct = make_schema(schema, [])
    assert written([Offer(b) for b in batches], struct) == file
    call_release(struct)


@pytest.mark.parametrize("name, peer", PAIRS)
def test_each_batch_comes_back_from_a_peer_through_us_as_it_was(name, peer):
    file, take = case(name), PEERS[peer]
    for i, node in enumerate(nodes_of(file)[1]):
        wanted = expected(file, i, node, name, peer)
        ours = cdevice.asarray(take(Offer(node)), validate="full")
        for method in METHODS:
            assert same(written([ours], method=method), wanted, peer)


@pytest.mark.parametrize("name, peer", PAIRS)
def test_each_batch_goes_to_a_peer_from_us_as_it_was(name, peer):
    file, take = case(name), PEERS[peer]
    for i, node in enumerate(nodes_of(file)[1]):
        wanted = expected(file, i, node, name, peer)
        assert same(written([take(cdevice.asarray(Offer(node)))]), wanted, peer)


@pytest.mark.parametrize("name", CASES)
def test_the_schema_alone_goes_through_us_as_it_was(name):
    file = case(name)
    capsule = cdevice.Schema.__arrow_c_schema__(cdevice.asschema(Offer(nodes_of(file)[0])))
    struct = move(ArrowSchema.from_address(capsule_address(capsule, "arrow_schema")))
    assert written([], struct) == {"schema": file["schema"], "batches": []}
    call_release(struct)


@pytest.mark.parametrize("name", CASES)
def test_a_whole_file_goes_through_our_stream_as_it_was(name):
    file = case(name)
    schema, batches = nodes_of(file)
    struct = make_schema(schema, [])
    stream = cdevice.asstream(StreamOffer(batches, schema))
    assert written([*stream], struct) == file
    call_release(struct)


@pytest.mark.parametrize("name", CASES)
def test_a_whole_file_goes_to_pyarrow_by_our_stream_and_back_as_it_was(name):
    pa = pytest.importorskip("pyarrow")
    file = case(name)
    schema, batches = nodes_of(file)
    struct = make_schema(schema, [])
    there = pa.RecordBatchReader.from_stream(cdevice.asstream(StreamOffer(batches, schema)))
    back = written([*cdevice.asstream(there)], struct)
    assert back == file or (name, "pyarrow") in CHANGED
    call_release(struct)


@pytest.mark.parametrize("name, peer", PAIRS)
def test_every_byte_of_a_case_is_given_back(name, peer):
    take = PEERS[peer]
    _, batches = nodes_of(case(name))

    def through():
        offers = [Offer(b) for b in batches]
        for offer in offers:
            ours = cdevice.asarray(take(offer))
            written([take(ours)])
        ours = None
        for offer in offers:
            offer.capsules.clear()
        return offers

    through()  # what is made once stays
    before = live(), pyarrows_bytes()
    offers = through()
    assert (live(), pyarrows_bytes()) == before
    for offer in offers:
        assert len(offer.count.arrays) == len(offer.arrays) and len(offer.count.schemas) == len(offer.schemas)
