"""Conformance suites for other libraries that give Arrow's structs: arrays and schemas."""
