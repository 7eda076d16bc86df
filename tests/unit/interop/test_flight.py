"""Batches on a device over Arrow Flight: the server and the client of ``examples/flight``."""

import sys

import pytest
from paths import ROOT

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
flight = pytest.importorskip("pyarrow.flight", reason="pip install pyarrow, with Flight")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "flight"))
    import client
    import server

    yield client, server
    for name in ("client", "server"):
        del sys.modules[name]


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_the_answer_is_what_is_computed_here_and_an_error_names_the_column(example, device):
    if not cdevice.device(device).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    client, server = example
    whole = cdevice.concat([client.flights(k) for k in range(3)], device=device)
    with server.Server(device=device) as running, flight.connect(f"grpc://127.0.0.1:{running.port}") as there:
        batches = cdevice.asstream([client.flights(k).to(device) for k in range(3)])
        answer = client.ask(there, batches, "distance > 2700", device)
        expected = whole.filter(cc.field("distance") > 2700)
        assert answer.device == cdevice.device(device) and answer.length == expected.length > 0
        assert answer.select(["distance", "air_time"]) == expected
        speed = cc.field("distance") / cc.field("air_time") * 60
        assert answer["speed"].to("cpu").equals(speed.evaluate(expected).to("cpu"))
        with pytest.raises(pa.ArrowException, match="no column 'distnce'; did you mean 'distance'"):
            client.ask(there, cdevice.asstream([client.flights(0).to(device)]), "distnce > 1", device)
        again = client.ask(there, cdevice.asstream([client.flights(1).to(device)]), "distance < 0", device)
        assert again.length == 0 and again.column_names == ["distance", "air_time", "speed"]
