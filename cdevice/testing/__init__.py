"""Conformance suites: for authors of backends, and for libraries that give or take Arrow's structs or tensors."""

from __future__ import annotations

SUITES = (  # those that hold other libraries against the rules of the interfaces
    "ProducerSuite",
    "SchemaSuite",
    "ConsumerSuite",
    "StreamProducerSuite",
    "StreamConsumerSuite",
    "HandlerSuite",
    "DLPackSuite",
    "DLPackConsumerSuite",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conformance.consumers import ConsumerSuite as ConsumerSuite
    from .conformance.handlers import HandlerSuite as HandlerSuite
    from .conformance.producers import ProducerSuite as ProducerSuite
    from .conformance.report import Report as Report
    from .conformance.report import Result as Result
    from .conformance.schemas import SchemaSuite as SchemaSuite
    from .conformance.stream_consumers import StreamConsumerSuite as StreamConsumerSuite
    from .conformance.stream_producers import StreamProducerSuite as StreamProducerSuite
    from .conformance.tensor_consumers import DLPackConsumerSuite as DLPackConsumerSuite
    from .conformance.tensors import DLPackSuite as DLPackSuite
    from .suite import BackendSuite as BackendSuite
    from .suite import KernelSuite as KernelSuite
else:
    _WHERE = {
        "BackendSuite": ".suite",
        "KernelSuite": ".suite",
        "ConsumerSuite": ".conformance.consumers",
        "ProducerSuite": ".conformance.producers",
        "DLPackConsumerSuite": ".conformance.tensor_consumers",
        "DLPackSuite": ".conformance.tensors",
        "HandlerSuite": ".conformance.handlers",
        "StreamConsumerSuite": ".conformance.stream_consumers",
        "StreamProducerSuite": ".conformance.stream_producers",
        "SchemaSuite": ".conformance.schemas",
        "Report": ".conformance.report",
        "Result": ".conformance.report",
    }

    def __getattr__(name):
        if name in _WHERE:
            from importlib import import_module

            return getattr(import_module(_WHERE[name], __name__), name)
        raise AttributeError(f"module 'cdevice.testing' has no attribute {name!r}")
