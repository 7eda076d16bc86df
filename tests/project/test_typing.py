"""What type checkers see is what there is."""

import pathlib
import re
import subprocess
import sys

import cdevice


def package():
    return pathlib.Path(cdevice.__file__).parent


def test_the_stub_lists_every_public_name_and_no_other():
    text = (package() / "__init__.pyi").read_text()
    listed = {name: module for module, name, _ in re.findall(r"^from \.([\w.]+) import (\w+) as (\w+)$", text, re.M)}
    assert listed == cdevice._NAMES
    assert all(getattr(cdevice, name) is not None for name in listed)


def test_the_extensions_stub_names_what_it_has():
    from cdevice import _native

    text = (package() / "_native.pyi").read_text()
    for name in re.findall(r"^(?:def|class) (\w+)", text, re.M):
        assert hasattr(_native, name), name
    for name in re.findall(r"^    def (\w+)\(", text.split("class SchemaBase")[0], re.M):
        assert hasattr(_native.Array, name), name


def test_the_package_says_that_it_is_typed():
    assert (package() / "py.typed").exists()


def test_every_public_name_is_documented():
    for name in cdevice.__all__:
        if name != "__version__":
            assert getattr(cdevice, name).__doc__, name
    for cls in (cdevice.DeviceArray, cdevice.Schema, cdevice.Device, cdevice.Buffer, cdevice.Backend):
        for name, value in vars(cls).items():
            if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{cls.__name__}.{name}"


def test_the_typed_program_runs():
    """What ``ci/typing`` shows to type checkers is a program that works; in a process of its own, for it goes through
    every device there is, those of tests' stand-ins too."""
    program = pathlib.Path(__file__).with_name("typed_program.py")
    done = subprocess.run([sys.executable, "-I", str(program)], capture_output=True, text=True, timeout=120)
    assert "float64 2 1" in done.stdout and "[1.5, 1.5]" in done.stdout, done.stderr


def test_the_functions_stub_has_every_function_with_its_parameters():
    """compute/functions.pyi and text.pyi against functions.py and text.py, whose functions are made from tables."""
    import ast
    import inspect

    from cdevice import compute

    stub = {}
    stubs = [
        ast.parse((package() / "compute" / f"{name}.pyi").read_text()) for name in ("functions", "text", "numbers")
    ]
    for node in [n for stub in stubs for n in stub.body]:
        if isinstance(node, ast.FunctionDef):
            a = node.args
            names = [x.arg for x in (*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs)]
            assert stub.setdefault(node.name, names) == names, f"overloads of {node.name} differ"
            assert node.returns is not None and ast.unparse(node.returns) != "Any" or node.name == "call_function"
    functions = {n for n in compute.__all__ if inspect.isroutine(getattr(compute, n))}
    elsewhere = {
        "elementwise",
        "reduction",
        "scan",
        "cpu_count",
        "set_cpu_count",
        "fallback",
    }  # of other modules, which have annotations
    modules = {
        f"cdevice.compute.{name}"
        for name in ("vector", "groups", "joins", "grouper", "hash_functions", "temporal", "nested")
    }
    modules |= {f"cdevice.compute.expressions.{name}" for name in ("aggregate", "expression")}
    elsewhere |= {n for n in functions if getattr(compute, n).__module__ in modules}
    assert stub.keys() == functions - elsewhere
    for name, names in stub.items():
        parameters = list(inspect.signature(getattr(compute, name)).parameters)
        assert [n for n in parameters if n != "named"] == names, name


def test_every_compute_function_documents_its_types_parameters_and_result():
    from cdevice import compute

    for name in {
        "coalesce",
        "cast",
        "count",
        "filter",
        "take",
        *compute.functions._ROW_WISE,
        *compute.functions._AGGREGATES,
        *compute.text.__all__,
        *compute.numbers.__all__,
    }:
        text = getattr(compute, name).__doc__
        for word in ("Accepted types -> result type::", ":param ", ":returns: ", "lock"):
            assert word in text, (name, word)


def test_completion_of_compute_shows_public_names_only():
    from cdevice import compute

    assert sorted(dir(compute)) == sorted(compute.__all__)
