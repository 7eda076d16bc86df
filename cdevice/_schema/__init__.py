"""Parts of ``cdevice.schema``: names of types, metadata, nodes, parsing, reprs."""
