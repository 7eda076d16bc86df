"""Kernels of others: pyarrow's where there are none of ours, and installed ones by their entry points."""

import os
import subprocess
import sys
import textwrap
import warnings

import pytest

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")


def back(x):
    return pa.array(x.array if isinstance(x, cc.Scalar) else x)


# ---- pyarrow ----
def test_a_function_that_only_pyarrow_has_is_called_by_its_name():
    words = pa.array(["b", None, "a"])
    out = cc.call_function("utf8_normalize", [words], form="NFC")
    assert isinstance(out, cdevice.DeviceArray) and back(out).equals(pc.utf8_normalize(words, form="NFC"))
    assert cc.call_function("utf8_normalize", ["b"], form="NFC").as_py() == "b"
    assert cc.call_function("stddev", [[1, 2, 4]]).as_py() == pc.stddev(pa.array([1, 2, 4])).as_py()
    assert cc.call_function("max_element_wise", [[1, 5], [4, None], 3]).to_pylist() == [4, 5]


def test_it_is_a_function_like_any_other():
    f = cc.get_function("utf8_normalize")
    assert [str(k) for k in f.kernels] == ["(any) -> ... on cpu by pyarrow"]
    assert f.kind == "scalar" and f.arity == 1 and f.doc and cc.get_function("utf8_normalize") is f
    assert cc.get_function("is_in").options.__name__ == "SetLookupOptions"
    assert cc.get_function("add").kernels[-1].library == "pyarrow"
    child = cc.FunctionRegistry(cc.function_registry())
    assert child.get_function("utf8_normalize") is f


def test_options_are_given_by_name_as_a_mapping_or_as_pyarrows_object():
    x = pa.array([2, None, 3])
    want = pc.sort_indices(x, sort_keys=[("", "descending")]).to_pylist()
    keys = [("", "descending")]
    assert cc.call_function("sort_indices", [x], sort_keys=keys).to_pylist() == want
    assert cc.call_function("sort_indices", [x], {"sort_keys": keys}).to_pylist() == want
    assert cc.call_function("sort_indices", [x], pc.SortOptions(sort_keys=keys)).to_pylist() == want
    assert cc.call_function("sort_indices", [x]).to_pylist() == [0, 2, 1]
    assert cc.call_function("is_in", [x], value_set=[3]).to_pylist() == [False, False, True]
    assert cc.call_function("is_in", [x], value_set=cdevice.asarray([3, None])).to_pylist() == [False, True, True]
    with pytest.raises(TypeError, match="SetLookupOptions needs value_set="):
        cc.call_function("is_in", [x])
    with pytest.raises(TypeError, match="did you mean 'sort_keys'"):
        cc.call_function("sort_indices", [x], sort_key=keys)
    product = cc.call_function("product", [x], cc.ScalarAggregateOptions(skip_nulls=False))
    assert product.as_py() is None and cc.call_function("product", [x]).as_py() == 6


