"""The start of the package's own threads."""

from __future__ import annotations

from ..errors import OutOfMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading


def start(thread: threading.Thread) -> None:
    """Starts it.  Ctrl-C may come out of it, whether it runs or not.  Raises OutOfMemory where the process may have no
    more threads."""
    try:
        thread.start()
    except RuntimeError as e:
        if "new thread" not in str(e):
            raise
        raise OutOfMemory(
            f"{thread.name}: {e}: the limit of threads (ulimit -u) or of memory (ulimit -v) is reached"
        ) from None
