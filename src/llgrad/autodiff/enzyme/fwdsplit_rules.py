"""The user's rules for `__enzyme_fwdsplit` (`__enzyme_register_splitderivative`), called where `fwdsplit` asks for
them.

`augmented` takes the function's arguments with shadows behind pointers and returns its tape, its value, or {tape,
value}; `forward` takes arguments with their tangents or shadows, and the tape; it returns the tangent, or {value,
tangent}. While the function runs there are no shadows yet: a pointer is passed as its own, and an augmented sweep that
looks at one is refused. So are functions of other than numbers and pointers.
"""

from __future__ import annotations

from msgspec import Struct

from llgrad.autodiff.requests.registrations import PREFIX
from llgrad.ir.types import VOID, FloatType, IntType, PointerType
from llgrad.ir.values import Function
from llgrad.llvm.assembly import spelt


class SplitRule(Struct, frozen=True):
    """The rule of `f`; `returned` is the type of what the augmented sweep returns, `tape` whether that has a tape."""

    f: Function
    augmented: Function
    forward: Function
    returned: str
    tape: bool

    @property
    def value(self) -> str:
        return str(self.f.function_type.result)

    @property
    def name(self) -> str:
        return f"llgrad.replay.call.{self.f.name}"

    def text(self) -> str:
        """The function that stands for `f` in a replay, and its rule."""
        plain = [f"{a.type} %a{n}" for n, a in enumerate(self.f.arguments)]
        void, kept = self.value == "void", ["i64 %kept"] if self.tape else []
        own = ", ".join([*plain, *kept, *([] if void else [f"{self.value} %v"])])
        both = [x for n, a in enumerate(self.f.arguments) for x in self._with_tangent(n, str(a.type))]
        taken = ", ".join([*both, *kept, *([] if void else [f"{self.value} %v, {self.value} %unused"])])
        given = ", ".join([*both, *(["ptr %tape"] if self._takes_tape() else [])])
        result = str(self.forward.function_type.result)
        returned = "void" if void else f"{{ {self.value}, {self.value} }}"
        lines = ["  %tape = inttoptr i64 %kept to ptr"] if self.tape else []
        call = f"call {result} {spelt(self.forward.name)}({given})"
        if void:
            lines += [f"  {call}", "  ret void"]
        else:
            lines += [
                f"  %r = {call}",
                f"  %t = extractvalue {result} %r, 1" if result == returned else
                f"  %t = select i1 true, {self.value} %r, {self.value} %r",
                f"  %x = insertvalue {returned} poison, {self.value} %v, 0",
                f"  %y = insertvalue {returned} %x, {self.value} %t, 1",
                f"  ret {returned} %y",
            ]  # fmt: skip
        body = "\n".join(lines)
        head, tangent = spelt(self.name), spelt(f"{self.name}.tangent")
        return f"""
define weak {self.value} {head}({own}) {{
  %logged = load i1, ptr @llgrad.replay.logged
  br i1 %logged, label %log, label %memory
log:
  ret {self.value}{'' if void else ' %v'}
memory:
  {'' if void else '%r = '}call {self.value} {spelt(self.f.name)}({', '.join(plain)})
  ret {self.value}{'' if void else ' %r'}
}}
define {returned} {tangent}({taken}) {{
{body}
}}
{spelt(f'{PREFIX}register_derivative.call.{self.f.name}')} = global [2 x ptr] [ptr {head}, ptr {tangent}]
"""

    def _with_tangent(self, n: int, t: str) -> list[str]:
        integer = isinstance(self.f.arguments[n].type, IntType)
        return [f"{t} %a{n}"] if integer else [f"{t} %a{n}", f"{t} %d{n}"]

    def _takes_tape(self) -> bool:
        integers = sum(isinstance(a.type, IntType) for a in self.f.arguments)
        return self.tape and len(self.forward.arguments) > 2 * len(self.f.arguments) - integers


def split_rule(f: Function, augmented: Function, forward: Function) -> SplitRule | None:
    """The rule, or None where it cannot be used."""
    value, returned = str(f.function_type.result), str(augmented.function_type.result)
    scalars = all(isinstance(a.type, FloatType | IntType | PointerType) for a in f.arguments)
    if not scalars or not (f.function_type.result == VOID or isinstance(f.function_type.result, FloatType)):
        return None
    shapes = {"void": False, "ptr": True, value: False, f"{{ ptr, {value} }}": True}
    pointers = sum(isinstance(a.type, PointerType) for a in f.arguments)
    if returned not in shapes or len(augmented.arguments) != len(f.arguments) + pointers or _looks(f, augmented):
        return None
    if str(forward.function_type.result) not in (value, f"{{ {value}, {value} }}"):
        return None
    return SplitRule(f, augmented, forward, returned, shapes[returned])


def _looks(f: Function, augmented: Function) -> bool:
    """Does the augmented sweep use the shadow of a pointer?"""
    at = 0
    for a in f.arguments:
        at += 1
        if isinstance(a.type, PointerType):
            if augmented.is_declaration or (augmented.blocks and augmented.arguments[at].users):
                return True
            at += 1
    return False
