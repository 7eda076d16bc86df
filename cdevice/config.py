"""Where the headers are."""

import os


def get_include():
    """Directory to put on a C compiler's include path for ``#include <cdevice/backend.h>``."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
