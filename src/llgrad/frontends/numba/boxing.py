"""Numba's objects made of their parts within compiled code: dictionaries, instances of `@jitclass`es, records.

Each function gives an `@njit` function of the parts, the same one for the same type. The module imports Numba, and is
imported where Numba is in use.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.extending import intrinsic
from numba.experimental.jitclass.base import _mangle_attr, imp_dtor
from numba.typed import Dict

from llgrad.frontends.numba import typed_list


@functools.cache
def dictionary(typ: Any) -> Any:
    """Of its keys and its values, in that order."""
    key, value = typ.key_type, typ.value_type

    def made(keys: Any, values: Any) -> Any:
        d = Dict.empty(key, value)
        for n in range(len(keys)):
            d[keys[n]] = values[n]
        return d

    return numba.njit(made)


@functools.cache
def empty(typ: Any) -> Any:
    """A dictionary, of nothing."""
    key, value = typ.key_type, typ.value_type
    return numba.njit(lambda: Dict.empty(key, value))


@functools.cache
def instance(typ: Any) -> Any:
    """Of all its fields; its constructor is not called."""
    names = list(typ.struct)
    signature = typ(*typ.struct.values())

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        stored = context.get_data_type(typ.get_data_type())
        destructor = imp_dtor(context, builder.module, typ)
        destructor.linkage = "linkonce_odr"
        size = context.get_constant(types.uintp, context.get_abi_sizeof(stored))
        memory = context.nrt.meminfo_alloc_dtor(builder, size, destructor)
        place = builder.bitcast(context.nrt.meminfo_data(builder, memory), stored.as_pointer())
        builder.store(cgutils.get_null_value(stored), place)
        made = context.make_helper(builder, typ)
        data = context.make_data_helper(builder, typ.get_data_type(), ref=place)
        made.meminfo, made.data = memory, place
        for name, kind, value in zip(names, signature.args, args, strict=True):
            context.nrt.incref(builder, kind, value)
            setattr(data, _mangle_attr(name), value)
        return made._getvalue()

    parts = [f"p{n}" for n in range(len(names))]
    scope: dict[str, Any] = {"signature": signature, "generate": generate}
    exec(f"def make(context, {', '.join(parts)}): return signature, generate", scope)
    scope["make"] = intrinsic(scope["make"])
    exec(f"def made({', '.join(parts)}): return make({', '.join(parts)})", scope)
    return numba.njit(scope["made"])


def _states(typingctx: Any, record: Any) -> Any:
    """Say which bytes of a record are integers: nobody else may look at them."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for field in record.fields.values():
            base = getattr(field.type, "dtype", field.type)
            if not isinstance(base, types.Float):
                place = cgutils.pointer_add(builder, args[0], field.offset, cgutils.voidptr_t)
                size = cgutils.intp_t(context.get_abi_sizeof(context.get_data_type(field.type)))
                typed_list.call(builder, cgutils.ir.VoidType(), "__enzyme_integer", place, size)
        return context.get_dummy_value()

    return types.void(record), generate


_stated: Any = intrinsic(_states)


@functools.cache
def records(dtype: Any) -> Any:
    """Of an array for each field: an array of records."""
    assert dtype.names
    parts = [f"p{n}" for n in range(len(dtype.names))]
    ranks = [dtype.fields[name][0].ndim for name in dtype.names]
    lead = f"p0.shape[:p0.ndim - {ranks[0]}]" if ranks[0] else "p0.shape"
    lines = [f"r = np.empty({lead}, dtype)", "for i in np.ndindex(r.shape):"]
    for part, name, rank in zip(parts, dtype.names, ranks, strict=True):
        lines.append(f"    r[i][{name!r}]{'[:]' if rank else ''} = {part}[i]")
    lines.append("    stated(r[i])")
    lines.append("return r")
    scope: dict[str, Any] = {"np": np, "dtype": dtype, "stated": _stated}
    exec(f"def made({', '.join(parts)}):\n    " + "\n    ".join(lines), scope)
    return numba.njit(scope["made"])
