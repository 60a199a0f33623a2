"""Symbols, names that exist, closure under differentiation, effects, and the generated page."""

from __future__ import annotations

import ctypes
import pathlib

import llvmlite.binding as llvm
import mpmath as mp
import pytest
from rule_algebras import MpAlgebra
from rule_references import DOMAINS, INTEGER_RESULT, REFERENCES
from test_rule_partials import ALL, positions, sample, spread, values

from llgrad.errors import UnsupportedError
from llgrad.rules import (
    Apply,
    Const,
    Deallocator,
    Expr,
    Operand,
    Result,
    effects,
    evaluate,
    instruction,
    lookup,
    special_functions,
    symbol,
)
from llgrad.rules.document import page
from llgrad.rules.expression import PRIMITIVES, select, term
from llgrad.rules.library import ARITHMETIC, COMPLEX, FUNCTIONS, INTRINSIC_OF, LEGACY, LIBM, call_format
from llgrad.rules.rule import Rule

LIBRARIES = [ctypes.CDLL(name) for name in ("libm.so.6", "libgcc_s.so.1")]
CALLED = sorted({name for rule in ALL.values() for name in rule.functions()})
LEFT_GLIBC = {"pow10"}  # in 2.27


def exists(name: str) -> bool:
    return any(hasattr(library, name) for library in LIBRARIES)


def known_to_llvm(name: str, operands: list[str], result: str) -> bool:
    module = llvm.parse_assembly(f"declare {result} @{name}({', '.join(operands)})")
    module.verify()
    return "Unknown intrinsic" not in str(module)


# Names


@pytest.mark.parametrize("name", sorted(LIBM | LEGACY.keys() | (COMPLEX - {"cmul", "cdiv"})))
def test_libm_has_it(name: str) -> None:
    if name in LEFT_GLIBC:
        pytest.skip("no longer in glibc")
    assert exists(name) and exists(f"{name}f") and exists(f"{name}l")


@pytest.mark.parametrize("name", sorted(ARITHMETIC))
def test_compiler_runtime_has_it(name: str) -> None:
    assert exists(name)


SPELLED = {
    "fptosi.sat": ("llvm.fptosi.sat.i32.f64", "i32"),
    "fptoui.sat": ("llvm.fptoui.sat.i32.f64", "i32"),
    "is.fpclass": ("llvm.is.fpclass.f64", "i1"),
    "llvm.sincos": ("llvm.sincos.f64", "{ double, double }"),
    "llvm.sincospi": ("llvm.sincospi.f64", "{ double, double }"),
    "llvm.modf": ("llvm.modf.f64", "{ double, double }"),
    "llvm.frexp": ("llvm.frexp.f64.i32", "{ double, i32 }"),
    **{name: (f"llvm.{name}.i64.f64", "i64") for name in ("lround", "llround", "lrint", "llrint")},
    "powi": ("llvm.powi.f64.i32", "double"),
    "ldexp": ("llvm.ldexp.f64.i32", "double"),
}


@pytest.mark.parametrize("base", sorted(INTRINSIC_OF))
def test_llvm_has_it(base: str) -> None:
    name, result = SPELLED.get(base, (f"llvm.{INTRINSIC_OF[base]}.f64", "double"))
    operands = [{"float": "double", "int": "i32"}[kind] for kind in FUNCTIONS[base].operands]
    assert known_to_llvm(name, operands, result)
    entry = lookup(name)
    assert entry and entry.rule is FUNCTIONS[base] and entry.format == "double"


def test_llvm_does_not_know_everything() -> None:
    """The two tests above can fail."""
    assert not known_to_llvm("llvm.sinus.f64", ["double"], "double")
    assert not exists("sinus")


