"""The built-in devices, installed as ``cdevice.backends``.  Each uses the same table as a third-party backend."""
