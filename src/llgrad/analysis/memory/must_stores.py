"""Reads of pointers in global variables that find what the program itself has stored there since its root was entered.

A pointer in a mutable global may have been stored by code that runs before the root. Where every way from the root's
entry to a load passes a store to the same word, it was not: `settled` gives those loads, and the words of copies for
which it holds (`old => new` copies a descriptor of Fortran's). A forward must-analysis over
words of globals, through calls: a function begins with what all its callers have written, and a call adds what its
callee writes on every way to its return. Nothing takes a word away again.

`found_null` gives a variable that holds no such pointer at all: the root does nothing unless it is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llgrad.analysis.cfg.flow import Flow, flow
from llgrad.analysis.objects import WORD, constant_targets, gep_offset, initial_pointers
from llgrad.ir.module import Module
from llgrad.ir.types import IntType, PointerType, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Block,
    Branch,
    Call,
    Compare,
    ConstInt,
    ConstNull,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    Return,
    Store,
    Unreachable,
)

Word = tuple[GlobalVariable, int]
Words = frozenset[Word]
Read = tuple[Instruction, int]
"""A load or a copy, and the byte in what it reads at which the word begins."""
_LOCAL = (Argument, Instruction)
_COPIES, _FILL = ("llvm.memcpy.", "llvm.memmove."), "llvm.memset."


def settled(module: Module, root: Function, variables: Iterable[GlobalVariable]) -> frozenset[Read]:
    """The reads of pointers in `variables` that find what was stored after `root` was entered."""
    sizes = {v: module.layout.known_size(v.value_type) for v in variables}  # not of incomplete types, nor `a[]`
    words = {
        v: frozenset((v, n) for n in range(-(-size // WORD)))
        for v, size in sizes.items() if size and size <= 512 * WORD
    }  # fmt: skip
    return _Written(module, root, words).reads() if words and not root.is_declaration else frozenset()


def found_null(root: Function) -> GlobalVariable | None:
    """The variable, a pointer, that `root` looks at before it does anything, and goes on from only if it is null."""
    if root.is_declaration:
        return None
    *before, end = root.entry.instructions
    if not all(isinstance(i, (Alloca, Compare, GetElementPtr, Load)) for i in before) or not isinstance(end, Branch):
        return None
    match end.condition:
        case Compare("icmp", ("eq" | "ne") as predicate, Load(GlobalVariable() as variable) as load, ConstNull()):
            other = end.targets[predicate == "eq"]
            return variable if _ends(other) and load.type == variable.value_type else None
    return None


def _ends(block: Block) -> bool:
    """Does the program end there? (LLVM may have one block for all ends.)"""
    last = block.instructions[-1]
    common = last.targets[0].instructions if isinstance(last, Branch) and len(last.targets) == 1 else [last]
    return isinstance(common[-1], Unreachable)


class _Written:
    """The analysis of one program; see the module."""

    def __init__(self, module: Module, root: Function, words: dict[GlobalVariable, Words]) -> None:
        self.module, self.words = module, words
        self.functions = self._reached(root)
        self.words = self._looked_at()
        self.all: Words = frozenset(w for found in self.words.values() for w in found)
        self.leaves: dict[Function, Words] = dict.fromkeys(self.functions, self.all)
        self.enters: dict[Function, Words] = dict.fromkeys(self.functions, self.all)
        self.enters |= dict.fromkeys((root, *self._taken), frozenset())
        if self.words:
            self.flows: dict[Function, Flow] = {f: flow(f) for f in self.functions}
            self._sharpen()

    def _reached(self, root: Function) -> list[Function]:
        """What the root may call; functions whose address is taken may be called from anywhere."""
        initial = (v.initializer for v in self.module.variables if v.initializer is not None)
        targets = (g for value in initial for _, g, _ in initial_pointers(value, self.module.layout))
        self._taken = {f for f in targets if isinstance(f, Function)}
        found = dict.fromkeys([root, *(f for f in self._taken if not f.is_declaration)])
        work = list(found)
        while work:
            for i in work.pop().instructions():
                named = i.called_function if isinstance(i, Call) else None
                pointed = {g for v in i.operands if not isinstance(v, _LOCAL) for g in self._code(v)}
                self._taken |= pointed - {named}
                for f in {*pointed, *([named] if named else [])}:
                    if not f.is_declaration and f not in found:
                        found[f] = None
                        work.append(f)
        return list(found)

    def _code(self, value: AnyValue) -> Iterator[Function]:
        """The functions whose address a constant holds."""
        for g, _ in constant_targets(value, self.module.layout):
            if isinstance(g, Function):
                yield g

    def _looked_at(self) -> dict[GlobalVariable, Words]:
        """The variables that pointers are loaded from, where the program writes in them, too."""
        read, written = set[GlobalVariable](), set[GlobalVariable]()
        for f in self.functions:
            for i in f.instructions():
                if isinstance(i, Load) and _is_word(i.type):
                    read.update(self._variable(i.pointer))
                elif isinstance(i, Store):
                    written.update(self._variable(i.pointer))
                elif _is_copy(i):
                    written.update(self._variable(i.operands[0]))
                    read.update(self._variable(i.operands[1]))
                elif _is_copy(i, (_FILL,)):
                    written.update(self._variable(i.operands[0]))
        return {v: w for v, w in self.words.items() if v in read and v in written}

    def _variable(self, pointer: AnyValue) -> Iterator[GlobalVariable]:
        if (place := self._place(pointer)) is not None:
            yield place[0]

    def _sharpen(self) -> None:
        """What is written when a function is entered and left is less than all of it: to the greatest fixed point."""
        callers: dict[Function, list[Function]] = {}
        for f in self.functions:
            for i in f.instructions():
                if isinstance(i, Call) and i.called_function in self.leaves:
                    callers.setdefault(i.called_function, []).append(f)
        work = dict.fromkeys(reversed(self.functions))
        while work:
            f, _ = work.popitem()
            states = self._states(f)
            left = [state for i, state in states if isinstance(i, Return)]
            leaves = frozenset.intersection(*left) if left else self.all
            if leaves != self.leaves[f]:
                self.leaves[f] = leaves
                work |= dict.fromkeys(callers.get(f, ()))
            for i, state in states:
                callee = i.called_function if isinstance(i, Call) else None
                if callee in self.enters and callee not in self._taken and not self.enters[callee] <= state:
                    self.enters[callee] &= state
                    work[callee] = None

    def _states(self, function: Function) -> list[tuple[Instruction, Words]]:
        """Before each load, call and return: what has been written."""
        order, at_end = self.flows[function], dict[Block, Words]()
        found: list[tuple[Instruction, Words]] = []
        changed = True
        while changed:
            changed, found = False, []
            for block in order.order:
                before = [at_end.get(p, self.all) for p in order.predecessors[block]]
                state = self.enters[function] if block is function.entry else frozenset.intersection(*before)
                for i in block.instructions:
                    if isinstance(i, (Load, Call, Return)):
                        found.append((i, state))
                    state |= self._writes(i)
                changed |= at_end.get(block) != state
                at_end[block] = state
        return found

    def _writes(self, i: Instruction) -> Words:
        match i:
            case Store(value, pointer):
                return self._range(pointer, self.module.layout.size(value.type))
            case Call():
                f = i.called_function
                if f is not None and f in self.leaves and i.opcode == "call":
                    return self.leaves[f]
                if _is_copy(i, (*_COPIES, _FILL)) and isinstance(i.arguments[2], ConstInt):
                    return self._range(i.arguments[0], i.arguments[2].value)
        return frozenset()

    def _place(self, pointer: AnyValue) -> tuple[GlobalVariable, int | None] | None:
        """The variable, and the offset in it, that a pointer points to, where that is plain to see."""
        if isinstance(pointer, GetElementPtr):
            base = self._place(pointer.pointer)
            by = gep_offset(pointer.source_type, pointer.indices, self.module.layout)
            if base is None:
                return None
            variable, at = base
            return variable, None if at is None or by is None else at + by
        if isinstance(pointer, _LOCAL):
            return None
        found = list(constant_targets(pointer, self.module.layout))
        if len(found) != 1 or not isinstance(found[0][0], GlobalVariable) or found[0][0] not in self.words:
            return None
        return found[0][0], found[0][1]

    def _range(self, pointer: AnyValue, size: int) -> Words:
        """The whole words in `size` bytes at a pointer."""
        place = self._place(pointer)
        if place is None or place[1] is None:
            return frozenset()
        variable, at = place[0], place[1]
        return frozenset((variable, n) for n in range(-(-at // WORD), (at + size) // WORD)) & self.words[variable]

    def reads(self) -> frozenset[Read]:
        found = set[Read]()
        for function in self.functions if self.words else ():
            for i, state in self._states(function):
                if isinstance(i, Load) and _is_word(i.type) and (place := self._place(i.pointer)) is not None:
                    variable, at = place
                    wanted = self.words[variable] if at is None or at % WORD else {(variable, at // WORD)}
                    if wanted <= state:
                        found.add((i, 0))
                elif _is_copy(i) and isinstance(i, Call) and isinstance(size := i.arguments[2], ConstInt):
                    place = self._place(i.arguments[1])
                    if place is not None and place[1] is not None and place[1] % WORD == 0:
                        variable, first = place[0], place[1] // WORD
                        found.update((i, WORD * n) for n in range(size.value // WORD) if (variable, first + n) in state)
        return frozenset(found)


def _is_copy(i: Instruction, names: tuple[str, ...] = _COPIES) -> bool:
    return isinstance(i, Call) and (f := i.called_function) is not None and f.name.startswith(names)


def _is_word(t: Type) -> bool:
    return isinstance(t, PointerType) or (isinstance(t, IntType) and t.bits == 64)
