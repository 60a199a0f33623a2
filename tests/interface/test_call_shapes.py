"""Functions that llgrad knows by their names, declared and called in another shape than these have.

C without prototypes, calling conventions of other machines, and functions of a program's own bring such calls about.
Each is differentiated right or refused by name; what is refused has no derivative that anybody could check.
"""

from __future__ import annotations

import ctypes
import math
from itertools import chain

import pytest

from llgrad.analysis.call_shapes import fits
from llgrad.errors import LlgradError, NoRuleError
from llgrad.ir.types import DOUBLE, FLOAT, I32, I64, PTR, VOID, ArrayType, FloatType, StructType, VectorType
from llgrad.llvm import LLVMModule
from llgrad.models.prototypes import PROTOTYPES
from llgrad.programs.program import optimise_program
from llgrad.rules import library

CABS = """declare double @cabs([2 x double])
define double @f(double %x) {
  %z0 = insertvalue [2 x double] poison, double %x, 0
  %z1 = insertvalue [2 x double] %z0, double 4.0, 1
  %r = call double @cabs([2 x double] %z1)
  ret double %r
}
"""
PAIRS = {
    "[2 x double]": ("insertvalue", "[2 x double]"), "{ double, double }": ("insertvalue", "{ double, double }"),
    "<2 x double>": ("insertelement", "<2 x double>"),
}  # fmt: skip
GIVEN = ("", "double", "float", "x86_fp80", "i64", "ptr", "double, double", "double, i32", "double, ptr", "i32, double",
         "double, double, double, double", "ptr, ptr", *PAIRS, "<2 x float>", "...")  # fmt: skip
RESULTS = ("double", "void", "{ double, double }", "<2 x float>", "x86_fp80", "i32")


def asking(function: str, mode: str) -> LLVMModule:
    """A program with `d`, the derivative of `f`."""
    passed = "double %x, double 1.0" if mode == "fwddiff" else "double %x"
    return LLVMModule.from_text(f"""{function}
declare double @__enzyme_{mode}(...)
define double @d(double %x) {{
  %d = call double (...) @__enzyme_{mode}(ptr @f, {passed})
  ret double %d
}}
""")


def call_of(name: str, given: str, result: str) -> str:
    """A function that calls `name` with its argument, packed and converted into `given`."""
    lines, arguments = [], []
    whole_type = given in PAIRS or given.startswith("<")
    types = [given] if whole_type else [t for t in given.split(", ") if t not in ("", "...")]
    for n, t in enumerate(types):
        value = f"%a{n}"
        if t in PAIRS:
            opcode, whole = PAIRS[t]
            at = "i32 0" if opcode == "insertelement" else "0"
            lines.append(f"{value} = {opcode} {whole} zeroinitializer, double %x, {at}")
        elif t == "<2 x float>":
            lines.append("%n = fptrunc double %x to float")
            lines.append(f"{value} = insertelement {t} zeroinitializer, float %n, i32 0")
        else:
            made = {"double": "fadd double %x, 0.0", "float": "fptrunc double %x to float",
                    "x86_fp80": "fpext double %x to x86_fp80", "ptr": "alloca double, i32 4"}  # fmt: skip
            lines.append(f"{value} = {made.get(t, f'fptosi double %x to {t}')}")
            lines += [f"store double %x, ptr {value}"] if t == "ptr" else []
        arguments.append(f"{t} {value}")
    called = f"{result} (...)" if given == "..." else result
    arguments = ["double %x"] if given == "..." else arguments
    get = {"{ double, double }": f"extractvalue {result} %r, 0", "x86_fp80": "fptrunc x86_fp80 %r to double",
           "<2 x float>": f"bitcast {result} %r to double", "i32": "sitofp i32 %r to double"}  # fmt: skip
    if result == "void":
        lines.append(f"call void {'(...) ' * (given == '...')}@{name}({', '.join(arguments)})")
        lines.append("%y = fmul double %x, %x")
    else:
        lines.append(f"%r = call {called} @{name}({', '.join(arguments)})")
        lines.append(f"%y = {get.get(result, 'fadd double %r, 0.0')}")
    body = "\n  ".join([*lines, "ret double %y"])
    return f"declare {result} @{name}({given})\ndefine double @f(double %x) {{\n  {body}\n}}\n"


def names() -> list[str]:
    """A name of each family of rules, and of each prototype."""
    families = {e.rule.name: n for n, e in reversed(library._table().items()) if e.format == "double" and "." not in n}
    return sorted({*families.values(), "cabsf", "cexpl", "sinf", "powl", "__muldc3", *PROTOTYPES})


