"""Sphinx's settings; ``ci/docs`` builds the site."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

import cdevice

HERE = Path(__file__).resolve().parent
FOLDERS = {"README": "project/readme", "CHANGELOG": "project/changelog", "CONTRIBUTING": "project/contributing"}
FOLDERS |= {"SECURITY": "project/security", "cdevice/DESIGN": "project/design"}

project = "cdevice"
author = "the cdevice maintainers"
version = release = cdevice.__version__
extensions = ["sphinx.ext.autodoc"]
exclude_patterns = ["conformance/*.py"]
root_doc = "index"
html_theme = "furo"
html_title = f"cdevice {release}"
html_static_path: list[str] = []
html_show_sphinx = html_show_copyright = False
html_copy_source = html_show_sourcelink = False
# System fonts: no page asks another server for anything.
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "monokai"
nitpicky = True
nitpick_ignore_regex = [("c:identifier", ".*")]  # types of C, which reference/c.rst shows as they stand in the headers

# Types are in the text of a docstring; the .pyi files have them for type checkers.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88

linkcheck_ignore = [r"[a-z-]+\.html"]  # pages of the site: ci/docs_links.py checks those
linkcheck_timeout = 20
linkcheck_retries = 2

# ``docs/streams.rst`` in a text and `docs/compute.rst <docs/compute.rst>`_ are links on the site.
NAMED = re.compile(
    r"(?<![`\w])``(?:docs/)?((?:conformance/|reference/)?[a-z-]+|README|CHANGELOG|CONTRIBUTING|SECURITY|cdevice/DESIGN)\.rst``"
)
LINKED = re.compile(r"`[^`<]*<(?:docs/)?([a-z-]+)\.rst>`_")


def link_pages(text: str) -> str:
    """The text of a page with the pages that it names as links."""

    def link(m: re.Match[str]) -> str:
        page = FOLDERS.get(m[1], m[1])
        there = (HERE / f"{page}.rst").exists()
        if not there:
            return m[0]
        in_grid = m.string[m.string.rfind("\n", 0, m.start()) + 1] == "|"  # a table's columns must not move
        return f":doc:`/{page}`".ljust(len(m[0]) if in_grid else 0)

    return LINKED.sub(link, NAMED.sub(link, text))


# the reports of single libraries, which ci/conformance writes, stand below the page of all
REPORTS = "\n\n.. toctree::\n   :hidden:\n   :glob:\n\n   conformance/*\n"


def read(app: Sphinx, name: str, content: list[str]) -> None:
    content[0] = link_pages(content[0]) + (REPORTS if name == "conformance" else "")


def include(app: Sphinx, path: object, name: str, content: list[str]) -> None:
    content[0] = link_pages(content[0]).replace(".. image:: docs/", ".. image:: /")


# where a short name of a docstring, such as DeviceArray.to, is looked up
PLACES = [f"cdevice.{m}" for m in ("", "compute.", "aio.", "dask.", "pickling.", "testing.", "backend.")]
PLACES += [f"cdevice.compute.{m}." for m in ("errors", "dispatch.call", "dispatch.datum")]
SEVERAL = re.compile(r"^:param ((?:\w+, )+\w+): (.*)")


def find(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Element) -> Element | None:
    """The link for a name that a docstring gives as its module writes it."""
    if node.get("refdomain") != "py":
        return None
    domain = env.domains["py"]
    given = node["reftarget"].removeprefix("cdevice.")
    names = [place + name for name in (node["reftarget"], given) for place in PLACES]
    for name in names:
        if name in domain.objects:
            page = domain.objects[name].docname
            return make_refnode(app.builder, node["refdoc"], page, domain.objects[name].node_id, [content], name)
    return None


def split_parameters(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """``:param x, y: arrays`` describes two parameters; Sphinx would take ``x,`` for a type."""
    out: list[str] = []
    for line in lines:
        several = SEVERAL.match(line)
        if several:  # the text, whose further lines follow, belongs to the last; the others refer to it
            *names, last = several[1].split(", ")
            out += [f":param {n}: as *{last}*" for n in names]
            line = f":param {last}: {several[2]}"
        out.append(line)
    lines[:] = out


def copy_programs(app: Sphinx, error: Exception | None) -> None:
    """The programs that ``conformance.rst`` links to."""
    if error is None and app.builder.name == "html":
        for path in sorted((HERE / "conformance").glob("*.py")):
            shutil.copy(path, Path(app.outdir) / "conformance")


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    app.connect("include-read", include)
    app.connect("missing-reference", find)
    app.connect("autodoc-process-docstring", split_parameters)
    app.connect("build-finished", copy_programs)
