"""Members of several records that are moved at once, as lanes of a vector, are bits until each is told apart.

LLVM's vectoriser reads records `{float, int}` as one wide vector and picks the lanes of each member; the vector's type
is that of one of them (floats that the others are cast from), which says nothing of the others:

    %w = load <8 x float>                                   %w = load <8 x i32>
    %a = shufflevector %w, poison, <0, 2, 4, 6>       →     %a = bitcast (shufflevector %w, poison, <0, 2, 4, 6>)
    %b = shufflevector (bitcast %w to <8 x i32>), …         %b = shufflevector %w, …

and stores them in the same way. What is computed of all lanes before some are picked is computed of those.
"""

from __future__ import annotations

from llgrad.ir.build import Builder, Names, zero
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, drop_unused, local_names
from llgrad.ir.types import FLOAT_BITS, FloatType, IntType, Type, VectorType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Cast,
    ConstAggregate,
    ConstZero,
    Function,
    Instruction,
    Load,
    ShuffleVector,
    Store,
    Unary,
    Undef,
    put_instead,
    replace_uses,
)

_BY_LANES = ("fadd", "fsub", "fmul", "fdiv", "fneg")


def with_lanes_apart(module: Module) -> bool:
    """Rewrite the wide loads and stores of mixed records."""
    return any([_rewritten(f) for f in module.concerned(may_have_lanes)])


def may_have_lanes(text: str) -> bool:
    """May a function's text pick lanes of other types? This is quick to say."""
    if "shufflevector" not in text or " = bitcast " not in text:
        return False
    return any(f" x {t}>" in line for line in text.split("\n") if " = bitcast " in line for t in FLOAT_BITS)


def _rewritten(f: Function) -> bool:
    names = local_names(f)
    picked = _picks_first(f, names)
    taken_apart = [i for i in f.instructions() if isinstance(i, Load) and _is_taken_apart(i)]
    mixed = [i for i in taken_apart if any(isinstance(u, Cast) for u in i.users)]
    stores = [i for i in f.instructions() if isinstance(i, Store) and _holds_integers(i.value)]
    if not mixed and not stores:
        return picked
    for load in taken_apart:
        if load in mixed or not _all_picked(load):
            _load_bits(load, names)
    for store in stores:
        old = store.value
        store.set_operand(0, _as_bits(before(store, names), old))
        store.metadata.pop("tbaa", None)
        drop_unused(old)
    return True


def _bits_of(t: Type) -> VectorType | None:
    """The vector of integers that is as wide as this one of floats, lane by lane."""
    if isinstance(t, VectorType) and isinstance(t.element, FloatType) and not t.scalable:
        return VectorType(IntType(FLOAT_BITS[t.element.name]), t.count)
    return None


# --- picks ------------------------------------------------------------------------------------------------------------


def _picks_first(f: Function, names: Names) -> bool:
    """Compute floats of the lanes that are picked, not of all."""
    picks = [i for i in f.instructions() if isinstance(i, ShuffleVector) and _picks(i)]
    changed = False
    while picks:
        pick = picks.pop()
        whole = pick.lhs
        if not (isinstance(whole, Binary | Unary) and whole.opcode in _BY_LANES and all(map(_picks, whole.users))):
            continue
        assert isinstance(pick.type, VectorType)
        b = before(pick, names)
        operands = [_picked(b, o, pick) for o in whole.operands]
        new = (Binary if isinstance(whole, Binary) else Unary)(whole.opcode, pick.type, operands, pick.name)
        new.flags, new.metadata = whole.flags, {k: v for k, v in whole.metadata.items() if k in ("dbg", "fpmath")}
        put_instead(pick, new)
        if not whole.users:
            whole.drop()
        picks += [o for o in operands if isinstance(o, ShuffleVector)]
        changed = True
    return changed


