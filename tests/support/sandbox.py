"""A process whose system refuses some calls: seccomp, as sandboxes use it."""

import ctypes
import errno
import platform
import struct

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
# numbers of calls on x86_64 and aarch64; None: it has no such call
CALLS = {
    "socket": (41, 198),
    "memfd_create": (319, 279),
    "eventfd": (284, None),
    "eventfd2": (290, 19),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "clone": (56, 220),
    "clone3": (435, 435),
}
CLONE_THREAD = 0x10000
LOAD, EQUAL, HAS, RETURN = 0x20, 0x15, 0x45, 0x06


def _number(name):
    machine = platform.machine()
    return CALLS[name][machine == "aarch64"] if machine in ("x86_64", "aarch64") else None


def _install(lines):
    program = b"".join(struct.pack("HBBI", *line) for line in [(LOAD, 0, 0, 0), *lines, (RETURN, 0, 0, ALLOW)])
    text = ctypes.create_string_buffer(program)

    class Program(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("lines", ctypes.c_void_p)]

    libc = ctypes.CDLL(None)
    argument = Program(len(program) // 8, ctypes.addressof(text))
    return (
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        and libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(argument), 0, 0) == 0
    )


def forbid(*names, code=errno.EPERM):
    """These calls fail from now on in this thread and what it starts; False where the system has no such filters."""
    if platform.machine() not in ("x86_64", "aarch64"):
        return False
    numbers = [n for n in map(_number, names) if n is not None]
    return _install([line for n in numbers for line in ((EQUAL, 0, 1, n), (RETURN, 0, 0, ERRNO | code))])


def forbid_sockets(code=errno.EPERM):
    return forbid("socket", code=code)


def forbid_threads():
    """No more threads, as where a limit of processes is reached; processes can be started."""
    if not forbid("clone3", code=errno.ENOSYS):  # its flags are in memory, which a filter cannot read
        return False
    refused = (RETURN, 0, 0, ERRNO | errno.EAGAIN)
    return _install(
        [(EQUAL, 0, 4, _number("clone")), (LOAD, 0, 0, 16), (HAS, 0, 1, CLONE_THREAD), refused, (RETURN, 0, 0, ALLOW)]
    )
