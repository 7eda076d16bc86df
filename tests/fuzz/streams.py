"""Streams at random: ``python tests/fuzz/streams.py SECONDS [SEED]``.

Each round runs chains of random links (streams, prefetching, producers and consumers on asyncio, trio and threads, C structs,
pyarrow) over sources that end, fail, are cancelled from inside, fall silent and fail in their cleanup; they are read to
the end, left, cancelled, closed from elsewhere and dropped.  Every value is looked at, every end is held against what the
source did, and after each round nothing may be left.  A hang is a failure: the stacks of all threads are printed.
Prints one line; exits with 1 on a finding.  A round begins with the seed that is printed for it.
"""

import asyncio
import faulthandler
import gc
import os
import random
import sys
import threading
import time
import warnings

import cdevice
from cdevice import aio
from cdevice._runtime.ext import _native, ffi, lib

try:
    import pyarrow
except ImportError:
    pyarrow = None
try:
    import trio
except ImportError:
    trio = None

HANG = 40  # seconds that one round may take
warnings.simplefilter("ignore", cdevice.errors.DeviceWarning)  # async sources that fail in their cleanup


class Finding(Exception):
    def __init__(self, text):
        print("found:", text, flush=True)  # now: others may hang because of it


class Boom(Exception):
    pass


class Unspeakable(Exception):
    code = "e3q8"

    def __str__(self):
        raise RuntimeError("no text")


def errors(rnd):
    texts = [
        Boom("boom"),
        Boom(),
        Boom("ü" * 900),
        Boom("\udcff"),
        Unspeakable(),
        ValueError("no"),
        MemoryError("none"),
    ]
    codes = [OSError(11, "again"), OSError(2**32, "wraps"), OSError("E1", "text"), cdevice.StreamError("inner")]
    return rnd.choice(texts + codes + [TimeoutError("late"), StopAsyncIteration("odd"), NotImplementedError()])


def array(i):
    return cdevice.asarray([{"a": i}])


def value(x):
    return x.to_pylist()[0]["a"]


# ---- where things run ----
class Threads:
    """No event loop: one thread each."""

    name, is_async = "threads", False

    async def call(self, f, *arguments):
        return f(*arguments)

    async def pause(self):
        os.sched_yield()

    def run(self, jobs):
        def one(job):
            try:
                job(self).send(None)
            except StopIteration:
                pass

        threads = [Guarded(one, job) for job in jobs]
        for t in threads:
            t.join()
        for t in threads:
            t.result()


class Asyncio:
    name, is_async = "asyncio", True

    async def call(self, f, *arguments):
        return await asyncio.to_thread(f, *arguments)

    async def pause(self):
        await asyncio.sleep(0)

    async def sleep_forever(self):
        await asyncio.Event().wait()

    async def cancel_inside(self):
        task = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(task.cancel)
        await task

    async def until_cancelled(self, read, enough):
        """Runs read() and cancels it once enough() holds; True when it was cancelled."""
        task = asyncio.ensure_future(read())
        while not enough() and not task.done():
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True

    def run(self, jobs):
        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            await asyncio.gather(*(job(self) for job in jobs))

        asyncio.run(main())


class Trio:
    name, is_async = "trio", True

    async def call(self, f, *arguments):
        return await trio.to_thread.run_sync(f, *arguments)

    async def pause(self):
        await trio.lowlevel.checkpoint()

    async def sleep_forever(self):
        await trio.sleep_forever()

    async def cancel_inside(self):
        raise Boom("trio has no such thing")

    async def until_cancelled(self, read, enough):
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def watch():
                    while not enough():
                        await trio.lowlevel.checkpoint()
                    scope.cancel()

                nursery.start_soon(watch)
                await read()
                nursery.cancel_scope.cancel()
        return scope.cancelled_caught

    def run(self, jobs):
        async def main():
            async with trio.open_nursery() as nursery:
                for job in jobs:
                    nursery.start_soon(job, self)

        trio.run(main)


