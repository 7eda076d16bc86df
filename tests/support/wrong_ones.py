"""Holds every suite against the peers that are broken on purpose, in a process without threads of others: run by
``test_conformance_wrong.py``.  Prints JSON: {suite: {name: the rules that were found broken}}; with --copied, of what
copies and of what shares, [whether it does not copy, why not, the rules that were found broken]."""

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


def copied(name):
    from copying_ones import CASES as pairs

    return [goal(getattr(testing, name)(subject, patience=8).run()) for subject in pairs[name]]


def goal(report):
    known = {r.rule: r.detail for r in report.not_done}
    kept = "data_is_not_copied" in [r.rule for r in report.kept]
    return [kept, known.get("data_is_not_copied", ""), [f"{r.rule}: {r.detail}" for r in report.broken]]


def main(names):
    if names[:1] == ["--copied"]:
        print(json.dumps({name: copied(name) for name in names[1:]}))
        return
    out = {}
    for suite in names or CASES:
        out[suite] = {name: found(suite, *case) for name, case in cases_of(suite).items()}
    print(json.dumps(out))


def cases_of(suite):
    module, cases = CASES[suite]
    return getattr(importlib.import_module(f"cdevice.testing.conformance.{module}"), cases)


def found(suite, subject, rule, known=None):
    report = getattr(testing, suite)(subject, patience=8, **(known or {})).run()
    return [r.rule for r in report.broken], rule, [f"{r.rule}: {r.detail}" for r in report.broken]


if __name__ == "__main__":
    main(sys.argv[1:])
