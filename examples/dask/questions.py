"""A table larger than the cluster: groups, a join, and a worker that is killed in the middle, by ``cdevice.dask``."""

import os
import signal
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from flights import GROUPS, write

import cdevice
import cdevice.compute as cc
import cdevice.dask

LIMIT = 480 * 2**20  # bytes of a worker: two have less than the table; a compiler of kernels needs as much again
ONE_CORE = {"CDEVICE_COMPUTE_THREADS": "1", "POCL_MAX_PTHREAD_COUNT": "1", "POCL_CPU_MAX_CU_COUNT": "1"}  # of a worker
PARTS = pa.table({"part": [0, 1, 2, 3], "name": ["night", "morning", "afternoon", "evening"]})


def late(table):
    """How often and how late flights leave, by the part of the day."""
    delayed = table.filter(cc.field("delay") > 15).with_columns(part=cc.hour(cc.field("departure")) / 6)
    named = delayed.join(PARTS, "part", join_type="inner")
    return named.group_by("name").aggregate(
        {"flights": ([], "count_all"), "miles": ("distance", "sum"), "worst": ("delay", "max")}
    )


def with_pyarrow(path):
    table = pq.read_table(path)
    table = table.filter(pc.greater(table["delay"], 15))
    part = pc.divide(pc.hour(table["departure"]), 6)
    grouped = table.append_column("part", part).group_by("part")
    found = grouped.aggregate([([], "count_all"), ("distance", "sum"), ("delay", "max")]).sort_by("part")
    names = dict(zip(PARTS["part"].to_pylist(), PARTS["name"].to_pylist()))
    return {names[p]: tuple(rest) for p, *rest in zip(*(c.to_pylist() for c in found.columns))}


def answers(table):
    return {r["name"]: (r["flights"], r["miles"], r["worst"]) for r in table.to_pylist()}


def cluster(folder, workers, limit):
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=limit,
        dashboard_address=None,
        local_directory=folder,
        env=ONE_CORE,
    )


def seconds(question):
    """The time of one answer, the best of three, of workers that have started everything."""
    best = float("inf")
    for _ in range(4):
        begin = time.perf_counter()
        question.compute()
        best = min(best, time.perf_counter() - begin)
    return best


class Noted:
    """Passes batches on, and notes in a file which process had them."""

    def __init__(self, path):
        self.path = path

    def __call__(self, batch):
        with open(self.path, "a") as f:
            f.write(f"{os.getpid()}\n")
        return batch

    def pids(self):
        return [int(line) for line in open(self.path)] if os.path.exists(self.path) else []


def killed_in_the_middle(client, table, folder):
    noted = Noted(os.path.join(folder, "pids"))
    answer = client.compute(late(table.map_batches(noted, schema=table.schema)).to("cpu"))
    while len(noted.pids()) < GROUPS // 4:
        time.sleep(0.01)
    victim = noted.pids()[-1]
    os.kill(victim, signal.SIGKILL)
    return answer.result(), len(noted.pids())


def main(device):
    limit = LIMIT if device == "cpu" else 2 * LIMIT
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "flights.parquet")
        nbytes = write(path)
        print(f"{GROUPS} row groups; larger than the memory of the cluster: {nbytes > 2 * limit}")
        expected = with_pyarrow(path)
        table = cdevice.dask.read_parquet(path, device=device)
        print(table)
        times = []
        for workers in (1, 2):
            with cluster(folder, workers, limit) as c, Client(c) as client:
                times.append(seconds(late(table)))
                found = answers(late(table).compute())
                print(f"{workers} worker{'s'[: workers - 1]}, as pyarrow counts the whole:", found == expected)
                assert found == expected, (found, expected)
                if workers == 2:
                    after, tasks = killed_in_the_middle(client, table, folder)
                    print("a worker was killed; the answer is the same:", answers(after) == expected)
                    assert answers(after) == expected
                    print("row groups were read again:", tasks > GROUPS)
        print(f"seconds of one worker, two: {times[0]:.2f}, {times[1]:.2f}: {times[0] / times[1]:.2f}", file=sys.stderr)


if __name__ == "__main__":  # workers are started, not forked
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu")
