"""Functions, kernels and options, as Arrow has them."""

import pytest

import cdevice
import cdevice.compute as cc
from cdevice.compute.dispatch.registry import KINDS


def exec_nothing(call, x):
    return x.array


def test_the_registry_does_what_the_introduction_to_arrow_compute_shows():
    default_registry = cc.function_registry()
    registry = cc.FunctionRegistry.make(default_registry)
    for name in ("f1", "f2"):
        f = cc.Function(name, "scalar", 1)
        registry.can_add_function(f)
        registry.add_function(f)
        with pytest.raises(KeyError):
            registry.can_add_function(f)
        with pytest.raises(KeyError):
            registry.add_function(f)
        default_registry.can_add_function(f)
    assert {"f1", "f2", "add"} <= set(registry.get_function_names())
    assert registry.num_functions == default_registry.num_functions + 2
    assert registry.get_function("add") is default_registry.get_function("add")
    with pytest.raises(KeyError):
        default_registry.get_function("f1")


def test_a_name_of_the_parent_is_taken_unless_it_may_be_overwritten():
    registry = cc.FunctionRegistry(cc.function_registry())
    mine = cc.Function("add", "scalar", 2)
    with pytest.raises(KeyError, match="add"):
        registry.add_function(mine)
    registry.add_function(mine, allow_overwrite=True)
    assert registry.get_function("add") is mine
    assert cc.get_function("add") is not mine


def test_an_alias_is_the_same_function():
    registry = cc.FunctionRegistry(cc.function_registry())
    registry.add_alias("plus", "add")
    assert registry.get_function("plus") is cc.get_function("add")
    with pytest.raises(KeyError):
        registry.add_alias("plus", "add")
    with pytest.raises(KeyError):
        registry.add_alias("minus", "no_such_function")


def test_kinds_are_arrows():
    kinds = {name: cc.get_function(name).kind for name in cc.list_functions()}
    assert kinds["add"] == "scalar" and kinds["filter"] == "vector" and kinds["cast"] == "meta"
    assert kinds["sum"] == "scalar_aggregate" and set(kinds.values()) <= set(KINDS)
    with pytest.raises(ValueError, match="hash_aggregate"):
        cc.Function("f", "odd", 1)
    with pytest.raises(ValueError, match="meta"):
        cc.get_function("cast").add_kernel(["int64"], "int64", exec_nothing)


def test_a_kernel_has_a_signature_a_device_and_a_library():
    kernels = cc.get_function("add").kernels
    one = next(k for k in kernels if str(k.signature) == "(int64, int64) -> int64")
    assert one.device is None and one.library == "cdevice"
    assert str(one) == "(int64, int64) -> int64 on any device by cdevice"


def test_dispatch_is_exact_or_by_arrows_implicit_casts():
    add = cc.get_function("add")
    assert str(add.dispatch_exact(["int32", "int32"]).signature) == "(int32, int32) -> int32"
    assert add.dispatch_exact(["int32", "int64"]).library == "pyarrow"
    with pytest.raises(cc.NoKernel):
        add.dispatch_exact(["int32", "int64"], 4)
    for types, common in [
        (("int32", "int64"), "int64"),
        (("uint8", "int8"), "int16"),
        (("uint32", "int8"), "int64"),
        (("uint64", "int8"), "int64"),
        (("uint16", "uint8"), "uint16"),
        (("int64", "float32"), "float32"),
        (("float32", "float64"), "float64"),
    ]:
        kernel, formats = add.dispatch_best(types)
        assert str(kernel.signature) == f"({common}, {common}) -> {common}"
        assert [cdevice.Schema.make(f).type for f in formats] == [common, common]


def test_a_kernel_of_somebody_else_is_taken_by_device_and_priority():
    registry = cc.FunctionRegistry(cc.function_registry())
    f = cc.Function("twice", "scalar", 1)
    registry.add_function(f)
    said = []

    def kernel(name):
        def run(call, x):
            said.append((name, call.state))
            return cc.add(x.array, x.array)

        return run

    f.add_kernel(["int64"], "int64", kernel("any"), library="mine")
    f.add_kernel(["int64"], "int64", kernel("cpu"), device="cpu", library="mine", init=lambda call: call.device_type)
    from cdevice.compute.dispatch.call import run

    assert run(f, [cdevice.asarray([1, 2])], None, None, {}).to_pylist() == [2, 4]
    f.add_kernel(["int64"], "int64", kernel("first"), priority=1, finalize=lambda call, out: cc.negate(out))
    assert run(f, [cdevice.asarray([1, 2])], None, None, {}).to_pylist() == [-2, -4]
    assert said == [("cpu", 1), ("first", None)]


def test_options_are_objects_with_arrows_names():
    options = cc.ScalarAggregateOptions(skip_nulls=False)
    assert options == cc.ScalarAggregateOptions(False, min_count=1) != cc.ScalarAggregateOptions()
    assert repr(options) == "ScalarAggregateOptions(skip_nulls=False, min_count=1)"
    assert cc.FunctionOptions.of("CastOptions") is cc.CastOptions
    assert cc.function_registry().get_function_options_type("TakeOptions") is cc.TakeOptions
    assert cc.sum([1, None], options=options).as_py() is None
    assert cc.call_function("sum", [[1, None]], {"skip_nulls": False}).as_py() is None
    assert cc.call_function("cast", [[1, None]], cc.CastOptions("float64")).to_pylist() == [1.0, None]
    with pytest.raises(TypeError, match="skip_nulls"):
        cc.ScalarAggregateOptions(skip_null=True)
    with pytest.raises(TypeError, match="target_type"):
        cc.CastOptions()
    with pytest.raises(TypeError, match="ScalarAggregateOptions"):
        cc.sum([1], options=cc.CountOptions())
    with pytest.raises(KeyError, match="CastOptions"):
        cc.FunctionOptions.of("NoSuchOptions")


def test_functions_have_a_name_and_words_about_them():
    for name in cc.list_functions():
        f = getattr(cc, name, None)
        assert callable(f) and f.__doc__, name
        assert cc.get_function(name).doc, name


def test_a_scalar_is_a_row_that_functions_take():
    total = cc.sum([1, 2, None])
    assert isinstance(total, cc.Scalar) and total.as_py() == 3 and total.type == "int64" and total.ready
    assert str(total.device) == "cpu" and "3" in repr(total)
    assert cc.add([1, 2], total).to_pylist() == [4, 5]
    assert cc.add(total, 1).as_py() == 4
    assert cc.min_max([3, 1])["max"].as_py() == 3
    assert cc.add(1, 2).as_py() == 3 and cc.add(1, None).as_py() is None
    with pytest.raises(ValueError, match="2 rows: expected 1"):
        cc.Scalar(cdevice.asarray([1, 2]))


def test_arguments_are_whatever_becomes_an_array():
    import array

    import numpy as np

    assert cc.add(np.arange(3), 1).to_pylist() == [1, 2, 3]
    assert cc.add(array.array("d", [1.5]), np.float64(1)).to_pylist() == [2.5]
    assert cc.add([1, 2], [3, None]).to_pylist() == [4, None]
    assert cc.add(np.arange(3, dtype="i4"), np.int32(1)).type == "int32"
    assert cc.sum([np.arange(3), np.arange(4)]).as_py() == 9
    assert cc.sum(cdevice.asstream([[1, 2], [3]])).as_py() == 6