class Guarded(threading.Thread):
    """A thread whose exception is somebody's."""

    def __init__(self, f, *arguments):
        super().__init__(daemon=True)
        self._f, self._error = (f, arguments), None
        self.start()

    def run(self):
        try:
            self._f[0](*self._f[1])
        except BaseException as e:
            self._error = e
        self._f = None

    def result(self):
        self.join()
        if self._error is not None:
            raise self._error


# ---- sources ----
class Source:
    """n items, and then what `ending` says."""

    def __init__(self, rnd, world):
        self.asynchronous = world.is_async and rnd.random() < 0.6
        self.n = rnd.choice([0, 1, 1, 2, 3, 5, 8, 13])
        self.ending = rnd.choice(["end", "end", "raise"] + ["cancel", "silent", "silent"] * self.asynchronous)
        if self.ending == "silent":
            self.n += 1  # a schema must come
        self.dirty = rnd.random() < 0.15  # its cleanup fails
        self.metadata = rnd.random() < 0.3
        self.error = errors(rnd)
        if self.asynchronous and isinstance(self.error, StopAsyncIteration):
            self.error = Boom("as in a generator")
        self.world, self.rnd = world, random.Random(rnd.random())
        self.started = self.ended = False
        self.stream = None  # for use from inside

    def __repr__(self):
        words = "async " * self.asynchronous + "dirty " * self.dirty
        how = f"raise {type(self.error).__name__}" if self.ending == "raise" else self.ending
        return f"{words}source of {self.n}, then {how}"

    def item(self, i):
        return (array(i), {"n": str(i)}) if self.metadata else array(i)

    def reenter(self):
        if self.stream is not None and self.rnd.random() < 0.3:
            repr(self.stream)
            try:
                next(self.stream)
            except (RuntimeError, ValueError, StopIteration, Boom):
                pass

    def plain(self):
        self.started = True
        try:
            for i in range(self.n):
                if self.rnd.random() < 0.2:
                    os.sched_yield()
                yield self.item(i)
            if self.ending == "raise":
                raise self.error
        finally:
            self.ended = True
            if self.dirty:
                raise Boom("cleanup")

    async def in_loop(self):
        self.started = True
        try:
            for i in range(self.n):
                if self.rnd.random() < 0.5:
                    await self.world.pause()
                yield self.item(i)
            if self.ending == "raise":
                raise self.error
            if self.ending == "cancel":
                await self.world.cancel_inside()
            if self.ending == "silent":
                await self.world.sleep_forever()
        finally:
            self.ended = True
            if self.dirty:
                raise Boom("cleanup")

    @property
    def fails(self):
        """Anything but its end comes behind its n items; a cleanup that fails turns an end into that."""
        return self.ending != "end" or self.dirty