@pytest.mark.parametrize("format", ["float", "double", "x86_fp80", "half", "bfloat"])
@pytest.mark.parametrize("base", CALLED)
def test_what_partials_call(base: str, format: str) -> None:
    """Every function in a partial can be called in every format."""
    name, kind = symbol(base, format)
    inner = call_format(base, format)
    match kind:
        case "libm":
            assert exists(name)
        case "body":
            assert f"@{name}({inner} %x)" in special_functions.body(base, inner)
        case "intrinsic":
            operands = [{"float": inner, "int": "i32"}[k] for k in FUNCTIONS[base].operands]
            assert known_to_llvm(name, operands, inner)
    entry = lookup(name)
    assert base == f"polygamma{len(special_functions.NAMES) - 1}" or (entry and entry.rule is FUNCTIONS[base])


def test_lanes() -> None:
    assert symbol("sin", "float", 4) == ("llvm.sin.v4f32", "intrinsic")
    assert symbol("ldexp", "double", 2) == ("llvm.ldexp.v2f64.v2i32", "intrinsic")
    assert symbol("powi", "double", 2) == ("llvm.powi.v2f64.i32", "intrinsic")
    assert symbol("tgamma", "half") == ("tgammaf", "libm")
    assert symbol("fmaximum", "x86_fp80") == ("fmaximuml", "libm")


def test_symbol_refuses() -> None:
    for base, format in (("nonsense", "double"), ("digamma", "fp128"), ("polygamma9", "double")):
        with pytest.raises(UnsupportedError):
            symbol(base, format)


LOOKUPS = [
    ("sin", "sin", "double", "scalar", 1),
    ("sinf", "sin", "float", "scalar", 1),
    ("sinl", "sin", "x86_fp80", "scalar", 1),
    ("sinf128", "sin", "fp128", "scalar", 1),
    ("llvm.sin.v4f32", "sin", "float", "scalar", 4),
    ("llvm.sin.bf16", "sin", "bfloat", "scalar", 1),
    ("llvm.fmuladd.f80", "fmuladd", "x86_fp80", "scalar", 1),
    ("llvm.maxnum.v2f64", "fmax", "double", "scalar", 2),
    ("llvm.powi.v2f64.i32", "powi", "double", "scalar", 2),
    ("llvm.ldexp.v2f64.v2i32", "ldexp", "double", "scalar", 2),
    ("llvm.fptosi.sat.v4i32.v4f32", "fptosi.sat", "float", "scalar", 4),
    ("__exp_finite", "exp", "double", "scalar", 1),
    ("__lgammaf_r_finite", "lgamma_r", "float", "scalar", 1),
    ("lgammal_r", "lgamma_r", "x86_fp80", "scalar", 1),
    ("gammaf", "lgamma", "float", "scalar", 1),
    ("cexp", "cexp", "double", "pair", 1),
    ("cexpf", "cexp", "float", "vector", 1),
    ("cabsl", "cabs", "x86_fp80", "byval", 1),
    ("__mulsc3", "cmul", "float", "vector result", 1),
    ("__divxc3", "cdiv", "x86_fp80", "pair", 1),
    ("_ZGVdN4v_sin", "sin", "double", "scalar", 4),
    ("_ZGVeN16vv_powf", "pow", "float", "scalar", 16),
    ("__svml_exp24", "exp2", "double", "scalar", 4),
    ("__svml_log10f16", "log10", "float", "scalar", 16),
    ("llgrad.digamma.f32", "digamma", "float", "scalar", 1),
]


@pytest.mark.parametrize(("name", "rule", "format", "shape", "lanes"), LOOKUPS)
def test_lookup(name: str, rule: str, format: str, shape: str, lanes: int) -> None:
    entry = lookup(name)
    assert entry and (entry.rule.name, entry.format, entry.shape, entry.lanes) == (rule, format, shape, lanes)


NOTHING = """fadd cmul lgamma_rf llvm.fmax.f64 llvm.sin llvm.sin.nxv4f32 f _ZGVdM4v_sin _ZGVbN2v_pow _ZGVbN2vvv_sincos
__svml_sin4_mask"""


