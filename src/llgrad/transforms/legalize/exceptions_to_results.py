"""Exceptions as results: what is thrown in a function that writes active memory, and caught by one that goes on.

The reverse sweep goes back through what ran. A function that was left by a throw ran in part, and nothing says which;
one that returns says so. So, where a handler from which a function returns catches what its callees throw (C++, Itanium
ABI), the callees are copied: a copy has one more parameter, the address of a *pending* exception. Where the original
would throw, the copy catches (`catch (...)` around calls that may throw), cleans up, notes the exception there and
returns; its callers look there after the call, and go to their handler if there is one. The handler's own `landingpad`
finds out which of its clauses are meant: the pending exception is thrown again right in front of it. A function that
keeps its signature throws what it does not catch again. All this is control flow like any other.

Calls through pointers become calls by name first (`transforms.legalize.direct_calls`). Where a handler looks at what it
catches, that goes the same way (`transforms.legalize.thrown_to_memory`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llgrad.analysis.activity.graph import declares_inactive, has_rule, is_opaque
from llgrad.analysis.cfg.flow import flow
from llgrad.analysis.memory.call_effects import behaviour
from llgrad.analysis.solver import reach
from llgrad.ir.build import Builder, Names, declare, zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.rewrite import called_instead
from llgrad.ir.types import I32, PTR, VOID, FunctionType, StructType, Type
from llgrad.ir.values import (
    AnyValue,
    Block,
    Branch,
    Call,
    ConstNull,
    Function,
    InlineAsm,
    Instruction,
    Other,
    Phi,
    replace_uses,
)
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.rules import library
from llgrad.transforms.legalize.clone_for_activity import copies_of
from llgrad.transforms.legalize.direct_calls import dispatch
from llgrad.transforms.legalize.thrown_to_memory import (
    THROW,
    BeyondError,
    Objects,
    Origins,
    Payloads,
    catches_before,
    helpers,
    payloads,
)

_PERSONALITY = "__gxx_personality_v0"
_SILENT = (
    "llvm.", "llgrad.", "__cxa_begin_catch", "__cxa_allocate_exception", "__cxa_free_exception",
    "__cxa_get_exception_ptr", "__clang_call_terminate", "malloc", "free",
)  # fmt: skip
_THROWING = ("__cxa_throw", "__cxa_rethrow")
_OF_LIBRARY = ("_ZSt", "_ZNSt", "_ZKSt", "_ZNKSt", "_Znw", "_Zna", "__cxa_")
_NOT_TRUE = ("memory", "noreturn", "returned")  # of a function that writes to one more place, and returns
_EXTENDED = ("zeroext", "signext", "inreg")
_PAIR = StructType((PTR, I32))
_EXCEPTION = StructType((PTR, PTR, PTR))


def with_returned_exceptions(text: str) -> str:
    """The program in which handlers that go on catch what is returned; the text itself where there is no such."""
    try:
        return _converted(_after(text, "sroa"), with_objects=True)
    except BeyondError:
        return _converted(text, with_objects=False)


def _converted(text: str, with_objects: bool) -> str:
    module = parse(text)
    if dispatch(module, may_raise(module.functions)):
        module = parse(write(module))
    raising = may_raise(module.functions)
    bodies = [f for f in module.functions if not f.is_declaration]
    handlers = {f: called for f in bodies if (called := _caught(f, raising, with_objects))}
    called = [g for gs in handlers.values() for g in gs if not g.is_declaration]
    again = _throw_again(bodies) if with_objects else set()
    called += [g for f in handlers for c in _calls(f) if (g := c.called_function) in again and g]
    copied = list(reach(called, lambda f: [g for c in _calls(f) if (g := c.called_function) in raising | again and g]))
    changed = list(dict.fromkeys([*handlers, *copied]))
    nothing = not handlers or any(f.function_type.vararg for f in copied) or not all(map(_is_of_cxx, changed))
    objects = payloads(changed) if with_objects and not nothing else None
    if with_objects and objects is None:
        raise BeyondError
    if nothing:
        return text
    outside = _let_others_out(copied) if objects is not None else {}
    names = {name: f.name for name, f in copies_of(module, copied).items()}
    if objects is not None:
        parse_function_text(module, helpers(objects))
    made = [_with_parameter(module, names[f.name]) for f in copied]
    copies = dict(zip([f.name for f in copied], made, strict=True)) | {f.name: f for f in made}
    originals = {made.name: module.function(name) for name, made in copies.items() if made.name != name}
    for i in [i for f in made for i in f.instructions()]:
        for n, v in enumerate(i.operands):
            if isinstance(v, Function) and v.name in originals and not (isinstance(i, Call) and n == i.arity):
                i.set_operand(n, originals[v.name])  # an address means what it meant
    outside |= {names[name]: what for name, what in outside.items()}
    for f in handlers:
        _Returning(module, module.function(f.name), copies, None, objects, outside).convert()
    for f in made:
        _Returning(module, f, copies, f.arguments[-1], objects, outside).convert()
    return write(module) if objects is None else _after(write(module), "always_inliner", "sroa", "simplify_cfg")


def _after(text: str, *passes: str) -> str:
    work = LLVMModule.from_text(text)
    work.run([*passes, "instruction_namer"])
    return work.text()


def _let_others_out(functions: Sequence[Function]) -> dict[str, int]:
    """By which functions what may leave that no function of the program throws: see `_foreign`."""
    found = {f.name: 0 for f in functions}
    grows = True
    while grows:
        before = sum(found.values())
        for f in functions:
            goes_on = any(b.terminator.opcode == "resume" for b in f.blocks)
            calls = [c for c in _calls(f) if goes_on or c.opcode == "call"]
            found[f.name] = max([_foreign(c, found) for c in calls], default=0)
        grows = sum(found.values()) > before
    return found


def _foreign(call: Call, found: dict[str, int]) -> int:
    """What a call may be left by that no function of the program throws: 0 nothing, 1 the library's, 2 anything."""
    name = _name(call)
    if name in found or _throws(call) or name == "__cxa_end_catch" or not _may_raise(call, None):
        return found.get(name, 0)
    return 1 if name.startswith(_OF_LIBRARY) else 2


