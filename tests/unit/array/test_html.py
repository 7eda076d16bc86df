"""Notebooks: text that looks like markup stays text, and showing an array copies nothing from its device."""

from html.parser import HTMLParser

import pytest

import cdevice
import cdevice.compute as cc
from cdevice._runtime import html
from cdevice.testing.fake import FakeBackend

ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table><h1>x",
    "<!-- x",
    "&lt;b&gt;",
    "' onmouseover='alert(1)",
    "<svg/onload=x>",
    "]]><b>",
    "<\0b>",
]
TAGS = {"div", "small", "table", "thead", "tbody", "tr", "th", "td", "code"}


class Shown(HTMLParser):
    """The text that a browser shows, and the tags that it meets."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.parts = [], set(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.parts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data!r}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def shown(thing):
    found = Shown(thing._repr_html_())
    assert found.tags <= TAGS and found.attributes == []
    return " ".join(found.parts)


@pytest.mark.parametrize("text", ATTACKS)
def test_text_of_values_names_and_types_stays_text(text):
    plain = text.replace("\0", "")
    zone = {"t": "timestamp[s, UTC]"}
    assert text.split("\0")[0][:20] in shown(cdevice.asarray([text]))
    assert text.split("\0")[0][:20] in shown(cdevice.asarray({"x": [text]}))
    assert plain[:20] in shown(cdevice.asarray({plain: [1]}))
    assert plain[:20] in shown(cdevice.asschema({plain: "int8", **zone}))
    assert "…" in shown(cdevice.asarray({"x": [text * 40]}))
    shown(cdevice.asarray({"x": [{plain: [text, None]}]}))
    shown(cdevice.asstream([{plain: [text]}]))


@pytest.mark.parametrize("text", [a for a in ATTACKS if "\0" not in a])
def test_text_of_expressions_stays_text(text):
    expression = (cc.field(text) == text) | cc.field(text).is_null()
    assert text in shown(expression)
    bound = (cc.field(text) == text).bind(cdevice.asschema({text: "string"}))
    assert text in shown(bound)


def test_every_part_is_escaped_in_the_module_alone():
    for attack in ATTACKS:
        made = [
            html.code_html(attack),
            html.facts_html(attack, {attack: attack}),
            html.table_html(attack, [[attack]], [[attack]], attack),
        ]
        for text in made:
            assert Shown(text).tags <= TAGS


class Copies(FakeBackend):
    """Counts the copies that it is asked for."""

    copies = 0

    def copy(self, *args, **named):
        self.copies += 1
        return super().copy(*args, **named)


@pytest.fixture
def counting():
    backend = Copies(device_type=79, name="counting")
    cdevice.register_backend(backend)
    yield backend
    cdevice.unregister_backend(79)


def test_markup_is_no_name_of_a_backend_and_a_device_shows_its_name(counting):
    with pytest.raises(ValueError, match="backend name"):
        cdevice.register_backend(FakeBackend(device_type=80, name="<b>x</b>"))
    device = cdevice.Device(79, 0)
    assert "counting:0" in shown(device)
    assert "counting:0" in shown(cdevice.asarray([1, 2]).to(device))
    assert "counting" in shown(cdevice.asstream([cdevice.asarray([1]).to(device)]))


def test_nothing_is_copied_from_a_device(counting):
    device = cdevice.Device(79, 0)
    arrays = [cdevice.asarray([1, None, 3]), cdevice.asarray({"a": [1, None], "s": ["x", "secret"]})]
    there = [a.to(device) for a in [*arrays, arrays[0][1:]]]
    for array in there:
        array.synchronize()
    before = counting.copies
    assert before
    for array in there:
        text = shown(array)
        assert "secret" not in text and "on counting:0" in text
    assert counting.copies == before


def test_an_array_whose_event_has_not_passed_is_shown_without_a_wait(counting):
    with counting.gate(0):
        there = cdevice.asarray({"a": [1, 2]}).to(cdevice.Device(79, 0))
        assert "event pending" in shown(there)
    there.synchronize()
    assert "event done" in shown(there)
