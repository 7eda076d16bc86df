"""The suites for C: ``cdevice_check_array`` and its neighbours give addresses of structs, which stay their caller's.

Each rule runs in a fork, which takes, moves and releases the structs as if they were its own."""

from __future__ import annotations

import errno
import os

from . import standin, structs
from .producers import ProducerSuite
from .report import Report
from .schemas import SchemaSuite
from .stream_producers import StreamProducerSuite
from .structs import ArrowArrayStream, ArrowDeviceArray, ArrowDeviceArrayStream, ArrowSchema, Once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hold: Any = standin.heap
move: Any = structs.move


class Given:
    """Structs at addresses, offered by the protocol, once."""

    def __init__(self, *kinds_and_addresses: Any) -> None:
        self.structs = [kind.from_address(address) for kind, address in kinds_and_addresses]
        self.once = False

    def capsules(self, *names: str) -> tuple[object, ...]:
        if self.once:
            raise Once("the structs can be taken once")
        self.once = True
        return tuple(hold(move(struct), name) for struct, name in zip(self.structs, names))


class GivenArray(Given):
    def __arrow_c_device_array__(self, requested_schema: object = None, **kwargs: object) -> Any:
        return self.capsules("arrow_schema", "arrow_device_array")


class GivenSchema(Given):
    def __arrow_c_schema__(self) -> object:
        return self.capsules("arrow_schema")[0]


class GivenStream(Given):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsules("arrow_array_stream")[0]


class GivenDeviceStream(Given):
    def __arrow_c_device_stream__(self, requested_schema: object = None, **kwargs: object) -> object:
        return self.capsules("arrow_device_array_stream")[0]


def live(struct: Any, what: str) -> None:
    if not hasattr(os, "fork"):
        raise OSError(errno.ENOTSUP, "the rules are checked in forks, which this system does not have")
    if not (struct.array if hasattr(struct, "array") else struct).release:
        raise ValueError(f"{what} is released: there is nothing to check")


def reported(name: str, *suites: Any, format: str | None) -> tuple[int, str]:
    """(number of broken rules that are a MUST, text)"""
    if format not in (None, "text", "json"):
        raise ValueError(f"format must be text or json, not {format}")
    whole = Report(name)
    for suite in suites:
        suite.each_apart = True
        rules = [r.name for r in suite.rules if not r.source.startswith("PyCapsule") and r.level != "GOAL"]
        found = suite.run(rules)
        for outcome, result in found.rows():
            whole.add(outcome, result)
        whole.seconds += found.seconds
    broken = sum(r.level == "MUST" for r in whole.broken)
    return broken, whole.to_json() if format == "json" else str(whole)


def check_array(parts: Any) -> tuple[int, str]:
    schema, array, format = parts
    live(ArrowSchema.from_address(schema), "the schema")
    live(ArrowDeviceArray.from_address(array), "the array")
    arrays = ProducerSuite(lambda: GivenArray((ArrowSchema, schema), (ArrowDeviceArray, array)), seconds=30)
    schemas = SchemaSuite(lambda: GivenSchema((ArrowSchema, schema)), seconds=30)
    return reported("cdevice_check_array", arrays, schemas, format=format)


def check_device_stream(parts: Any) -> tuple[int, str]:
    return streams(GivenDeviceStream, ArrowDeviceArrayStream, "cdevice_check_stream", parts)


def check_stream(parts: Any) -> tuple[int, str]:
    return streams(GivenStream, ArrowArrayStream, "cdevice_check_stream_cpu", parts)


def streams(given: Any, kind: Any, name: str, parts: Any) -> tuple[int, str]:
    _, address, format = parts
    live(kind.from_address(address), "the stream")
    return reported(name, StreamProducerSuite(lambda: given((kind, address))), format=format)