def test_pyarrow_gets_the_null_placement_of_each_sort_key_and_does_not_warn():
    batch = pa.record_batch({"a": [1, 1, None, 2], "b": [1, None, 3, 4]})
    rows = pa.array(batch.to_pylist())  # structs are pyarrow's to sort
    keys = [("a", "descending", "at_start"), ("b", "ascending")]
    for named in ({"sort_keys": keys}, {"sort_keys": [k[:2] for k in keys], "null_placement": "at_start"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            assert cc.sort_indices(rows, **named).to_pylist() == cc.sort_indices(batch, **named).to_pylist()


def test_types_that_we_have_no_kernels_for_are_pyarrows_on_the_cpu():
    cents = pa.array(["1.50", "2.25", None]).cast(pa.decimal128(5, 2))
    assert back(cc.add(cents, cents)).equals(pc.add(cents, cents))
    assert back(cc.sum(cents)).equals(pa.array([pc.sum(cents)]))
    assert str(cc.sum(pa.chunked_array([cents, cents])).as_py()) == "7.50"
    assert cc.cast(["1", "-2"], "int64").to_pylist() == [1, -2]
    assert cc.filter([1, 2], [True, None], null_selection_behavior="emit_null").to_pylist() == [1, None]
    assert cc.coalesce([None, "b"], "c").to_pylist() == ["c", "b"]


def test_our_kernels_come_first_also_after_a_cast(monkeypatch):
    from cdevice.compute.providers import pyarrow

    def never(self, call, *args):
        raise AssertionError(self.name)

    monkeypatch.setattr(pyarrow.FunctionProvider, "__call__", never)
    assert cc.add(pa.array([1], "int8"), pa.array([2.5])).to_pylist() == [3.5]
    with pytest.raises(AssertionError, match="add"):
        cc.add(["a"], ["b"])


def test_nothing_is_copied_on_the_way_in_or_out():
    x = pa.array(range(1000))
    out = cc.call_function("array_filter", [x, pa.array([True] * 1000)])
    assert pa.array(out).equals(x)
    same = cc.call_function("list_flatten", [pa.array([[1, 2], [3]])])
    assert same.to_pylist() == [1, 2, 3]
    lists = pa.array([[1, 2], [3]])
    values = cc.call_function("list_flatten", [cdevice.asarray(lists)])
    assert pa.array(values).buffers()[1].address == lists.values.buffers()[1].address


def test_chunks_and_batches_go_in_and_come_out():
    chunks = pa.chunked_array([["b"], ["a", None]])
    assert cc.call_function("utf8_normalize", [chunks], form="NFC").to_pylist() == ["b", "a", None]
    assert cc.call_function("unique", [pa.chunked_array([[1], [1, 2]])]).to_pylist() == [1, 2]
    batch = pa.record_batch({"a": [2, 1], "b": ["x", "y"]})
    assert cc.call_function("sort_indices", [batch], sort_keys=[("a", "ascending")]).to_pylist() == [1, 0]
    assert cc.call_function("take", [batch, [1]]).to_pylist() == [{"a": 1, "b": "y"}]


def test_a_batch_is_a_column_of_structs_where_pyarrow_takes_no_batch():
    batch = cdevice.asarray({"a": [2, None], "b": ["x", "y"]})
    assert cc.call_function("struct_field", [batch], indices=[1]).to_pylist() == ["x", "y"]
    assert cc.is_null(batch).to_pylist() == [False, False]
    with pytest.raises(
        cc.NoKernel, match=r"add\(struct, int64\): no kernel on cpu.*pyarrow: Function 'add' has no kernel"
    ):
        cc.add(batch, 1)


def test_errors_of_pyarrows_are_ours():
    with pytest.raises(
        cc.NoKernel, match=r"utf8_normalize\(int64\): no kernel on cpu; pyarrow: Function 'utf8_normalize'"
    ):
        cc.call_function("utf8_normalize", [[1]], form="NFC")
    with pytest.raises(cdevice.ArgumentError, match="strptime: "):
        cc.call_function("strptime", [["x"]], format="%Y", unit="s")
    with pytest.raises(cc.IndexOutOfBounds):
        cc.call_function("array_take", [[1], [7]])
    with pytest.raises(cc.UnknownFunction, match="did you mean utf8_normalize"):
        cc.get_function("utf8_normalise")
    with pytest.raises(cc.UnknownFunction):
        cc.get_function("hash_tdigest")  # pyarrow's have it for groups alone
    with pytest.raises(TypeError, match="takes 1 argument"):
        cc.call_function("utf8_normalize", [["a"], ["b"]], form="NFC")


def test_the_names_of_what_is_provided_are_told_when_asked():
    ours, all_names = cc.list_functions(), cc.list_functions(include_providers=True)
    assert "utf8_normalize" not in ours and {"utf8_normalize", "sort_indices", *ours} < set(all_names)
    assert len(all_names) > 250
    for name in all_names:
        f = cc.get_function(name)
        assert f.kernels and f.doc is not None, name


def test_pyarrow_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("CDEVICE_BACKENDS", "-pyarrow")
    assert cc.list_functions(include_providers=True) == cc.list_functions()
    with pytest.raises(cc.UnknownFunction):
        cc.call_function("utf8_normalize", [["A"]], form="NFC")
    with pytest.raises(cc.NoKernel):
        cc.cast([[1]], "string")


def test_off_the_cpu_it_is_told_where_there_is_a_kernel():
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    there = cdevice.asarray(["a"]).to("opencl")
    said = r'utf8_normalize\(string\): no kernel on opencl; there is \(any\) -> ... on cpu by pyarrow; fallback="copy"'
    with pytest.raises(cc.NoKernel, match=said):
        cc.call_function("utf8_normalize", [there], form="NFC")


def test_nothing_of_pyarrow_is_imported_before_it_is_needed():
    program = """
        import sys, cdevice, cdevice.compute as cc
        cc.add([1], [2]), cc.get_function("add"), cc.list_functions(), cc.sum([1.5])
        assert "pyarrow" not in sys.modules
        assert cc.call_function("utf8_normalize", [["a"]], form="NFC").to_pylist() == ["a"]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


def test_without_pyarrow_there_is_the_rest():
    program = """
        import sys
        class Hidden:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "pyarrow":
                    raise ModuleNotFoundError(name, name="pyarrow")
        sys.meta_path.insert(0, Hidden())
        import cdevice.compute as cc
        assert cc.add([1], [2]).to_pylist() == [3]
        assert {k.library for k in cc.get_function("add").kernels} == {"cdevice"}
        for name in ("utf8_normalize", "zzzz"):
            try:
                cc.call_function(name, [["a"]])
            except cc.UnknownFunction as e:
                assert name in str(e)
            else:
                raise AssertionError
        assert cc.list_functions(include_providers=True) == cc.list_functions()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


# ---- entry points ----
@pytest.fixture
def site(tmp_path):
    """install(distribution, {entry point: value}, {module: text}), and run(code) in a process of its own"""

    class Site:
        def install(self, distribution, points, modules):
            info = tmp_path / f"{distribution}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
            lines = [f"{name} = {value}" for name, value in points.items()]
            (info / "entry_points.txt").write_text("[cdevice.compute]\n" + "\n".join(lines) + "\n")
            for name, text in modules.items():
                (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))

        def run(self, code, **env):
            path = os.pathsep.join([str(tmp_path), *sys.path])
            begin = "import sys, warnings, cdevice, cdevice.compute as cc\nwarnings.simplefilter('always')\n"
            done = subprocess.run(
                [sys.executable, "-c", begin + textwrap.dedent(code)],
                capture_output=True,
                text=True,
                timeout=120,
                env={**os.environ, "PYTHONPATH": path, **env},
            )
            assert done.returncode == 0, done.stderr
            return done.stdout.split(), done.stderr

    return Site()


TWICE = """
    import cdevice.compute as cc
    def register(registry):
        f = cc.Function("twice", "scalar", 1, "x + x")
        registry.add_function(f)
        f.add_kernel(["int64"], "int64", lambda call, x: cc.add(x.array, x.array), library="acme")
"""
TUNED = """
    import cdevice.compute as cc
    def register(registry):
        f = registry.get_function("negate")
        f.add_kernel(["int64"], "int64", lambda call, x: x.array, device="cpu", library="tuned", priority=1)
"""


def test_an_entry_point_is_loaded_when_a_function_is_unknown(site):
    site.install("acme-kernels", {"acme": "acme_kernels:register"}, {"acme_kernels": TWICE})
    out, err = site.run("""
        cc.add([1], [2]), cc.get_function("sum")
        print("acme_kernels" in sys.modules)
        print(*cc.call_function("twice", [[1, 2]]).to_pylist(), "acme_kernels" in sys.modules, "twice" in cc.list_functions())
    """)
    assert out == ["False", "2", "4", "True", "True"] and not err
    out, _ = site.run("print('twice' in cc.list_functions(), 'twice' in cc.list_functions(include_providers=True))")
    assert out == ["False", "True"]
    for words in ("none", "-acme"):
        out, _ = site.run("print('twice' in cc.list_functions(include_providers=True))", CDEVICE_BACKENDS=words)
        assert out == ["False"]


def test_an_entry_point_is_loaded_when_no_kernel_fits(site):
    text = """
        import cdevice
        def register(registry):
            f = registry.get_function("negate")
            f.add_kernel(["bool"], "bool", lambda call, x: cdevice.asarray([True]), library="acme")
    """
    site.install("acme-kernels", {"acme": "acme_kernels:register"}, {"acme_kernels": text})
    out, err = site.run("print(*cc.negate([False]).to_pylist())", CDEVICE_BACKENDS="-pyarrow")
    assert out == ["True"] and not err


def test_tuned_kernels_are_loaded_when_something_is_computed_on_their_device(site):
    site.install("fast", {"fast.cpu": "fast_kernels:register"}, {"fast_kernels": TUNED})
    site.install("far", {"far.12": "far_kernels:register"}, {"far_kernels": "raise RuntimeError"})
    out, err = site.run("""
        print("fast_kernels" in sys.modules)
        x = cdevice.asarray([5])
        print(*cc.negate(x).to_pylist(), *cc.negate(x).to_pylist(), "fast_kernels" in sys.modules)
    """)
    assert out == ["False", "5", "5", "True"] and not err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("register = 5", "TypeError: 'int' object is not callable"),
        ("", "AttributeError: module 'bad_kernels' has no attribute 'register'"),
        ("import cdevice.compute as cc\ndef register(r): r.add_function(cc.Function('add', 'scalar', 2))", "KeyError"),
        ("def register(r): raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_one_that_fails_is_a_warning_that_names_it_and_others_are_there(site, text, why):
    site.install("bad", {"bad": "bad_kernels:register"}, {"bad_kernels": text})
    site.install("worse", {"worse.x9": "nothing:register"}, {})
    site.install("acme-kernels", {"acme": "acme_kernels:register"}, {"acme_kernels": TWICE})
    out, err = site.run("""
        print(*cc.call_function("twice", [[1]]).to_pylist())
        try:
            cc.get_function("thrice")
        except KeyError:
            print(*cc.add([1], [1]).to_pylist())
    """)
    assert out == ["2", "2"]
    assert f'DeviceWarning: the kernels "bad" of bad 1.0 cannot be used: {why}' in err
    assert err.count('"bad"') == 1 and "worse.x9" in err and "<string>" in err


def test_threads_that_need_it_at_once_all_get_it(site):
    text = TWICE.replace(
        "def register(registry):", "import time, threading\n    def register(registry):\n        meet()"
    )
    text += """
    import threading
    asked = threading.Event()
    def meet():
        asked.wait(0.2)  # the other thread is asking by now, or never will
    """
    site.install("acme-kernels", {"acme": "acme_kernels:register"}, {"acme_kernels": text})
    out, _ = site.run("""
        import threading
        got = []
        begin = threading.Barrier(2)
        def ask():
            begin.wait()
            got.append(cc.call_function("twice", [[1]]).to_pylist()[0])
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(*got)
    """)
    assert out == ["2", "2"]
