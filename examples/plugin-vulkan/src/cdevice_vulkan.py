"""VULKAN (7) for cdevice: buffers are ``VkBuffer`` handles, ``sync_event`` is a ``VkEvent*``.

Vulkan's handles belong to a ``VkDevice``, and nothing of a handle tells which: a program that shares arrays with this
plug-in works on the device and queue that :meth:`Backend.shared` gives.  Vulkan has no host wait for an event: the host
waits for the submission that sets it.  One queue does everything, in order; there are no other streams.
"""

import collections
import ctypes
import os
import threading

import cdevice

ALL = 0x7FFFFFFFFFFFFFFF


class _Memory:
    """One VkDeviceMemory with the buffers that lie in it."""

    def __init__(self, handle, nbytes):
        self.handle, self.nbytes, self.buffers = handle, nbytes, 0


class _Buffer:
    """What cdevice keeps of an allocation or of a part of one; `data` goes into the array."""

    def __init__(self, handle, data, memory, offset):
        self.handle, self.data, self.memory, self.offset = handle, data, memory, offset


class _Event:
    """A VkEvent, the place that holds its handle, and the submission that sets it."""

    def __init__(self, handle, cell, address, serial):
        self.handle, self.cell, self.sync_event, self.serial = handle, cell, address, serial


_Flight = collections.namedtuple("_Flight", "serial commands staging job")


