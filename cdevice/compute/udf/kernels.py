"""The kernels around a text of a user's own: what they read, a row of it, and what they write.

``ci/kernels`` compiles samples, which ``tests/support/own_kernels.py`` writes.
"""

from __future__ import annotations

from .source import Parser, known, prologue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from .source import Node
else:
    from collections import namedtuple

OUT = 0  # the first buffer


if TYPE_CHECKING:

    class Reading(NamedTuple):
        """How an argument is read: its type ("bits": a bitmap) and name, whether it is one row for all, whether it may
        have nulls, and the buffers of its values and its bitmap, with the number of its part of each."""

        type: str
        name: str
        one: bool
        nullable: bool
        values: tuple[int, int]
        validity: tuple[int, int]
else:
    Reading = namedtuple("Reading", "type name one nullable values validity")


def _of_value(t: str) -> str:
    return "int" if t == "bits" else t


def _at(part: int, row: str) -> str:
    """A row of a part of a buffer, each of which has n rows."""
    return f"{part} * n + {row}" if part else row


def _bit(slot: int, part: int, row: str) -> str:
    return f"bit1(RAW(const u32, {slot}), OFFSET({slot}), {_at(part, row)})"


def readers(arguments: Sequence[Reading], validity: bool) -> tuple[list[str], list[str], list[str]]:
    """(parameters of a row, lines before the rows, what row i gives for each parameter); ``validity``: bitmaps are
    read."""
    parameters, before, given = [], [], []
    for a in arguments:
        t = _of_value(a.type)
        parameters.append(f"const {t} {a.name}")
        slot, part = a.values
        if a.type == "bits":
            value = f"(int){_bit(slot, part, '0' if a.one else 'i')}"
        else:
            begin = f" + {part} * n" if part else ""
            before.append(f"GLOBAL const {t} *RESTRICT {a.name}_in_ = IN({t}, {slot}){begin};")
            value = f"{a.name}_in_[{'0' if a.one else 'i'}]"
        if a.one:
            before.append(f"const {t} {a.name}_one_ = {value};")
            value = f"{a.name}_one_"
        given.append(value)
        if validity and a.nullable:
            parameters.append(f"const u32 {a.name}_valid_")
            bit = _bit(*a.validity, "0" if a.one else "i")
            if a.one:
                before.append(f"const u32 {a.name}_one_valid_ = {bit};")
                bit = f"{a.name}_one_valid_"
            given.append(bit)
    return parameters, before, given


def rows_kernel(name: str, parser: Parser, results: Sequence[Node], arguments: Sequence[Reading]) -> str:
    """Several results without bitmaps: numbers, of which no row's validity is written."""
    parameters, before, given = readers(arguments, parser.controls)
    outs = [f"GLOBAL {x.type} *o{k}_" for k, x in enumerate(results)]
    lines = [f"FN void {name}_row_({', '.join([*parameters, *outs])}) {{", *(f"  {x}" for x in parser.lines)]
    lines += [f"  *o{k}_ = {x.text};" for k, x in enumerate(results)]
    lines += ["}", f"KERNEL({name}) {{", "  const i64 n = SCALAR(SCALAR_ROWS);", *(f"  {x}" for x in before)]
    for k, x in enumerate(results):
        lines.append(f"  GLOBAL {x.type} *RESTRICT out{k}_ = OUT({x.type}, {OUT + k});")
    call = ", ".join([*given, *[f"&out{k}_[i]" for k in range(len(results))]])
    return "\n".join([*lines, f"  ROWS(i, n) {{ {name}_row_({call}); }}", "}", ""])


def packed_kernel(name: str, parser: Parser, x: Node, arguments: Sequence[Reading], validity: bool) -> str:
    """One result that has a bitmap: bools, or a validity that the text gives."""
    parameters, before, given = readers(arguments, parser.controls)
    bits = x.type == "bits"
    more = [f"GLOBAL {x.type} *value_"] if not bits else []
    lines = [f"FN u32 {name}_row_({', '.join([*parameters, *more])}) {{", *(f"  {y}" for y in parser.lines)]
    sure = f"(u32)(({known(x.valid)}) != 0)"
    if bits and validity:
        lines.append(f"  return (u32)(({x.text}) != 0) | ({sure} << 1);")
    elif bits:
        lines.append(f"  return (u32)(({x.text}) != 0);")
    else:
        lines += [f"  *value_ = {x.text};", f"  return {sure};"]
    lines += ["}", f"KERNEL({name}) {{", "  PACK_ROOM;", "  const i64 n = SCALAR(SCALAR_ROWS);"]
    lines += [f"  {y}" for y in before]
    call = f"{name}_row_({', '.join([*given, *(['&out_[i]'] if not bits else [])])})"
    if bits and validity:
        lines.append(f"  PACK_TWO(OUT(u32, {OUT}), OUT(u32, {OUT + 1}), n, i, {call})")
    elif bits:
        lines.append(f"  PACK_ROWS(OUT(u32, {OUT}), n, i, {call})")
    else:
        lines.append(f"  GLOBAL {x.type} *RESTRICT out_ = OUT({x.type}, {OUT});")
        lines.append(f"  PACK_ROWS(OUT(u32, {OUT + 1}), n, i, {call})")
    return "\n".join([*lines, "}", ""])


