"""Which code points pyarrow and this Python have of the same Unicode."""

import unicodedata

import pytest

import cdevice.compute as cc

# words of str.is...() that are pyarrow's definitions, too; its digits are Nd and No, its numbers Nd, Nl and No, and
# letters are of lower or upper case where their category or a case of theirs says so
same_as_python = ("alnum", "alpha", "decimal", "space", "printable")
# what changed in later versions of Unicode than the one that the kernels' tables are of
CHANGED = {"\u0295", "\u019b", "\u0264", "\u0277", "\u027c", "\ua7d3", "\ua7d5", "\uab4b", "\uab4c", "\u00df"} - {
    "\u00df"
}


# a letter that each version of Unicode from 14 on brought
LETTERS = ("\u0870", "\U00011f04", "\U0002ebf0", "\u1c89")


def require_unicode_of_the_build():
    """Skips where the kernels' tables are of another version than this Python: a wheel is built by one Python."""
    known = cc.utf8_is_alpha([*LETTERS]).to_pylist()
    if known != [c.isalpha() for c in LETTERS]:
        pytest.skip(
            "the Python that built the package has another Unicode than this one: ci/test builds it by this one"
        )


def assigned(c):
    """Had this Python's version of Unicode the character, as it is now?"""
    return unicodedata.category(c) != "Cn" and c not in CHANGED