# ---- links ----
class Chain:
    def __init__(self, rnd, world):
        self.rnd, self.world = rnd, world
        self.source = Source(rnd, world)
        self.productions, self.consumers, self.words = [], [], []
        self.thing = None
        self.got = []

    def __repr__(self):
        return f"{self.world.name}: {self.source} > {' > '.join(self.words)}; got {len(self.got)}"

    async def build(self):
        source, rnd = self.source, self.rnd
        if source.asynchronous:
            self.thing = source.in_loop()
            self.to_consumer(self.thing)
        else:
            self.thing = source.plain()
            if source.metadata or rnd.random() < 0.4:
                self.to_consumer(self.thing)
            else:
                self.word("asstream")
                self.thing = await self.world.call(lambda: cdevice.asstream(self.thing, schema=array(0).schema))
                source.stream = self.thing
        for _ in range(rnd.choice([0, 1, 1, 2, 3, 4])):
            await self.link()

    def word(self, text):
        self.words.append(text)

    def to_consumer(self, thing):
        self.thing = None
        if thing in self.consumers:
            self.consumers.remove(thing)  # the producer's now
        consumer = aio.consume(queue_size=self.rnd.choice([1, 2, 3, 8]))
        device = self.rnd.choice([None, None, "cpu"])
        self.word(f"produce(device={device})")
        handler = consumer if self.rnd.random() < 0.8 else consumer.handler_address
        self.productions.append(aio.produce(thing, handler, schema=array(0).schema, device=device))
        self.consumers.append(consumer)
        self.thing = consumer

    async def link(self):
        thing = self.thing
        if isinstance(thing, aio.Consumer):
            if self.rnd.random() < 0.5:
                self.to_consumer(thing)
            else:
                self.word("as_stream")
                self.thing = await self.world.call(thing.as_stream)
                self.consumers.remove(thing)
            return
        kind = self.rnd.choice(["produce", "prefetch", "prefetch", "struct", "capsule", "pyarrow"])
        if kind == "produce":
            return self.to_consumer(thing)
        if kind == "pyarrow" and (pyarrow is None or self.source.ending == "silent"):
            kind = "capsule"  # nothing can reach through somebody else's stream to one that waits
        self.word(kind)
        self.thing = None
        self.thing = await self.world.call(getattr(self, kind), thing)

    def prefetch(self, stream):
        return stream.to("cpu", prefetch=self.rnd.choice([0, 1, 2, 5]))

    def struct(self, stream):
        out = ffi.new("struct ArrowDeviceArrayStream *")
        stream.export_to_c(out)
        return cdevice.import_stream_from_c(out)

    def capsule(self, stream):
        class Once:
            def __arrow_c_stream__(self, requested_schema=None):
                return stream.__arrow_c_stream__()

        return cdevice.asstream(Once())

    def pyarrow(self, stream):
        return cdevice.asstream(pyarrow.RecordBatchReader.from_stream(stream))

    # ---- reading ----
    def take(self, x):
        got = value(x)
        if got != len(self.got):
            raise Finding(f"item {len(self.got)} is {got}: {self}")
        self.got.append(got)

    def read(self, limit=None):
        """True when it came to an end; False when it was left."""
        thing, self.thing = self.thing, None
        if limit == 0:
            return False
        for x in thing:
            self.take(x)
            if limit is not None and len(self.got) >= limit:
                return False
        return True

    async def read_in_loop(self, limit=None):
        thing, self.thing = self.thing, None
        if limit == 0:
            return False
        async for x in thing:
            self.take(x)
            if limit is not None and len(self.got) >= limit:
                return False
        return True

    def reader(self, limit=None):
        if isinstance(self.thing, aio.Consumer) and self.world.is_async and self.rnd.random() < 0.7:
            return lambda: self.read_in_loop(limit)
        return lambda: self.world.call(self.read, limit)