def _calls(f: Function) -> list[Call]:
    return [i for i in f.instructions() if isinstance(i, Call)]


def may_raise(functions: Iterable[Function]) -> set[Function]:
    """Those of the functions that something may be thrown out of, if they have a body."""
    found: set[Function] = set()
    defined = [f for f in functions if not (f.is_declaration or is_opaque(f) or has_rule(f))]
    defined = [f for f in defined if not declares_inactive(f.attributes) and f.attribute("nounwind") is None]
    grows = True
    while grows:
        before = len(found)
        for f in defined:
            if f not in found and any(_lets_out(i, found) for i in f.instructions()):
                found.add(f)
        grows = len(found) > before
    return found


def _throw_again(bodies: Iterable[Function]) -> set[Function]:
    """Those that may run a `throw;` of what a caller of theirs has caught."""
    callers: dict[Function, list[Function]] = {}
    roots = []
    for f in bodies:
        for c in _calls(f):
            if (g := c.called_function) is not None:
                callers.setdefault(g, []).append(f)
            if _name(c) == "__cxa_rethrow" and not catches_before(c):
                roots.append(f)
    return set(reach(roots, lambda f: callers.get(f, [])))


def _lets_out(i: Instruction, raising: set[Function]) -> bool:
    if i.opcode == "resume":
        return True
    return isinstance(i, Call) and i.opcode == "call" and _may_raise(i, raising)


