"""Values in registers become memory: what is moved from one to the next lies in variables, and is copied by `memcpy`.

A *web* is a set of values that are moved and not computed: loads, phis, selects, casts that keep all bits, members put
into structs and taken out of them, parameters and results of functions. Each gets a variable, written where the value
is defined, and read there by whoever looks at it, as the type he looks at it with. Of a phi there are two: what comes
in is written to one of them at the end of each block before, and copied to the other where the phi stands, so that phis
may exchange values. Parameters and results in a web are passed by address, so the functions must be known by all calls.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from llgrad.analysis.types.layouts import MIXED
from llgrad.ir.build import Builder, Names, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.rewrite import called_instead
from llgrad.ir.types import I1, I64, PTR, VOID, ArrayType, FunctionType, Type
from llgrad.ir.values import (
    Alias,
    AnyValue,
    Argument,
    Block,
    Branch,
    Call,
    Cast,
    ConstAggregate,
    Constant,
    ConstExpr,
    ConstInt,
    ExtractValue,
    Function,
    GlobalVariable,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Undef,
    put_instead,
)

_CASTS = ("bitcast", "ptrtoint", "inttoptr")


Member = tuple[Type, int]
"""What lies so many bytes into a struct of that type."""


def demote(module: Module, web: Iterable[AnyValue], words: Container[Member] = ()) -> None:
    """Keep the values of a web in memory. It holds all parameters and results that its values become.

    Of structs, integers that are not `words` are numbers, or moved as such.
    """
    values = dict.fromkeys(web)
    while found := [v for v in values if isinstance(v, ExtractValue) and v.aggregate not in values]:
        for v in found:  # of what is no member itself
            del values[v]
    changed = {v.called_function: None for v in values if isinstance(v, Call)}
    for f in module.functions:
        if any(a in values for a in f.arguments):
            changed[f] = None
    known = known_calls(module)
    calls = {f: known.get(f) for f in changed if f is not None}
    _Demotion(module, list(values), calls, words).run()


def known_calls(module: Module) -> dict[Function, list[Call]]:
    """All calls of the functions that no other code may call."""
    local = (f for f in module.functions if f.linkage in ("internal", "private"))
    found: dict[Function, list[Call]] = {f: [] for f in local if not f.is_declaration and not f.function_type.vararg}

    def forget(named: Iterable[Function]) -> None:
        for f in named:
            found.pop(f, None)

    for i in (i for g in module.functions for i in g.instructions()):
        f = i.callee if isinstance(i, Call) else None
        if isinstance(i, Call) and isinstance(f, Function) and f in found:
            if f in i.arguments or i.bundles or i.tail == "musttail" or i.function_type != f.function_type:
                forget([f])
            else:
                found[f].append(i)
        forget(g for o in i.operands if o is not f and isinstance(o, Function | Constant) for g in _named(o))
    for v in module.globals.values():
        forget(_named(v.aliasee if isinstance(v, Alias) else v.initializer if isinstance(v, GlobalVariable) else None))
    return found


def _named(c: object) -> Iterator[Function]:
    """The functions whose address is in a constant."""
    if isinstance(c, Function):
        yield c
    elif isinstance(c, ConstAggregate | ConstExpr):
        for part in c.elements if isinstance(c, ConstAggregate) else c.operands:
            yield from _named(part)


def is_move(v: AnyValue) -> bool:
    """Is a value one that may lie in a web, as far as itself is concerned?"""
    match v:
        case Load():
            return not v.flags
        case Cast(opcode):
            return opcode in _CASTS
        case Unary(opcode):
            return opcode == "freeze"
    return isinstance(v, Phi | Select | InsertValue | ExtractValue)


class _Demotion:
    def __init__(
        self, module: Module, web: Sequence[AnyValue], calls: dict[Function, list[Call] | None],
        words: Container[Member],
    ) -> None:  # fmt: skip
        self.module, self.layout, self.web, self.calls, self.words = module, module.layout, web, calls, words
        self.memcpy = declare(module, "llvm.memcpy.p0.p0.i64", VOID, [PTR, PTR, I64, I1])
        self.mixed = module.add_metadata("!{}")
        self.at: dict[AnyValue, AnyValue] = {}  # where a value is
        self.coming: dict[Phi, AnyValue] = {}
        self.builders: dict[Function, Builder] = {}
        self.returning = {v.called_function for v in web if isinstance(v, Call)}
        self.owner = {a: f for f in module.functions for a in f.arguments}

    def run(self) -> None:
        for v in self.web:
            self.at[v] = self._variable(self._function(v), v)
            if isinstance(v, Phi):
                self.coming[v] = self._variable(self._function(v), v)
        for v in self.web:
            self._read(v)
        for v in self.web:
            self._define(v)
        for f in self.calls:
            self._pass(f)
        for v in self.web:
            if isinstance(v, Instruction) and not isinstance(v, Call):
                v.users.clear()
                v.drop()

    # --- variables

    def _builder(self, f: Function) -> Builder:
        if f not in self.builders:
            names = Names([b.name for b in f.blocks] + [v.name for v in (*f.arguments, *f.instructions())])
            self.builders[f] = Builder(f.entry, names)
        return self.builders[f]

    def _function(self, v: AnyValue) -> Function:
        if isinstance(v, Argument):
            return self.owner[v]
        assert isinstance(v, Instruction) and v.block.function is not None
        return v.block.function

    def _variable(self, f: Function, v: AnyValue) -> AnyValue:
        b = self._builder(f)
        b.block, b.at = f.entry, 0
        words = -(-self.layout.size(v.type) // 8)
        return b.alloca(I64 if words == 1 else ArrayType(I64, words), "word", 8)

    def _before(self, i: Instruction) -> Builder:
        assert i.block.function is not None
        b = self._builder(i.block.function)
        b.block, b.at = i.block, i.block.instructions.index(i)
        return b

    def _arriving(self, phi: Phi, value: AnyValue, block: Block) -> Builder:
        """Where a phi's value is there: at the end of the block it comes from, or behind the `invoke` that makes it."""
        end = block.terminator
        assert end is not None
        if end is value:
            end = self._way(block, phi.block).terminator
            assert end is not None
        return self._before(end)

    def _way(self, source: Block, target: Block) -> Block:
        """A block between two."""
        f, end = source.function, source.terminator
        assert f is not None and end is not None
        way = Block(self._builder(f).names.fresh(f"{source.name}.{target.name}"), f)
        f._blocks.insert(f._blocks.index(target), way)
        way.append(Branch([target]))
        end.targets[end.targets.index(target)] = way
        target.users.remove(end)
        way.users.append(end)
        for phi in target.phis():
            phi.blocks[phi.blocks.index(source)] = way
            source.users.remove(phi)
            way.users.append(phi)
        return way

    def _after_phis(self, block: Block) -> Instruction:
        return next(i for i in block.instructions if not isinstance(i, Phi) and i.opcode != "landingpad")

    def _in_entry(self, f: Function) -> Builder:
        """Behind the variables."""
        return self._before(next(i for i in f.entry.instructions if i.opcode != "alloca"))

    def _copy(self, b: Builder, target: AnyValue, source: AnyValue, t: Type) -> None:
        for at, leaf in self.layout.leaves(t):
            to, here = b.offset(target, at), b.offset(source, at)
            if at == 0 and leaf == t or (t, at) in self.words:
                made = b.call(self.memcpy, [to, here, i64(self.layout.size(leaf)), ConstInt(I1, 0)])
                made.metadata = {MIXED: self.mixed} if self.layout.size(leaf) == 8 else {}
            else:
                b.store(b.load(leaf, here, "member"), to)

    def _put(self, b: Builder, v: AnyValue, target: AnyValue) -> None:
        """Write a value to memory where the builder stands."""
        if v in self.at:
            self._copy(b, target, self.at[v], v.type)
        elif isinstance(v, Cast) and v.opcode in _CASTS:
            b.store(v.value, target, 8)
        elif not isinstance(v, Undef):
            b.store(v, target, 8)

    # --- what is in them

    def _define(self, v: AnyValue) -> None:
        match v:
            case Argument():
                pass
            case Phi():
                for block in dict.fromkeys(v.blocks):
                    value = v.incoming_from(block)
                    self._put(self._arriving(v, value, block), value, self.coming[v])
                self._copy(self._before(self._after_phis(v.block)), self.at[v], self.coming[v], v.type)
            case Load(pointer):
                self._copy(self._before(v), self.at[v], pointer, v.type)
            case Select(condition, a, c):
                self._select(v, condition, a, c)
            case InsertValue(aggregate, value, indices):
                b = self._before(v)
                self._put(b, aggregate, self.at[v])
                self._put(b, value, b.offset(self.at[v], self.layout.offset(v.type, indices)))
            case ExtractValue(aggregate, indices):
                b, inside = self._before(v), self.layout.offset(aggregate.type, indices)
                self._copy(b, self.at[v], b.offset(self.at[aggregate], inside), v.type)
            case Cast() | Unary():
                self._put(self._before(v), v.operands[0], self.at[v])

    def _select(self, v: Select, condition: AnyValue, a: AnyValue, c: AnyValue) -> None:
        b = self._before(v)
        places = []
        for chosen in (a, c):
            place = self.at.get(chosen)
            if place is None:
                place = self._variable(self._function(v), v)
                b = self._before(v)
                self._put(b, chosen, place)
            places.append(place)
        self._copy(b, self.at[v], b.select(condition, places[0], places[1], "word"), v.type)

    # --- who reads them

    def _read(self, v: AnyValue) -> None:
        """Stores of a value are copies; others read it as what they take it for."""
        others: list[Instruction] = []
        for u in dict.fromkeys(v.users):
            if u in self.at:
                if isinstance(u, Load | Call):
                    others.append(u)
                continue
            if isinstance(u, Store) and u.value is v and u.pointer is not v:
                self._put(self._before(u), v, u.pointer)
                u.drop()
            elif isinstance(u, Cast) and u.opcode in _CASTS:
                put_instead(u, self._loaded(self._before(u), u.type, v))
            elif isinstance(u, ExtractValue):
                b = self._before(u)
                place = b.offset(self.at[v], self.layout.offset(v.type, u.indices))
                put_instead(u, self._loaded(b, u.type, v, place))
            elif not (isinstance(u, Return) and u.block.function in self.returning):
                others.append(u)
        for u in others:
            self._read_by(u, v)

    def _loaded(self, b: Builder, t: Type, v: AnyValue, place: AnyValue | None = None) -> Instruction:
        made = Load(t, place if place is not None else self.at[v])
        made.align, made.name = 8, b.names.fresh(getattr(v, "name", "") or "word")
        return made

    def _read_by(self, u: Instruction, v: AnyValue) -> None:
        for n, o in enumerate(u.operands):
            if o is v and not self._is_passed(u, n):
                b = self._arriving(u, o, u.blocks[n]) if isinstance(u, Phi) else self._before(u)
                u.set_operand(n, b.load(v.type, self.at[v], getattr(v, "name", ""), 8))

    def _is_passed(self, u: Instruction, n: int) -> bool:
        """Is operand `n` handed to a function that takes it by address?"""
        f = u.called_function if isinstance(u, Call) else None
        return f is not None and f in self.calls and n < len(f.arguments) and f.arguments[n] in self.at

    # --- functions

    def _pass(self, f: Function) -> None:
        """Parameters and the result by address."""
        by_address = [a for a in f.arguments if a in self.at]
        returns = f in self.returning
        for call in self.calls[f] or ():
            self._call(call, f, returns)
        result = f.function_type.result
        params = [PTR if a in self.at else a.type for a in f.arguments]
        if returns:
            self._return(f)
            params.append(PTR)
        f.value_type = FunctionType(VOID if returns else result, tuple(params))
        f.result_attributes = () if returns else f.result_attributes
        f.attributes = tuple(a for a in f.attributes if a.name in _KEPT)
        for a in by_address:
            new = Argument(PTR, self._builder(f).names.fresh("word"), a.index)
            f.arguments[a.index] = new
            self._copy(self._in_entry(f), self.at[a], new, a.type)

    def _return(self, f: Function) -> None:
        b = self._builder(f)
        out = Argument(PTR, b.names.fresh("result"), len(f.arguments))
        f.arguments.append(out)
        for block in f.blocks:
            if isinstance(end := block.terminator, Return) and end.value is not None:
                self._put(self._before(end), end.value, out)
                put_instead(end, Return())

    def _call(self, call: Call, f: Function, returns: bool) -> None:
        assert call.block.function is not None
        given: list[AnyValue] = []
        for n, v in enumerate(call.arguments):
            if f.arguments[n] in self.at:
                place = self.at.get(v)
                if place is None:
                    place = self._variable(call.block.function, v)
                    self._put(self._before(call), v, place)
                v = place
            given.append(v)
        given += [self.at[call]] if returns and call in self.at else []
        if returns and call not in self.at:
            given.append(self._variable(call.block.function, call))
        if returns:
            call.users.clear()
        new = called_instead(call, f, given, [() for _ in given], result=VOID if returns else None)
        new.attributes, new.result_attributes = tuple(a for a in call.attributes if a.name in _KEPT), ()


_KEPT = ("noinline", "alwaysinline", "nounwind", "mustprogress", "uwtable", "noreturn", "cold")


__all__ = ["known_calls", "demote", "is_move"]
