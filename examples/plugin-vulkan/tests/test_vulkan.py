"""The plug-in conforms on the Vulkan device that is here; its queue is held by a host's VkEvent."""

import contextlib

import pytest

import cdevice
from cdevice._devices.backends import backend_object
from cdevice.testing import BackendSuite

if not cdevice.device("vulkan").is_available:
    pytest.skip("no Vulkan driver: apt-get install mesa-vulkan-drivers", allow_module_level=True)


@contextlib.contextmanager
def held(device_id=0):
    """Nothing enqueued from now on runs until this is left."""
    backend = backend_object(7)
    vk, d = backend.vk, backend.devices[device_id]
    gate = vk.vkCreateEvent(d.device, vk.VkEventCreateInfo(), None)
    stage = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT

    def record(commands):
        source = vk.VK_PIPELINE_STAGE_HOST_BIT
        vk.vkCmdWaitEvents(commands, 1, [gate], source, stage, 0, None, 0, None, 0, None)

    serial = d.submit(record)
    try:
        yield
    finally:
        vk.vkSetEvent(d.device, gate)
        d.wait(serial)
        vk.vkDestroyEvent(d.device, gate, None)


class TestVulkan(BackendSuite):
    device = "vulkan"

    def gate(self, stream=0):
        return held()

    def live(self):
        d = backend_object(7).devices[0]
        d.reap()
        return d.buffers + len(d.events)


def test_it_is_found_by_its_entry_point():
    assert cdevice.list_backends()[7].origin.startswith("cdevice-vulkan")


def test_sync_event_is_the_address_of_a_vkevent_that_the_device_sets():
    backend = backend_object(7)
    vk, (device, _, _) = backend.vk, backend.shared()
    with held():
        there = cdevice.asarray([1, 2, 3]).to("vulkan")
        handle = vk.ffi.cast("VkEvent *", there.sync_event)[0]
        with pytest.raises(vk.VkEventReset):
            vk.vkGetEventStatus(device, handle)
        assert not there.ready
    there.synchronize()
    with pytest.raises(vk.VkEventSet):
        vk.vkGetEventStatus(device, handle)
    assert there.to("cpu").to_pylist() == [1, 2, 3]


def test_a_buffer_of_the_users_own_and_its_event_come_in():
    backend = backend_object(7)
    vk, d = backend.vk, backend.devices[0]
    mine = d.alloc(64)
    ready = vk.vkCreateEvent(d.device, vk.VkEventCreateInfo(), None)
    cell = vk.ffi.new("VkEvent *", ready)
    serial = d.submit(lambda commands: vk.vkCmdFillBuffer(commands, mine.handle, 0, 64, 7))
    array = cdevice.from_buffers(
        "i",
        16,
        [None, mine.data],
        null_count=0,
        device="vulkan",
        owner=cell,
        sync_event=int(vk.ffi.cast("uintptr_t", cell)),
    )
    assert not array.ready
    vk.vkSetEvent(d.device, ready)
    assert array.ready
    assert array[3:].to("cpu").to_pylist() == [7] * 13
    d.wait(serial)
    del array
    vk.vkDestroyEvent(d.device, ready, None)
    d.free(mine)
