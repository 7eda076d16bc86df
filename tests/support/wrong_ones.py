"""Holds every suite against the peers that are broken on purpose, in a process without threads of others: run by
``test_conformance_wrong.py``.  Prints JSON: {suite: {name: the rules that were found broken}}."""

import importlib
import json
import sys

from cdevice import testing

CASES = {
    "ProducerSuite": ("wrong", "WRONG_ARRAYS"),
    "SchemaSuite": ("wrong", "WRONG_SCHEMAS"),
    "ConsumerSuite": ("wrong_consumers", "WRONG_CONSUMERS"),
    "StreamProducerSuite": ("wrong_streams", "WRONG_STREAMS"),
    "DLPackConsumerSuite": ("wrong_tensors", "WRONG_TENSOR_TAKERS"),
    "DLPackSuite": ("wrong_tensors", "WRONG_TENSORS"),
    "HandlerSuite": ("wrong_handlers", "WRONG_HANDLERS"),
    "StreamConsumerSuite": ("wrong_streams", "WRONG_TAKERS"),
}


def main(names):
    out = {}
    for suite in names or CASES:
        module, cases = CASES[suite]
        cases = getattr(importlib.import_module(f"cdevice.testing.conformance.{module}"), cases)
        out[suite] = {name: found(suite, *case) for name, case in cases.items()}
    print(json.dumps(out))


def found(suite, subject, rule, known=None):
    report = getattr(testing, suite)(subject, patience=8, **(known or {})).run()
    return [r.rule for r in report.broken], rule, [f"{r.rule}: {r.detail}" for r in report.broken]


if __name__ == "__main__":
    main(sys.argv[1:])
