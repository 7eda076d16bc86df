"""``cdevice_call`` of libcdevice, called from this process: arrays go in and come out as structs."""

import ctypes
import json

from embedding import LIBRARY

import cdevice

DEVICE_ARRAY, SCHEMA = 128, 72  # bytes of the structs
_c = ctypes.CDLL(str(LIBRARY))
_c.cdevice_error_text.restype = ctypes.c_char_p
for _name in ("cdevice_array_unref",):
    getattr(_c, _name).restype = None
_c.cdevice_array_schema.restype = ctypes.c_void_p


class Failed(Exception):
    """code: errno; text: that of cdevice_error_text(); vendor_code."""

    def __init__(self, code):
        self.code, self.text = code, _c.cdevice_error_text().decode()
        self.vendor_code = _c.cdevice_error_vendor_code()
        super().__init__(f"{code} {self.text}")


def _check(code):
    if code:
        raise Failed(code)


def _given(array):
    """A handle of C's of a DeviceArray, or None."""
    if array is None:
        return None
    structs = ctypes.create_string_buffer(DEVICE_ARRAY + SCHEMA)
    at = ctypes.addressof(structs)
    array.export_to_c(at, at + DEVICE_ARRAY)
    out = ctypes.c_void_p()
    _check(_c.cdevice_array_import(ctypes.c_void_p(at + DEVICE_ARRAY), structs, 1, ctypes.byref(out)))
    return out


def _taken(handle):
    structs = ctypes.create_string_buffer(DEVICE_ARRAY + SCHEMA)
    at = ctypes.addressof(structs)
    _check(_c.cdevice_array_export(handle, structs))
    _check(
        _c.cdevice_schema_export(ctypes.c_void_p(_c.cdevice_array_schema(handle)), ctypes.c_void_p(at + DEVICE_ARRAY))
    )
    return cdevice.import_from_c(at, at + DEVICE_ARRAY, validate="full")


def call(name, arguments, options=None):
    """The result as a DeviceArray.  ``options``: an object for JSON, or the text itself.  Raises Failed."""
    handles = [_given(a) for a in arguments]
    text = options if options is None or isinstance(options, (str, bytes)) else json.dumps(options)
    text = text.encode() if isinstance(text, str) else text
    name = name.encode() if isinstance(name, str) else name
    given, out = (ctypes.c_void_p * len(handles))(*handles), ctypes.c_void_p()
    try:
        _check(_c.cdevice_call(name, given, ctypes.c_int64(len(handles)), text, ctypes.byref(out)))
        return _taken(out)
    finally:
        for handle in (*handles, out):
            _c.cdevice_array_unref(handle)
