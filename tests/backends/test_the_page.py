"""The device of docs/add-your-device.rst, as the page has it, conforms."""

import pathlib
import re
import textwrap

from cdevice.testing import BackendSuite

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "add-your-device.rst"


def code(language, n=0):
    blocks = re.findall(r"\.\. code-block:: (\w+)\n\n((?:    .*\n|\n)+)", PAGE.read_text())
    return textwrap.dedent([text for kind, text in blocks if kind == language][n])


class TestThePage(BackendSuite):
    @staticmethod
    def backend():
        names = {}
        exec(code("python"), names)
        return names["Backend"]()


def test_its_entry_point_names_the_class():
    assert '"acme.12" = "acme_cdevice:Backend"' in code("toml")