# ---- reductions and scans: an operator of two states ----
# buffers, beside those of the arguments
STATES_OUT, COUNTS_OUT = 0, 1  # of tiles; of a scan, what lies before each tile is in the first
STATES_IN, COUNTS_IN = 2, 3  # of states before
SCALAR_COUNTED, SCALAR_LENGTH, SCALAR_SKIP = 2, 3, 4  # of the end: least count, rows, are nulls skipped


def _once(*groups: Sequence[str]) -> list[str]:
    """The lines of several texts, each once."""
    return [*dict.fromkeys(line for group in groups for line in group)]


class Join:
    """Two states ``a`` and ``b`` become one; ``helpers`` and ``lines`` of its text."""

    __slots__ = ("helpers", "lines", "state")

    def __init__(self, state: str, parser: Parser, joined: Node, identity: str) -> None:
        self.state, self.helpers = state, prologue(parser, joined.text)
        self.lines = [
            f"FN {state} join_(const {state} a, const {state} b) {{",
            *(f"  {x}" for x in parser.lines),
            f"  return {joined.text};",
            "}",
            f"#define NOTHING_ (({state})({identity}))",
        ]


def mapped_row(state: str, parser: Parser, x: Node, arguments: Sequence[Reading]) -> list[str]:
    """A row as a state, and whether it counts."""
    parameters, _, _ = readers(arguments, True)
    valid = x.valid if parser.controls else frozenset([a.name for a in arguments if a.nullable])
    return [
        f"FN u32 map_({', '.join([*parameters, f'{state} *state_'])}) {{",
        *(f"  {y}" for y in parser.lines),
        f"  *state_ = {x.text};",
        f"  return (u32)(({known(valid)}) != 0);",
        "}",
    ]


def _kernel(name: str, *lines: str) -> list[str]:
    return [f"#if KERNEL_ENABLED({name})", f"KERNEL({name}) {{", *lines, "}", "#endif"]


_LANES = """  i64 c = 0;
#if defined(CDV_COARSE)
  TILES(t, n, REDUCE_TILE_ROWS) {
    STATE s[WORK_GROUP_SIZE];
    c = 0;
    for (int l = 0; l < WORK_GROUP_SIZE; l++) s[l] = NOTHING_;
    const i64 from = t * REDUCE_TILE_ROWS;
    if (from + REDUCE_TILE_ROWS <= n) {
      for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE)
        for (int l = 0; l < WORK_GROUP_SIZE; l++) {
          const i64 i = from + r + l;
          ROW
        }
    } else {
      ONE_BY_ONE for (i64 i = from; i < n; i++) {
        const int l = (int)((u64)(i - from) % WORK_GROUP_SIZE);
        ROW
      }
    }
    for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1)
      for (int l = 0; l < d; l++) s[l] = join_(s[l], s[l + d]);
    OUT(STATE, STATES_OUT)[t] = s[0];
    OUT(i64, COUNTS_OUT)[t] = c;
  }
#else
  SHARED(STATE, s, WORK_GROUP_SIZE);
  SHARED(i64, counts, WORK_GROUP_SIZE);
  const int l = LID;
  s[l] = NOTHING_;
  for (int r = 0; r < REDUCE_TILE_ROWS; r += WORK_GROUP_SIZE) {
    const i64 i = BID * REDUCE_TILE_ROWS + r + l;
    if (i < n) {
      ROW
    }
  }
  counts[l] = c;
  SYNC;
  for (int d = WORK_GROUP_SIZE / 2; d; d >>= 1) {
    if (l < d) {
      s[l] = join_(s[l], s[l + d]);
      counts[l] += counts[l + d];
    }
    SYNC;
  }
  if (!l) {
    OUT(STATE, STATES_OUT)[BID] = s[0];
    OUT(i64, COUNTS_OUT)[BID] = counts[0];
  }
#endif"""


