"""Which memory every value may point to, in the program reachable from one root (inclusion constraints, Andersen 1994).

Flow- and context-insensitive; sensitive to constant offsets into objects and to the fields of first-class aggregates
(after Pearce, Kelly and Hankin: "Efficient field-sensitive pointer analysis of C"), in the terms of
`analysis.memory.inclusion_constraints`. Integers of pointer width carry pointers; narrower ones only where bytes are
copied, by a load that is stored.

Contract with the caller of the root: pointers found in an argument's memory point to the "contents" of that argument,
which is closed under itself; what the program stores through one argument may be found through another, unless one of
them is `noalias`, or named in `constant_arguments` (whose memory, by the user's word, is shared with no active one).
Code that is not known holds no pointer to the root's arguments but those it is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from functools import partial

from msgspec.structs import replace

from llgrad.analysis.call_shapes import may_mean
from llgrad.analysis.cfg.value_sets import Few
from llgrad.analysis.memory.call_effects import (
    STOPS,
    Behaviour,
    behaviour,
    is_column,
    is_result,
    met_functions,
    virtual_functions,
    writes_argument,
)
from llgrad.analysis.memory.cells import gep_bytes, gep_spot, strided
from llgrad.analysis.memory.inclusion_constraints import Inclusion, Nodes
from llgrad.analysis.memory.must_stores import found_null, settled
from llgrad.analysis.memory.pointer_differences import Distance, ends
from llgrad.analysis.memory.pointer_free_arguments import holds_pointers, to_scalars
from llgrad.analysis.memory.points_to_sets import BITS
from llgrad.analysis.objects import (
    TEXT,
    THROWN,
    UNKNOWN,
    WORD,
    MemoryObject,
    carries_pointer,
    constant_targets,
    holds_type,
    initial_pointers,
    leaf_range,
    leaves,
    resolve_alias,
)
from llgrad.ir.module import Module
from llgrad.ir.types import DataLayout, FloatType, IntType, PointerType
from llgrad.ir.values import (
    Alias,
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    ConstInt,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    GlobalValue,
    GlobalVariable,
    InlineAsm,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Other,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Unary,
)
from llgrad.models.effects import STRING, returns_string, string_layout
from llgrad.models.mpi import sends
from llgrad.rules.blas import is_own


class PointerGraph(Inclusion):
    """Builds and solves the constraints; afterwards read through the query methods."""

    def __init__(
        self,
        module: Module,
        root: Function,
        distinct: bool = False,
        constant_arguments: Collection[int] = (),
        active_arguments: Collection[int] = (),
    ) -> None:
        super().__init__(module, found_null(root))
        self.root = root
        self._few = Few()
        self._returns: dict[Function, Nodes] = {}
        self._exposed_code: set[int] = set()
        self._linked: dict[Call, dict[Function, None]] = {}
        self.unknown_calls: dict[Call, Behaviour] = {}
        self.from_before = set[Call]()  # whose pointers may be older than the root's call, or from code not known
        self.received: dict[tuple[Call, Function], set[int]] = {}  # facts of the objects of virtual calls, by callee
        self.string_text: dict[Call, int] = {}  # of calls of members of `std::string`: the node of pointers to text
        self.callers: dict[Function, list[Call]] = {root: []}
        self.functions: dict[Function, None] = {}
        self._pending: deque[Function] = deque()
        self._taken: list[Function] | None = None
        self._from_nothing: list[Cast] = []
        self._distances: list[Distance] = []
        self._inner: dict[int, int] = {}  # of an argument for scalars: the node of pointers that it may hold after all
        self._of_other_types: dict[Call, list[Function]] = {}  # code that a call reaches if none has its type
        self._led: dict[tuple[int, tuple[int, ...]], int] = {}  # by a fact and offsets: see `_led_to`
        self.called_back: set[Function] = set()
        self._active = frozenset(active_arguments)
        self._flow.watch(self._outside, self._expose)
        self._thrown = self._flow.node()  # exceptions: the program's, and of others
        self._flow.add(self._thrown, {self._fact(THROWN)})
        self._flow.edge(self._unknown, self._cells.cell(self._object(THROWN), None))
        self._settled = settled(module, root, [v for v in module.variables if self._is_open(v)])
        self._arguments(root, distinct, frozenset(constant_arguments))
        self._reach(root)
        self._solve()

    # --- solving

    def _solve(self) -> None:
        while True:
            while self._pending:
                self._body(self._pending.popleft())
                self._flow.run()
            self._flow.run()
            if not self._pending and not self._settle():
                return

    def _settle(self) -> bool:
        """Pointers made from integers of no known origin are unknown, and so are callees that are no function.
        What is loaded from memory for scalars, and from nowhere else, is believed to be a pointer.

        A call through a pointer that is nowhere set, or to data alone, has no callees. Was there anything to settle?
        (Nim calls a closure with its environment or without, whichever it has.)
        """
        blind = [c for c in self._from_nothing if not self._flow.facts(self._nodes(c)[0])]
        for cast in blind:
            self._flow.add(self._nodes(cast)[0], {self._fact(UNKNOWN)})
        believed = [load for load in self._of_scalars if self._leads_to_scalars(*load)]
        for load in believed:
            self._flow.edge(self._inner[self._of_scalars[load]], load[1])
        open_ = [c for c, found in self._linked.items() if not found and c not in self.unknown_calls]
        lost = [c for c in open_ if not self._leads_nowhere(c)]
        for call in lost:
            for function in self._of_other_types.get(call, ()):
                self._link(call, function)
            if not self._linked[call]:
                self._link_unknown(call)
        unknown = [d for d in self._distances if d.settle()]
        return bool(blind or believed or lost or unknown)

    def _leads_to_scalars(self, pointer: int, loaded: int) -> bool:
        """Does a pointer lead to memory for scalars alone, and nothing that is loaded there to anything?"""
        return not self._flow.facts(loaded) and self._objects_of(self._flow.facts(pointer)) <= self._scalar

    def _leads_nowhere(self, call: Call) -> bool:
        """Does the program set the pointer that is called to no code that takes what is passed? (An ifunc is code.)"""
        met = self.met(self._flow.facts(self._nodes(call.callee)[0]))
        found = [o for o in met if not isinstance(o.site, Function) or _is_callable(call, o.site)]
        named = [o.site for o in found if isinstance(o.site, GlobalValue)]
        return all(map(self._is_data, found)) and all(isinstance(g, GlobalVariable) for g in named)

    def _arguments(self, root: Function, distinct: bool, constant: frozenset[int]) -> None:
        """Objects and their contents for the root's pointers; who shares memory with whom."""
        shared, scalar = self._flow.node(), to_scalars(root, self.layout)
        for argument in root.arguments:
            if not holds_type(argument.type, PointerType):
                continue
            outer = self._object(MemoryObject("argument", argument, root))
            inner = self._object(MemoryObject("contents", argument, root))
            own = self._flow.node() if argument.index in constant else shared
            apart = distinct or argument.attribute("noalias") is not None or argument.attribute("byval") is not None
            self._shared[inner] = own
            if not apart:
                self._shared[outer] = own
            several = len(leaves(argument.type, self.layout)) > 1
            for leaf, node in zip(leaves(argument.type, self.layout), self._nodes(argument), strict=True):
                if holds_type(leaf.type, PointerType):
                    self._flow.add(node, {self._raw(outer, None if several else 0)})
            self._flow.add(self._cells.cell(inner, None), {self._raw(inner, None)})
            if argument.index in scalar:
                self._scalar.add(outer)
                self._inner[outer] = self._constant({self._raw(inner, None)})
                if holds_pointers(argument, root):
                    self._before[outer] = self._inner[outer]
            else:
                self._flow.add(self._cells.cell(outer, None), {self._raw(inner, None)})

    def _expose(self, facts: set[int]) -> None:
        """Unknown code got hold of these: it may call them, hand on what they hold, and store in them."""
        for obj in self._objects_of(facts) - self._exposed - self._exposed_code:
            what = self.objects[obj]
            if what.is_code:
                self._exposed_code.add(obj)
                self._flow.add(self._unknown, {self._raw(obj, 0)})
                if isinstance(what.site, Function):
                    self._call_back(what.site, self._unknown)
            else:
                self._exposed.add(obj)
                self._hand_over(obj)

    def _hand_over(self, obj: int, writes: bool = True) -> None:
        what = self.objects[obj]
        for held in (self._cells.all(obj), self._before.get(obj), self._shared.get(obj)):
            if held is not None:
                self._flow.edge(held, self._outside)
        if writes and not what.is_constant and not what.is_code:
            self._flow.edge(self._unknown, self._cells.cell(obj, None))
            if obj in self._shared:
                self._flow.edge(self._unknown, self._shared[obj])

    # --- code

    def _reach(self, function: Function) -> None:
        self.callers.setdefault(function, [])
        if function not in self.functions and not function.is_declaration:
            self.functions[function] = None
            self._pending.append(function)

    def _results(self, function: Function) -> Nodes:
        if function not in self._returns:
            self._returns[function] = self._new_nodes(function.function_type.result)
        return self._returns[function]

    def _body(self, function: Function) -> None:
        for instruction in function.instructions():
            self._instruction(instruction)

    def _instruction(self, i: Instruction) -> None:
        match i:
            case Call():
                self._call(i)
            case Load():
                self._load_value(i, i.pointer)
            case Store():
                self._store_value(i, i.value, i.pointer)
            case GetElementPtr():
                self._address(i)
            case Alloca():
                self._flow.add(self._nodes(i)[0], {self._fact(MemoryObject("stack", i, i.block.function), 0)})
            case Phi():
                for value in i.operands:
                    self._copy(self._nodes(value), self._nodes(i))
            case Select():
                self._copy(self._nodes(i.if_true), self._nodes(i))
                self._copy(self._nodes(i.if_false), self._nodes(i))
            case Cast("inttoptr"):
                self._from_nothing.append(i)
                self._copy(self._nodes(i.value), self._nodes(i))
            case Return(value) if value is not None:
                self._copy(self._nodes(value), self._results(_function(i)))
            case _:
                self._arithmetic(i)

    def _address(self, i: GetElementPtr) -> None:
        if (apart := ends(i)) is not None:
            nodes = [self._nodes(v)[0] for v in (i.pointer, i, *apart)]
            self._distances.append(Distance(self._flow, self._sets, self.objects, nodes))
            return
        for indices in self._few.chosen_indices(i):
            by = gep_bytes(i.source_type, indices, self.layout)
            if by is not None and by[0] and "nuw" in i.flags:
                self._forwards(self._nodes(i.pointer)[0], self._nodes(i)[0], *by)
            else:
                self._copy(self._nodes(i.pointer), self._nodes(i), None if by is None else strided(*by))

    def _arithmetic(self, i: Instruction) -> None:
        match i:
            case Cast(_, value) if not isinstance(i.type, FloatType):
                self._copy(self._nodes(value), self._nodes(i))
            case Unary("freeze", value):
                self._copy(self._nodes(value), self._nodes(i))
            case Binary("add" | "sub" | "and" | "or" | "xor" | "shl" | "lshr" | "ashr"):
                for value in i.operands:
                    if not isinstance(value, ConstInt):
                        self._copy(self._nodes(value), self._nodes(i), None)
            case ExtractValue():
                first, last = leaf_range(i.aggregate.type, i.indices, self.layout)
                whole = self._nodes(i.aggregate)
                self._copy(whole[first:last] if last <= len(whole) else whole, self._nodes(i))
            case InsertValue():
                self._insert(i)
            case InsertElement(vector, value, _):
                self._copy(self._nodes(vector), self._nodes(i))
                self._copy(self._nodes(value), self._nodes(i))
            case ExtractElement(vector, _):
                self._copy(self._nodes(vector), self._nodes(i))
            case ShuffleVector(lhs, rhs):
                self._copy(self._nodes(lhs), self._nodes(i))
                self._copy(self._nodes(rhs), self._nodes(i))
            case Other():
                self._other(i)

    def _insert(self, i: InsertValue) -> None:
        target, whole, part = self._nodes(i), self._nodes(i.aggregate), self._nodes(i.value)
        first, last = leaf_range(i.type, i.indices, self.layout)
        if len(whole) != len(target):
            whole = whole[:1] * len(target)
        kept = [n for n in range(len(target)) if not first <= n < last or len(target) == 1]
        self._copy(tuple(whole[n] for n in kept), tuple(target[n] for n in kept))
        self._copy(part, target[first:last])

    def _other(self, i: Other) -> None:
        match i.opcode:
            case "atomicrmw":
                pointer, value = i.operands
                self._load_value(i, pointer)
                self._store_value(i, value, pointer)
            case "cmpxchg":
                pointer, _, new = i.operands
                self._load(self._nodes(pointer)[0], self._nodes(i)[0], 0, WORD)
                self._store_value(i, new, pointer)
            case "va_arg":
                for node in self._nodes(i):
                    self._flow.edge(self._unknown, node)
            case "landingpad":
                for node in self._nodes(i):
                    self._flow.edge(self._thrown, node, None)
                    if any(getattr(o, "name", "").startswith("_ZTIP") for o in i.operands):  # catches a pointer
                        self._load(self._thrown, node, None, WORD)
            case "resume":
                pass  # the exception is in flight, as it was

    def _load_value(self, i: Instruction, pointer: AnyValue) -> None:
        tag = self.types.tag(i)
        copied = isinstance(i.type, IntType) and i.type.bits >= 8 and is_byte_copy(i)
        if self.types.is_integer(tag):
            if not (copied and carries_pointer(i.type)):
                return
            tag = None  # whatever lies there is moved
        for leaf, node in zip(leaves(i.type, self.layout), self._nodes(i), strict=True):
            if carries_pointer(leaf.type) or copied:
                size = self.layout.size(leaf.type)
                self._load(self._nodes(pointer)[0], node, leaf.offset, size, (i, 0) in self._settled, tag)

    def _store_value(self, i: Instruction, value: AnyValue, pointer: AnyValue) -> None:
        tag = self.types.tag(i)
        if isinstance(value.type, FloatType):
            return
        if self.types.is_integer(tag):
            if not (carries_pointer(value.type) and isinstance(value, Load | Phi | Select | Argument | Call)):
                return
            tag = None  # whatever lay there was moved
        parts, nodes = leaves(value.type, self.layout), self._nodes(value)
        if len(parts) != len(nodes):
            nodes = nodes[:1] * len(parts)
        for leaf, node in zip(parts, nodes, strict=True):
            self._store(node, self._nodes(pointer)[0], leaf.offset, self.layout.size(leaf.type), tag)

    # --- calls

    def _call(self, call: Call) -> None:
        callee = call.called_function
        if callee is not None:
            self._link(call, callee)
            return
        target = self._nodes(resolve_alias(call.callee) if isinstance(call.callee, Alias) else call.callee)[0]
        self._linked.setdefault(call, {})
        if target == self._empty:
            if isinstance(call.callee, InlineAsm):
                self._link_unknown(call)
            return

        def link(facts: set[int]) -> None:
            for obj in self._objects_of(facts):
                what = self.objects[obj]
                if isinstance(what.site, Function) and what.is_code:
                    if may_mean(call, what.site):
                        self._link(call, what.site)
                    elif _is_callable(call, what.site):
                        self._of_other_types.setdefault(call, []).append(what.site)
                elif self._is_from_before(what, call):
                    self._link_met(call)
                elif not self._is_data(what):
                    self._link_unknown(call)

        self._flow.watch(target, link)

    def _is_from_before(self, what: MemoryObject, call: Call) -> bool:
        """Is it held by a variable of the program, or passed to it?"""
        if isinstance(what.site, GlobalVariable):
            return what.kind == "contents" and what.site.initializer is not None
        return what.kind in ("argument", "contents") and isinstance(what.site, Argument) and bool(self._met(call))

    def _is_data(self, obj: MemoryObject) -> bool:
        """Memory that holds no code: the program's own, and what the user calls active. (Derivatives test callees.)"""
        if obj.kind == "argument":
            return isinstance(obj.site, Argument) and obj.site.index in self._active
        return obj.kind in ("stack", "heap", "global", "text")

    def _link(self, call: Call, callee: Function) -> None:
        linked = self._linked.setdefault(call, {})
        if callee in linked:
            return
        linked[callee] = None
        if callee.is_declaration:
            self._external(call, behaviour(call, callee), callee)
            if is_own(callee.name) or sends(callee.name):  # its rule has arguments to be told of
                self.callers.setdefault(callee, []).append(call)
                for n, own in enumerate(callee.arguments):
                    self._copy(self._nodes(call.arguments[n]), self._nodes(own))
            return
        self._reach(callee)
        self.callers[callee].append(call)
        receiver, path = virtual_call(call, self.layout)
        for n, argument in enumerate(call.arguments):
            if argument is receiver and n < len(callee.arguments):
                self._receive(call, receiver, path, callee, n)
            elif n < len(callee.arguments):
                self._copy(self._nodes(argument), self._nodes(callee.arguments[n]))
            else:
                self._copy(self._nodes(argument), (self._outside,))
        self._copy(self._results(callee), self._nodes(call))

    def _receive(self, call: Call, receiver: AnyValue, path: tuple[int, ...], callee: Function, n: int) -> None:
        """Of the objects of a virtual call, `callee` gets those from which `path` leads to it."""
        formal = self._nodes(callee.arguments[n])[0]
        received = self.received.setdefault((call, callee), set())

        def offer(facts: set[int]) -> None:
            for fact in facts:
                self._flow.watch(self._led_to(fact, path), partial(admit, fact))

        def admit(fact: int, functions: set[int]) -> None:
            found = [self.objects[n] for n in self._objects_of(functions)]
            if any(o.site is callee or not (o.is_code or self._is_data(o)) for o in found):
                received.add(fact)
                self._flow.add(formal, {fact})

        self._flow.watch(self._nodes(receiver)[0], offer)

    def _led_to(self, fact: int, path: tuple[int, ...]) -> int:
        """The node of what loads at these offsets, one after the other, find from the object of a fact."""
        if not path:
            return self._constant({fact})
        if (fact, path) not in self._led:
            node = self._led[fact, path] = self._flow.node()
            self._load(self._led_to(fact, path[:-1]), node, path[-1], WORD)
        return self._led[fact, path]

    def _link_met(self, call: Call) -> None:
        """What variables of the program and its arguments hold from before: functions whose address it uses.

        If it has none of that type, what is called is not the program's: it has only what it is given.
        """
        self.from_before.add(call)
        known = self._met(call)
        for function in known:
            self._link(call, function)
        if not known and call not in self.unknown_calls:
            self.unknown_calls[call] = behaviour(call, None)
            for node in self._nodes(call):
                self._flow.edge(self._unknown, node)

    def _met(self, call: Call) -> list[Function]:
        return [f for f in met_functions(self.module) if may_mean(call, f)]

    def _link_unknown(self, call: Call) -> None:
        """Code that is not known, or any function of that type whose address is taken."""
        self.from_before.add(call)
        if call in self.unknown_calls:
            return
        if declared := [f for f in virtual_functions(self.module) if may_mean(call, f)]:
            for function in (*declared, *self._address_taken()):
                if may_mean(call, function):
                    self._link(call, function)
            return
        known = behaviour(call, None)
        self.unknown_calls[call] = known
        self._linked.setdefault(call, {})
        self._external(call, known, None)
        if not isinstance(call.callee, InlineAsm):
            for function in self._address_taken():
                if may_mean(call, function):
                    self._link(call, function)

    def _external(self, call: Call, known: Behaviour, callee: Function | None) -> None:
        arguments = [self._nodes(a) for a in call.arguments]
        match known.kind:
            case "nothing" | "free":
                return
            case "copy":
                size = call.arguments[2]
                length = size.value if isinstance(size, ConstInt) else None
                settled = [at for at in range(0, length or 0, WORD) if (call, at) in self._settled]
                self._transfer(arguments[1][0], arguments[0][0], length, settled)
                self._copy(arguments[0], self._nodes(call))
            case "fill" | "lifetime":
                self._copy(arguments[0], self._nodes(call))
            case "allocate":
                self._allocate(call, known, arguments)
                if "any" in (known.reads, known.writes):
                    self._plain(call, known, callee, arguments)
            case _ if known.ends:
                end = self._flow.node()
                self._flow.edge(arguments[0][0], end, None)
                self._store(end, arguments[1][0], 0, WORD)
            case "string":
                self._string(call, known, arguments)
            case _ if is_column(call):
                self._column(call, arguments[0][0], self._nodes(call)[0])
            case _:
                self._plain(call, known, callee, arguments)
                if known.handle:
                    self._flow.add(self._nodes(call)[0], {self._fact(THROWN)})
                else:
                    self._results_of(call, known, arguments)

    def _allocate(self, call: Call, known: Behaviour, arguments: Sequence[Nodes]) -> None:
        fresh = self._object(MemoryObject("heap", call, call.block.function))
        if known.place is None:
            self._flow.add(self._nodes(call)[0], {self._raw(fresh, 0)})
            if getattr(call.callee, "name", "") == "__cxa_allocate_exception":
                self._flow.add(self._thrown, {self._raw(fresh, 0)})
        else:
            self._store(self._constant({self._raw(fresh, 0)}), arguments[known.place][0], 0, WORD)
        if known.moves is not None:
            self._load(arguments[known.moves][0], self._cells.cell(fresh, None), None, WORD)
        if "any" in (known.reads, known.writes):
            self._flow.edge(self._unknown, self._cells.cell(fresh, None))

    def _column(self, call: Call, block: int, column: int) -> None:
        """Columns of a block are memory of their own; who has got hold of the block gets hold of them."""
        offset, number = call.arguments[1:]
        by = offset.signed if isinstance(offset, ConstInt) else None

        def enter(facts: set[int]) -> None:
            for fact in facts:
                o = self.objects[fact >> BITS]
                if o.is_block and isinstance(number, ConstInt):
                    own = self._object(replace(o, column=number.value))
                    self._flow.add(self._cells.all(fact >> BITS), {self._raw(own, 0)})
                    self._flow.add(column, {self._raw(own, 0)})
                else:
                    self._flow.add(column, {self._sets.shift(fact, by)})

        self._flow.watch(block, enter)

    def _string(self, call: Call, known: Behaviour, arguments: Sequence[Nodes]) -> None:
        """What strings hold is one object, which is found through those that are written."""
        text = self.string_text[call] = self._flow.node()
        own = self._constant({self._fact(TEXT)})
        name = call.called_function.name if call.called_function else ""
        at = string_layout(name)[1]
        for n, nodes in enumerate(arguments):
            for node in nodes:
                self._load(node, text, at, WORD)
                if n in known.strings:
                    self._store(own, node, at, WORD)
        self._flow.edge(own, text)
        for result in self._nodes(call):
            self._copy(arguments[0] if returns_string(name) else (text,), (result,))

    def _plain(self, call: Call, known: Behaviour, callee: Function | None, arguments: Sequence[Nodes]) -> None:
        """Pointers that code outside keeps, stores and finds."""
        hub = self._flow.node()
        if known.calls:  # it keeps pointers in what it returns alone
            self._load(hub, hub, None, WORD)
            self._flow.watch(hub, lambda facts: self._call_given(facts, hub))
        for n, nodes in enumerate(arguments):
            writes = known.writes != "none" and writes_argument(call, callee, n)
            writes = writes and (not known.calls or is_result(call, callee, n))
            for node in nodes:
                if node != self._empty:
                    self._give(node, hub, known, kept=n in known.keeps, writes=writes)

    def _give(self, node: int, hub: int, known: Behaviour, kept: bool, writes: bool) -> None:
        if kept:
            self._flow.edge(node, self._outside)
        self._flow.edge(node, hub, None)
        # no function that is known to compare text, say, or where the program ends
        if not known.inactive or ("any" in (known.reads, known.writes) and known is not STOPS):
            self._flow.watch(node, lambda facts: self._call_given(facts, hub))
        if known.links and known.reads != "none":
            self._load(node, hub, None, WORD)
        if known.links and writes:
            self._store(hub, node, None, WORD)
        if "any" in (known.reads, known.writes) and not known.inactive:
            self._flow.watch(node, lambda facts: self._hand_all(facts, writes))

    def _hand_all(self, facts: set[int], writes: bool) -> None:
        for obj in self._objects_of(facts):
            self._hand_over(obj, writes)

    def _call_given(self, facts: set[int], hub: int) -> None:
        for obj in self._objects_of(facts):
            what = self.objects[obj]
            if isinstance(what.site, Function) and what.is_code:
                self._call_back(what.site, hub)
                self._call_back(what.site, self._unknown)

    def _call_back(self, function: Function, source: int) -> None:
        """Code outside calls `function` with what is at `source`."""
        if function.is_declaration:
            return
        self._reach(function)
        self.called_back.add(function)
        for argument in function.arguments:
            for node in self._nodes(argument):
                self._flow.edge(source, node, None)
        self._copy(self._results(function), (self._outside,))

    def _results_of(self, call: Call, known: Behaviour, arguments: Sequence[Nodes]) -> None:
        for leaf, result in zip(leaves(call.type, self.layout), self._nodes(call), strict=True):
            if not carries_pointer(leaf.type) or (isinstance(leaf.type, IntType) and known.inactive):
                continue
            for nodes in arguments[:1] if known.first else arguments:
                for node in nodes:
                    self._flow.edge(node, result, None)
                    if known.reads != "none" and known.links:
                        self._load(node, result, None, WORD)
            if not known.pure_result:
                self._flow.edge(self._unknown, result)

    def _address_taken(self) -> list[Function]:
        """The functions of the module whose address is used other than in a call of them; parses all bodies."""
        if self._taken is None:
            found: dict[Function, None] = {}
            for function in self.module.functions:
                for i in function.instructions():
                    operands = list(i.operands)
                    if isinstance(i, Call):
                        del operands[i.arity]
                    for value in operands:
                        found |= dict.fromkeys(self._code_in(value))
            for variable in self.module.variables:
                if variable.initializer is not None:
                    for _, g, _ in initial_pointers(variable.initializer, self.layout):
                        found |= dict.fromkeys([g] if isinstance(g, Function) else [])
            self._taken = list(found)
        return self._taken

    def _code_in(self, value: AnyValue) -> list[Function]:
        if isinstance(value, (Argument, Instruction)):
            return []
        return [g for g, _ in constant_targets(value, self.layout) if isinstance(g, Function)]

    # --- queries, once solved

    def result_facts(self, function: Function) -> set[int]:
        return self._all_at(self._returns.get(function, ()))

    def exposed(self) -> set[MemoryObject]:
        """What code that is not known may have got hold of."""
        return {self.objects[n] for n in self._exposed | self._exposed_code}

    def text_of(self, call: Call) -> frozenset[MemoryObject]:
        """The text that a member of `std::string` may read, change and free."""
        return frozenset(self.met(self._all_at((self.string_text[call],))))

    def linked(self, call: Call) -> tuple[Function, ...]:
        return tuple(self._linked.get(call, ()))

    def leads_outside(self, call: Call) -> bool:
        """May a call reach code that is not known, or was it never looked at?"""
        return call in self.unknown_calls or call not in self._linked


