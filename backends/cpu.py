"""The CPU."""


class Backend:
    """Host memory; its table is C."""

    name = "cpu"
    device_type = 1
    install_hint = ""

    def __cdevice_backend__(self):
        return b"cpu"
