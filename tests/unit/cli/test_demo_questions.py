"""The end of the demo: worst rows with rank, and groups joined with names; both equal to pyarrow's or said to differ."""

import pytest

import cdevice

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from cdevice.cli import questions  # noqa: E402

CPU = [cdevice.device("cpu")]


@pytest.fixture
def flights():
    return pa.table(
        {
            "month": [1, 1, 2, 2, 1, None],
            "carrier": ["AA", "AA", "AA", "B6", "XX", "B6"],
            "arr_delay": [5, None, 7, 9, 9, -3],
        }
    )


@pytest.fixture
def airlines():
    return pa.table({"carrier": ["B6", "AA"], "name": ["JetBlue", "American"]})


def arrays_of(table):
    return [cdevice.asarray(b) for b in table.to_batches(max_chunksize=2)]


def test_the_worst_rows_have_their_rank_and_ties_one(flights, capsys):
    (out,) = questions.show_worst(flights, arrays_of(flights), CPU, "arr_delay")
    assert out["error"] is None and out["seconds"] > 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("the 6 rows with the greatest arr_delay")
    assert [line.split() for line in lines[2:]] == [
        ["rank", "month", "carrier", "arr_delay"],
        ["1", "2", "B6", "9"],
        ["1", "1", "XX", "9"],
        ["3", "2", "AA", "7"],
        ["4", "1", "AA", "5"],
        ["5", "-", "B6", "-3"],
        ["6", "1", "AA", "-"],
        ["cpu:", "equal,", *lines[-1].split()[2:]],
    ]


def test_a_table_without_flights_has_worst_rows_too(capsys):
    table = pa.table({"x": [1.5, float("nan"), None, 0.5], "day": ["a"] * 4, "other": [[1], [], None, [2]]})
    (out,) = questions.show_worst(table, arrays_of(table), CPU, "x")
    assert out["error"] is None
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == [
        "rank",
        "1",
        "2",
        "3",
        "4",
        "cpu:",
    ]


def test_groups_are_numbered_averaged_named_and_sorted(flights, airlines, capsys):
    (out,) = questions.show_groups(flights, airlines, arrays_of(flights), CPU)
    assert out["error"] is None and out["seconds"] > 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[2:-1] == [
        ["name", "month", "count_all", "arr_delay_mean", "arr_delay_90%", "arr_delay_max"],
        ["JetBlue", "2", "1", "9.00", "9.00", "9"],
        ["American", "2", "1", "7.00", "7.00", "7"],
        ["American", "1", "2", "5.00", "5.00", "5"],
        ["JetBlue", "-", "1", "-3.00", "-3.00", "-3"],
    ]


def test_many_groups_are_cut_off_on_the_screen(airlines, capsys):
    table = pa.table({"month": [*range(20)], "carrier": ["AA"] * 20, "arr_delay": [*range(20)]})
    questions.show_groups(table, airlines, arrays_of(table), CPU)
    assert "  ... 20 rows\n" in capsys.readouterr().out


@pytest.mark.parametrize("empty", ["no rows", "nulls"])
def test_nothing_has_no_groups_but_an_answer(flights, airlines, empty, capsys):
    table = flights[:0] if empty == "no rows" else pa.table(
        {"month": pa.array([1, 1]), "carrier": ["AA", "AA"], "arr_delay": pa.array([None, None], pa.int64())}
    )  # fmt: skip
    arrays = [cdevice.asarray(pa.record_batch([c.combine_chunks() for c in table.columns], table.column_names))]
    for found in (
        questions.show_groups(table, airlines, arrays, CPU),
        questions.show_worst(table, arrays, CPU, "arr_delay"),
    ):
        assert [out["error"] for out in found] == [None]


def test_a_difference_is_an_error(flights, airlines, monkeypatch, capsys):
    other = flights.set_column(2, "arr_delay", pa.array([5, None, 7, 9, 9, -4]))
    for found in (
        questions.show_groups(other, airlines, arrays_of(flights), CPU),
        questions.show_worst(other, arrays_of(flights), CPU, "arr_delay"),
    ):
        assert found[0]["error"].startswith("the rows differ from pyarrow's")
    assert capsys.readouterr().out.count("ERROR") == 2
    assert questions.same([{"a": 1.0}], [{"a": 1.0 + 1e-14}]) and not questions.same([{"a": 1.0}], [{"a": 1.001}])
    assert not questions.same([{"a": 1}], [{"b": 1}]) and not questions.same([1], [1, 2])


def test_a_device_that_cannot_be_asked_is_left_out_and_one_that_fails_is_an_error(
    flights, airlines, monkeypatch, capsys
):
    import cdevice.compute as cc

    for kind, key in ((cc.NoKernel, "left_out"), (cdevice.DeviceError, "error")):

        def fails(*args, kind=kind, **kwargs):
            raise kind("not here")

        monkeypatch.setattr(cc, "sort_by", fails)
        (out,) = questions.show_worst(flights, arrays_of(flights), CPU, "arr_delay")
        assert out[key].endswith("not here")
    printed = capsys.readouterr().out
    assert "left out: not here" in printed and "ERROR: DeviceError: not here" in printed
