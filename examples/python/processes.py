"""Arrays to worker processes and back.  Processes are started, never forked: a driver does not survive a fork."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import cdevice


def doubled(column):
    return cdevice.asarray(column.to_numpy() * 2)


def main():
    array = cdevice.asarray(list(range(100_000)))
    frames = []
    head = pickle.dumps(array, protocol=5, buffer_callback=frames.append)  # the buffers travel beside the pickle
    print(len(head) < 1000, [len(f.raw()) for f in frames], pickle.loads(head, buffers=frames) == array)
    print(len(pickle.dumps(array[:10])) < 1000, "a slice travels alone")
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        parts = pool.map(doubled, [array[:50_000], array[50_000:]])
        whole = cdevice.concat(parts)
    print(whole.length, whole[:3].to_pylist(), whole[-2:].to_pylist())


if __name__ == "__main__":
    main()
