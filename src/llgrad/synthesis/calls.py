"""Calls of `__enzyme_autodiff` and `__enzyme_fwddiff` in a program, read into requests and replaced.

`read(module)` finds them, before anything was optimised: names are recognised as a substring; the first argument is the
function; then come markers (the value or the address of a global called `enzyme_const`, `enzyme_dup`,
`enzyme_dupnoneed`, `enzyme_out`, also spelt `diffe_…`, or a metadata string) and the arguments in order. Without a
marker: reverse: float → out, pointer → dup, integer → const; forward: float and pointer → dup. About the call:
`enzyme_primal_return`, `enzyme_const_return`, `enzyme_noret`. Any other `__enzyme_…` or `enzyme_…` is refused by name.

`replace(module, site, wrapper)` makes the call one of a wrapper, whose IR `wrapper_text` gives: it owns the tape's
arena, converts what C's default promotions changed, and returns the adjoints as the caller declared them (a scalar, a
struct in registers, or through `sret`). Limits: arguments by value must be scalars or pointers; one arena a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llgrad.errors import LlgradError, Span, UnknownNameError, UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.types import PTR, VOID, DataLayout, FloatType, FunctionType, IntType, PointerType, StructType, Type
from llgrad.ir.values import (
    Alias,
    AnyValue,
    Call,
    ConstExpr,
    Function,
    GlobalVariable,
    Load,
    MetadataValue,
    replace_uses,
)
from llgrad.synthesis.request import Act, Mode, Request

PREFIX = "__enzyme_"
_MODES = {"__enzyme_autodiff": Mode.COMBINED, "__enzyme_fwddiff": Mode.FORWARD}
_ACTS = {
    "enzyme_const": Act.CONST, "enzyme_dup": Act.DUP, "enzyme_dupnoneed": Act.DUPNONEED, "enzyme_out": Act.OUT,
}  # fmt: skip
_OF_CALL = ("enzyme_primal_return", "enzyme_const_return", "enzyme_noret")
_MARKERS = sorted((*_ACTS, *_OF_CALL), key=len, reverse=True)
# Markers of Enzyme that are not served: found by name, so that they are never taken for arguments.
_OTHERS = (
    "enzyme_width", "enzyme_dupv", "enzyme_dupnoneedv", "enzyme_vector", "enzyme_scalar", "enzyme_interleave",
    "enzyme_not_overwritten", "enzyme_byref", "enzyme_active_return", "enzyme_dup_return", "enzyme_runtime_activity",
    "enzyme_strong_zero", "enzyme_nofree", "enzyme_allocated", "enzyme_tape",
)  # fmt: skip
_ONES = {"half": "0xH3C00", "bfloat": "0xR3F80", "x86_fp80": "0xK3FFF8000000000000000"}


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call to replace: what it asks for, and the values it passes, shadows after their primal values."""

    call: Call
    function: Function
    request: Request
    values: tuple[AnyValue, ...]
    hidden_result: bool  # the result goes through a pointer, the call's first argument


# --- reading -------------------------------------------------------------------------------------------------------


def read(module: Module) -> list[CallSite]:
    """All calls that ask for a derivative, in order."""
    sites = []
    for f in module.functions:
        for i in f.instructions():
            if isinstance(i, Call) and (called := i.called_function) is not None and PREFIX in called.name:
                sites.append(_Reader(module, i, called.name).site())
    return sites


