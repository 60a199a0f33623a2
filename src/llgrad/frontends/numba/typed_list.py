"""Numba's typed lists, with elements of the type that each list has: Numba's own library copies bytes.

`of(intrinsic)` is what stands for an intrinsic of `numba.typed.listobject` when llgrad compiles; `destructor` is what a
list does before its memory is freed. Bodies are in `runtime/linalg/numba.c`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def of(gv: Any) -> Any:
    """The intrinsic that stands for another, of lists or of dictionaries; None for what stays."""
    from llgrad.frontends.numba import typed_dict

    made = {"numba.typed.listobject": _intrinsics, "numba.typed.dictobject": typed_dict.intrinsics}
    known = made.get(getattr(gv._defn, "__module__", ""))
    return known().get(getattr(gv, "_name", "")) if known else None


@functools.cache
def _intrinsics() -> dict[str, Any]:
    from numba.core import types
    from numba.core.extending import intrinsic

    def append(typingctx: Any, values: Any, item: Any) -> Any:
        return types.int32(values, values.item_type), _append

    def setitem(typingctx: Any, values: Any, index: Any, item: Any) -> Any:
        return types.int32(values, index, item), _setitem

    def delitem(typingctx: Any, values: Any, index: Any) -> Any:
        return types.int32(values, index), _delitem

    return {f"_list_{f.__name__}": intrinsic(f) for f in (append, setitem, delitem)}


def call(builder: Any, result: Any, name: str, *args: Any) -> Any:
    """The call of a function of `runtime/linalg/numba.c`."""
    from numba.core import cgutils

    kind = cgutils.ir.FunctionType(result, [a.type for a in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _layout(context: Any, builder: Any, typ: Any, value: Any) -> tuple[Any, Any, Any, Any]:
    """The list in C, the size of an element, its type in memory, its model."""
    from numba.core import cgutils
    from numba.typed.typedobjectutils import _container_get_data

    stored = context.get_data_type(typ.item_type)
    size = cgutils.intp_t(context.get_abi_sizeof(stored))
    return _container_get_data(context, builder, typ, value), size, stored, context.data_model_manager[typ.item_type]


def _element(builder: Any, pointer: Any, stored: Any, index: Any) -> Any:
    from numba.core import cgutils

    base = call(builder, cgutils.voidptr_t, "numba_list_base_ptr", pointer)
    return cgutils.gep(builder, builder.bitcast(base, stored.as_pointer()), index)


def moved(builder: Any, stored: Any, source: Any, target: Any, count: Any, backwards: bool = False) -> None:
    """Copy elements of a type from one address to another, first to last or the other way."""
    from numba.core import cgutils

    old, new = (builder.bitcast(p, stored.as_pointer()) for p in (source, target))
    last = builder.sub(count, count.type(1))
    with cgutils.for_range(builder, count) as loop:
        index = builder.sub(last, loop.index) if backwards else loop.index
        place = cgutils.gep(builder, new, index)
        builder.store(builder.load(cgutils.gep(builder, old, index)), place)
        state_integers(builder, place, stored)


def state_integers(builder: Any, place: Any, stored: Any) -> None:
    """Say of the integers in an element that they are: nobody else may look at some, strides of arrays say."""
    from numba.core import cgutils

    if isinstance(stored, cgutils.ir.IntType) and stored.width >= 32:
        size = cgutils.intp_t(stored.width // 8)
        call(builder, cgutils.ir.VoidType(), "__enzyme_integer", builder.bitcast(place, cgutils.voidptr_t), size)
    elif isinstance(stored, cgutils.ir.LiteralStructType | cgutils.ir.ArrayType):
        for n, inner in enumerate(stored.elements if hasattr(stored, "elements") else [stored.element] * stored.count):
            state_integers(builder, cgutils.gep_inbounds(builder, place, 0, n), inner)


def _append(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    from numba.core import cgutils

    typ, (value, item) = signature.args[0], args
    pointer, size, stored, model = _layout(context, builder, typ, value)
    word, block = cgutils.intp_t, cgutils.voidptr_t
    length = call(builder, word, "numba_list_length", pointer)
    full = builder.icmp_signed("==", length, call(builder, word, "numba_list_allocated", pointer))
    with builder.if_then(full, likely=False):
        old = call(builder, block, "numba_list_base_ptr", pointer)
        moved(builder, stored, old, call(builder, block, "llgrad_numba_list_grow", pointer, size), length)
        call(builder, cgutils.ir.VoidType(), "NRT_Free", old)
    builder.store(model.as_data(builder, item), _element(builder, pointer, stored, length))
    call(builder, cgutils.ir.VoidType(), "llgrad_numba_list_set_size", pointer, builder.add(length, word(1)))
    context.nrt.incref(builder, typ.item_type, item)
    return cgutils.int32_t(0)


def _setitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    from numba.core import cgutils

    typ, (value, index, item) = signature.args[0], args
    pointer, _, stored, model = _layout(context, builder, typ, value)
    place = _element(builder, pointer, stored, index)
    context.nrt.incref(builder, typ.item_type, item)
    context.nrt.decref(builder, typ.item_type, model.load_from_data_pointer(builder, place))
    builder.store(model.as_data(builder, item), place)
    return cgutils.int32_t(0)


def _delitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    from numba.core import cgutils

    typ, (value, index) = signature.args[0], args
    pointer, _, stored, model = _layout(context, builder, typ, value)
    place, word = _element(builder, pointer, stored, index), cgutils.intp_t
    context.nrt.decref(builder, typ.item_type, model.load_from_data_pointer(builder, place))
    less = builder.sub(call(builder, word, "numba_list_length", pointer), word(1))
    moved(builder, stored, cgutils.gep(builder, place, 1), place, builder.sub(less, index))
    call(builder, cgutils.ir.VoidType(), "llgrad_numba_list_set_size", pointer, less)
    return cgutils.int32_t(0)


def destructor(context: Any, module: Any, typ: Any, each: Callable[..., None]) -> Any:
    """The function that lets go what a list of this type owns, `each` element, and frees the list in C."""
    from numba.core import cgutils

    kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t])
    function = cgutils.get_or_insert_function(module, kind, f"llgrad.dtor.{typ}")
    if not function.is_declaration:
        return function
    function.linkage = "linkonce_odr"
    builder = cgutils.ir.IRBuilder(function.append_basic_block())
    pointer = builder.load(builder.bitcast(function.args[0], cgutils.voidptr_t.as_pointer()))
    model = context.data_model_manager[typ.item_type]
    if model.contains_nrt_meminfo():
        stored, word = context.get_data_type(typ.item_type), cgutils.intp_t
        size = call(builder, word, "numba_list_length", pointer)
        with cgutils.for_range(builder, size) as loop:
            place = _element(builder, pointer, stored, loop.index)
            each(builder, typ.item_type, model.load_from_data_pointer(builder, place))
    call(builder, cgutils.ir.VoidType(), "numba_list_free", pointer)
    builder.ret_void()
    return function
