"""A process that shares arrays, and answers as a test wants."""

import contextlib
import fcntl
import os
import socket
import struct
import threading
import zlib

import cdevice
from cdevice._runtime.ext import ffi

SEAL_WRITE, SEAL_ALL = 0x8, 0x1 | 0x2 | 0x4 | 0x8
ANSWER = struct.Struct("<8sqq")
OK = b"cdvipc1\0"


def segment(data, seals=SEAL_ALL):
    fd = os.memfd_create("wrong", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, 1033, seals)  # F_ADD_SEALS
    return fd


@contextlib.contextmanager
def connected(token):
    """(a socket that a reader has connected to the process of a token, this one; the request that it would send)"""
    ticket = ffi.from_buffer("struct cdv_ticket *", token[7:-4])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(f"\0cdevice-{os.getpid()}-{ffi.buffer(ticket.socket)[:].hex()}")
        yield s, OK + ffi.buffer(ffi.addressof(ticket, "number"))[:] + ffi.buffer(ticket.secret)[:]


def captured(array):
    """[description, contents of the segments] of an array, as this process hands them out."""
    with array.share() as shared, connected(shared.token) as (s, request):
        s.send(request)
        _, fds, _, _ = socket.recv_fds(s, 1000, 250)
        out = []
        for fd in fds:
            out.append(os.pread(fd, os.lseek(fd, 0, os.SEEK_END), 0))
            os.close(fd)
    return out


@contextlib.contextmanager
def broker(answer):
    """A token of a process, this one, that answers each request by ``answer(connection, request)``."""
    secret = os.urandom(16)
    name = f"\0cdevice-{os.getpid()}-{secret.hex()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(name)
        listener.listen()

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    request = connection.recv(1000)
                    with contextlib.suppress(OSError):
                        answer(connection, request)

        thread = threading.Thread(target=serve)
        thread.start()
        ticket = ffi.new("struct cdv_ticket *", {"process": os.getpid(), "user": os.geteuid()})
        with cdevice.asarray([1]).share() as real:
            ffi.buffer(ticket.boot)[:] = real.token[7 + 40 : 7 + 56]
        ffi.buffer(ticket.socket)[:] = secret
        body = b"cdvtok1" + ffi.buffer(ticket)[:]
        yield with_checksum(body)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def with_checksum(body):
    """A token of these bytes."""
    return body + zlib.crc32(body).to_bytes(4, "little")
