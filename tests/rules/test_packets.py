"""Functions of Eigen's packets compute what their names say."""

from __future__ import annotations

import pytest

from llgrad.llvm import LLVMModule
from llgrad.models.eigen import known

BODY = """define linkonce_odr noundef {t} @_ZN5Eigen8internal{n}{name}IDv{c}_{e}EET_S3_({t} noundef %0) #16 {{
  %2 = fadd {t} %0, %0
  ret {t} %2
}}
attributes #16 = {{ nounwind }}
"""


def made(name: str, count: int, element: str) -> str:
    t = f"<{count} x {element}>"
    return LLVMModule.from_text(known(BODY.format(t=t, n=len(name), name=name, c=count, e=element[0]))).text()


@pytest.mark.parametrize(
    ("name", "count", "element", "called"),
    [("plog_double", 2, "double", "log.v2f64"), ("pexp_float", 8, "float", "exp.v8f32")],
)  # fmt: skip
def test_bodies_are_the_functions(name: str, count: int, element: str, called: str) -> None:
    text = made(name, count, element)
    assert f"call <{count} x {element}> @llvm.{called}(" in text and "fadd" not in text


def test_packets_are_passed_by_reference_too() -> None:
    text = BODY.format(t="<4 x float>", n=10, name="psin_float", c=4, e="f")
    text = text.replace("EET_S3_(<4 x float> noundef %0", "EET_RKS3_(ptr noundef align 16 dereferenceable(16) %p")
    text = text.replace("%0, %0", "zeroinitializer, zeroinitializer").replace("%2", "%s")
    found = LLVMModule.from_text(known(text)).text()
    assert "%x = load <4 x float>, ptr %p" in found and "call <4 x float> @llvm.sin.v4f32(<4 x float> %x)" in found


@pytest.mark.parametrize(("name", "element"), [("plog_float", "double"), ("pround_double", "double")])
def test_others_keep_theirs(name: str, element: str) -> None:
    assert "fadd" in made(name, 2, element)
