"""Rule expressions as instructions, and the small helper functions that generated code calls."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from llgrad.ir.build import TRUE, Builder, const_float, const_int, declare, zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.types import I1, I32, FloatType, Type, VectorType, scalar
from llgrad.ir.values import AnyConstant, AnyValue, ConstAggregate, Function, Select
from llgrad.rules import library, special_functions
from llgrad.rules.constants import exact
from llgrad.rules.expression import Apply, Const, Expr, evaluate

_ARITHMETIC = {"fadd", "fsub", "fmul", "fdiv"}
_COMPARE = {"oeq", "one", "olt", "ole", "ogt", "oge", "uno"}
_FLOATS = {n: FloatType(n) for n in ("half", "bfloat", "float", "double", "x86_fp80", "fp128")}


class EmitAlgebra:
    """An `Algebra` whose numbers are values of `type`, a float or a vector of floats, written through `builder`."""

    def __init__(self, builder: Builder, module: Module, type: Type) -> None:
        self.b, self.module, self.type = builder, module, type
        element = scalar(type)
        assert isinstance(element, FloatType)
        self.format = element.name

    def const(self, value: Fraction | str) -> AnyValue:
        return const_float(self.type, exact(value))

    def apply(self, op: str, args: Sequence[AnyValue]) -> AnyValue:
        if op in _ARITHMETIC:
            return self.b.binary(op, args[0], args[1])
        if op in _COMPARE:
            return self.b.fcmp(op, args[0], args[1])
        match op:
            case "fneg":
                return self.b.unary("fneg", args[0])
            case "and" | "or":
                return self.b.binary(op, args[0], args[1])
            case "not":
                return self.b.binary("xor", args[0], const_int(args[0].type, 1))
            case "iadd" | "isub":
                return self.b.binary(op[1:], self._spread(args[0], args[1].type), self._spread(args[1], args[0].type))
            case "sitofp":
                n = args[0]
                whole = self.type if isinstance(n.type, VectorType) else scalar(self.type)
                return self._spread(self.b.cast("sitofp", n, whole), self.type)
            case "fptosi":
                one = self.b.extract_element(args[0], 0) if isinstance(args[0].type, VectorType) else args[0]
                return self.b.cast("fptosi", one, I32)  # of a constant
            case "select":
                return self.b.select(args[0], args[1], args[2])
        return self._call(op, args)

    def _spread(self, one: AnyValue, beside: Type) -> AnyValue:
        """A number beside a vector, as the integer of `llvm.powi`: the same for all lanes."""
        if not isinstance(beside, VectorType) or isinstance(one.type, VectorType):
            return one
        result: AnyValue = zero(VectorType(one.type, beside.count))
        for lane in range(beside.count):
            result = self.b.insert_element(result, one, lane)
        return result

    def _call(self, base: str, args: Sequence[AnyValue]) -> AnyValue:
        lanes = self.type.count if isinstance(self.type, VectorType) else 1
        name, kind = library.symbol(base, self.format, lanes)
        if lanes > 1 and kind != "intrinsic":
            result: AnyValue = self.const(Fraction(0))
            for lane in range(lanes):
                parts = [self.b.extract_element(a, lane) if isinstance(a.type, VectorType) else a for a in args]
                one = EmitAlgebra(self.b, self.module, scalar(self.type))._call(base, parts)
                result = self.b.insert_element(result, one, lane)
            return result
        inner = library.call_format(base, self.format)
        if inner != self.format:
            wide = _FLOATS[inner]
            parts = [self.b.cast("fpext", a, wide) if isinstance(a.type, FloatType) else a for a in args]
            one = EmitAlgebra(self.b, self.module, wide)._call(base, parts)
            return self.b.cast("fptrunc", one, self.type)
        return self.b.call(self.function(name, kind, base, [a.type for a in args]), args, base)

    def function(self, name: str, kind: str, base: str, params: Sequence[Type]) -> Function:
        if kind == "body" and name not in self.module.globals:
            for f in parse_function_text(self.module, special_functions.body(base, self.format)):
                if f.name not in self.module.globals:
                    self.module.add(f)
        return declare(self.module, name, self.type, params)


def emit_expression(
    b: Builder, module: Module, expr: Expr, operands: Sequence[AnyValue], results: Sequence[AnyValue], type: Type
) -> AnyValue:
    """The value of a rule's expression, as instructions."""
    return evaluate(expr, operands, results, EmitAlgebra(b, module, type))


def is_choice(partial: Expr) -> bool:
    """Does a rule take one operand and leave another (`fmax`)? Its slopes are 1 and 0 then."""
    match partial:
        case Apply("select", (_, Const(first), Const(second))):
            return {first, second} <= {-1, 0, 1}
    return False


def of_choice(b: Builder, partial: Expr, factor: AnyValue, derivative: AnyValue) -> AnyValue:
    """A tangent or adjoint times the slope of a choice: zero, whatever it is, where the operand was left.

    The slope is no limit of others there: an infinite adjoint, of `sqrt(fmax(x, 0))`, has no part in it.
    """
    assert isinstance(partial, Apply)
    nothing = zero(derivative.type)
    if not isinstance(factor, Select):  # computed earlier
        return b.select(b.fcmp("oeq", factor, nothing), nothing, b.binary("fmul", factor, derivative))

    def scaled(slope: Expr) -> AnyValue:
        assert isinstance(slope, Const)
        if slope.value == 0:
            return nothing
        return derivative if slope.value == 1 else b.unary("fneg", derivative)

    return b.select(factor.condition, scaled(partial.args[1]), scaled(partial.args[2]))


def strong_zero(b: Builder, derivative: AnyValue, product: AnyValue, used: AnyValue | None = None) -> AnyValue:
    """`product` of a factor and a tangent or adjoint: zero where that is zero and the factor is no number.

    `used`: only where this does not hold. Nothing changes where the factor is finite, so that the product's own
    derivative stays right.
    """
    vanishes = b.fcmp("oeq", derivative, zero(derivative.type))
    if used is not None:
        vanishes = b.binary("and", vanishes, b.binary("xor", used, all_true(used.type)))
    return _zero_where(b, vanishes, product)


def strong_product(b: Builder, factor: AnyValue, derivative: AnyValue, product: AnyValue) -> AnyValue:
    """`product` of both: zero where it is no number and one of the two is zero, whatever the other is."""
    nothing = zero(product.type)
    either = b.binary("or", b.fcmp("oeq", derivative, nothing), b.fcmp("oeq", factor, nothing))
    return _zero_where(b, either, product)


def _zero_where(b: Builder, vanishes: AnyValue, product: AnyValue) -> AnyValue:
    nothing = zero(product.type)
    return b.select(b.binary("and", vanishes, b.fcmp("uno", product, nothing)), nothing, product)


def all_true(t: Type) -> AnyConstant:
    """True, in each lane of a vector of truth values."""
    return ConstAggregate(t, (TRUE,) * t.count) if isinstance(t, VectorType) else TRUE


def truth(t: Type) -> Type:
    """A truth value for each float of a type."""
    return VectorType(I1, t.count) if isinstance(t, VectorType) else I1
