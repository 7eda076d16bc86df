"""A table larger than a worker may be: read, filtered and summed by two worker processes on their devices."""

import os
import resource
import sys
import tempfile

import numpy as np
import on_device
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster, wait

GROUPS, ROWS = 48, 700_000
LIMIT = 640 * 2**20  # bytes a worker may have, its libraries and a compiler of kernels with it


def flights(rng):
    """A month of flights: those that were cancelled have neither delay nor time in the air."""
    cancelled = rng.random_sample(ROWS) < 0.03
    distance = rng.randint(90, 2800, ROWS, "i8")
    return pa.table(
        {
            "departure": pa.array(rng.randint(1357016400, 1359694800, ROWS, "i8") * 1000, pa.timestamp("ms")),
            "delay": pa.array(rng.gamma(1.2, 25, ROWS).astype("i8") - 10, mask=cancelled),
            "distance": distance,
            "air_time": pa.array(
                distance // 8 + rng.randint(10, 40, ROWS, "i8"), mask=cancelled | (rng.random_sample(ROWS) < 0.01)
            ),
        }
    )


def write(path):
    rng, nbytes = np.random.RandomState(2013), 0  # the same numbers in every version of numpy
    with pq.ParquetWriter(path, flights(rng).schema, compression="none", use_dictionary=False) as writer:
        for _ in range(GROUPS):
            table = flights(rng)
            nbytes += table.nbytes
            writer.write_table(table, row_group_size=ROWS)
    return nbytes


def memory():
    return os.getpid(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def the_sums(client, path):
    before = client.run(memory)
    parts = client.gather(client.map(on_device.read_and_sum, [path] * GROUPS, range(GROUPS)))
    after = client.run(memory)
    assert [pid for pid, _ in before.values()] == [pid for pid, _ in after.values()], "a worker was restarted"
    print("most memory of a worker: MB", *(most for _, most in after.values()), file=sys.stderr)
    return tuple(map(sum, zip(*parts)))


def an_array_goes_from_worker_to_worker(client, path):
    first, second = client.scheduler_info()["workers"]
    here = client.submit(on_device.bring, path, 0, key="group", workers=[first])
    wait(here)
    nbytes = client.nbytes(["group"], summary=False)["group"]
    print("Dask counts its bytes:", 32 * ROWS <= nbytes < 33 * ROWS)
    left = client.submit(on_device.sums, here, workers=[first])
    there, device, right = client.submit(on_device.sums_here, here, workers=[second]).result()
    print("device:", device, file=sys.stderr)
    assert there == second, there
    print("the same sums on the other worker:", left.result() == right)
    assert left.result() == right


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "flights.parquet")
        nbytes = write(path)
        print(f"{GROUPS} row groups, {nbytes >> 20} MiB; a worker may have {LIMIT >> 20} MiB")
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit=LIMIT,
                dashboard_address=None,
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(on_device.OneQueue())
            found = the_sums(client, path)
            print("late in the evening: {} flights, {} minutes, {} miles, {} minutes in the air".format(*found))
            an_array_goes_from_worker_to_worker(client, path)
        expected = on_device.with_pyarrow(pq.read_table(path))
        print("as pyarrow counts the whole:", found == expected)
        assert found == expected


if __name__ == "__main__":  # workers are started, not forked
    main()
