"""Numba, so that what it compiles for llgrad is apart from what it compiles for the user.

Within `apart`, this thread compiles in a typing and a target context of llgrad's own; functions, ufuncs and classes of
the user's stand for private copies; memory that owns other memory is released by a function that its type names, and a
list that grows says how large its elements are: what stands in memory only, Numba's runtime would look up there.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from llgrad.frontends.numba import typed_list

_lock = threading.RLock()

_copies: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # of the user's dispatchers, and of Numba's
_state = threading.local()


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Within this, this thread compiles in contexts of llgrad's, and dispatchers stand for their private copies."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.experimental.jitclass.base import ClassBuilder

    with _lock, global_compiler_lock:
        contexts = _patched()
        contexts[1].install_registry(ClassBuilder.class_impl_registry)  # it grows with each class
        _state.contexts = contexts
        try:
            yield
        finally:
            _state.contexts = None


@functools.cache
def _patched() -> tuple[Any, Any]:
    """Teach Numba, once, to ask which contexts a thread compiles in and to remember IR; the contexts of `apart`."""
    from numba.core import codegen, cpu, dispatcher, lowering, registry, types
    from numba.core.runtime import rtsys
    from numba.core.runtime.context import NRTContext
    from numba.cpython.listobj import ListInstance
    from numba.np import arrayobj, linalg, npyimpl

    from llgrad.frontends.numba import typed_dict

    rtsys.initialize(registry.cpu_target.target_context)  # Numba's runtime, once: for the user
    target = type(registry.cpu_target)
    typing_context = _typing()
    mine = typing_context, cpu.CPUContext(typing_context, "cpu")
    mine[1].refresh()
    mine[1].install_registry(typed_dict.registry())
    for n, name in enumerate(("typing_context", "target_context")):
        setattr(target, name, property(_of_thread(getattr(target, name).fget, n)))
    compiler: Any = dispatcher.Dispatcher
    for name in ("get_call_template", "get_overload", "get_compile_result"):
        setattr(compiler, name, _redirected(getattr(compiler, name)))
    compiler.is_compiling = property(_redirected(compiler.is_compiling.fget))
    kind: Any = types.Dispatcher
    kind.dispatcher = property(_privately(kind.dispatcher.fget))
    lower: Any = lowering.Lower
    lower._lower_call_RecursiveCall = _linking(lower._lower_call_RecursiveCall)
    generator: Any = codegen.JITCPUCodegen
    generator.insert_unresolved_ref = _resolved(generator.insert_unresolved_ref)
    library: Any = codegen.JITCodeLibrary
    library.add_ir_module = _recording(library.add_ir_module)
    library.finalize = _idle(library.finalize, lambda self: setattr(self, "_finalized", True))
    library.get_pointer_to_function = _idle(library.get_pointer_to_function, lambda self: 0)
    # a function of C of its own, by which the compiled one is known and which nobody calls
    cpu.CPUContext.get_executable = _idle(cpu.CPUContext.get_executable, lambda self: [].append)
    context: Any = cpu.CPUContext
    context.get_setattr = _setting(context.get_setattr)
    npyimpl._ArrayIndexingHelper.update_indices = _in_step(npyimpl._ArrayIndexingHelper.update_indices)
    arrayobj.make_array = _sized(arrayobj.make_array)
    NRTContext.decref = _releasing(NRTContext.decref)
    NRTContext.meminfo_varsize_realloc_unchecked = _growing(NRTContext.meminfo_varsize_realloc_unchecked)
    ListInstance.resize = _of_list(ListInstance.resize)
    ListInstance.move = _moving(ListInstance.move)
    for name in ("setitem", "inititem"):
        setattr(ListInstance, name, _stating(getattr(ListInstance, name)))
    for name in ("ez_geqrf", "ez_xxgqr", "ez_xxxevd", "ez_gesdd", "ez_gelsd"):
        setattr(linalg._LAPACK, f"numba_{name}", _by_kind(getattr(linalg._LAPACK, f"numba_{name}"), name[3:]))
    return mine


def _by_kind(original: Any, name: str) -> Any:
    """A decomposition of LAPACK's: that of complex matrices is a function of its own."""
    from numba.core import types

    def function(dtype: Any) -> Any:
        found = original(dtype)
        if not _contexts() or not isinstance(dtype, types.Complex):
            return found
        return types.ExternalFunction(f"llgrad_numba_complex_{name}", found.sig)

    return staticmethod(function)