def _lanes(state: str, row: str) -> str:
    """Tiles of rows become states, by a tree that is the same on every device: see kernels/aggregate/reduce.h."""
    text = _LANES.replace("STATES_OUT", str(STATES_OUT)).replace("COUNTS_OUT", str(COUNTS_OUT))
    return text.replace("STATE", state).replace("ROW\n", row + "\n")


def fold_kernel(join: Join, parser: Parser, mapped: Node, arguments: Sequence[Reading]) -> str:
    """``fold``: rows become a state for each tile."""
    state = join.state
    _, before, given = readers(arguments, True)
    row = (
        f"{state} v_; const u32 m_ = map_({', '.join([*given, '&v_'])}); "
        f"const {state} x_ = join_(s[l], v_); s[l] = m_ ? x_ : s[l]; c += m_;"
    )
    lines = [
        *_once(join.helpers, prologue(parser, mapped.text)),
        *join.lines,
        *mapped_row(state, parser, mapped, arguments),
        *_kernel("fold", "  const i64 n = SCALAR(SCALAR_ROWS);", *(f"  {x}" for x in before), _lanes(state, row)),
    ]
    return "\n".join([*lines, ""])


def end_kernels(join: Join, parser: Parser, finished: Node) -> str:
    """``merge`` of states, and ``finish``, the result of the last one."""
    state, t = join.state, _of_value(finished.type)
    out = "put32(OUT(u32, 0), 0, (u32)value_, 1);" if finished.type == "bits" else f"OUT({t}, 0)[only] = value_;"
    valid = f"n >= SCALAR({SCALAR_COUNTED}) && (SCALAR({SCALAR_SKIP}) || n == SCALAR({SCALAR_LENGTH}))"
    lines = [
        *_once(join.helpers, prologue(parser, finished.text)),
        *join.lines,
        f"FN {t} finish_(const {state} a, const i64 n) {{",
        *(f"  {x}" for x in parser.lines),
        f"  return {finished.text};",
        "}",
        *_kernel(
            "merge",
            "  const i64 n = SCALAR(SCALAR_ROWS);",
            f"  GLOBAL const {state} *RESTRICT a_ = IN({state}, {STATES_IN});",
            f"  GLOBAL const i64 *RESTRICT n_ = IN(i64, {COUNTS_IN});",
            _lanes(state, "s[l] = join_(s[l], a_[i]); c += n_[i];"),
        ),
        *_kernel(
            "finish",
            "  ITEMS(only, 1) {",
            f"    const i64 n = IN(i64, {COUNTS_IN})[0];",
            f"    const {t} value_ = finish_(IN({state}, {STATES_IN})[0], n);",
            f"    {out}",
            f"    put32(OUT(u32, 1), only, (u32)({valid}), 1);",
            "  }",
        ),
    ]
    return "\n".join([*lines, ""])


# What a tile of FILTER_TILE_ROWS comes to, what lies before each tile, and then the rows: see kernels/scan/running.h.
# Rows are joined in pieces of 32, the pieces of a tile one after the other, tiles in WORK_GROUP_SIZE runs of them.
_PIECE = 32
_SCAN_LANES = """  SYNC;
  if (!LID)
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      const STATE x_ = sums[k];
      sums[k] = all;
      all = join_(all, x_);
    }
  SYNC;"""
