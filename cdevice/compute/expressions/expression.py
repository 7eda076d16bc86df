"""Expressions: computations on the columns of a batch."""

from __future__ import annotations

from ..dispatch import deferred
from ..dispatch.deferred import Deferred
from .bound import bind, columns_of, evaluated
from .graph import Node, is_row_wise
from .parse import parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..._types import DeviceArray, SchemaLike, StreamLike
    from ..dispatch.function import Function
    from ..options import FunctionOptions
    from .bound import BoundExpression


class Expression(Node):
    """A computation on the columns of a batch: a column, a value, or a function of expressions.

    Comes from :func:`field`, :func:`scalar`, operators, and functions of :mod:`cdevice.compute` that give a row for
    each row, called with an expression: ``cc.year(cc.field("time")) == 2013``.  Operators are Arrow's: ``+ - * / % **``
    are checked, ``& | ~`` are Kleene's.  Immutable.  ``==`` gives an expression, so a dict finds only the same object;
    :meth:`equals` compares.  Equal expressions have one hash; an expression can be pickled.  ``str()`` gives what
    :meth:`parse` reads, where no value is on a device and no list of an array has more than 20 rows.  No method but
    :meth:`evaluate` computes anything, and none blocks.  Any thread.
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("Expression cannot be made directly: use cc.field(), cc.scalar() or Expression.parse()")

    def _call(self, function: Function, args: Sequence[Any], options: FunctionOptions) -> Any:
        first = args[0] if args else None
        if is_row_wise(function) or isinstance(first, Deferred):
            return super()._call(function, args, options)
        return function(first, *columns_of(first, args[1:], function.name), options=options)

    # ---- operators ----
    def _with(self, name: str, *others: Any) -> Expression:
        return self._function(name, (self, *others))

    def _from(self, name: str, other: Any) -> Expression:
        return self._function(name, (other, self))

    def __add__(self, other: Any) -> Expression:
        return self._with("add_checked", other)

    def __radd__(self, other: Any) -> Expression:
        return self._from("add_checked", other)

    def __sub__(self, other: Any) -> Expression:
        return self._with("subtract_checked", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._from("subtract_checked", other)

    def __mul__(self, other: Any) -> Expression:
        return self._with("multiply_checked", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._from("multiply_checked", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._with("divide_checked", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._from("divide_checked", other)

    def __mod__(self, other: Any) -> Expression:
        return self._with("modulo", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._from("modulo", other)

    def __pow__(self, other: Any) -> Expression:
        return self._with("power_checked", other)

    def __rpow__(self, other: Any) -> Expression:
        return self._from("power_checked", other)

    def __neg__(self) -> Expression:
        return self._with("negate_checked")

    def __abs__(self) -> Expression:
        return self._with("abs_checked")

    def __and__(self, other: Any) -> Expression:
        return self._with("and_kleene", other)

    def __rand__(self, other: Any) -> Expression:
        return self._from("and_kleene", other)

    def __or__(self, other: Any) -> Expression:
        return self._with("or_kleene", other)

    def __ror__(self, other: Any) -> Expression:
        return self._from("or_kleene", other)

    def __invert__(self) -> Expression:
        return self._with("invert")

    def __eq__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._with("equal", other)

    def __ne__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._with("not_equal", other)

    def __lt__(self, other: Any) -> Expression:
        return self._with("less", other)

    def __le__(self, other: Any) -> Expression:
        return self._with("less_equal", other)

    def __gt__(self, other: Any) -> Expression:
        return self._with("greater", other)

    def __ge__(self, other: Any) -> Expression:
        return self._with("greater_equal", other)

    __hash__ = Node.__hash__

    def __bool__(self) -> bool:
        raise ValueError(
            "an expression is neither true nor false before it is computed: use & | ~ in place of and, or, not, and "
            "(a < b) & (b < c) in place of a < b < c"
        )

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("an expression has no rows: evaluate() computes them of a batch")

    # ---- methods, by pyarrow's names ----
    def is_null(self, nan_is_null: bool = False) -> Expression:
        """True where the row is null.

        ``nan_is_null``: True: NaN counts as null.  Does not block.  Raises TypeError for another object.
        """
        if not isinstance(nan_is_null, bool):
            raise TypeError(f"is_null(): nan_is_null must be True or False, not {nan_is_null!r}")
        null = self._with("is_null")
        return null | self._with("is_nan") if nan_is_null else null

    def is_valid(self) -> Expression:
        """True where the row is not null.  Does not block.  Never raises."""
        return self._with("is_valid")

    def is_nan(self) -> Expression:
        """True where the row is NaN, null where it is null.  Does not block.  Never raises."""
        return self._with("is_nan")

    def cast(self, target_type: SchemaLike, safe: bool = True) -> Expression:
        """The values as another type.

        ``target_type``: what :func:`cdevice.asschema` takes.  ``safe``: False lets values change that do not fit.  Does
        not block.  Raises ValueError for an unknown type.
        """
        return self._function("cast", (self,), {"target_type": target_type, "safe": safe})

    def isin(self, values: Any) -> Expression:
        """True where the row is one of some values.

        ``values``: what :func:`cdevice.asarray` takes.  Does not block.  Raises as that.
        """
        return self._function("is_in", (self,), {"value_set": values})

    def bind(self, schema: SchemaLike) -> BoundExpression:
        """The expression with the types of a schema.

        ``schema``: of a batch, what :func:`cdevice.asschema` takes.  Does not block for a device.  Raises ArgumentError
        for a column that the schema does not have, NoKernel where types do not fit, with the place in the expression.
        """
        return bind(self, schema)

    def evaluate(self, data: Any, *, stream: StreamLike = None) -> DeviceArray:
        """The values for the rows of a batch, on its device.

        ``data``: a batch, what :func:`cdevice.asarray` takes.  ``stream``: of the device, as in
        :meth:`DeviceArray.to`.  Blocks as the functions in it.  Raises as :meth:`bind`, and as these functions do, with
        the place in the expression.
        """
        return evaluated(self, data, stream)

    def explain(self, schema: SchemaLike) -> str:
        """The parts of the computation on batches of a schema, with the text of kernels of several functions.

        ``schema``: as in :meth:`bind`.  Such kernels are compiled once 4 million rows were computed.  Does not block.
        Raises as :meth:`bind`.
        """
        return self.bind(schema).explain()

    @staticmethod
    def parse(text: str) -> Expression:
        """An expression from text in Python's grammar; nothing of it is run.

        ``text``: names are columns, calls are functions: ``"delay > 15 and carrier in ('UA', 'AA')"``.  ``and``,
        ``or``, ``not``, chained comparisons, ``x is None``, ``a if c else b``, ``date("2013-01-31")``,
        ``timestamp("2013-01-31T12:00:00")``, ``float("nan")``, ``scalar(1, "int8")``, ``field("any name")`` mean what
        they say.  Does not block.  Raises ArgumentError with the place.
        """
        made: Expression = parsed(text, Expression)
        return made

    @staticmethod
    def from_pyarrow(expression: Any) -> Expression:
        """The expression of a ``pyarrow.compute.Expression``; functions that take expressions do this themselves.

        ``expression``: columns are named in it, not numbered.  Does not block.  Raises ArgumentError for a function
        that is not known here and for options that are not supported, TypeError for another object.
        """
        from .from_pyarrow import from_pyarrow

        made: Expression = from_pyarrow(expression, Expression)
        return made

    @staticmethod
    def from_substrait(data: Any, name: str | None = None) -> Expression:
        """The expression of a Substrait ExtendedExpression, as pyarrow, DataFusion and others write them.

        ``data``: its bytes, or a protobuf message.  ``name``: which of several; None: the only one.  Fields are named
        as the schema of the message names them.  Does not block.  Raises ArgumentError for bytes that are not a
        message, and names a function, type or kind of expression that is not supported; TypeError.
        """
        from .from_substrait import from_substrait

        made: Expression = from_substrait(data, name, Expression)
        return made

    def __repr__(self) -> str:
        return f"<cdevice.compute.Expression {self}>"

    def _repr_html_(self) -> str:
        from ..._runtime.html import code_html

        return code_html(str(self))


deferred.converted.append(Expression.from_pyarrow)


def condition(where: Any, what: str) -> Expression:
    """An argument that is an expression, another library's, or the text of one; ``what``: of the errors.  Raises
    TypeError, ArgumentError for text that is none."""
    where = deferred.ours(Expression.parse(where) if isinstance(where, str) else where)
    if not isinstance(where, Expression):
        raise TypeError(f"{what}: expected an expression or its text, not {type(where).__name__}")
    return where


# ---- making ----
def field(*path: str) -> Expression:
    """A column of a batch, to be computed with when there is one.

    Does not block.  Any thread.

    :param path: the name of the column; further names are fields of structs in it
    :returns: an :class:`Expression`
    :raises TypeError: for no name, and for a name that is not a str
    """
    if len(path) == 1 and isinstance(path[0], (tuple, list)):
        path = tuple(path[0])
    if not path or not all(isinstance(x, str) for x in path):
        raise TypeError(f"field(): expected the name of a column, not {', '.join(map(repr, path)) or 'nothing'}")
    return Expression._column(path)


def scalar(value: Any) -> Expression:
    """A value in an expression.

    A number of Python takes the type of the numbers that it meets where it is one of that type's.  Does not block.
    Any thread.

    :param value: None, a value of Python, numpy or pyarrow, or a :class:`Scalar`
    :returns: an :class:`Expression`
    :raises TypeError: for an object that is not one value
    """
    return Expression._literal(value)
