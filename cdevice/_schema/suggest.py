"""Which type may have been meant by a word that names none."""

from __future__ import annotations

from .type_names import ALIASES, WORDS

# what people write of types that Arrow calls otherwise, or has several of
MEANT = {
    "date": "date32",
    "datetime": "timestamp[us]",
    "timestamp": "timestamp[us]",
    "time": "time64[us]",
    "timedelta": "duration[us]",
    "duration": "duration[us]",
    "interval": "month_day_nano_interval",
    "category": "dictionary<values=string, indices=int32, ordered=0>",
    "categorical": "dictionary<values=string, indices=int32, ordered=0>",
    "text": "string",
    "varchar": "string",
    "object": "string",
    "decimal": "decimal128(38, 9)",
    "number": "float64",
    "integer": "int64",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "bfloat16": "uint16",
    "uuid": "fixed_size_binary[16]",
    "list": "list<int64>",
    "array": "list<int64>",
    "struct": "struct<a: int64>",
    "map": "map<string, int64>",
    "dictionary": "dictionary<values=string, indices=int32, ordered=0>",
    "fixed_size_list": "fixed_size_list<float32>[3]",
    "run_end_encoded": "run_end_encoded<run_ends: int32, values: int64>",
    "dense_union": "dense_union<a: int8=0, b: string=1>",
    "sparse_union": "sparse_union<a: int8=0, b: string=1>",
}


def near(word: str) -> str:
    """What may have been meant by a word that is no type, as the end of a sentence."""
    import difflib

    low = word.lower()
    for numpys, ours in (("datetime64[", "timestamp["), ("timedelta64[", "duration[")):
        if low.startswith(numpys):
            return f": did you mean {ours}{low[len(numpys) :]}?"
    letters, digits = low.rstrip("0123456789"), low.lstrip("abcdefghijklmnopqrstuvwxyz")
    short = {"f": "float", "i": "int", "u": "uint", "uint": "uint", "float": "float", "int": "int"}.get(letters)
    guess = f"{short}{digits}"
    meant = MEANT.get(low.partition("[")[0].partition("(")[0]) or (guess if {guess} & {*WORDS, *ALIASES} else None)
    words = [meant] if meant else difflib.get_close_matches(low, [*WORDS, *ALIASES], 3, 0.6)
    return f": did you mean {' or '.join(words)}?" if words else "; see asschema() for how types are written"
