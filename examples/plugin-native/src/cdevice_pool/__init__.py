"""A device of threads.  The entry point names the library; nothing here is Python's business."""

import pathlib

#: The shared library, which exports ``cdevice_backend_init``.
LIBRARY = pathlib.Path(__file__).with_name("libcdevice_pool.so")
