"""What a call of a foreign function costs beside the function: `python -m benchmarks.overhead`.

`python -m benchmarks.overhead --checks` tells what the checks of sizes cost (docs/memory-checks.md) instead: medians of
calls of typical functions and of their derivatives, with `unchecked=True` beside, in turns in one process.

A function of five elements that does next to nothing is called from NumPy and from every framework that is installed,
and beside it an operation of that framework that is registered the same way and does nothing. Times are CPU times of
the calling thread: both take turns, and of many short rounds the least counts. What a call costs above the empty
operation must not be more than 10 microseconds; with its gradient there are two calls, of the function and of its
derivative, each beside one of the empty operation, whose gradient is registered too and is the operation again.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

CODE = "void copy(const double *x, int n, double *y) { for (int i = 0; i < n; i++) y[i] = x[i]; }"
ROUNDS, CALLS, ALLOWED = 1500, 5, 10.0
Rows = Iterator[tuple[str, int, Callable[[], Any], Callable[[], Any] | None]]


def least(*calls: Callable[[], Any]) -> list[float]:
    """Microseconds of a call of each; they take turns."""
    found = [float("inf")] * len(calls)
    for call in calls:
        call()
    for _ in range(ROUNDS):
        for n, call in enumerate(calls):
            started = time.thread_time()
            for _ in range(CALLS):
                call()
            found[n] = min(found[n], 1e6 * (time.thread_time() - started) / CALLS)
    return found


def numpy_rows(path: Path) -> Rows:
    """The function, its gradient, on addresses: against nothing."""
    import llgrad
    from llgrad.foreign import load_foreign

    f, x, y = load_foreign(path, "copy"), np.ones(5), np.ones(5)
    primal, pull = f.call("primal", (), ((5,),)), f.call("vjp", (0,), ((5,),))
    at, to = x.ctypes.data, y.ctypes.data
    yield "plan", 1, lambda: primal.run([at], [to]), None
    yield "plan, gradient", 1, lambda: pull.run([at, at], [to]), None
    function = llgrad.load(path).copy
    yield "NumPy (llgrad.load)", 1, lambda: function(x, 5, y), None


def torch_rows(path: Path) -> Rows:
    """Forward, and forward with backward."""
    import torch

    from llgrad.torch import foreign

    def empty(t0: Any, batched: Any) -> Any:
        return torch.empty(t0.shape, dtype=t0.dtype)

    schema = "(Tensor t0, int[] batched) -> Tensor"
    nothing = torch.library.custom_op("bench::nothing", empty, mutates_args=(), device_types="cpu", schema=schema)
    nothing.register_autograd(lambda ctx, g: (nothing(g, []), None))
    f, x = foreign(path, "copy"), torch.ones(5, dtype=torch.float64)
    taped, grown, ones = foreign(path, "copy", keep_tape=True), x.clone().requires_grad_(), x.clone()
    yield "PyTorch", 1, lambda: f(x), lambda: nothing(x, [])
    torch.autograd.set_multithreading_enabled(False)

    def gradient(g: Any, *rest: Any) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(g(grown, *rest), grown, ones)

    yield "PyTorch, with backward", 2, gradient(f), gradient(nothing, [])
    yield "PyTorch, with its tape", 2, gradient(taped), gradient(nothing, [])


def jax_rows(path: Path) -> Rows:
    """Eager and under jit, against a negation."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from llgrad.jax import foreign

    x = jax.numpy.ones(5)
    f, negative = foreign(path, "copy"), jax.lax.neg
    yield "JAX, eager", 1, lambda: f(x).block_until_ready(), lambda: negative(x).block_until_ready()
    ours, theirs = jax.jit(f), jax.jit(negative)
    yield "JAX, jit", 1, lambda: ours(x).block_until_ready(), lambda: theirs(x).block_until_ready()


_registered: list[object] = []  # TensorFlow has no way to forget an operation: its code stays as long as the process