def _may_raise(call: Call, raising: set[Function] | None) -> bool:
    """May something be thrown out of a call? `raising` are functions with bodies: None if it is none of these."""
    f = call.called_function
    if isinstance(call.callee, InlineAsm) or any(a.name == "nounwind" for a in call.attributes):
        return False
    if f is None:
        return True
    if not f.is_declaration:
        return raising is not None and f in raising
    known = behaviour(call, f)
    silent = f.attribute("nounwind") is not None or (f.name != THROW and f.name.startswith(_SILENT))
    return not (silent or library.lookup(f.name) is not None or known.kind in ("lifetime", "nothing", "copy", "fill"))


def _caught(f: Function, raising: set[Function], thrown: bool) -> list[Function]:
    """What raises under handlers of `f` from which it goes on to return."""
    invokes = [c for c in _calls(f) if c.opcode == "invoke"]
    invokes = [c for c in invokes if c.called_function in raising or (thrown and _name(c) == "__cxa_throw")]
    returns = flow(f).reaches_return if invokes else None
    return [c.called_function for c in invokes if returns and c.called_function and returns(c.targets[1])]


def _throws(call: Call) -> bool:
    return _name(call) in _THROWING


def _name(call: Call) -> str:
    return getattr(call.called_function, "name", "")


def _is_of_cxx(f: Function) -> bool:
    return f.personality is None or getattr(f.personality, "name", "") == _PERSONALITY


def _with_parameter(module: Module, name: str) -> Function:
    """The function with one more parameter, in place of what has that name."""
    old = module.function(name)
    params = (*old.function_type.params, PTR)
    new = Function(name, FunctionType(old.function_type.result, params), [*(a.name for a in old.arguments), "pending"])
    new._blocks, old._blocks = old.blocks, []
    for b in new._blocks:
        b.function = new
    for a, made in zip(old.arguments, new.arguments, strict=False):
        made.attributes = tuple(x for x in a.attributes if x.name != "returned")
        replace_uses(a, made)
    new.attributes = tuple(a for a in old.attributes if a.name not in _NOT_TRUE)
    new.result_attributes = tuple(a for a in old.result_attributes if a.name in _EXTENDED)
    new.calling_convention = old.calling_convention
    new.linkage, new.prefix, new.metadata, new.module = old.linkage, old.prefix, old.metadata, module
    new.personality = old.personality or declare(module, _PERSONALITY, I32, (), vararg=True)
    module.globals[name] = new
    return new