def _function(i: Instruction) -> Function:
    assert i.block is not None and i.block.function is not None
    return i.block.function


def _is_callable(call: Call, function: Function) -> bool:
    declared = function.function_type
    return declared.vararg or call.function_type.vararg or len(declared.params) == call.arity


def _takes_more(call: Call, function: Function) -> bool:
    """Has a function of the program more parameters than a call has arguments? Such a call is undefined."""
    declared = function.function_type
    return not (function.is_declaration or declared.vararg) and len(declared.params) > call.arity


_DEEPEST = 4  # loads between an object and the function that it says is to be called


def virtual_call(call: Call, layout: DataLayout) -> tuple[AnyValue | None, tuple[int, ...]]:
    """The argument that says which function is called, and the way from it to that function, by the offsets of loads.

    `object->table->f(object)`: C++'s virtual functions (the table comes first in the object), C's tables of functions,
    and (one load) functions in the object itself.
    """
    path: tuple[int, ...] = ()
    pointer = call.callee
    while isinstance(pointer, Load) and len(path) < _DEEPEST:
        pointer, at = _address(pointer.pointer, layout)
        path = (at, *path)
        if any(pointer is a for a in call.arguments):
            return pointer, path
    return None, ()


def _address(pointer: AnyValue, layout: DataLayout) -> tuple[AnyValue, int]:
    """A pointer as bytes behind another, as far as they are constant."""
    match pointer:
        case GetElementPtr(source, base, indices) if isinstance(at := gep_spot(source, indices, layout), int):
            inner, by = _address(base, layout)
            return inner, by + at
    return pointer, 0


def is_byte_copy(load: Instruction | Argument) -> bool:
    """Is a narrow integer stored again as it was loaded, handed on, or put together with others?"""
    for user in load.users:
        match user:
            case Store(value, _) if value is load:
                return True
            case Return():
                return True
            case Call() if (f := user.called_function) is None or not f.is_declaration or f.name.startswith(STRING):
                return True
            case Cast("zext") | Phi() | Select() | InsertElement() | Unary("freeze"):
                if any(isinstance(u, (Store, Binary, Phi, InsertElement)) for u in user.users):
                    return True
    return False