class _Device:
    """A VkDevice with one queue.  A timeline semaphore counts the submissions that are done."""

    def __init__(self, vk, physical):
        self.vk, self.physical, self.lock = vk, physical, threading.RLock()
        properties = vk.vkGetPhysicalDeviceProperties(physical)
        self.name = properties.deviceName
        v = properties.apiVersion
        self.driver = f"Vulkan {v >> 22}.{v >> 12 & 0x3FF}.{v & 0xFFF}"
        wanted = vk.VK_QUEUE_GRAPHICS_BIT | vk.VK_QUEUE_COMPUTE_BIT | vk.VK_QUEUE_TRANSFER_BIT
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(physical)
        family = next(i for i, f in enumerate(families) if f.queueFlags & wanted)
        timeline = vk.VkPhysicalDeviceTimelineSemaphoreFeatures(timelineSemaphore=True)
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=family, queueCount=1, pQueuePriorities=[1.0])
        self.device = vk.vkCreateDevice(
            physical, vk.VkDeviceCreateInfo(pNext=timeline, queueCreateInfoCount=1, pQueueCreateInfos=[queue]), None
        )
        self.queue = vk.vkGetDeviceQueue(self.device, family, 0)
        self.family = family
        flags = vk.VK_COMMAND_POOL_CREATE_TRANSIENT_BIT
        self.pool = vk.vkCreateCommandPool(
            self.device, vk.VkCommandPoolCreateInfo(flags=flags, queueFamilyIndex=family), None
        )
        kind = vk.VkSemaphoreTypeCreateInfo(semaphoreType=vk.VK_SEMAPHORE_TYPE_TIMELINE, initialValue=0)
        self.done = vk.vkCreateSemaphore(self.device, vk.VkSemaphoreCreateInfo(pNext=kind), None)
        self.serial = 0
        self.flights = collections.deque()
        self.trash = collections.deque()  # (serial, buffer): freed while submissions before it may still use it
        self.events = {}
        self.buffers = 0
        memory = vk.vkGetPhysicalDeviceMemoryProperties(physical)
        self.kinds = [memory.memoryTypes[i].propertyFlags for i in range(memory.memoryTypeCount)]
        self.total = sum(
            h.size
            for h in (memory.memoryHeaps[i] for i in range(memory.memoryHeapCount))
            if h.flags & vk.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT
        )
        probe = self._buffer(1)
        self.alignment = max(64, vk.vkGetBufferMemoryRequirements(self.device, probe).alignment)
        vk.vkDestroyBuffer(self.device, probe, None)

    # ---- memory ----
    def _buffer(self, nbytes):
        vk = self.vk
        usage = vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        usage |= vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        return vk.vkCreateBuffer(self.device, vk.VkBufferCreateInfo(size=nbytes, usage=usage), None)

    def _kind(self, bits, flags):
        for i, have in enumerate(self.kinds):
            if bits >> i & 1 and have & flags == flags:
                return i
        raise RuntimeError(f"{self.name} has no memory of flags {flags:#x}")

    def _place(self, buffer, memory, offset):
        self.vk.vkBindBufferMemory(self.device, buffer, memory.handle, offset)
        memory.buffers += 1
        self.buffers += 1
        return _Buffer(buffer, int(self.vk.ffi.cast("uintptr_t", buffer)), memory, offset)

    def alloc(self, nbytes, flags=None):
        vk = self.vk
        with self.lock:
            self.reap()
            buffer = self._buffer(nbytes)
            needs = vk.vkGetBufferMemoryRequirements(self.device, buffer)
            size = needs.size + self.alignment  # a part of it rounds its size up too
            kind = self._kind(needs.memoryTypeBits, vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT if flags is None else flags)
            try:
                info = vk.VkMemoryAllocateInfo(allocationSize=size, memoryTypeIndex=kind)
                handle = vk.vkAllocateMemory(self.device, info, None)
            except (vk.VkErrorOutOfDeviceMemory, vk.VkErrorOutOfHostMemory) as e:
                vk.vkDestroyBuffer(self.device, buffer, None)
                raise MemoryError(f"{nbytes} bytes: {self.name} has none left") from e
            return self._place(buffer, _Memory(handle, size), 0)

    def part(self, whole, offset, nbytes):
        with self.lock:
            return self._place(self._buffer(nbytes), whole.memory, whole.offset + offset)

    def free(self, buffer):
        with self.lock:
            self.trash.append((self.serial, buffer))
            self.reap()

    def _destroy(self, buffer):
        self.vk.vkDestroyBuffer(self.device, buffer.handle, None)
        self.buffers -= 1
        buffer.memory.buffers -= 1
        if not buffer.memory.buffers:
            self.vk.vkFreeMemory(self.device, buffer.memory.handle, None)

    # ---- submissions ----
    def submit(self, record, staging=None, job=None):
        """Enqueues what `record(commands)` records; `job()` is done by the host once the device has passed it."""
        vk = self.vk
        with self.lock:
            self.reap()
            info = vk.VkCommandBufferAllocateInfo(commandPool=self.pool, commandBufferCount=1)
            commands = vk.vkAllocateCommandBuffers(self.device, info)[0]
            begin = vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
            vk.vkBeginCommandBuffer(commands, begin)
            # everything sees what was done before it: cdevice counts on one queue being in order
            self._barrier(commands)
            record(commands)
            vk.vkEndCommandBuffer(commands)
            value = vk.VkTimelineSemaphoreSubmitInfo(
                signalSemaphoreValueCount=1, pSignalSemaphoreValues=[self.serial + 1]
            )
            submit = vk.VkSubmitInfo(
                pNext=value,
                commandBufferCount=1,
                pCommandBuffers=[commands],
                signalSemaphoreCount=1,
                pSignalSemaphores=[self.done],
            )
            vk.vkQueueSubmit(self.queue, 1, [submit], vk.VK_NULL_HANDLE)
            self.serial += 1
            self.flights.append(_Flight(self.serial, commands, staging, job))
            return self.serial

    def _barrier(self, commands):
        vk = self.vk
        access = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT
        stage = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        memory = vk.VkMemoryBarrier(srcAccessMask=access, dstAccessMask=access)
        vk.vkCmdPipelineBarrier(commands, stage, stage, 0, 1, [memory], 0, None, 0, None)

    def reap(self):
        """Does what the host owes for submissions that are done; returns the newest of these."""
        with self.lock:
            passed = self.vk.vkGetSemaphoreCounterValue(self.device, self.done)
            while self.flights and self.flights[0].serial <= passed:
                flight = self.flights.popleft()
                if flight.job:
                    flight.job()
                self.vk.vkFreeCommandBuffers(self.device, self.pool, 1, [flight.commands])
                if flight.staging:
                    self._destroy(flight.staging)
            while self.trash and self.trash[0][0] <= passed:
                self._destroy(self.trash.popleft()[1])
            return passed

    def wait(self, serial):
        vk = self.vk
        info = vk.VkSemaphoreWaitInfo(semaphoreCount=1, pSemaphores=[self.done], pValues=[serial])
        vk.vkWaitSemaphores(self.device, info, ALL)
        self.reap()


