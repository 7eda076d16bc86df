"""CUDA's libraries by pip on a machine without its driver: whatever a program does, one sentence names the driver.

``ci/runtimes cuda12 cuda13`` runs it in an environment with NVIDIA's runtime and NVRTC, cuda-bindings, cuda-core,
numba-cuda and cupy of one version of CUDA.  It prints a line for each use, and what each library itself reports.
"""

import importlib.metadata
import re
import subprocess
import sys

import cdevice

SENTENCE = re.compile(
    r"cuda: cannot be used here: no NVIDIA driver library; tried: [^\n]*libcuda\.so\.1[^\n]*needs an NVIDIA driver"
)
failed = []


def of_cdevice(name, call):
    """What fails in this library: by BackendUnavailable, in one line, with the driver's file and what to install."""
    try:
        call()
    except cdevice.BackendUnavailable as e:
        good = SENTENCE.match(str(e)) is not None
        said = str(e)
    except Exception as e:
        good, said = False, f"{type(e).__name__}: {e}"
    else:
        good, said = False, "no error"
    print(f"{'passed' if good else 'FAILED'}  {name}" + ("" if good else f": {said}"))
    if not good:
        failed.append(name)


def of_another(name, call):
    """What fails in another library, before this one has anything: its error is the program's, whatever it is."""
    try:
        call()
    except Exception as e:
        print(f"other   {name}: {type(e).__name__}: {' '.join(str(e).split())[:160]}")
    else:
        print(f"other   {name}: no error")


def cupy_stream():
    import cupy

    cdevice.asarray([1, 2]).to("cuda", stream=cupy.cuda.Stream.null)


def cupy_array():
    import cupy

    cdevice.asarray(cupy.arange(3))


def numba_array():
    from numba import cuda

    cdevice.asarray(cuda.to_device([1, 2, 3]))


def driver_stream():
    from cuda.bindings import driver

    cdevice.asarray([1, 2]).to("cuda", stream=driver.CUstream(0))


def core_device():
    from cuda.core import Device

    Device(0).set_current()


def main():
    for name in ("cuda-bindings", "cuda-core", "numba-cuda", *sys.argv[1:]):
        print(f"        {name} {importlib.metadata.version(name)}")
    of_cdevice("a copy to the device", lambda: cdevice.asarray([1, 2, 3]).to("cuda"))
    of_cdevice("an empty array there", lambda: cdevice.empty("int32", 10, device="cuda:0"))
    of_cdevice("a stream of cupy", cupy_stream)
    of_cdevice("a stream of cuda-bindings", driver_stream)
    of_another("an array of cupy", cupy_array)
    of_another("an array of numba", numba_array)
    of_another("a device of cuda-core", core_device)
    of_cdevice("the same after their errors", lambda: cdevice.asarray([1, 2, 3]).to("cuda"))
    told = subprocess.run([sys.executable, "-m", "cdevice", "devices"], capture_output=True, text=True)
    good = told.returncode == 0 and re.search(r"^  cuda +no NVIDIA driver library$", told.stdout, re.M)
    print(f"{'passed' if good else 'FAILED'}  python -m cdevice devices" + ("" if good else told.stdout + told.stderr))
    return bool(failed) or not good


if __name__ == "__main__":
    sys.exit(main())
