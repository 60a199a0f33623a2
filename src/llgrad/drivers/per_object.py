"""Derivatives in the object of their own unit: `llgrad cc -c --derivative f`.

The unit is given three functions for each such f, in the terms of the user's rules
(`autodiff.custom_rules.custom_rules`): a forward sweep that leaves a tape, the reverse sweep, and forward mode, written
as calls of `__enzyme_…` that are resolved here, with runtime activity, because the arguments of a later call may be
constant. The object's `.llgrad` section says only that f has them: there it is a weak function that calls another one,
of which is known what LLVM found out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from llgrad.autodiff.custom_rules.custom_rules import OWN
from llgrad.autodiff.enzyme.coerced_arguments import Together
from llgrad.autodiff.requests.registrations import caller
from llgrad.errors import UnknownNameError, UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import VOID, FloatType, IntType, PointerType
from llgrad.ir.values import Argument, Function
from llgrad.ir.write import write_function
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import spelt
from llgrad.llvm.text import unblock
from llgrad.transforms.canonical.pure_libm import pure_libm

_MARKERS = ("enzyme_dup", "enzyme_out", "enzyme_const", "enzyme_runtime_activity", "enzyme_primal_return")

_FACTS = ("memory", "nofree", "nounwind", "willreturn", "nosync", "norecurse")


class Apart(Struct):
    """What is added to a unit (IR), and what other units see of it: a module."""

    added: str
    seen: str


def derivatives_of(text: str, names: Sequence[str], wrt: Sequence[str] | None) -> Apart:
    """The derivatives of the functions `names` of a unit, by the parameters `wrt` (all that may be active)."""
    module = parse(text)
    made = [_Rule(_found(module, name), wrt) for name in dict.fromkeys(names)]
    known = list(dict.fromkeys(a.name for rule in made for a in rule.f.arguments))
    if unknown := [w for w in wrt or () if w not in known]:
        raise UnknownNameError(
            f"--wrt {unknown[0]} names no parameter of {', '.join(rule.f.name for rule in made)}",
            fix=f"there are {', '.join(known)}",
        )
    there = {g for g in _MARKERS if g in module.globals}
    markers = [f"@{m} = external global i32" for m in _MARKERS if m not in there]
    texts = [rule.text() for rule in made]
    asked = [line for rule in made for line in rule.asked]
    told = LLVMModule.from_text(unblock(text))
    pure_libm(told)
    told.optimise(2)
    optimised = parse(told.text())
    seen = [rule.seen(optimised.function(rule.f.name)) for rule in made]
    return Apart("\n".join([*markers, *asked, *texts]), "\n".join(seen))


def _declaration(f: Function, name: str) -> str:
    """A function of an optimised unit as a declaration under another name, with what LLVM found out about it."""
    declared = Function(name, f.function_type)
    declared.calling_convention, declared.result_attributes = f.calling_convention, f.result_attributes
    declared.attributes = tuple(a for a in f.attributes if a.name in _FACTS)
    for new, old in zip(declared.arguments, f.arguments, strict=True):
        new.attributes = old.attributes
    return write_function(declared)


def _found(module: Module, name: str) -> Function:
    defined = {f.name: f for f in module.functions if not f.is_declaration}
    mangled = [f for symbol, f in defined.items() if re.match(rf"_Z(N.*)?{len(name)}{re.escape(name)}\D", f"{symbol} ")]
    found = [defined[name]] if name in defined else mangled
    if len(found) != 1:
        raise UnknownNameError(
            f"--derivative {name} names {'several functions' if found else 'no function that is defined here'}",
            cause=", ".join(f.name for f in found) or "", fix="give the linker's name of a function of this file",
        )  # fmt: skip
    f = found[0]
    structs = any(a.attribute("byval") or a.attribute("sret") for a in f.arguments)
    structs = structs or any(len(one.parameters) > 1 for one in Together(module, f, None).wholes(f.arguments))
    if f.linkage in ("internal", "private") or structs or not (_plain(f) and not f.function_type.vararg):
        said = f"its type is {f.function_type}" + (", of structs by value" if structs else "")
        raise UnsupportedError(
            f"--derivative {name}: a derivative that other units call takes and returns numbers and pointers",
            cause="it is static" if f.linkage in ("internal", "private") else said,
            fix="leave the option out: the derivative is made when the program is linked",
        )  # fmt: skip
    return f


def _plain(f: Function) -> bool:
    scalars = all(isinstance(a.type, FloatType | IntType | PointerType) for a in f.arguments)
    return scalars and (f.function_type.result == VOID or isinstance(f.function_type.result, FloatType))


class _Rule(Struct):
    """The three functions for `f`."""

    f: Function
    wrt: Sequence[str] | None
    asked: list[str] = field(default_factory=list)

    def text(self) -> str:
        value = write_function(caller(self.f, self.f, f"{OWN}value_{self.f.name}"))
        return "\n".join([value, self._augmented(), self._reverse(), self._forward()])

    def seen(self, optimised: Function) -> str:
        name = self.f.name
        augmented, reverse, forward = (spelt(f"{OWN}{word}_{name}") for word in ("augmented", "reverse", "forward"))
        gradient, tangent = (spelt(f"__enzyme_register_{word}_{name}") for word in ("gradient", "derivative"))
        f, value = spelt(name), f"{OWN}value_{name}"
        known = caller(self.f, Function(value, self.f.function_type), name, self._constant())
        known.linkage = "weak"
        return "\n".join([
            write_function(known),
            _declaration(optimised, value),
            *(f"declare {head}" for head in self._heads().values()),
            f"{gradient} = global [3 x ptr] [ptr {f}, ptr {augmented}, ptr {reverse}]",
            f"{tangent} = global [2 x ptr] [ptr {f}, ptr {forward}]",
        ])  # fmt: skip

    @property
    def value(self) -> str:
        return str(self.f.function_type.result)

    def _heads(self) -> dict[str, str]:
        """What the three return, are called and take, as IR."""
        void, seeded = self.value == "void", isinstance(self.f.function_type.result, FloatType)
        floats = [str(a.type) for a in self.f.arguments if isinstance(a.type, FloatType)]
        behind = ", ".join(self._parameters(False))
        back = ", ".join([*self._parameters(False), *([f"{self.value} %seed"] if seeded else []), "ptr %tape"])
        results = {
            "augmented": "ptr" if void else f"{{ ptr, {self.value} }}",
            "reverse": "void" if not floats else floats[0] if len(floats) == 1 else f"{{ {', '.join(floats)} }}",
            "forward": f"{{ {self.value}, {self.value} }}" if seeded else self.value,
        }
        taken = {"augmented": behind, "reverse": back, "forward": ", ".join(self._parameters(True))}
        return {w: f"{results[w]} {spelt(f'{OWN}{w}_{self.f.name}')}({taken[w]})" for w in results}

    def _parameters(self, tangents: bool) -> Iterator[str]:
        for n, a in enumerate(self.f.arguments):
            yield f"{a.type} %a{n}"
            if isinstance(a.type, PointerType) or (tangents and isinstance(a.type, FloatType)):
                yield f"{a.type} %d{n}"

    def _active(self, a: Argument) -> bool:
        return not isinstance(a.type, IntType) and (self.wrt is None or a.name in self.wrt)

    def _constant(self) -> list[int]:
        """The parameters that might be active, and have no derivative."""
        return [a.index for a in self.f.arguments if not isinstance(a.type, IntType) and not self._active(a)]

    def _passed(self, forward: bool) -> Iterator[str]:
        """The function, markers and arguments of the call that is resolved here."""
        yield f"ptr {spelt(self.f.name)}"
        yield "ptr @enzyme_runtime_activity"
        for n, a in enumerate(self.f.arguments):
            dup = isinstance(a.type, PointerType) or forward
            if not self._active(a):
                yield f"ptr @enzyme_const, {a.type} %a{n}"
            elif dup:
                yield f"ptr @enzyme_dup, {a.type} %a{n}, {a.type} %d{n}"
            else:
                yield f"ptr @enzyme_out, {a.type} %a{n}"

    def _call(self, word: str, result: str, given: Sequence[str]) -> str:
        callee = spelt(f"__enzyme_{word}_{self.f.name}")
        self.asked.append(f"declare {result} {callee}(...)")
        return f"call {result} (...) {callee}({', '.join(given)})"

    def _augmented(self) -> str:
        result = "ptr" if self.value == "void" else f"{{ ptr, {self.value} }}"
        call = self._call("augmentfwd", result, list(self._passed(False)))
        return f"define {self._heads()['augmented']} {{\n  %r = {call}\n  ret {result} %r\n}}"

    def _reverse(self) -> str:
        floats = [a for a in self.f.arguments if isinstance(a.type, FloatType)]
        wanted = [a for a in floats if self._active(a)]
        seed = [f"{self.value} %seed"] if isinstance(self.f.function_type.result, FloatType) else []
        types = [str(a.type) for a in wanted]
        result = "void" if not wanted else types[0] if len(wanted) == 1 else f"{{ {', '.join(types)} }}"
        call = self._call("reverse", result, [*self._passed(False), *seed, "ptr %tape"])
        lines = [f"{'%r = ' if wanted else ''}{call}"]
        given = []
        for a in floats:
            if a not in wanted:
                given.append((str(a.type), "zeroinitializer"))
            elif len(wanted) == 1:
                given.append((str(a.type), "%r"))
            else:
                n = wanted.index(a)
                lines.append(f"%x{n} = extractvalue {result} %r, {n}")
                given.append((str(a.type), f"%x{n}"))
        if len(given) < 2:
            lines.append(f"ret {given[0][0]} {given[0][1]}" if given else "ret void")
        else:
            whole, last = f"{{ {', '.join(t for t, _ in given)} }}", "poison"
            for n, (t, name) in enumerate(given):
                lines.append(f"%w{n} = insertvalue {whole} {last}, {t} {name}, {n}")
                last = f"%w{n}"
            lines.append(f"ret {whole} {last}")
        return "\n  ".join([f"define {self._heads()['reverse']} {{", *lines]) + "\n}"

    def _forward(self) -> str:
        seeded = isinstance(self.f.function_type.result, FloatType)
        result = f"{{ {self.value}, {self.value} }}" if seeded else self.value
        value = ["ptr @enzyme_primal_return"] if seeded else []
        f, *rest = self._passed(True)
        call = self._call("fwddiff", result, [f, *value, *rest])
        lines = [call, "ret void"] if result == "void" else [f"%r = {call}", f"ret {result} %r"]
        return "\n  ".join([f"define {self._heads()['forward']} {{", *lines]) + "\n}"