def _vulkan():
    try:
        import vulkan
    except (ImportError, OSError) as e:  # OSError: the package is there, the loader is not
        raise cdevice.BackendUnavailable(f"vulkan: {e}") from e
    return vulkan


class Backend(cdevice.Backend):
    name, device_type = "vulkan", cdevice.DeviceType.VULKAN
    capabilities = cdevice.Capability.EVENTS
    install_hint = "`pip install vulkan` and a driver; `apt-get install mesa-vulkan-drivers` brings one for the CPU"

    def start(self):
        vk = self.vk = _vulkan()
        os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")  # the loader complains without one
        version = vk.VK_MAKE_VERSION(1, 2, 0)
        app = vk.VkApplicationInfo(pApplicationName="cdevice", apiVersion=version)
        try:
            self.instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=app), None)
            physical = list(vk.vkEnumeratePhysicalDevices(self.instance))
        except vk.VkError as e:
            raise cdevice.BackendUnavailable(f"vulkan: no driver ({type(e).__name__})") from e
        if not physical:
            raise cdevice.BackendUnavailable("vulkan: the loader lists no device")
        self.devices = [_Device(vk, p) for p in physical]

    def shared(self, device_id=0):
        """(VkDevice, VkQueue, queue family) of a device: what handles of its arrays may be used with.

        The queue may be used by one thread at a time; hold ``lock(device_id)`` meanwhile.
        """
        d = self.devices[device_id]
        return d.device, d.queue, d.family

    def lock(self, device_id=0):
        return self.devices[device_id].lock

    def device_count(self):
        return len(self.devices)

    def _at(self, device_id):
        if not 0 <= device_id < len(self.devices):
            raise ValueError(f"there is no vulkan:{device_id}, there are {len(self.devices)}")
        return self.devices[device_id]

    def device_info(self, device_id):
        d = self._at(device_id)
        return cdevice.DeviceInfo(d.name, d.driver, d.alignment, d.total, -1)

    # ---- memory ----
    def alloc(self, nbytes, *, device_id, stream=0):
        d = self._at(device_id)
        if nbytes > d.total:
            raise MemoryError(f"{nbytes} bytes: {d.name} has {d.total}")
        block = d.alloc(nbytes)
        block.device = d
        return block

    def view(self, block, offset, nbytes):
        if isinstance(block, int):
            raise NotImplementedError("a VkBuffer does not tell its memory, so another allocator's cannot be cut")
        part = block.device.part(block, offset, nbytes)
        part.device = block.device
        return part

    def free(self, block):
        block.device.free(block)

    def _handle(self, data):
        return self.vk.ffi.cast("VkBuffer", data)

    def copy(self, kind, copies, *, stream=0):
        copies = [c for c in copies if c.nbytes]
        if not copies:
            return
        if kind == cdevice.backend.CopyKind.PEER:
            raise NotImplementedError("copies between Vulkan devices")
        vk, total = self.vk, sum(c.nbytes for c in copies)
        d = self._at(copies[0].src_device if kind == cdevice.backend.CopyKind.D2H else copies[0].dst_device)

        def regions(ends):
            """(source, target, VkBufferCopy) of each copy."""
            return [
                (self._handle(source), self._handle(target), vk.VkBufferCopy(srcOffset=a, dstOffset=b, size=n))
                for source, a, target, b, n in ends
            ]

        def enqueue(ends, staging=None, job=None):
            made = regions(ends)

            def record(commands):
                for source, target, region in made:
                    vk.vkCmdCopyBuffer(commands, source, target, 1, [region])

            d.submit(record, staging, job)

        if kind == cdevice.backend.CopyKind.D2D:
            enqueue([(c.src, c.src_offset, c.dst, c.dst_offset, c.nbytes) for c in copies])
            return
        # between the host and the device lies a buffer that both see
        both = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        staging = d.alloc(total, both)
        try:
            seen = vk.vkMapMemory(d.device, staging.memory.handle, 0, total, 0)
            address = int(vk.ffi.cast("uintptr_t", vk.ffi.from_buffer(seen)))
            starts, at = [], 0
            for c in copies:
                starts.append(at)
                at += c.nbytes
            if kind == cdevice.backend.CopyKind.H2D:
                for c, at in zip(copies, starts):
                    ctypes.memmove(address + at, c.src + c.src_offset, c.nbytes)
                enqueue([(staging.data, at, c.dst, c.dst_offset, c.nbytes) for c, at in zip(copies, starts)], staging)
            else:

                def job():
                    for c, at in zip(copies, starts):
                        ctypes.memmove(c.dst + c.dst_offset, address + at, c.nbytes)

                enqueue(
                    [(c.src, c.src_offset, staging.data, at, c.nbytes) for c, at in zip(copies, starts)], staging, job
                )
        except BaseException:
            d.free(staging)
            raise

    # ---- events ----
    def event_record(self, *, device_id, stream=0):
        vk, d = self.vk, self._at(device_id)
        handle = vk.vkCreateEvent(d.device, vk.VkEventCreateInfo(), None)
        cell = vk.ffi.new("VkEvent *", handle)
        stage = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        try:
            serial = d.submit(lambda commands: vk.vkCmdSetEvent(commands, handle, stage))
        except BaseException:
            vk.vkDestroyEvent(d.device, handle, None)
            raise
        event = _Event(handle, cell, int(vk.ffi.cast("uintptr_t", cell)), serial)
        event.device = d
        d.events[event.sync_event] = event
        return event

    def event_done(self, event, *, device_id):
        d = self._at(device_id)
        ours = d.events.get(event)
        if ours:
            return ours.serial <= d.reap()
        d.reap()
        try:
            self.vk.vkGetEventStatus(d.device, self.vk.ffi.cast("VkEvent *", event)[0])
        except self.vk.VkEventSet:
            return True
        except self.vk.VkEventReset:
            return False
        raise RuntimeError("vkGetEventStatus said neither set nor reset")

    def event_wait(self, event, *, device_id, stream=None):
        vk, d = self.vk, self._at(device_id)
        ours = d.events.get(event)
        if stream is None:
            if ours:
                d.wait(ours.serial)
            pause = threading.Event()
            while not self.event_done(event, device_id=device_id):  # a third party's: Vulkan can only be polled
                pause.wait(0.0001)
            return
        if ours:
            return  # the one queue is in order already
        handle = vk.ffi.cast("VkEvent *", event)[0]
        stage = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT

        def record(commands):
            vk.vkCmdWaitEvents(
                commands, 1, [handle], stage | vk.VK_PIPELINE_STAGE_HOST_BIT, stage, 0, None, 0, None, 0, None
            )

        d.submit(record)

    def event_destroy(self, event):
        d = event.device
        with d.lock:
            d.events.pop(event.sync_event, None)
            passed = d.reap()
        if event.serial <= passed:
            self.vk.vkDestroyEvent(d.device, event.handle, None)
        else:  # the queue still has to set it
            d.submit(lambda commands: None, job=lambda: self.vk.vkDestroyEvent(d.device, event.handle, None))

    def stream_wait(self, *, device_id, stream=0):
        d = self._at(device_id)
        d.wait(d.serial)
