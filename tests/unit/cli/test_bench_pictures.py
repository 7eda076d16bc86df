"""``cdevice bench --plot``: pictures of what was measured, and of what ``--json`` kept."""

import ast
import html
import json
import pathlib
import re

import pytest

pytest.importorskip("matplotlib", reason="pip install matplotlib")

from cdevice import bench
from cdevice.bench import command, pictures

LIBRARIES = {"cdevice": 100.0, "pyarrow": 900.0}
RESULT = {
    "python": "3.11.7",
    "versions": {"cdevice": "0.2.0", "pyarrow": "26.0.1"},
    "ns": {"int64 export": LIBRARIES, "numpy array in": {"cdevice": 300.0, "pyarrow": None}},
    "growth": {"this process": {"100": 6.7, "1000": 5.8}},
    "transfers": [{"row": "256 MiB there", "ratio": 2.9}, {"row": "left out", "ratio": None}],
    "compute": [
        {"device": "cpu", "function": "add int64", "ratio": 0.8},
        {"device": "floor", "function": "a copy", "ratio": 1.0},
    ],
    "groups": [{"threads": 1, "device": "cpu", "question": "q1", "pyarrow ms": 9.0, "polars ms": None, "ms": 3.0}],
    "expressions": [{"device": "cpu", "question": "Q6", "ms": {"cdevice": 3.0, "polars": 4.0, "floor": 2.0}}],
    "scale": {"cpu": {"rows": {"sort": {"10": 5.0, "100": 2.0}}}},
}


def words_of(path):
    """The text of a picture, as its SVG has it."""
    return {html.unescape(words) for words in re.findall(r"<text[^>]*>(.*?)</text>", pathlib.Path(path).read_text())}


def test_every_part_of_a_result_is_drawn_with_its_rows(tmp_path):
    target = str(tmp_path / "out.svg")
    assert pictures.draw(target, RESULT)
    words = words_of(target)
    titles = [
        "handing over",
        "export of many columns",
        "transfers",
        "functions: compute",
        "groups and joins",
        "expressions",
    ]
    assert {*titles, "cpu, by the number of rows"} <= words
    assert {"int64 export", "256 MiB there", "add int64, cpu", "q1, cpu, 1 threads", "Q6, cpu"} <= words
    assert {"cdevice", "pyarrow", "polars"} <= words and "2.9" in words and "0.8" in words
    before = pathlib.Path(target).read_bytes()
    pictures.draw(target, RESULT)
    assert pathlib.Path(target).read_bytes() == before
    assert not {"left out", "a copy, floor", "floor"} & words  # no ratio, no function, no library


def test_a_saved_result_is_drawn_without_measuring(tmp_path, capsys):
    (tmp_path / "r.json").write_text(json.dumps(RESULT))
    target = tmp_path / "out.png"
    assert command.main(["--plot", str(target), "--from", str(tmp_path / "r.json")]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == f"drawn: {target}\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "nothing to draw but of ns, growth"),
        ("[1]", "no file of --json"),
        ("{", "--from: "),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_drawn_is_named(tmp_path, capsys, content, words):
    path = tmp_path / "r.json"
    if content is not None:
        path.write_text(content)
    assert command.main(["--plot", str(tmp_path / "out.svg"), "--from", str(path)]) != 0
    assert words in capsys.readouterr().err and not (tmp_path / "out.svg").exists()


def test_from_goes_with_plot(capsys):
    with pytest.raises(SystemExit):
        command.main(["--from", "r.json"])
    assert "--from goes with --plot" in capsys.readouterr().err


def test_what_one_section_keeps_is_not_lost_to_another():
    """Each section's result is a dict of keys that no other section has; they go into one file."""
    kept = {}
    for path in pathlib.Path(bench.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == "section":
                for end in (n.value for n in ast.walk(node) if isinstance(n, ast.Return)):
                    assert isinstance(end, (ast.Dict, ast.Call)), f"{path.name}: {ast.unparse(end)}"
                    for key in {ast.unparse(k) for k in getattr(end, "keys", ())}:
                        assert kept.setdefault(key, path.name) == path.name, key
    assert len(kept) > 15