_FOLD_TILES = """#if defined(CDV_COARSE)
  TILES(t, n, FILTER_TILE_ROWS) {
    STATE all = NOTHING_;
    for (i64 p = t * FILTER_TILE_ROWS; p < n && p < (t + 1) * FILTER_TILE_ROWS; p += 32) {
      STATE s = NOTHING_;
      PIECE(s, p)
      all = join_(all, s);
    }
    OUT(STATE, STATES_OUT)[t] = all;
  }
#else
  SHARED(STATE, sums, WORK_GROUP_SIZE);
  const i64 p = (BID * WORK_GROUP_SIZE + LID) * 32;
  STATE s = NOTHING_, all = NOTHING_;
  PIECE(s, p)
  sums[LID] = s;
SCAN_LANES
  if (!LID) OUT(STATE, STATES_OUT)[BID] = all;
#endif"""
_SCAN_TILES = """  GLOBAL STATE *RESTRICT o_ = OUT(STATE, STATES_OUT);
  const i64 n = SCALAR(SCALAR_ROWS), each = (n + WORK_GROUP_SIZE - 1) / WORK_GROUP_SIZE;
#define RUN_BEGIN_(k) ((k) * each < n ? (k) * each : n)
#if defined(CDV_COARSE)
  ITEMS(only, 1) {
    STATE sums[WORK_GROUP_SIZE], before = NOTHING_;
    (void)only;
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      sums[k] = NOTHING_;
      for (i64 t = RUN_BEGIN_(k); t < RUN_BEGIN_(k + 1); t++) sums[k] = join_(sums[k], o_[t]);
    }
    for (int k = 0; k < WORK_GROUP_SIZE; k++) {
      STATE at = before;
      for (i64 t = RUN_BEGIN_(k); t < RUN_BEGIN_(k + 1); t++) {
        const STATE x_ = o_[t];
        o_[t] = at;
        at = join_(at, x_);
      }
      before = join_(before, sums[k]);
    }
  }
#else
  SHARED(STATE, sums, WORK_GROUP_SIZE);
  STATE s = NOTHING_, all = NOTHING_;
  for (i64 t = RUN_BEGIN_(LID); t < RUN_BEGIN_(LID + 1); t++) s = join_(s, o_[t]);
  sums[LID] = s;
SCAN_LANES
  s = sums[LID];
  for (i64 t = RUN_BEGIN_(LID); t < RUN_BEGIN_(LID + 1); t++) {
    const STATE x_ = o_[t];
    o_[t] = s;
    s = join_(s, x_);
  }
#endif
#undef RUN_BEGIN_"""
_WRITE_ROWS = """#if defined(CDV_COARSE)
  TILES(t, n, FILTER_TILE_ROWS) {
    STATE before = IN(STATE, STATES_IN)[t];
    for (i64 p = t * FILTER_TILE_ROWS; p < n && p < (t + 1) * FILTER_TILE_ROWS; p += 32) {
      STATE s = NOTHING_;
      WRITE(s, p, before)
      before = join_(before, s);
    }
  }
#else
  SHARED(STATE, sums, WORK_GROUP_SIZE);
  const i64 p = (BID * WORK_GROUP_SIZE + LID) * 32;
  STATE s = NOTHING_, all = IN(STATE, STATES_IN)[BID];
  PIECE(s, p)
  sums[LID] = s;
SCAN_LANES
  const STATE before = sums[LID];
  s = NOTHING_;
  WRITE(s, p, before)
#endif"""


def scan_kernels(
    join: Join, parser: Parser, mapped: Node, arguments: Sequence[Reading], end: Parser, finished: Node, inclusive: bool
) -> str:
    """``tiles``, ``begins`` and ``rows`` of a scan, and ``known``, the bitmap of the rows that count.

    Buffers of results: states of tiles, or the result, in the first; states before tiles in STATES_IN."""
    state, t = join.state, _of_value(finished.type)
    _, before, given = readers(arguments, True)
    call = f"map_({', '.join([*given, '&v_'])})"
    row = f"{state} v_; const u32 m_ = {call}; const {state} x_ = join_(s, v_); s = m_ ? x_ : s;"
    put = "o_[i] = finish_(join_(before, s));"
    loop = f"for (int l_ = 0; l_ < {_PIECE}; l_++) {{ const i64 i = p + l_; if (i < n) {{ %s }} }}"
    piece, write = loop % row, loop % (f"{row} {put}" if inclusive else f"{put} {row}")

    def filled(text: str) -> str:
        text = (
            text.replace("SCAN_LANES", _SCAN_LANES).replace("PIECE(s, p)", piece).replace("WRITE(s, p, before)", write)
        )
        return text.replace("STATES_OUT", str(STATES_OUT)).replace("STATES_IN", "1").replace("STATE", state)

    rows, reads = "  const i64 n = SCALAR(SCALAR_ROWS);", [f"  {x}" for x in before]
    lines = [
        *_once(join.helpers, prologue(parser, mapped.text), prologue(end, finished.text)),
        *join.lines,
        *mapped_row(state, parser, mapped, arguments),
        f"FN {t} finish_(const {state} a) {{",
        *(f"  {x}" for x in end.lines),
        f"  return {finished.text};",
        "}",
        *_kernel("tiles", rows, *reads, filled(_FOLD_TILES)),
        *_kernel("begins", filled(_SCAN_TILES)),
        *_kernel("rows", rows, *reads, f"  GLOBAL {t} *RESTRICT o_ = OUT({t}, {OUT});", filled(_WRITE_ROWS)),
        *_kernel(
            "known",
            "  PACK_ROOM;",
            rows,
            *reads,
            f"  {state} v_;",
            f"  PACK_ROWS(OUT(u32, {OUT}), n, i, {call})",
        ),
    ]
    return "\n".join([*lines, ""])


__all__ = [
    "COUNTS_IN",
    "COUNTS_OUT",
    "OUT",
    "STATES_IN",
    "STATES_OUT",
    "Join",
    "Reading",
    "end_kernels",
    "fold_kernel",
    "packed_kernel",
    "prologue",
    "readers",
    "rows_kernel",
    "scan_kernels",
]
