"""The golden files that pyarrow's wheel ships, older releases' Parquet and Feather, go through cdevice unchanged."""

import pathlib

import pytest

import cdevice

pa = pytest.importorskip("pyarrow")
FOLDER = pathlib.Path(pa.__file__).parent / "tests" / "data"
FILES = sorted([*FOLDER.glob("parquet/*.parquet"), *FOLDER.glob("feather/*.feather")])


def read(path):
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(path)
    from pyarrow import feather

    return feather.read_table(path)


@pytest.mark.skipif(not FILES, reason="this pyarrow has no golden files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_goes_through_unchanged(path):
    table = read(path)
    batches = table.to_batches()
    assert batches
    for batch in batches:
        taken = cdevice.asarray(batch)
        assert taken.to_pylist() == batch.to_pylist()
        assert pa.record_batch(taken).equals(batch, check_metadata=True)
    streamed = pa.table(cdevice.asstream(table))
    assert streamed.equals(table, check_metadata=True)
