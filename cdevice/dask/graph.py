"""Graphs of tasks."""

from __future__ import annotations

from dask.core import flatten, get_dependencies
from dask.utils import ensure_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def tree(name: str, keys: list[Any], merge: Callable[..., Any], width: int) -> tuple[dict[Any, Any], list[Any]]:
    """Tasks that put up to ``width`` results together, level by level, and the keys of the at most ``width`` last
    ones."""
    graph: dict[Any, Any] = {}
    level = 0
    while len(keys) > width:
        groups = [keys[k : k + width] for k in range(0, len(keys), width)]
        keys = [(name, level, i) for i in range(len(groups))]
        graph.update((key, (merge, group)) for key, group in zip(keys, groups))
        level += 1
    return graph, keys


def culled(graph: Any, keys: Iterable[Any], **options: Any) -> dict[Any, Any]:
    """The tasks that some keys need."""
    whole = ensure_dict(graph)
    kept: dict[Any, Any] = {}
    left = list(flatten(keys, container=list))
    while left:
        key = left.pop()
        if key not in kept:
            kept[key] = whole[key]
            left += get_dependencies(whole, key)
    return kept