class _Reader:
    """Reads one call."""

    def __init__(self, module: Module, call: Call, name: str) -> None:
        self.module, self.call, self.span = module, call, module.span(call)
        self.rest = list(call.arguments)
        self.hidden = any(a.name == "sret" for a in call.argument_attributes[0]) if self.rest else False
        mode = next((m for prefix, m in _MODES.items() if prefix in name), None)
        if mode is None:
            raise self._unsupported(f"{name} is not supported", "use __enzyme_autodiff or __enzyme_fwddiff")
        self.mode, self.name = mode, name

    def site(self) -> CallSite:
        if self.hidden:
            del self.rest[0]
        function = self._function()
        acts: list[Act] = []
        values: list[AnyValue] = []
        about: set[str] = set()
        for a in function.arguments:
            act = self._act(about, a.type)
            self._check(act, a.type, a.name)
            acts.append(act)
            values.append(self._next(f"argument {a.name}"))
            if act in (Act.DUP, Act.DUPNONEED):
                values.append(self._next(f"the shadow of argument {a.name}"))
        while self.rest and (marker := self._marker(self.rest[0])) in _OF_CALL:
            about.add(str(marker))
            del self.rest[0]
        if self.rest:
            raise self._unsupported(
                f"{self.name} is called with {len(self.rest)} arguments too many for {function.name}",
                "check markers: enzyme_dup takes a value and its shadow",
            )
        primal = "enzyme_primal_return" in about
        request = Request(function.name, self.mode, tuple(acts), self._result(function, about), primal)
        return CallSite(self.call, function, request, tuple(values), self.hidden)

    def _function(self) -> Function:
        v = self._next("the function")
        while isinstance(v, ConstExpr | Alias):
            v = v.operands[0] if isinstance(v, ConstExpr) else v.aliasee
        if not isinstance(v, Function):
            raise self._unsupported(
                f"the first argument of {self.name} is no function that is known when it is compiled",
                "pass the function itself",
            )
        if v.is_declaration:
            raise UnknownNameError(
                f"{self.name} differentiates {v.name}, which has no body here", span=self.span,
                fix="compile and link the file that defines it into the module",
            )  # fmt: skip
        return v

    def _next(self, what: str) -> AnyValue:
        if not self.rest:
            raise self._unsupported(f"{self.name} is called without {what}", "pass all arguments, in order")
        return self.rest.pop(0)

    def _act(self, about: set[str], t: Type) -> Act:
        """The activity of the next argument, whose markers are consumed."""
        while self.rest and (marker := self._marker(self.rest[0])) is not None:
            del self.rest[0]
            if marker in _ACTS:
                return _ACTS[marker]
            about.add(marker)
        if isinstance(t, PointerType):
            return Act.DUP
        if isinstance(t, FloatType):
            return Act.DUP if self.mode is Mode.FORWARD else Act.OUT
        return Act.CONST

    def _check(self, act: Act, t: Type, name: str) -> None:
        if not isinstance(t, PointerType | FloatType | IntType):
            raise self._unsupported(f"argument {name} is passed by value as {t}", "pass it through a pointer")
        wrong = (
            (act is Act.OUT and (not isinstance(t, FloatType) or self.mode is Mode.FORWARD))
            or (act in (Act.DUP, Act.DUPNONEED) and isinstance(t, IntType))
            or (act is Act.DUP and isinstance(t, FloatType) and self.mode is not Mode.FORWARD)
            or (act is Act.DUPNONEED and isinstance(t, FloatType))
        )
        if wrong:
            raise self._unsupported(
                f"argument {name} of type {t} cannot be enzyme_{act}",
                "floats are enzyme_out in reverse mode and enzyme_dup in forward mode; integers are enzyme_const",
            )

    def _result(self, f: Function, about: set[str]) -> Act:
        if not isinstance(f.function_type.result, FloatType) or about & {"enzyme_const_return", "enzyme_noret"}:
            return Act.CONST
        return Act.DUP if self.mode is Mode.FORWARD else Act.OUT

    def _marker(self, v: AnyValue) -> str | None:
        """The marker that a value is, or None. Markers that are not served are an error."""
        if isinstance(v, Load):
            v = v.pointer
        while isinstance(v, ConstExpr):
            v = v.operands[0]
        text = v.name if isinstance(v, GlobalVariable) else v.text if isinstance(v, MetadataValue) else ""
        text = text.replace("diffe_", "enzyme_")
        if "enzyme_" not in text:
            return None
        if other := next((m for m in sorted(_OTHERS, key=len, reverse=True) if m in text), None):
            raise self._unsupported(f"the marker {other} is not supported", "see the list of markers in the manual")
        found = next((m for m in _MARKERS if m in text), None)
        if found is None:
            raise self._unsupported(f"{text} is no marker that llgrad knows", "check the spelling")
        return found

    def _unsupported(self, message: str, fix: str) -> UnsupportedError:
        return UnsupportedError(message, span=self.span, cause=f"in a call of {self.name_of_callee()}", fix=fix)

    def name_of_callee(self) -> str:
        f = self.call.called_function
        return f.name if f else "a function"


# --- replacing -----------------------------------------------------------------------------------------------------


def replace(module: Module, site: CallSite, wrapper: str) -> None:
    """Call `wrapper` (declared here) in place of the site's call."""
    old = site.call
    values = [*([old.arguments[0]] if site.hidden_result else []), *site.values]
    type = FunctionType(old.function_type.result, tuple(v.type for v in values))
    callee = Function(wrapper, type)
    module.add(callee)
    new = Call(type, callee, values, old.name, old.opcode, old.targets)
    if site.hidden_result:
        new.argument_attributes[0] = old.argument_attributes[0]
    new.metadata = {k: v for k, v in old.metadata.items() if k == "dbg"}
    new.debug_records = old.debug_records
    block = old.block
    new.block = block
    block.instructions[block.instructions.index(old)] = new
    replace_uses(old, new)
    old.block = None  # type: ignore[assignment]  # it left its block already
    old.drop()


