"""Numba's dictionaries, with keys and values of the types that each has: Numba's own library copies bytes.

Entries stand in the order they came in, in one array; `runtime/linalg/numba.c` finds them by their hashes and counts
them, code that knows the types compares keys and moves entries. An entry that was taken out stays as it is, unused. The
module imports Numba, and is imported where Numba is in use.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from numba.core import cgutils, imputils, typing
from numba.core import types as numba_types
from numba.core.extending import intrinsic
from numba.typed.typedobjectutils import _container_get_data

from llgrad.frontends.numba import typed_list

types: Any = numba_types

_WORD = cgutils.intp_t


@functools.cache
def intrinsics() -> dict[str, Any]:
    """What stands for intrinsics of `numba.typed.dictobject`, by their names."""

    def new_sized(typingctx: Any, n_keys: Any, key: Any, value: Any) -> Any:
        return types.voidptr(n_keys, key, value), lambda context, builder, signature, args: typed_list.call(
            builder, cgutils.voidptr_t, "llgrad_numba_dict_new"
        )

    def set_method_table(typingctx: Any, dp: Any, key: Any, value: Any) -> Any:
        return types.void(dp, key, value), lambda context, builder, signature, args: context.get_dummy_value()

    def insert(typingctx: Any, d: Any, key: Any, hashval: Any, val: Any) -> Any:
        return types.int32(d, d.key_type, types.intp, d.value_type), _insert

    def lookup(typingctx: Any, d: Any, key: Any, hashval: Any) -> Any:
        return types.Tuple([types.intp, types.Optional(d.value_type)])(d, key, hashval), _lookup

    def popitem(typingctx: Any, d: Any) -> Any:
        item = types.Tuple([d.key_type, d.value_type])
        return types.Tuple([types.int32, types.Optional(item)])(d), _popitem

    def delitem(typingctx: Any, d: Any, hk: Any, ix: Any) -> Any:
        return types.int32(d, hk, types.intp), _delitem

    made = (new_sized, set_method_table, insert, lookup, popitem, delitem)
    return {f"_dict_{f.__name__}": intrinsic(f) for f in made}


def registry() -> Any:
    """How iterators of dictionaries go on."""
    made = imputils.Registry("llgrad's dictionaries")
    made.lower("iternext", types.DictIteratorType)(imputils.iternext_impl(imputils.RefType.BORROWED)(_next))
    return made


class _Entries:
    """The entries of the dictionary of type `typ` that `pointer` names."""

    def __init__(self, context: Any, builder: Any, typ: Any, pointer: Any) -> None:
        self.context, self.builder, self.pointer = context, builder, pointer
        self.types = typ.key_type, typ.value_type
        self.models = [context.data_model_manager[t] for t in self.types]
        self.stored = cgutils.ir.LiteralStructType([m.get_data_type() for m in self.models])

    @classmethod
    def of(cls, context: Any, builder: Any, typ: Any, value: Any) -> _Entries:
        """Those of a dictionary as Numba knows it."""
        return cls(context, builder, typ, _container_get_data(context, builder, typ, value))

    def call(self, name: str, *args: Any, result: Any = _WORD) -> Any:
        """What a function of C says of the dictionary."""
        return typed_list.call(self.builder, result, f"llgrad_numba_dict_{name}", self.pointer, *args)

    def block(self) -> Any:
        """Where the entries are."""
        return self.call("entries", result=cgutils.voidptr_t)

    def part(self, index: Any, n: int) -> Any:
        """Where the key (0) or the value (1) of an entry is."""
        place = cgutils.gep(self.builder, self.builder.bitcast(self.block(), self.stored.as_pointer()), index)
        return cgutils.gep_inbounds(self.builder, place, 0, n)

    def load(self, index: Any, n: int) -> Any:
        """The key or the value of an entry."""
        return self.models[n].load_from_data_pointer(self.builder, self.part(index, n))

    def store(self, index: Any, n: int, value: Any) -> None:
        """Store the key or the value of an entry, which owns it from now on."""
        self.context.nrt.incref(self.builder, self.types[n], value)
        self.builder.store(self.models[n].as_data(self.builder, value), self.part(index, n))

    def release(self, index: Any, n: int) -> None:
        """The entry no longer owns its key or value."""
        self.context.nrt.decref(self.builder, self.types[n], self.load(index, n))

    def found(self, key: Any, hashed: Any) -> Any:
        """The entry with a key; -1 if there is none."""
        b, at = self.builder, cgutils.alloca_once(self.builder, _WORD)
        b.store(self.call("next", hashed, _WORD(-1)), at)
        test, compare, other, done = (b.append_basic_block(f"dict.{n}") for n in ("test", "compare", "other", "done"))
        b.branch(test)
        b.position_at_end(test)
        index = b.load(at)
        b.cbranch(b.icmp_signed("<", index, _WORD(0)), done, compare)
        b.position_at_end(compare)
        b.cbranch(self._equal(self.load(index, 0), key), done, other)
        b.position_at_end(other)
        b.store(self.call("next", hashed, index), at)
        b.branch(test)
        b.position_at_end(done)
        return b.load(at)

    def _equal(self, *keys: Any) -> Any:
        context, signature = self.context, typing.signature(types.boolean, self.types[0], self.types[0])
        equal = context.typing_context.resolve_value_type(operator.eq)
        equal.get_call_type(context.typing_context, signature.args, {})
        compare = context.get_function(equal, signature)
        context.add_linking_libs(getattr(compare, "libs", ()))
        return compare(self.builder, keys)

    def added(self, key: Any, hashed: Any) -> Any:
        """The entry for a new key."""
        b = self.builder
        size = _WORD(self.context.get_abi_sizeof(self.stored))
        full = b.icmp_signed("==", self.call("used"), self.call("room"))
        with b.if_then(full, likely=False):
            old = self.block()
            new = self.call("grow", size, result=cgutils.voidptr_t)
            typed_list.moved(b, self.stored, old, new, self.call("used"))
            typed_list.call(b, cgutils.ir.VoidType(), "NRT_Free", old)
        index = self.call("add", hashed)
        self.store(index, 0, key)
        return index


def _insert(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    _, key, hashed, value = args
    entries = _Entries.of(context, builder, signature.args[0], args[0])
    at, status = cgutils.alloca_once(builder, _WORD), cgutils.alloca_once(builder, cgutils.int32_t)
    found = entries.found(key, hashed)
    builder.store(found, at)
    with builder.if_else(builder.icmp_signed(">=", found, _WORD(0))) as (known, new):
        with known:
            entries.release(found, 1)
            builder.store(cgutils.int32_t(1), status)
        with new:
            builder.store(entries.added(key, hashed), at)
            builder.store(cgutils.int32_t(0), status)
    entries.store(builder.load(at), 1, value)
    return builder.load(status)


def _lookup(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    typ, (value, key, hashed) = signature.args[0], args
    entries = _Entries.of(context, builder, typ, value)
    found = entries.found(key, hashed)
    given = cgutils.alloca_once_value(builder, context.make_optional_none(builder, typ.value_type))
    with builder.if_then(builder.icmp_signed(">=", found, _WORD(0))):
        loaded = entries.load(found, 1)
        context.nrt.incref(builder, typ.value_type, loaded)
        builder.store(context.make_optional_value(builder, typ.value_type, loaded), given)
    return context.make_tuple(builder, signature.return_type, [found, builder.load(given)])


def _popitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    item = signature.return_type[1].type
    entries = _Entries.of(context, builder, signature.args[0], args[0])
    last = entries.call("last")
    given = cgutils.alloca_once_value(builder, context.make_optional_none(builder, item))
    any_left = builder.icmp_signed(">=", last, _WORD(0))
    with builder.if_then(any_left):
        both = context.make_tuple(builder, item, [entries.load(last, n) for n in (0, 1)])
        builder.store(context.make_optional_value(builder, item, both), given)
        entries.call("remove", last, result=cgutils.ir.VoidType())
    status = builder.select(any_left, cgutils.int32_t(0), cgutils.int32_t(-4))
    return cgutils.pack_struct(builder, [status, builder.load(given)])


def _delitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    entries = _Entries.of(context, builder, signature.args[0], args[0])
    for n in (0, 1):
        entries.release(args[2], n)
    entries.call("remove", args[2], result=cgutils.ir.VoidType())
    return cgutils.int32_t(0)


def _next(context: Any, builder: Any, signature: Any, args: Any, result: Any) -> None:
    [typ] = signature.args
    iterator = context.make_helper(builder, typ, args[0])
    entries = _Entries.of(context, builder, typ.parent, iterator.parent)
    index = typed_list.call(builder, _WORD, "llgrad_numba_dict_iter_next", iterator.state)
    left = builder.icmp_signed(">=", index, _WORD(0))
    result.set_valid(left)
    with builder.if_then(left):
        if isinstance(typ.iterable, types.DictItemsIterableType):
            both = [entries.load(index, n) for n in (0, 1)]
            result.yield_(context.make_tuple(builder, typ.yield_type, both))
        else:
            result.yield_(entries.load(index, int(isinstance(typ.iterable, types.DictValuesIterableType))))


def destructor(context: Any, module: Any, typ: Any, each: Callable[..., None]) -> Any:
    """The function that lets go what a dictionary of this type owns, and frees it."""
    kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t])
    function = cgutils.get_or_insert_function(module, kind, f"llgrad.dtor.{typ}")
    if not function.is_declaration:
        return function
    function.linkage = "linkonce_odr"
    builder = cgutils.ir.IRBuilder(function.append_basic_block())
    pointer = builder.load(builder.bitcast(function.args[0], cgutils.voidptr_t.as_pointer()))
    entries = _Entries(context, builder, typ, pointer)
    if any(m.contains_nrt_meminfo() for m in entries.models):
        with (
            cgutils.for_range(builder, entries.call("used")) as loop,
            builder.if_then(builder.icmp_signed("!=", entries.call("has", loop.index), _WORD(0))),
        ):
            for n, t in enumerate(entries.types):
                each(builder, t, entries.load(loop.index, n))
    entries.call("free", result=cgutils.ir.VoidType())
    builder.ret_void()
    return function
