"""Vector maths: loops of exp and erf become calls of libmvec, and stay right; remarks tell."""

from __future__ import annotations

import ctypes
import math

import pytest

from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import Engine, LLVMModule, emit_assembly, vectorisation_remarks
from llgrad.llvm.libraries import has_vector_maths
from llgrad.transforms.optimise import vector_math
from llgrad.transforms.optimise.vector_math import variants

LOOP = """
declare double @llvm.exp.f64(double)
declare double @erf(double)

define void @apply(ptr noalias %out, ptr noalias %in, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %source = getelementptr double, ptr %in, i64 %i
  %x = load double, ptr %source
  %e = call double @llvm.exp.f64(double %x)
  %f = call double @erf(double %x)
  %y = fadd double %e, %f
  %place = getelementptr double, ptr %out, i64 %i
  store double %y, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}
"""

needs_libmvec = pytest.mark.skipif(not has_vector_maths("_ZGVbN2v_exp"), reason="no libmvec on this machine")
Apply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def with_vector_maths(text: str, cpu: str = "native") -> str:
    module = parse(text)
    return write(module) if vector_math.with_vector_maths(module, cpu) else text


def vectorised(text: str, cpu: str = "native") -> LLVMModule:
    module = LLVMModule.from_text(text)
    module.replace_text(with_vector_maths(module.text(), cpu))
    module.optimise(3, vectorize=True, cpu=cpu)
    return module


@needs_libmvec
@pytest.mark.parametrize(("cpu", "symbol"), [("x86-64", "_ZGVbN2v_"), ("x86-64-v3", "_ZGVdN4v_")])
def test_machine_code_calls_the_widest_version(cpu: str, symbol: str) -> None:
    assembly = emit_assembly(vectorised(LOOP, cpu), cpu=cpu)
    assert f"{symbol}exp" in assembly and f"{symbol}erf" in assembly


@needs_libmvec
def test_results_are_within_four_ulp() -> None:
    engine = Engine([vectorised(LOOP)])
    count = 37
    data = (ctypes.c_double * count)(*[i / 7 for i in range(count)])
    out = (ctypes.c_double * count)()
    Apply(engine.address("apply"))(out, data, count)
    for x, y in zip(data, out, strict=True):
        expected = math.exp(x) + math.erf(x)
        assert abs(y - expected) <= 5 * math.ulp(expected)


def test_without_variants_nothing_vectorises() -> None:
    module = LLVMModule.from_text(LOOP)
    module.optimise(3, vectorize=True)
    assert "_ZGV" not in emit_assembly(module)


@needs_libmvec
def test_variants_of_a_cpu() -> None:
    assert [v.symbol for v in variants("exp", "x86-64-v4")] == ["_ZGVbN2v_exp", "_ZGVdN4v_exp", "_ZGVeN8v_exp"]
    assert [v.symbol for v in variants("llvm.pow.f32", "x86-64")] == ["_ZGVbN4vv_powf"]
    assert variants("lgamma") == variants("llvm.fma.f64") == variants("floorf") == []


def test_own_functions_and_nobuiltin_calls_stay_scalar() -> None:
    own = LOOP.replace("declare double @erf(double)", "define double @erf(double %x) {\n  ret double %x\n}")
    assert "_erf" not in with_vector_maths(LLVMModule.from_text(own).text())
    barred = LLVMModule.from_text(LOOP.replace("@erf(double %x)\n  %y", "@erf(double %x) nobuiltin\n  %y")).text()
    assert "_erf" not in with_vector_maths(barred)


@needs_libmvec
def test_existing_used_lists_are_kept_and_twice_is_once() -> None:
    text = '@k = global i32 1\n@llvm.compiler.used = appending global [1 x ptr] [ptr @k], section "llvm.metadata"\n'
    module = LLVMModule.from_text(text + LOOP)
    once = with_vector_maths(module.text(), "x86-64-v3")
    module.replace_text(once)
    assert "ptr @k, ptr @_ZGV" in module.text()
    assert with_vector_maths(module.text(), "x86-64-v3") == module.text()


def test_calls_with_flags_attributes_and_metadata() -> None:
    text = (
        "declare float @llvm.sin.f32(float)\ndefine float @f(float %x) {\n"
        "  %y = tail call nnan contract float @llvm.sin.f32(float noundef %x) #0, !note !0\n  ret float %y\n}\n"
        "attributes #0 = { nounwind }\n!0 = !{}\n"
    )
    module = LLVMModule.from_text(text)
    module.replace_text(with_vector_maths(module.text(), "x86-64"))
    if has_vector_maths("_ZGVbN4v_sinf"):
        assert '"vector-function-abi-variant"="_ZGV_LLVM_N4v_llvm.sin.f32(_ZGVbN4v_sinf)"' in module.text()
    assert "!note" in module.text()


def test_remarks_tell_what_was_vectorised_and_why_not() -> None:
    done = vectorisation_remarks(LOOP.replace("call double @llvm.exp.f64(double %x)", "fadd double %x, 1.0")
                                 .replace("call double @erf(double %x)", "fmul double %x, 2.0"))  # fmt: skip
    assert any(remark.vectorised for remark in done)
    missed = vectorisation_remarks(LOOP)
    assert missed and not any(remark.vectorised for remark in missed)
