"""The table of functions in docs/compute.rst is the one that calls give."""

import pytest

pytest.importorskip("pyarrow", reason="pip install pyarrow")

import function_table
from compute_cases import OF_PYARROW_26


@OF_PYARROW_26
def test_the_page_has_the_functions_types_and_libraries_that_there_are():
    if not function_table.PAGE.exists():
        pytest.skip("the page is in the source tree")
    assert function_table.shown() == function_table.table(), "python tests/support/function_table.py writes it"