def _in_step(original: Any) -> Any:
    """Indices of an operand in an array expression, as a product of the loop's: 0 where its extent is one.

    Numba leaves such an index as it was in the iteration before, which hides from LLVM that the others are strided.
    """

    @functools.wraps(original)
    def update_indices(self: Any, loops: Any, name: Any) -> None:
        if not _contexts():
            original(self, loops, name)
            return
        b = self.array.builder
        inner = loops[len(loops) - len(self.indices) :]
        # arrays of gufuncs have more axes than indices
        for index, place, extent in zip(inner, self.indices, self.array.shape, strict=False):
            step = b.zext(b.icmp_unsigned(">", extent, extent.type(1)), extent.type)
            b.store(b.mul(index, step, flags=["nsw"]), place)

    return update_indices


def _sized(original: Any) -> Any:
    """The structure of an array, whose elements are as large as their type says: Numba reads that from memory."""

    @functools.wraps(original)
    def make_array(typ: Any) -> Any:
        made = original(typ)
        if _contexts():
            made.itemsize = property(functools.partial(_itemsize, typ.as_array.dtype))
        return made

    return make_array


def _itemsize(dtype: Any, array: Any) -> Any:
    from numba.core import types

    context = array._context
    return context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(dtype)))


def _contexts() -> tuple[Any, Any] | None:
    return getattr(_state, "contexts", None)


def _of_thread(usual: Any, n: int) -> Any:
    """The target's getter of its n-th context: within `apart`, ours."""
    return lambda self: (_contexts() or (None, None))[n] or usual(self)


def _redirected(method: Any) -> Any:
    """A method of dispatchers: within `apart`, that of the private copy."""

    @functools.wraps(method)
    def asked(self: Any, *args: Any) -> Any:
        return method(private(self) if _contexts() else self, *args)

    return asked


def _privately(usual: Any) -> Any:
    """A getter of dispatchers: within `apart`, of private copies."""
    return lambda self: private(usual(self)) if _contexts() else usual(self)


def _linking(original: Any) -> Any:
    """A function that calls itself for other types is linked with what was compiled for them."""

    @functools.wraps(original)
    def lower(self: Any, called: Any, expression: Any, signature: Any) -> Any:
        known = called.dispatcher_type.dispatcher.overloads.get(signature.args) if _contexts() else None
        if known is not None:
            self.context.add_linking_libs([known.library])
        return original(self, called, expression, signature)

    return lower


def _resolved(original: Any) -> Any:
    """A function that calls itself is called by its name: Numba calls through a variable that is filled in later."""

    @functools.wraps(original)
    def insert_unresolved_ref(self: Any, builder: Any, kind: Any, name: str) -> Any:
        from numba.core import cgutils

        if not _contexts():
            return original(self, builder, kind, name)
        return cgutils.get_or_insert_function(builder.module, kind, name)

    return insert_unresolved_ref


