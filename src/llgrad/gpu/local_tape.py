"""The tape of a derivative within a thread: its arena and first segment lie in the thread's local memory.

    %arena = call ptr @llgrad.tape.take()           %block = alloca [1152 x i8], align 64
    …                                          ->   %arena = call ptr @llgrad.gpu.tape.begin(ptr %block, i64 1152)
    call void @llgrad.tape.give(ptr %arena)         call void @llgrad.gpu.tape.end(ptr %arena)

What does not fit grows into the device's heap, as the arena does anyway. Arenas that leave the function stay there.
"""

from __future__ import annotations

from llgrad.ir.build import declare, i64
from llgrad.ir.module import Module
from llgrad.ir.rewrite import at_start, before, bodies, calling, erase, local_names, replaced
from llgrad.ir.types import I8, I64, PTR, VOID, ArrayType
from llgrad.ir.values import Call, Compare, Function, GetElementPtr, Instruction, Load, Store
from llgrad.models.gpu import TAPE_BEGIN, TAPE_END

TAKE, GIVE = "llgrad.tape.take", "llgrad.tape.give"
HEADERS, KEPT = 128, 1024
"""Bytes of an arena and of a segment's header; bytes of a tape that are in local memory."""


def with_local_tapes(module: Module) -> bool:
    """Put arenas that a function takes and gives back into its own memory; are there any?"""
    changed = False
    for f in bodies(module, *calling(TAKE)):
        for take in [i for i in f.instructions() if _calls(i, TAKE) and _stays(i)]:
            assert isinstance(take, Call)
            _replace(module, f, take)
            changed = True
    return changed


def _calls(i: Instruction, name: str) -> bool:
    return isinstance(i, Call) and i.called_function is not None and i.called_function.name == name


def _stays(take: Instruction) -> bool:
    """Is the arena given back in this function, and handed to nobody who may keep it?"""
    users = list(take.users)
    plain = all(
        isinstance(u, Call | GetElementPtr | Compare | Load) or (isinstance(u, Store) and u.value is not take)
        for u in users
    )
    return plain and any(_calls(u, GIVE) for u in users)


def _replace(module: Module, f: Function, take: Call) -> None:
    size = HEADERS + KEPT
    block = at_start(f, local_names(f)).alloca(ArrayType(I8, size), "tape", 64)
    names = local_names(f)
    end = declare(module, TAPE_END, VOID, [PTR])
    for give in [u for u in take.users if _calls(u, GIVE)]:
        before(give, names).call(end, [take])
        erase(give)
    begin = declare(module, TAPE_BEGIN, PTR, [PTR, I64])
    replaced(take, before(take, names).call(begin, [block, i64(size)], "arena"))
