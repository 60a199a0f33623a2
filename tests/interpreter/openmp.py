"""The OpenMP run-time of clang and flang (libomp), with a team of one thread.

Each function takes the machine and then the call's operands, as in `runtime`. Work sharing gives the one thread
everything; reductions and locks have nothing to do. Addresses of integers that are bounds are read and written in
the width that the name says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpreter.scalar import to_signed
from llgrad.ir.types import IntType

if TYPE_CHECKING:
    from interpreter.machine import Machine

Builtin = Callable[..., Any]
_CHUNKED = 33


def _fork(m: Machine, location: int, count: int, task: int, *shared: Any) -> None:
    m.call(task, [m.cell("omp_thread", 4), m.cell("omp_bound_thread", 4), *shared])


def _static_init(bits: int) -> Builtin:
    """One thread: all iterations, or the first chunk of a chunked schedule and the stride to the next."""
    signed, mask = to_signed(bits), (1 << bits) - 1

    def init(
        m: Machine, location: int, thread: int, schedule: int,
        last: int, lower: int, upper: int, stride: int, step: int, chunk: int,
    ) -> None:  # fmt: skip
        codec = m.codecs(IntType(bits))
        m.codecs(IntType(32)).store(last, 1)
        low, high, step = signed(codec.load(lower)), signed(codec.load(upper)), signed(step)
        size = signed(chunk) * step if schedule == _CHUNKED else high - low + (1 if step > 0 else -1)
        codec.store(stride, size & mask)
        if schedule == _CHUNKED:
            codec.store(upper, (low + size - (1 if step > 0 else -1)) & mask)

    return init


def _dispatch_init(
    m: Machine, location: int, thread: int, schedule: int, low: int, high: int, step: int, chunk: int
) -> None:
    m.dispatched.append((low, high, step))


def _dispatch_next(bits: int) -> Builtin:
    def next_chunk(m: Machine, location: int, thread: int, last: int, lower: int, upper: int, stride: int) -> int:
        if not m.dispatched:
            return 0
        codec = m.codecs(IntType(bits))
        m.codecs(IntType(32)).store(last, 1)
        for place, value in zip((lower, upper, stride), m.dispatched.pop(), strict=True):
            codec.store(place, value)
        return 1

    return next_chunk


def _nothing(m: Machine, *_: Any) -> None:
    return None


def _one(m: Machine, *_: Any) -> int:
    return 1


def _zero(m: Machine, *_: Any) -> int:
    return 0


_WIDTHS = {"4": 32, "4u": 32, "8": 64, "8u": 64}
_EMPTY = str.split("""for_static_fini barrier push_num_threads critical end_critical critical_with_hint
end_reduce end_reduce_nowait end_single end_master end_masked flush ordered end_ordered begin end
serialized_parallel end_serialized_parallel dispatch_deinit dispatch_fini_4 dispatch_fini_8 push_proc_bind""")

LIBRARY: dict[str, Builtin] = {
    "__kmpc_fork_call": _fork,
    **{f"__kmpc_for_static_init_{suffix}": _static_init(bits) for suffix, bits in _WIDTHS.items()},
    **{f"__kmpc_dispatch_init_{suffix}": _dispatch_init for suffix in _WIDTHS},
    **{f"__kmpc_dispatch_next_{suffix}": _dispatch_next(bits) for suffix, bits in _WIDTHS.items()},
    **{f"__kmpc_{name}": _nothing for name in _EMPTY},
    **{f"__kmpc_{name}": _one for name in ("reduce", "reduce_nowait", "single", "master", "masked", "ok_to_fork")},
    **{name: _zero for name in ("__kmpc_global_thread_num", "omp_get_thread_num", "omp_in_parallel", "omp_get_level")},
    **{name: _one for name in ("omp_get_num_threads", "omp_get_max_threads", "omp_get_num_procs")},
    **{name: _nothing for name in ("omp_set_num_threads", "omp_set_dynamic", "omp_init_lock", "omp_destroy_lock")},
    **{name: _nothing for name in ("omp_set_lock", "omp_unset_lock")},
}
"""Symbol -> function of the machine and the operands."""
