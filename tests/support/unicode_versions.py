"""Which code points pyarrow and this Python have of the same Unicode."""

import unicodedata

# words of str.is...() that are pyarrow's definitions, too; its digits are Nd and No, its numbers Nd, Nl and No, and
# letters are of lower or upper case where their category or a case of theirs says so
same_as_python = ("alnum", "alpha", "decimal", "space", "printable")
# what changed in later versions of Unicode than the one that the kernels' tables are of
CHANGED = {"\u0295", "\u019b", "\u0264", "\u0277", "\u027c", "\ua7d3", "\ua7d5", "\uab4b", "\uab4c", "\u00df"} - {
    "\u00df"
}


def assigned(c):
    """Had this Python's version of Unicode the character, as it is now?"""
    return unicodedata.category(c) != "Cn" and c not in CHANGED