def tensorflow_rows(path: Path) -> Rows:
    """Eager, with its gradient, and as a graph."""
    import tensorflow as tf
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.framework import _pywrap_python_op_gen, op_def_registry

    import llgrad
    from llgrad.tensorflow import foreign, load

    library = Path(tf.__file__).with_name("libtensorflow_framework.so.2")
    kernel = llgrad.load(Path(__file__).with_name("nothing.c"), libraries=[str(library)])
    kernel.begin()
    _registered.append(kernel)
    listed, space = op_def_pb2.OpList(), dict[str, Any]()
    listed.op.add().CopyFrom(op_def_registry.get("LlgradNothing"))
    exec(_pywrap_python_op_gen.GetPythonWrappers(listed.SerializeToString()), space)
    nothing = space["llgrad_nothing"]
    tf.RegisterGradient("LlgradNothing")(lambda op, adjoint: nothing(adjoint))

    def gradient(g: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        return tape.gradient(y, x)

    f, x = load(path, "copy"), tf.ones(5, tf.float64)
    named = str(path)
    yield "TensorFlow, eager", 1, lambda: f(x), lambda: nothing(x)
    yield "TensorFlow, by file name", 1, lambda: foreign(x, filename=named, function="copy"), lambda: nothing(x)
    yield "TensorFlow, with gradient", 2, lambda: gradient(f), lambda: gradient(nothing)
    graph, same = tf.function(f), tf.function(nothing)
    yield "TensorFlow, tf.function", 1, lambda: graph(x), lambda: same(x)


# --- checks of sizes -------------------------------------------------------------------------------------------------

TYPICAL = """
#include <math.h>
void energy(int n, const double *restrict x, double k, double *restrict out)
{
    double sum = 0.0;
    for (int i = 0; i + 1 < n; i++)
        sum += 0.5 * k * (x[i + 1] - x[i]) * (x[i + 1] - x[i]) + cos(x[i]);
    *out = sum;
}
void product(int n, int m, const double *a, const double *x, double *y)
{ for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < m; j++) y[i] += a[i * m + j] * x[j]; } }
"""
FORTRAN = """
subroutine total(n, x, y)
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y
  y = sum(x * x)
end subroutine
subroutine matvec(n, m, a, x, y)
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m), x(m)
  real(8), intent(out) :: y(n)
  y = matmul(a, x)
end subroutine
"""
Calls = list[tuple[str, Callable[[], Any], Callable[[], Any]]]


def typical(folder: Path) -> Calls:
    """Calls with checks and without, of the README's function, of products, of Fortran."""
    import llgrad

    x, out, y, a = np.ones(5), np.zeros(1), np.zeros(2), np.ones((2, 3))
    sources = {"energy.c": TYPICAL, "sums.f90": FORTRAN} if shutil.which("flang-22") else {"energy.c": TYPICAL}
    given: dict[str, tuple[Any, ...]] = {
        "energy": (5, x, 2.0, out), "product": (2, 3, a, np.ones(3), y), "total": (5, x, out),
        "matvec": (2, 3, np.asfortranarray(a), np.ones(3), y),
    }  # fmt: skip
    found: Calls = []
    for file, text in sources.items():
        (folder / file).write_text(text)
        checked, unchecked = (llgrad.load(folder / file, unchecked=u) for u in (False, True))
        for name in (n for n in given if n in text):
            one, other, args = checked[name], unchecked[name], given[name]
            found.append((name, partial(one, *args), partial(other, *args)))
            of, seed = "out" if name == "energy" else "y", np.ones_like(args[-1])
            pulls = [llgrad.vjp(f, wrt="x", of=of) for f in (one, other)]
            found.append((f"{name}, vjp", partial(pulls[0], *args, seed=seed), partial(pulls[1], *args, seed=seed)))
    return found


def checks() -> None:
    """Print what the checks of sizes cost."""
    print("medians in microseconds     checked   unchecked   the check")
    with tempfile.TemporaryDirectory() as folder:
        for title, *pair in typical(Path(folder)):
            taken: list[list[float]] = [[], []]
            for _ in range(4 * ROUNDS):
                for call, found in zip(pair, taken, strict=True):
                    started = time.perf_counter()
                    for _ in range(CALLS):
                        call()
                    found.append(1e6 * (time.perf_counter() - started) / CALLS)
            with_checks, without = map(statistics.median, taken)
            print(f"{title:24} {with_checks:10.2f}  {without:10.2f}  {with_checks - without:10.2f}", flush=True)


# --- the table -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Print the table, and whether each row is within what is allowed."""
    groups = {"numpy": numpy_rows, "torch": torch_rows, "jax": jax_rows, "tensorflow": tensorflow_rows}
    print("microseconds of CPU             foreign   empty operation   above it   calls   each")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.c"
        path.write_text(CODE)
        for name, rows in groups.items():
            if find_spec(name) is None:
                print(f"{name}: not installed here; make bench-frameworks has it")
                continue
            for title, calls, ours, empty in rows(path):
                taken, nothing = least(ours, empty) if empty else (*least(ours), 0.0)
                each = (taken - nothing) / calls
                verdict = "within 10" if each <= ALLOWED else "MORE THAN 10"
                figures = f"{taken:9.1f}   {nothing:15.1f}   {taken - nothing:8.1f}   {calls:5}   {each:4.1f}"
                print(f"{title:28}  {figures}   {verdict}", flush=True)


if __name__ == "__main__":
    checks() if "--checks" in sys.argv else main()
