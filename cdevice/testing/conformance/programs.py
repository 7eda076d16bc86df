"""Cuts the program that shows a broken rule out of these files: the check, and the definitions that it uses."""

from __future__ import annotations

import ast
import functools
import inspect
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class Pieces:
    """The top-level statements of a module by the names they bind."""

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__name__
        self.source = inspect.getsource(module)
        self.order: dict[str, int] = {}
        self.nodes: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str]] = {}  # name: (module of this package, name there)
        self.standard: dict[str, str] = {}  # name: an import statement
        for i, node in enumerate(ast.parse(self.source).body):
            for name in self._bound(node):
                self.nodes[name], self.order[name] = node, i

    def _bound(self, node: ast.stmt) -> list[str]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return [node.name]
        if isinstance(node, ast.Assign):
            return [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if isinstance(node, ast.Import):
            for a in node.names:
                self.standard[a.asname or a.name.partition(".")[0]] = ast.unparse(ast.Import([a]))
        elif isinstance(node, ast.ImportFrom):
            for a in node.names:
                if node.level:
                    self.imports[a.asname or a.name] = (f"{__package__}.{node.module}", a.name)
                elif node.module != "__future__":
                    self.standard[a.asname or a.name] = ast.unparse(ast.ImportFrom(node.module, [a], 0))
        return []

    def text(self, name: str) -> str:
        node = self.nodes[name]
        text = ast.get_source_segment(self.source, node) or ""
        own = [d for d in getattr(node, "decorator_list", []) if "contextmanager" in ast.unparse(d)]
        return "".join(f"@{ast.unparse(d)}\n" for d in own) + text

    def uses(self, name: str) -> set[str]:
        node = self.nodes[name]
        parts = [p for p in ast.iter_child_nodes(node) if p not in getattr(node, "decorator_list", [])]
        return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)} - {name}


@functools.lru_cache(None)
def pieces(module: str) -> Pieces:
    return Pieces(sys.modules[module])


def cut(*functions: Any) -> str:
    """The source of the functions with everything of this package that they need."""
    found: dict[tuple[str, str], None] = {}
    standard: set[str] = set()

    def need(module: str, name: str) -> None:
        if (module, name) in found:
            return
        here = pieces(module)
        if name in here.imports:
            need(*here.imports[name])
        elif name in here.standard:
            standard.add(here.standard[name])
        elif name in here.nodes:
            found[module, name] = None
            for other in sorted(here.uses(name)):
                need(module, other)

    for function in functions:
        need(function.__module__, function.__name__)
    rank = {
        m: i
        for i, m in enumerate(
            ("structs", "layouts", "standin", "standin_streams", "standin_handlers", "standin_tensors")
        )
    }
    ordered = sorted(found, key=lambda k: (rank.get(k[0].rpartition(".")[2], 9), k[0], pieces(k[0]).order[k[1]]))
    texts: list[str] = []
    for module, name in ordered:
        text = pieces(module).text(name)
        if text not in texts:
            texts.append(text)
    return "\n".join(sorted(standard)) + "\n\n" + "\n\n\n".join(texts) + "\n"