def _picked(b: Builder, v: AnyValue, pick: ShuffleVector) -> AnyValue:
    """The lanes of `v` that `pick` takes of another vector."""
    assert isinstance(v.type, VectorType) and isinstance(pick.type, VectorType)
    t = VectorType(v.type.element, pick.type.count)
    match v:
        case ConstZero():
            return zero(t)
        case ConstAggregate(elements=elements):
            lanes = (elements[n] if 0 <= n < len(elements) else Undef(t.element, True) for n in pick.mask)
            return ConstAggregate(t, tuple(lanes))
    return b.insert(ShuffleVector(t, v, Undef(v.type, True), pick.mask, pick.mask_constant))


# --- loads ------------------------------------------------------------------------------------------------------------


def _is_taken_apart(i: Load) -> bool:
    """Is a vector of floats cast to another, or taken apart, and not used as it is?"""
    if _bits_of(i.type) is None or "volatile" in i.flags:
        return False
    return bool(i.users) and all(_picks(u) or (isinstance(u, Cast) and u.opcode == "bitcast") for u in i.users)


def _all_picked(i: Load) -> bool:
    """Are all lanes used? (LLVM reads those of other members, too.)"""
    assert isinstance(i.type, VectorType)
    return len({n for u in i.users if isinstance(u, ShuffleVector) for n in u.mask if n >= 0}) == i.type.count


def _picks(user: Instruction) -> bool:
    """Does it take some lanes of one vector?"""
    return isinstance(user, ShuffleVector) and isinstance(user.rhs, Undef)


def _load_bits(i: Load, names: Names) -> None:
    bits = _bits_of(i.type)
    assert bits is not None
    new = Load(bits, i.pointer, i.align, i.name)
    new.flags, new.ordering, new.syncscope = i.flags, i.ordering, i.syncscope
    new.metadata = {k: v for k, v in i.metadata.items() if k != "tbaa"}  # it is one member's
    users = list(i.users)
    put_instead(i, new)
    for user in users:
        if isinstance(user, ShuffleVector):
            _pick_bits(user, new, names)
            continue
        if user.type == bits:
            replace_uses(user, new)
        elif _bits_of(user.type) is not None:
            _cast_late(user, new, names)
        drop_unused(user)


def _cast_late(cast: Instruction, new: AnyValue, names: Names) -> None:
    """Floats of another width that are only taken apart: their bits are."""
    bits = _bits_of(cast.type)
    if bits is None or not all(map(_picks, cast.users)):
        return
    whole = before(cast, names).cast("bitcast", new, bits)
    for user in list(cast.users):
        assert isinstance(user, ShuffleVector)
        _pick_bits(user, whole, names)


def _pick_bits(user: ShuffleVector, whole: AnyValue, names: Names) -> None:
    bits = _bits_of(user.type)
    assert bits is not None
    picked = ShuffleVector(bits, whole, Undef(whole.type, True), user.mask, user.mask_constant)
    put_instead(user, Cast("bitcast", user.type, [before(user, names).insert(picked)], user.name))


# --- stores -----------------------------------------------------------------------------------------------------------


def _holds_integers(v: AnyValue) -> bool:
    """Is a vector of floats put together of some that are cast from integers?"""
    return isinstance(v, ShuffleVector) and _bits_of(v.type) is not None and _has_cast(v)


def _has_cast(v: AnyValue, depth: int = 8) -> bool:
    if isinstance(v, ShuffleVector) and depth:
        return _has_cast(v.lhs, depth - 1) or _has_cast(v.rhs, depth - 1)
    return isinstance(v, Cast) and v.opcode == "bitcast" and v.value.type == _bits_of(v.type)


def _as_bits(b: Builder, v: AnyValue, depth: int = 8) -> AnyValue:
    """The bits of a vector of floats, put together again."""
    bits = _bits_of(v.type)
    assert bits is not None
    match v:
        case Undef(poison=poison):
            return Undef(bits, poison)
        case ShuffleVector(lhs, rhs, mask) if depth:
            first, second = _as_bits(b, lhs, depth - 1), _as_bits(b, rhs, depth - 1)
            return b.insert(ShuffleVector(bits, first, second, mask, v.mask_constant))
        case Cast("bitcast", inner) if inner.type == bits:
            return inner
    return b.cast("bitcast", v, bits)