class _Returning:
    """Converts one function; a copy (with a `pending` parameter) returns what another throws.

    `pending` is the address of three pointers: the exception and its object, null for none, and the handlers that run
    (`transforms.legalize.thrown_to_memory`).
    """

    def __init__(
        self,
        module: Module,
        f: Function,
        copies: dict[str, Function],
        pending: AnyValue | None,
        objects: Payloads | None,
        outside: dict[str, int],
    ) -> None:
        self.module, self.f, self.copies, self.outside = module, f, copies, outside
        self.returns = pending is not None
        self.names = Names([b.name for b in f.blocks] + [v.name for v in (*f.arguments, *f.instructions())])
        self.b = Builder(Block(""), self.names)
        self.b.block, self.b.at = f.entry, 0
        if pending is None:
            pending = self.b.alloca(_EXCEPTION, "pending", 8)
            self.b.store(zero(PTR), pending, 8)
        self.pending = pending
        self.in_flight: dict[Block, Phi] = {}  # of a landing pad, or of the way out: the exception
        self.object: dict[Block, Phi] = {}  # and its object
        self.out: Block | None = None
        self.objects = Objects(module, f, self.b, objects, pending, not self.returns) if objects is not None else None

    def convert(self) -> None:
        blocks = list(self.f.blocks)
        pads = [b for b in blocks if _pad(b) is not None]
        resumes = [b.terminator for b in blocks if b.terminator.opcode == "resume"]
        for pad in pads:
            for table, name in ((self.in_flight, "in.flight"), (self.object, "object")):
                phi = Phi(PTR, name=self.names.fresh(name))
                phi.block = pad
                pad.instructions.insert(0, phi)
                table[pad] = phi
        self.left: dict[Instruction, AnyValue] = {i: zero(PTR) for i in resumes}
        if self.objects is not None:
            foreign = dict.fromkeys(pads, 0)
            for c in _calls(self.f):
                if c.opcode == "invoke":
                    foreign[c.targets[1]] = max(foreign[c.targets[1]], _foreign(c, self.outside))
            origin = Origins(self.object, foreign, self.names.fresh)
            self.left = {i: origin.of(i.operands[0]) for i in resumes}
            self.objects.convert(origin)
        for call in _calls(self.f):
            self._convert_call(call)
        for pad in pads:
            self._caught_here(pad)
        for i in resumes:
            self._goes_on(i)
        if self.out is not None:
            self._way_out(self.out)

    # --- calls

    def _convert_call(self, call: Call) -> None:
        if call.opcode == "invoke" or (self.returns and (self._copied(call) or _may_raise(call, None))):
            self._call(call)
        elif (copied := self._copied(call)) and copied.attribute("nounwind") is not None:
            self._copy_called(call)
        elif self.objects is not None and _throws(call):
            self.objects.leaves_by(call)

    def _copied(self, call: Call) -> Function | None:
        return self.copies.get(call.called_function.name) if call.called_function is not None else None

    def _call(self, call: Call) -> None:
        copied = self._copied(call)
        pad = call.targets[1] if call.opcode == "invoke" else self._out()
        if call.opcode == "call":
            after = self._split(call.block, call.block.instructions.index(call) + 1, "after")
            call.block.append(Branch([after]))
        block = call.block
        normal = call.targets[0] if call.opcode == "invoke" else block.terminator.targets[0]
        thrown = self._block("thrown")
        thing: AnyValue = zero(PTR)
        if copied is None:
            if self.objects is not None and _throws(call):
                thing = self.objects.thrown_by(call)
            called_instead(call, call.callee, call.arguments, call.argument_attributes, targets=[normal, thrown])
            if block.terminator.opcode == "br":
                block.terminator.drop()
            self.b.at_end(thrown)
            exception = self.b.extract(self._landing(), 0, name="exception")
        else:
            made = self._copy_called(call)
            if block.terminator is not made:
                block.terminator.drop()
            self.b.at_end(block)
            exception = self.b.load(PTR, self.pending, "exception", 8)
            self.b.branch_if(self.b.icmp("ne", exception, ConstNull(PTR)), thrown, normal)
            self.b.at_end(thrown)
            self.b.store(zero(PTR), self.pending, 8)
            if self.objects is not None:
                thing = self.b.load(PTR, self.b.offset(self.pending, 8), "object", 8)
        for phi in pad.phis():
            if phi is not self.in_flight[pad] and phi is not self.object[pad]:
                _comes_from(phi, block, thrown)
        self.in_flight[pad].add(exception, thrown)
        self.object[pad].add(thing, thrown)
        self.b.branch(pad)

    def _copy_called(self, call: Call) -> Call:
        """The copy of what is called, in its place."""
        copied = self._copied(call)
        assert copied is not None
        given, said = [*call.arguments, self.pending], [*call.argument_attributes, ()]
        made = called_instead(call, copied, given, said, targets=[])
        made.attributes = tuple(a for a in made.attributes if a.name not in _NOT_TRUE)
        made.result_attributes = tuple(a for a in made.result_attributes if a.name in _EXTENDED)
        made.argument_attributes = [tuple(a for a in x if a.name != "returned") for x in made.argument_attributes]
        return made

    def _landing(self, like: Other | None = None) -> Other:
        """A `landingpad` that catches everything."""
        clauses = list(like.detail["clauses"]) if like is not None else []
        operands = list(like.operands) if like is not None else []
        if not any(c == "catch" and isinstance(v, ConstNull) for c, v in zip(clauses, operands, strict=True)):
            clauses, operands = [*clauses, "catch"], [*operands, ConstNull(PTR)]
        detail = {"cleanup": False, "clauses": clauses}
        made = Other("landingpad", like.type if like is not None else _PAIR, operands, detail=detail)
        self.b.insert(made, "caught")
        return made

    # --- handlers

    def _caught_here(self, pad: Block) -> None:
        """The exception in flight arrives at a landing pad: as it is, or to be looked at."""
        landing, exception = _pad(pad), self.in_flight[pad]
        assert landing is not None
        at = pad.instructions.index(landing)
        if not landing.detail["clauses"]:
            self.b.block, self.b.at = pad, at
            value = self.b.insert_value(zero(landing.type), exception, 0)
            replace_uses(landing, value)
            landing.drop()
            return
        after = self._split(pad, at, "matched")
        self.b.at_end(pad)
        self._throw_again(exception, after)
        self.b.block, self.b.at = after, 0
        found = self._landing(landing)
        self._runtime("__cxa_end_catch", [], VOID)
        replace_uses(landing, found)
        landing.drop()

    def _throw_again(self, exception: AnyValue, unwind: Block) -> None:
        self._runtime("__cxa_begin_catch", [exception], PTR)
        again = declare(self.module, "__cxa_rethrow", VOID, [])
        nowhere = self._block("nowhere")
        call = Call(again.function_type, again, [], "", "invoke", [nowhere, unwind])
        self.b.insert(call)
        self.b.at_end(nowhere)
        self.b.unreachable()

    def _runtime(self, name: str, arguments: list[AnyValue], result: Type) -> None:
        self.b.call(declare(self.module, name, result, [a.type for a in arguments]), arguments)

    def _goes_on(self, resume: Instruction) -> None:
        """What was caught, and is not handled, leaves the function."""
        block, whole = resume.block, resume.operands[0]
        resume.drop()
        out = self._out() if self.returns else None
        self.b.at_end(block)
        exception = self.b.extract(whole, 0, name="exception")
        if out is not None:
            self.in_flight[out].add(exception, block)
            self.object[out].add(self.left[resume], block)
            self.b.branch(out)
            return
        if self.objects is not None:
            self.objects.leaves(exception, self.left[resume])
        thrown = self._block("thrown")
        self._throw_again(exception, thrown)
        self.b.at_end(thrown)
        landing = Other("landingpad", whole.type, [], detail={"cleanup": True, "clauses": []})
        self.b.insert(landing, "again")
        self._runtime("__cxa_end_catch", [], VOID)
        self.b.insert(Other("resume", VOID, [landing]))

    def _out(self) -> Block:
        if self.out is None:
            self.out = self._block("left")
            self.b.at_end(self.out)
            self.in_flight[self.out] = self.b.phi(PTR, name="in.flight")
            self.object[self.out] = self.b.phi(PTR, name="object")
        return self.out

    def _way_out(self, out: Block) -> None:
        self.b.at_end(out)
        self.b.store(self.in_flight[out], self.pending, 8)
        if self.objects is not None:
            self.b.store(self.object[out], self.b.offset(self.pending, 8), 8)
        result = self.f.function_type.result
        self.b.ret(None if result == VOID else zero(result))

    # --- blocks

    def _block(self, name: str) -> Block:
        block = Block(self.names.fresh(name), self.f)
        self.f._blocks.append(block)
        return block

    def _split(self, block: Block, at: int, name: str) -> Block:
        """A new block with what is in `block` from position `at` on, which then has no terminator."""
        after = self._block(f"{block.name}.{name}")
        after.instructions, block.instructions = block.instructions[at:], block.instructions[:at]
        for i in after.instructions:
            i.block = after
        for target in dict.fromkeys(after.terminator.targets):
            for phi in target.phis():
                _comes_from(phi, block, after)
        return after


def _comes_from(phi: Phi, old: Block, new: Block) -> None:
    for n, b in enumerate(phi.blocks):
        if b is old:
            phi.blocks[n] = new
            old.users.remove(phi)
            new.users.append(phi)


def _pad(block: Block) -> Other | None:
    return next((i for i in block.instructions if isinstance(i, Other) and i.opcode == "landingpad"), None)
