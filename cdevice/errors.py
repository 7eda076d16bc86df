"""One family of exceptions.  Each is also the builtin that people catch."""

from __future__ import annotations


class Error(Exception):
    """Base of everything this package raises on its own account.

    ``code`` (errno), ``device`` ("cuda:0" or None), ``vendor_code`` and ``vendor_name`` (0 and "" where no vendor
    spoke), ``node`` (path of the node, "columns[3].dictionary", or ""), ``buffer`` (index or None), ``hint`` (what to
    do, or "").
    """

    code: int = 0
    device: str | None = None
    vendor_code: int = 0
    vendor_name: str = ""
    node: str = ""
    buffer: int | None = None
    hint: str = ""


class BackendUnavailable(Error, RuntimeError):
    """No backend serves the device type here: the message names the missing part and what to install."""


class DeviceError(Error, RuntimeError):
    """A device or its runtime failed; ``vendor_code`` and ``vendor_name`` identify the error."""


class OutOfMemory(DeviceError, MemoryError):
    """Neither the host nor the device had the memory."""


class InvalidArray(Error, ValueError):
    """A struct or its contents break the Arrow format; ``node`` and ``buffer`` locate the error."""


class Released(Error, ValueError):
    """The array or schema has been released."""


class CannotExport(Error, BufferError, ValueError):
    """The data cannot be handed out that way without a copy."""


class Unsupported(Error, NotImplementedError):
    """The device or its backend does not offer this."""


class BackendConflict(Error, ValueError):
    """A backend is registered already, or is in use and cannot be removed."""


class ArgumentError(Error, ValueError):
    """An argument is out of range or does not fit the others."""


class StreamError(Error, RuntimeError):
    """The producer of a stream failed, or broke its rules; ``code`` is its errno."""


class DeviceWarning(RuntimeWarning):
    """A failure that could not be raised, or a copy that was asked for as a way out (``fallback="copy"``)."""


def unbuilt(e: ImportError) -> ImportError:
    """Why there is no extension module, and what to do."""
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(here)
    if any(name.startswith("_native.") and name.endswith(".so") for name in os.listdir(here)):
        return ImportError(f"the extension module of cdevice in {here} cannot be loaded: {e}", name="cdevice._native")
    if os.path.exists(os.path.join(root, "build_ffi.py")):
        text = (
            f"cdevice was imported from its source tree, {root}, where it is not built:"
            " pip install . and run from another directory, or build it here: pip install -e ."
        )
    else:
        text = f"cdevice in {here} has no extension module: install it again, pip install --force-reinstall cdevice"
    return ImportError(text, name="cdevice._native")


# what the C core calls them: CDV_... of core/base/error.h
KINDS = {
    1: InvalidArray,
    2: Released,
    3: BackendUnavailable,
    4: DeviceError,
    5: OutOfMemory,
    6: ArgumentError,
    7: CannotExport,
    8: Unsupported,
    9: BackendConflict,
    10: StreamError,
}