@pytest.mark.parametrize("name", ["", *NOTHING.split()])
def test_lookup_finds_nothing(name: str) -> None:
    assert lookup(name) is None


def test_instructions() -> None:
    assert instruction("fmul") and not instruction("sin") and not instruction("add")


# Closure under differentiation


NOT_PROMISED = ("polygamma3", "polygamma4")


def test_names_are_closed_three_times() -> None:
    """Whatever three differentiations of a rule call has a rule, or is called by the last only; all can be called."""
    for start in FUNCTIONS.keys() - set(NOT_PROMISED):
        level = {start}
        for _ in range(3):
            level = {name for function in level for name in FUNCTIONS[function].functions()}
        for name in level:
            symbol(name, "double")


def derivative(expr: Expr, rule: Rule, operand: int, memo: dict[Expr, Expr]) -> Expr:
    """d expr / d operand, where expr is over the operands and results of `rule`, by the rules themselves."""
    if expr not in memo:
        memo[expr] = compute_derivative(expr, rule, operand, memo)
    return memo[expr]


ZERO, ONE = term(0), term(1)


def compute_derivative(expr: Expr, rule: Rule, operand: int, memo: dict[Expr, Expr]) -> Expr:
    match expr:
        case Operand(index):
            return ONE if index == operand else ZERO
        case Result(index):
            found = rule.partials[index][operand]
            return ZERO if found is None else found
        case Apply("select", (condition, a, b)):
            inner = [derivative(e, rule, operand, memo) for e in (a, b)]
            return ZERO if inner == [ZERO, ZERO] else select(condition, *inner)
        case Apply(op, args) if op in ALL:
            total = ZERO
            for partial, arg, kind in zip(ALL[op].partials[0], args, ALL[op].operands, strict=True):
                if kind != "float" or partial is None:
                    continue
                if (slope := derivative(arg, rule, operand, memo)) != ZERO:
                    product = partial_at(partial, args, expr) * slope
                    total = product if total == ZERO else total + product
            return total
        case Apply(op, _) if op not in PRIMITIVES:
            raise AssertionError(f"{op} has no rule")
    return ZERO


class Substitute:
    """The algebra of expressions themselves."""

    def const(self, value: object) -> Expr:
        return Const(value)  # type: ignore[arg-type]

    def apply(self, op: str, args: list[Expr]) -> Expr:
        return Apply(op, tuple(args))


def partial_at(partial: Expr, args: tuple[Expr, ...], result: Expr) -> Expr:
    return evaluate(partial, args, [result], Substitute())  # type: ignore[arg-type]


DIFFERENTIABLE = [n for n in ALL if n not in INTEGER_RESULT]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_third_derivatives(name: str) -> None:
    """Differentiated through the rules twice more, the first partial is the third derivative that mpmath finds."""
    rule = ALL[name]
    if name in NOT_PROMISED:
        pytest.skip("only four differentiations of lgamma meet it, and polygamma6 does not exist")
    for i, position in positions(rule)[:1]:
        for j, out in enumerate(rule.results):
            third = rule.partials[j][i] if out.kind == "float" else None
            for _ in range(2):
                third = derivative(third, rule, i, {}) if third is not None else None
            if third is not None:
                check_third(rule, j, position, third)


def check_third(rule: Rule, result: int, position: int, third: Expr) -> None:
    calm = [p for p in sample(rule) if all(isinstance(x, int) or 0.1 < abs(x) < 8 for x in p)][:3]
    assert calm or rule.name not in DOMAINS
    for point in calm:
        with mp.workdps(60):
            exact = [mp.mpf(x) if isinstance(x, float) else x for x in point]
            h = mp.mpf(10) ** -12
            at = [
                values(rule, [*exact[:position], exact[position] + k * h, *exact[position + 1 :]])[result]
                for k in (-2, -1, 1, 2)
            ]
            want = (at[3] - 2 * at[2] + 2 * at[1] - at[0]) / (2 * h**3)
            got = evaluate(third, spread(rule, exact), values(rule, exact), MpAlgebra())
            assert abs(got - want) <= mp.mpf("1e-12") * (1 + abs(want)), (point, got, want)