def private(dispatcher: Any) -> Any:
    """A dispatcher of the same function that only derivatives use; loops that Numba lifted have none."""
    from numba.core.dispatcher import LiftedCode

    if isinstance(dispatcher, LiftedCode) or getattr(dispatcher, "of_llgrad", False):
        return dispatcher
    if dispatcher not in _copies:
        options = {k: v for k, v in dispatcher.targetoptions.items() if k not in ("parallel", "cache")}
        options |= {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        pipeline = dispatcher._compiler.pipeline_class
        made = _copies[dispatcher] = type(dispatcher)(dispatcher.py_func, dispatcher.locals, options, pipeline)
        made.of_llgrad = True
    return _copies[dispatcher]


def _recording(original: Any) -> Any:
    """Libraries of Numba's remember the modules that are added to them, and do nothing else with them."""

    @functools.wraps(original)
    def add_ir_module(self: Any, module: Any) -> Any:
        if not _contexts():
            return original(self, module)
        self.__dict__.setdefault("_llgrad_texts", []).append(str(module))
        return None

    return add_ir_module


def _idle(original: Any, instead: Callable[[Any], Any]) -> Any:
    """A method that would make machine code: within `apart`, none is made."""

    @functools.wraps(original)
    def method(self: Any, *args: Any) -> Any:
        return instead(self) if _contexts() else original(self, *args)

    return method


# --- what owns memory -------------------------------------------------------------------------------------------------


def _releasing(original: Any) -> Any:
    """Of Numba's memory, what releases it: where it owns other memory, a function that is known by the type."""

    @functools.wraps(original)
    def decref(self: Any, builder: Any, typ: Any, value: Any) -> None:
        if not _contexts():
            original(self, builder, typ, value)
            return
        for memory, destructor in _owners(self._context, builder, typ, value):
            _released(builder, memory, destructor)

    return decref


def _owners(context: Any, builder: Any, typ: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The memory that a value holds, with what is to be called before it is freed, or None."""
    from numba import types
    from numba.cpython.listobj import ListInstance
    from numba.experimental.jitclass.base import imp_dtor

    from llgrad.frontends.numba import typed_dict

    model = context.data_model_manager[typ]
    if isinstance(typ, types.ClassInstanceType):
        destructor = imp_dtor(context, builder.module, typ)
        destructor.linkage = "linkonce_odr"
        yield model.get(builder, value, "meminfo"), destructor
    elif isinstance(typ, types.List) and context.data_model_manager[typ.dtype].contains_nrt_meminfo():
        made = ListInstance(context, builder, typ, value)
        yield made.meminfo, made.define_dtor()
    elif isinstance(typ, types.ListType):
        destructor = typed_list.destructor(context, builder.module, typ, context.nrt.decref)
        yield model.get(builder, value, "meminfo"), destructor
    elif isinstance(typ, types.DictType):
        destructor = typed_dict.destructor(context, builder.module, typ, context.nrt.decref)
        yield model.get(builder, value, "meminfo"), destructor
    else:
        if model.has_nrt_meminfo():
            yield model.get_nrt_meminfo(builder, value), None
        for inner, get in model.traverse(builder):
            yield from _owners(context, builder, inner, get(value))


def _released(builder: Any, memory: Any, destructor: Any) -> None:
    from numba.core import cgutils

    pointer = cgutils.voidptr_t
    types = [pointer, pointer] if destructor else [pointer]
    name = "llgrad_numba_release" if destructor else "NRT_decref"
    if destructor and len(destructor.args) == 3:
        name = "llgrad_numba_release_object"
    kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), types)
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    builder.call(function, [memory, *([builder.bitcast(destructor, pointer)] if destructor else [])])


def _of_list(original: Any) -> Any:
    """Lists that are resized are known to `_growing`."""

    @functools.wraps(original)
    def resize(self: Any, new_size: Any) -> Any:
        _state.growing = self
        try:
            return original(self, new_size)
        finally:
            _state.growing = None

    return resize


def _stating(original: Any) -> Any:
    """What stores an element of a list that is made of others says which of these are integers."""

    @functools.wraps(original)
    def store(self: Any, index: Any, *args: Any, **named: Any) -> None:
        stored = self._context.get_data_type(self._ty.dtype)
        if _contexts() and hasattr(stored, "elements"):
            typed_list.state_integers(self._builder, self._gep(index), stored)
        original(self, index, *args, **named)

    return store


def _moving(original: Any) -> Any:
    """What moves elements within a list moves them one by one, as what they are; they may overlap."""

    @functools.wraps(original)
    def move(self: Any, to: Any, start: Any, count: Any) -> None:
        if not _contexts():
            original(self, to, start, count)
            return
        b, stored = self._builder, self._context.get_data_type(self._ty.dtype)
        with b.if_else(b.icmp_signed("<", to, start)) as (down, up):
            for way, backwards in ((down, False), (up, True)):
                with way:
                    typed_list.moved(b, stored, self._gep(start), self._gep(to), count, backwards)
        self.set_dirty(True)

    return move


def _setting(original: Any) -> Any:
    """What stores an array of floats in an instance says that they are: strides that lie in memory say nothing."""

    @functools.wraps(original)
    def get_setattr(self: Any, attribute: str, signature: Any) -> Any:
        from numba import types
        from numba.core import cgutils

        usual, (owner, value) = original(self, attribute, signature), signature.args
        floats = isinstance(value, types.Array) and isinstance(value.dtype, types.Float)
        of_class = isinstance(owner, types.ClassInstanceType) and attribute in owner.struct
        if not _contexts() or not floats or not of_class:
            return usual
        name, size = ("__enzyme_double", 8) if value.dtype.bitwidth == 64 else ("__enzyme_float", 4)

        def store(builder: Any, args: Any) -> Any:
            array = self.make_array(value)(self, builder, value=args[1])
            data = builder.bitcast(array.data, cgutils.voidptr_t)
            typed_list.call(builder, cgutils.ir.VoidType(), name, data, cgutils.intp_t(size))
            return usual(builder, args)

        return store

    return get_setattr


def _growing(original: Any) -> Any:
    """A list that grows, with the place of its first element and the size of one."""

    @functools.wraps(original)
    def realloc(self: Any, builder: Any, meminfo: Any, size: Any) -> Any:
        grown = getattr(_state, "growing", None)
        if not _contexts() or grown is None:
            return original(self, builder, meminfo, size)
        from numba import types
        from numba.core import cgutils

        def call(result: Any, name: str, *args: Any) -> Any:
            kind = cgutils.ir.FunctionType(result, [a.type for a in args])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        context, word = self._context, cgutils.intp_t
        stored = context.get_data_type(grown._ty.dtype)
        item = context.get_abi_sizeof(stored)
        start = word(context.get_abi_sizeof(context.get_data_type(types.ListPayload(grown._ty))) - item)
        length, room = grown.size, builder.sdiv(builder.sub(size, start), word(item))
        count = builder.select(builder.icmp_signed("<", length, room), length, room)
        old = self.meminfo_data(builder, meminfo)
        made = call(cgutils.voidptr_t, "llgrad_numba_grow", meminfo, size)
        first, second = cgutils.gep(builder, old, start), cgutils.gep(builder, made, start)
        typed_list.moved(builder, stored, first, second, count)
        call(cgutils.ir.VoidType(), "NRT_Free", old)
        return made

    return realloc


# --- what is not a function of Numba's --------------------------------------------------------------------------------


def _typing() -> Any:
    """A typing context that makes copies of ufuncs, and learns of classes, when it meets them."""
    from numba.core import typing
    from numba.core.extending import _Intrinsic
    from numba.experimental.jitclass.base import JitClassType
    from numba.np.ufunc.dufunc import DUFunc
    from numba.np.ufunc.gufunc import GUFunc
    from numba.stencils.stencil import StencilFunc

    def copied(gv: Any) -> Any:
        if isinstance(gv, StencilFunc):
            return StencilFunc(gv.kernel_ir, gv.mode, gv.options)
        return _generalised(gv) if isinstance(gv, GUFunc) else _elementwise(gv)

    made: Any = typing.Context()
    usual = made._lookup_global

    def lookup_global(gv: Any) -> Any:
        gv = typed_list.of(gv) or gv if isinstance(gv, _Intrinsic) else gv
        known = usual(gv)
        if known is not None or not isinstance(gv, JitClassType | DUFunc | GUFunc | StencilFunc):
            return known
        if isinstance(gv, JitClassType):
            made.insert_global(gv, gv.class_type)
        else:
            copy = _ufuncs[gv] = copied(gv)
            made._insert_global(gv, usual(copy))
        return usual(gv)

    made._lookup_global = lookup_global
    return made


_ufuncs: dict[Any, Any] = {}


def _elementwise(ufunc: Any) -> Any:
    copy = type(ufunc)(ufunc._dispatcher.py_func, identity=ufunc.identity, targetoptions=ufunc.targetoptions)
    for signature in ufunc._dispatcher.overloads:
        copy.add(signature)
    if ufunc._frozen:
        copy.disable_compile()
    return copy


def _generalised(ufunc: Any) -> Any:
    return type(ufunc)._rebuild(**{**ufunc._reduce_states(), "cache": None})
