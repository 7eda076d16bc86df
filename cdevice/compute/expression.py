"""The text of a kernel that is one expression, in the dialect of cdevice/kernels.  ``ci/kernels`` runs this file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def program(arguments: Sequence[tuple[str, str]], out: str, expression: str) -> str:
    """Its kernel is ``apply``.  ``arguments``: types and names; a type is as kernels call it, "f64", or "bits"."""
    words = [("int" if t == "bits" else t, name) for t, name in arguments]
    value = "(int)((" + expression + ") ? 1 : 0)" if out == "bits" else f"({out})({expression})"
    lines = [
        f"FN {'int' if out == 'bits' else out} own_({', '.join(f'const {t} {name}' for t, name in words)}) {{",
        f"  return {value};",
        "}",
        "KERNEL(apply) {",
        *(["  PACK_ROOM;"] if out == "bits" else []),
        "  const i64 n = NUMBER(0);",
    ]
    values = []
    for k, (t, _) in enumerate(arguments):
        if t == "bits":
            row = f"RAW(const u32, {k + 1}), OFFSET({k + 1})"
            one = f"FORM({k}) == IS_NUMBER ? (int)NUMBER({2 + k}) : FORM({k}) ? (int)bit1({row}, 0) : 0"
            values.append(f"FORM({k}) ? one{k}_ : (int)bit1({row}, i)")
        else:
            lines.append(f"  GLOBAL const {t} *RESTRICT in{k}_ = IN({t}, {k + 1});")
            one = f"FORM({k}) ? ONE({t}, {k}, in{k}_) : ({t})0"
            values.append(f"FORM({k}) ? one{k}_ : in{k}_[i]")
        lines.append(f"  const {words[k][0]} one{k}_ = {one};")
    call = f"own_({', '.join(values)})"
    if out == "bits":
        lines.append(f"  PACK(OUT(u32, 0), n, i, {call})")
    else:
        lines += [f"  GLOBAL {out} *RESTRICT o_ = OUT({out}, 0);", f"  ROWS(i, n) {{ o_[i] = {call}; }}"]
    return "\n".join([*lines, "}", ""])