def wrapper_text(
    site: CallSite, wrapper: str, symbol: str, parameters: Sequence[str], results: Sequence[str], aggregate: bool,
    layout: DataLayout, tape: bool,
) -> str:  # fmt: skip
    """IR of the function that stands between the caller and the derivative `symbol`; `tape`: whether that keeps any."""
    lines: list[str] = []
    given = [*(["ptr %to"] if site.hidden_result else []), *(f"{v.type} %v{n}" for n, v in enumerate(site.values))]
    passed = [] if site.request.mode is Mode.FORWARD else ["ptr %arena" if tape else "ptr null"]
    for n, v in enumerate(site.values):
        wanted = parameters[len(passed)]
        passed.append(f"{wanted} {_converted(lines, n, str(v.type), wanted, site)}")
    passed += [f"{t} {_ONES.get(t, '1.0')}" for t in parameters[len(passed) :]]
    got = "void" if not results else f"{{ {', '.join(results)} }}" if aggregate else results[0]
    if tape:
        lines[:0] = ["%arena = call ptr @llgrad.tape.take()"]
    lines.append(f"{'' if got == 'void' else '%r = '}call {got} @{symbol}({', '.join(passed)})")
    if tape:
        lines.append("call void @llgrad.tape.give(ptr %arena)")
    lines += _returned(site, results, aggregate, got, layout)
    body = "\n".join(f"  {line}" for line in lines)
    result = site.call.function_type.result
    return f"""declare {got} @{symbol}({', '.join(parameters)})
declare ptr @llgrad.tape.take()
declare void @llgrad.tape.give(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define {result} @{wrapper}({', '.join(given)}) {{
{body}
}}
"""




def _converted(lines: list[str], n: int, given: str, wanted: str, site: CallSite) -> str:
    """The name of value `n` as a `wanted`: what C promotes in calls without a prototype is taken back."""
    if given == wanted:
        return f"%v{n}"
    casts = {("double", "float"): "fptrunc", ("float", "double"): "fpext"}
    narrower = given[:1] == wanted[:1] == "i" and int(given[1:]) > int(wanted[1:])
    cast = "trunc" if narrower else casts.get((given, wanted))
    if cast is None:
        raise _mismatch(site, f"value {n + 1} has type {given}, where {site.function.name} takes {wanted}")
    lines.append(f"%c{n} = {cast} {given} %v{n} to {wanted}")
    return f"%c{n}"


def _returned(site: CallSite, results: Sequence[str], aggregate: bool, got: str, layout: DataLayout) -> list[str]:
    """The end of a wrapper: the results as the caller expects them."""
    expected = site.call.function_type.result
    if not site.hidden_result and expected == VOID:
        return ["ret void"]
    if not results:
        raise _mismatch(site, f"the call expects {expected}, but there is nothing to return")
    single = results[0] if len(results) == 1 else ""
    if single and not site.hidden_result and str(expected) == single:
        return ["%x0 = extractvalue " + f"{got} %r, 0", f"ret {expected} %x0"] if aggregate else [f"ret {expected} %r"]
    types = tuple(_type(t) for t in results)
    struct = StructType(types)
    lines = []
    target = "%to"
    if not site.hidden_result:
        too_small = layout.alloc_size(struct) > layout.alloc_size(expected)
        if too_small or isinstance(expected, FloatType | IntType | PointerType):
            raise _mismatch(site, f"the call expects {expected}, the derivative returns {', '.join(results)}")
        lines.append(f"%out = alloca {expected}, align 16")
        lines.append(f"store {expected} zeroinitializer, ptr %out")
        target = "%out"
    for n, (t, at) in enumerate(zip(results, layout.offsets(struct), strict=True)):
        lines += [f"%x{n} = extractvalue {got} %r, {n}"] if aggregate else []
        lines.append(f"%q{n} = getelementptr i8, ptr {target}, i64 {at}")
        lines.append(f"store {t} {f'%x{n}' if aggregate else '%r'}, ptr %q{n}, align 1")
    if site.hidden_result:
        return [*lines, "ret void"]
    return [*lines, f"%whole = load {expected}, ptr %out", f"ret {expected} %whole"]


def _type(text: str) -> Type:
    if text == "ptr":
        return PTR
    return IntType(int(text[1:])) if text[0] == "i" and text[1:].isdigit() else FloatType(text)


def _mismatch(site: CallSite, cause: str) -> LlgradError:
    span: Span | None = site.function.module.span(site.call) if site.function.module else None
    return UnsupportedError(
        f"the derivative of {site.function.name} does not fit the call", span=span, cause=cause,
        fix="declare __enzyme_autodiff so that it returns the adjoints of the enzyme_out arguments, in order",
    )  # fmt: skip