async def scenario(world, seed, log):
    rnd = random.Random(seed)
    chain = Chain(rnd, world)
    source = chain.source
    log.append(chain)
    disturbed, complete, error = False, None, None
    how = rnd.choice(["all", "all", "leave", "drop", "cancel", "cancel task", "close"])
    if how == "all" and source.ending == "silent":
        how = rnd.choice(["leave", "cancel"])
    try:
        await chain.build()
        chain.word(how)
        enough = rnd.randrange(source.n + 1)
        if how == "all":
            complete = await chain.reader()()
        elif how == "leave":
            disturbed = True
            await chain.reader(enough)()
        elif how == "drop":
            disturbed, chain.thing = True, None
        elif how == "cancel task" and world.is_async and isinstance(chain.thing, aio.Consumer):
            disturbed = True
            await world.until_cancelled(chain.read_in_loop, lambda: len(chain.got) >= enough)
        elif chain.productions:
            disturbed = True
            victim = rnd.choice(chain.productions).cancel
            if how == "close" and chain.consumers:
                victim = rnd.choice(chain.consumers).close

            def disturb():
                while len(chain.got) < enough and not finished.is_set():
                    finished.wait(0.0005)
                victim()

            finished = threading.Event()
            thread = Guarded(disturb)
            try:
                complete = await chain.reader()()
            finally:
                finished.set()
                await world.call(thread.result)
        else:
            complete = await chain.reader()()
    except Finding:
        raise
    except BaseException as e:
        if type(e).__name__ in ("Cancelled", "CancelledError") and world.is_async and not source.ending == "cancel":
            raise
        error = f"{type(e).__name__}: " + (str(e) if not isinstance(e, Unspeakable) else "...")
        e.__traceback__ = e.__cause__ = e.__context__ = None
    chain.thing = source.stream = None
    if complete and (len(chain.got) != source.n or source.fails and not (source.dirty and source.ending == "end")):
        raise Finding(f"it ended as if complete: {chain}")
    if complete and source.dirty and source.ending == "end":
        raise Finding(f"a cleanup that failed was an end: {chain}")
    if error and not disturbed and (not source.fails or len(chain.got) != source.n):
        raise Finding(f"{error}: {chain}")
    if not error and not disturbed and source.fails:
        raise Finding(f"no error came: {chain}")
    for consumer in chain.consumers:
        if rnd.random() < 0.5:
            consumer.close()
    consumer = None
    chain.consumers.clear()
    while not all(p.done for p in chain.productions):
        await world.pause()
    for p in chain.productions:
        try:
            ended = await p if world.is_async else p.join(HANG)
        except BaseException:
            continue
        if ended not in ("finished", "cancelled", "stopped"):
            raise Finding(f"a production says {ended}: {chain}")
    chain.productions.clear()
    while source.started and not source.ended:
        gc.collect(0)
        await world.pause()


def settled(before, words):
    end = time.monotonic() + HANG / 3
    while True:
        gc.collect()
        _native.drain()
        now = lib.cdv_live_arrays(), lib.cdv_live_streams(), lib.cdv_live_async()
        threads = [t.name for t in threading.enumerate() if t.name == "cdevice-produce"]
        if now <= before and all(a <= b for a, b in zip(now, before)) and not threads:
            return
        if time.monotonic() > end:
            raise Finding(f"left (arrays, streams, async): {now}, before {before}; threads {threads}{words}")
        threading.Event().wait(0.001)


def one_round(seed, log):
    rnd = random.Random(seed)
    worlds = [Threads(), Asyncio()] + [Trio()] * (trio is not None)
    rnd.shuffle(worlds)
    before = lib.cdv_live_arrays(), lib.cdv_live_streams(), lib.cdv_live_async()

    def world(w, seeds):
        w.run([lambda w, s=s: scenario(w, s, log) for s in seeds])

    chosen = worlds[: rnd.choice([1, 1, 2, 3])]
    threads = [Guarded(world, w, [rnd.random() for _ in range(rnd.choice([1, 2, 4]))]) for w in chosen]
    for t in threads:
        t.result()
    words = "".join(f"\n  {chain}" for chain in log)
    log.clear()
    threads = t = None
    settled(before, words)


def main(seconds, seed):
    array(0)
    sys.unraisablehook = lambda _: None  # cleanups that fail while their source is dropped
    rounds, end, log = 0, time.monotonic() + seconds, []
    while not rounds or time.monotonic() < end:  # one round for 0 seconds
        faulthandler.dump_traceback_later(HANG, exit=True)
        watchdog = threading.Timer(HANG - 2, print, [f"hangs: round seed {seed}", log], {"flush": True})
        watchdog.daemon = True
        watchdog.start()
        try:
            one_round(seed, log)
        except BaseException as e:
            faulthandler.cancel_dump_traceback_later()
            while hasattr(e, "exceptions"):  # a group
                e = e.exceptions[0]
            print(f"streams: round {rounds + 1}, seed {seed}: {type(e).__name__}: {e}")
            if not isinstance(e, Finding):
                import traceback

                traceback.print_exception(type(e), e, e.__traceback__)
            return 1
        finally:
            watchdog.cancel()
        rounds += 1
        seed += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"streams: {rounds} rounds, the last of seed {seed - 1}: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)))
