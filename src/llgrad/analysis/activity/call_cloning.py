"""Which functions want a copy for some of their calls, so that constant and active memory do not meet in them.

The analyses have one answer a function, for all calls of it together. A `Split` names functions that call each other
(most often one function alone) and calls of them from outside that bring memory of another nature: memory without a
shadow here, active memory there. Each group of calls gets a copy of all these functions.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from llgrad.analysis.activity.activity import Activity
from llgrad.analysis.solver import reach
from llgrad.ir.values import Call, Function


class Site(Struct, frozen=True):
    """A direct call: number `index` of the calls of `callee` in a function."""

    caller: str
    index: int
    callee: str


class Split(Struct, frozen=True):
    """Functions to copy, once for each group of calls."""

    members: tuple[str, ...]
    groups: tuple[tuple[Site, ...], ...]


def direct_calls(caller: Function, callee: Function) -> list[Call]:
    """The calls of one function in another."""
    return [i for i in caller.instructions() if isinstance(i, Call) and i.callee is callee]


def splits(activity: Activity) -> tuple[Split, ...]:
    """The copies that tell calls apart where functions see constant and active memory in one pointer; often none."""
    memory = activity.memory

    @cache
    def called(f: Function) -> tuple[Function, ...]:
        calls = [i for i in f.instructions() if isinstance(i, Call)]
        return tuple(dict.fromkeys(g for c in calls for g in memory.functions_called(c).functions))

    beyond = cache(lambda f: reach(called(f), called))
    meeting = [f for f in activity.functions if activity.meets_both(f)]
    concerned = reach(meeting, lambda f: [c.block.function for c in memory.callers(f) if c.block.function])
    found, done = [], set[Function]()
    for f in concerned:
        if f not in done and f in activity.functions:
            together = [f, *(g for g in beyond(f) if g is not f and f in beyond(g))]
            done.update(together)
            if (split := _split(activity, together)) is not None:
                found.append(split)
    return tuple(found)


def _split(activity: Activity, members: list[Function]) -> Split | None:
    memory = activity.memory
    groups: dict[tuple[object, ...], list[Site]] = {}
    others = False  # is one called in ways that stay with the original?
    for f in members:
        others |= f is memory.root or memory.called_back(f)
        for call in memory.callers(f):
            caller = call.block.function
            if caller is None or caller in members:
                continue
            if call.called_function is f:
                key = (f, *map(activity.nature, call.arguments))
                index = next(n for n, i in enumerate(direct_calls(caller, f)) if i is call)
                groups.setdefault(key, []).append(Site(caller.name, index, f.name))
            else:
                others = True
    if any(i.opcode == "indirectbr" for f in members for i in f.instructions()):
        return None  # a table elsewhere names its blocks
    copies = sorted(groups.values(), key=len, reverse=True)[0 if others else 1 :]
    return Split(tuple(f.name for f in members), tuple(map(tuple, copies))) if copies else None
