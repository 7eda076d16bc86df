"""Devices and who serves them: values, the registry of backends, plug-ins, allocators.

Not "devices": the import of a package of that name would put it where the function cdevice.devices() belongs.
"""
