"""The same values, wherever they are and whoever holds them."""

import pytest
from waiting import unregister

import cdevice
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


@pytest.fixture(scope="module")
def there():
    backend = FakeBackend(5130, "far")
    cdevice.register_backend(backend)
    yield backend
    unregister(backend)


def test_arrays_on_a_device_are_compared_by_their_values(there):
    here = cdevice.asarray({"a": [1, None, 3], "s": ["x", "yy", None]})
    far, other = here.to("far"), here.to("far:1")
    assert far == other and far == here and here == far and far.equals(here)
    assert far != here[:2] and far[1:] == here[1:].to("far")
    assert far["a"] != cdevice.asarray([1, None, 4]) and far["a"] != far["s"]
    assert far in [cdevice.asarray([1]), here] and [here, far].index(other) == 0


def test_arrays_of_another_type_or_length_are_told_apart_without_a_copy(there):
    far = cdevice.asarray([1, 2]).to("far")
    copies = there.calls["copy"]
    assert far != cdevice.asarray([1.0, 2.0]) and far != cdevice.asarray([1, 2, 3])
    assert there.calls["copy"] == copies


def test_other_libraries_objects_are_compared_on_either_side(there):
    column, table = pa.chunked_array([[1], [2, None]]), pa.table({"a": [1, 2, None]})
    ours = cdevice.asarray(column)
    assert ours == column.combine_chunks() and ours == column and ours.equals(column)
    assert ours != pa.array([1, 2, 3])
    batch = cdevice.asarray(table)
    assert batch == table and batch.to("far") == table.to_batches()[0]
    assert batch.equals(table.rename_columns(["b"])) is False
    assert ours != [1, 2, None] and ours != "x" and ours != pa.Array
    with pytest.raises(TypeError):
        ours.equals(5)


def test_nan_is_itself_only_when_asked(there):
    values = cdevice.asarray([1.0, float("nan")]).to("far")
    assert values != values and values.equals(values, nans_equal=True)


def test_types_are_compared_with_other_libraries_types():
    assert cdevice.asarray([1]).schema == pa.int64()
    assert cdevice.asarray([1]).schema != pa.int32()
    table = pa.table({"a": [1]})
    assert cdevice.asarray(table).schema == table.schema
    assert cdevice.asschema("int64").equals("int64") and not cdevice.asschema("int64").equals(pa.int8())
    assert (cdevice.asschema("int64") == "int64") is False
    assert cdevice.asschema("int64") != pa.Array


def test_errors_of_reading_name_what_the_user_did(there):
    import numpy as np

    far = cdevice.asarray([1, 2]).to("far")
    for use, word in (
        (lambda: far[0], "reading a row"),
        (lambda: list(far), "reading rows"),
        (lambda: 5 in far, "reading rows"),
        (far.to_pylist, r"to_pylist\(\)"),
        (lambda: np.asarray(far), r"to_numpy\(\)"),
    ):
        with pytest.raises(cdevice.CannotExport, match=rf'{word}: the data is on far:0.*\.to\("cpu"\)'):
            use()


def test_sizes_of_what_was_copied_to_a_device_are_known_there(there):
    here = cdevice.asarray({"s": ["a", "bcd", None], "l": [[1], [2, 3], []]})
    far = here.to("far")
    assert far.nbytes == here.to("cpu", copy=True).nbytes > 0
    assert far["s"].nbytes > 0 and far["s"].buffers[2].size == 4
    assert far[1:].nbytes == -1  # of a part only the device knows


def test_the_device_of_an_array_follows_from_its_parts(there):
    far = cdevice.asarray([1, None, 3]).to("far:1")
    again = cdevice.from_buffers("int64", 3, far.buffers)
    assert again.device == far.device and again == far
    batch = cdevice.from_buffers({"a": "int64"}, 3, [None], children=[far])
    assert batch.device == far.device and batch["a"] == far


def test_bytes_asked_for_as_another_type_point_at_the_way():
    with pytest.raises(cdevice.ArgumentError, match=r"is uint8, not float64.*from_buffers\(type, length"):
        cdevice.asarray(b"12345678", schema="float64")
