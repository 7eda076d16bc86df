"""An allocator that writes down what it is asked for."""

from standin import TYPES

from cdevice._runtime.ext import ffi, lib


class Resource:
    """Hands out what the backend's own table allocates, and writes down what happens."""

    def __init__(self, device, number=0):
        self.table, self.number, self.out, self.back, self.streams = None, number, {}, [], []
        self.type = TYPES[device]

    def allocate(self, nbytes, stream=None):
        table = lib.cdv_backend_table(self.type)
        block = ffi.new("cdevice_block *")
        assert not table.alloc(table.self, self.number, nbytes, ffi.NULL, block, ffi.NULL)
        address = int(ffi.cast("uintptr_t", block.data))
        self.out[address] = block, nbytes
        self.streams.append(stream and int(stream))
        return address

    def deallocate(self, address, nbytes, stream=None):
        block, asked = self.out.pop(address)
        assert asked == nbytes
        self.back.append(address)
        table = lib.cdv_backend_table(self.type)
        table.free(table.self, block)
