"""Parts of ``cdevice.aio``: the consumer and the producer of the async device stream."""