def test_every_reference_is_a_rule() -> None:
    assert REFERENCES.keys() <= ALL.keys() and DOMAINS.keys() <= ALL.keys()


# Effects


def test_inactive() -> None:
    for name in ["printf", "clock", "rand", "strlen", "omp_get_wtime", "llvm.assume", "floor", "lround", "ilogbf"]:
        found = effects(name)
        assert found and found.inactive, name
    for name in ["llvm.dbg.value", "llvm.lifetime.start.p0", "llvm.expect.i64", "llvm.smax.v4i32", "llvm.stacksave.p0"]:
        found = effects(name)
        assert found and found.inactive, name
    for name in [
        "memcpy",
        "fread",
        "scanf",
        "llvm.memcpy.p0.p0.i64",
        "llvm.vector.reduce.fadd.v4f64",
        "dgemm_",
        "main",
    ]:
        assert effects(name) is None, name


def test_intrinsics_of_x86() -> None:
    for name in ["sse2.movmsk.pd", "sse.comilt.ss", "sse2.cvttsd2si64", "avx.cvt.pd2.dq.256", "rdtsc"]:
        found = effects(f"llvm.x86.{name}")
        assert found and found.inactive, name
    for name in ["sse2.cvtsd2ss", "sse2.cvtpd2ps", "sse3.hadd.pd", "avx512.scalef.pd.512", "ssse3.pshuf.b.128"]:
        assert effects(f"llvm.x86.{name}") is None, name


def test_noreturn() -> None:
    for name in ["exit", "abort", "__assert_fail", "_ZSt20__throw_length_errorPKc", "llvm.trap"]:
        found = effects(name)
        assert found and found.noreturn and found.inactive, name


def test_libm_memory() -> None:
    for name, writes in [
        ("sin", "none"),
        ("llvm.exp.f64", "none"),
        ("modf", "args"),
        ("frexpl", "args"),
        ("sincosf", "args"),
    ]:
        found = effects(name)
        assert found and not found.inactive and (found.reads_memory, found.writes_memory) == ("none", writes), name
    by_value = effects("cexpl")
    assert by_value and by_value.reads_memory == "args"


ALLOCATORS = [
    ("malloc", (0,), False, "malloc"),
    ("calloc", (0, 1), True, "malloc"),
    ("aligned_alloc", (1,), False, "malloc"),
    ("posix_memalign", (2,), False, "malloc"),
    ("realloc", (1,), False, "malloc"),
    ("_Znwm", (0,), False, "new"),
    ("_ZnamSt11align_val_tRKSt9nothrow_t", (0,), False, "new[]"),
]


@pytest.mark.parametrize(("name", "size", "zeroed", "family"), ALLOCATORS)
def test_allocators(name: str, size: tuple[int, ...], zeroed: bool, family: str) -> None:
    found = effects(name)
    assert found and found.allocator
    assert (found.allocator.size, found.allocator.zeroed, found.allocator.family) == (size, zeroed, family)
    assert (found.allocator.moves == 0) == (name == "realloc")
    assert found.allocator.place == (0 if name == "posix_memalign" else "return")


@pytest.mark.parametrize(
    ("name", "family"), [("free", "malloc"), ("_ZdlPv", "new"), ("_ZdlPvm", "new"), ("_ZdaPv", "new[]")]
)
def test_deallocators(name: str, family: str) -> None:
    found = effects(name)
    assert found and found.deallocator == Deallocator(0, family)


# The page


def test_page_is_current() -> None:
    """Regenerate with `python -m llgrad.rules.document > docs/rules.md`."""
    stored = pathlib.Path(__file__).parents[2] / "docs" / "rules.md"
    assert stored.read_text(encoding="utf-8") == page()
