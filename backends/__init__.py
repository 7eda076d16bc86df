"""The built-in devices, installed as ``cdevice.backends``.  Each enters by the same door as a stranger's."""