@pytest.mark.parametrize("name", names())
def test_other_shapes_are_refused_by_name(name: str) -> None:
    """No traceback and no invalid IR; and no derivative through a call that does not fit its rule.

    (A derivative of calls that no active value reaches, or whose result is an integer, is that of what is around.)
    """
    for n, (given, result) in enumerate((g, r) for g in GIVEN for r in RESULTS):
        if (n + len(name)) % 19:  # each name meets others of them
            continue
        function = call_of(name, given, result)
        try:
            LLVMModule.from_text(function)
        except LlgradError:
            continue  # an intrinsic or so: LLVM's own types
        try:
            made = optimise_program(asking(function, ("autodiff", "fwddiff")[n % 2]), 0).text()
        except LlgradError as error:
            assert error.code not in ("verify", "internal", "parse"), (function, str(error))
            continue
        entry = library.lookup(name)
        if entry is not None and not entry.rule.inactive:
            passes = result in ("void", "i32") or given in ("", "i64")  # no active value through the call
            assert passes or _is_right(name, LLVMModule.from_text(function)), (function, made)


def _is_right(name: str, module: LLVMModule) -> bool:
    """Is the one call in the module of the type of the function that is known by this name?"""
    from llgrad.ir.parse import parse
    from llgrad.ir.values import Call

    calls = (i for i in parse(module.text()).function("f").instructions() if isinstance(i, Call))
    call = next(calls)
    return fits(name, call.function_type.result, [a.type for a in call.arguments])


@pytest.mark.parametrize("mode", ["autodiff", "fwddiff"])
def test_an_array_for_a_complex_number_is_refused(mode: str) -> None:
    """LLVM rejected what llgrad wrote: a division of arrays."""
    with pytest.raises(
        NoRuleError,
        match=r"the call of cabs, in the derivative of f \[no-rule\]\n  because: it is called as double \(\[2 x",
    ):
        optimise_program(asking(CABS, mode))


def test_calls_without_prototype() -> None:
    """`double sin();` of old C: the argument says what is called; the derivative is that of the function."""
    function = """declare double @sin(...)
define double @f(double %x) {
  %r = call double (double, ...) @sin(double %x)
  ret double %r
}
"""
    made = optimise_program(asking(function, "autodiff")).text()
    assert "llgrad.other" not in made
    assert run(made, 0.7) == pytest.approx(math.cos(0.7), rel=1e-14)


def run(text: str, x: float) -> float:
    """`d(x)` in this process."""
    import llvmlite.binding as llvm

    from llgrad.llvm import target

    module = llvm.parse_assembly(text)
    engine = llvm.create_mcjit_compiler(module, target.target_machine())
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(engine.get_function_address("d"))
    return float(function(x))


def test_inactive_calls_keep_their_names() -> None:
    """A function of the program's own by a name of C's is called as it is, where no active value reaches it."""
    function = """declare i32 @index(i32)
declare i32 @puts(double)
define double @f(double %x) {
  %n = call i32 @puts(double 2.0)
  %y = sitofp i32 %n to double
  %r = fmul double %x, %y
  ret double %r
}
"""
    made = optimise_program(asking(function, "fwddiff")).text()
    assert "call i32 @puts(double" in made and "llgrad.other" not in made


def test_what_fits() -> None:
    complex_number = StructType((DOUBLE, DOUBLE))
    assert fits("sin", DOUBLE, [DOUBLE]) and not fits("sin", FLOAT, [FLOAT]) and not fits("sin", DOUBLE, [])
    assert fits("cabs", DOUBLE, [DOUBLE, DOUBLE]) and not fits("cabs", DOUBLE, [ArrayType(DOUBLE, 2)])
    assert fits("cexp", complex_number, [DOUBLE] * 2) and not fits("cexp", complex_number, [complex_number])
    assert fits("cexpf", VectorType(FLOAT, 2), [VectorType(FLOAT, 2)])
    assert not fits("cexpf", complex_number, [DOUBLE] * 2)
    assert fits("cabsl", FloatType("x86_fp80"), [PTR]) and fits("frexp", DOUBLE, [DOUBLE, PTR])
    assert fits("ldexp", DOUBLE, [DOUBLE, I32]) and not fits("ldexp", DOUBLE, [DOUBLE, DOUBLE])
    assert fits("printf", I32, [PTR, DOUBLE, I64]) and not fits("printf", I32, [DOUBLE])
    assert fits("malloc", PTR, [I64]) and not fits("malloc", I32, [I32]) and fits("free", VOID, [PTR])
    assert fits("anything", VOID, []) and fits("memcpy", VOID, [PTR, PTR, I64])


def test_prototypes_are_of_known_names() -> None:
    """Each has effects, or a body, or is known in another way; none has a rule, which says the type itself."""
    assert not [name for name in PROTOTYPES if library.lookup(name) is not None]
    assert set(chain.from_iterable(PROTOTYPES.values())) <= set("idpflv.")
