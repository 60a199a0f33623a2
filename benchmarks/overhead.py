"""What a call of a foreign function costs beside the function: `python -m benchmarks.overhead`.

A function of five elements that does next to nothing is called from NumPy and from every framework that is installed,
and beside it an operation of that framework that is registered the same way and does nothing. Times are CPU times of
the calling thread, the least of many rounds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

CODE = "void copy(const double *x, int n, double *y) { for (int i = 0; i < n; i++) y[i] = x[i]; }"
ROUNDS, CALLS = 60, 200


def least(call: Callable[[], Any]) -> float:
    """Microseconds of a call."""
    call()
    found = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        for _ in range(CALLS):
            call()
        found.append((time.thread_time() - started) / CALLS)
    return 1e6 * min(found)


def numpy_rows(path: Path) -> Iterator[tuple[str, float, float]]:
    """The function, its gradient, on addresses: against nothing."""
    import llgrad
    from llgrad.foreign import load_foreign

    f, x, y = load_foreign(path, "copy"), np.ones(5), np.ones(5)
    primal, pull = f.call("primal", (), ((5,),)), f.call("vjp", (0,), ((5,),))
    at, to = x.ctypes.data, y.ctypes.data
    yield "plan", least(lambda: primal.run([at], [to])), 0.0
    yield "plan, gradient", least(lambda: pull.run([at, at], [to])), 0.0
    function = llgrad.load(path).copy
    yield "NumPy (llgrad.load)", least(lambda: function(x, 5, y)), 0.0


def torch_rows(path: Path) -> Iterator[tuple[str, float, float]]:
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
    yield "PyTorch", least(lambda: f(x)), least(lambda: nothing(x, []))
    torch.autograd.set_multithreading_enabled(False)
    empty_too = least(lambda: torch.autograd.grad(nothing(grown, []), grown, ones))
    yield "PyTorch, with backward", least(lambda: torch.autograd.grad(f(grown), grown, ones)), empty_too
    yield "PyTorch, with its tape", least(lambda: torch.autograd.grad(taped(grown), grown, ones)), empty_too


def jax_rows(path: Path) -> Iterator[tuple[str, float, float]]:
    """Eager and under jit, against a negation."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from llgrad.jax import foreign

    x = jax.numpy.ones(5)
    f, negative = foreign(path, "copy"), jax.lax.neg
    yield "JAX, eager", least(lambda: f(x).block_until_ready()), least(lambda: negative(x).block_until_ready())
    ours, theirs = jax.jit(f), jax.jit(negative)
    yield "JAX, jit", least(lambda: ours(x).block_until_ready()), least(lambda: theirs(x).block_until_ready())


def tensorflow_rows(path: Path) -> Iterator[tuple[str, float, float]]:
    """Eager, with its gradient, and as a graph."""
    import tensorflow as tf
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.framework import _pywrap_python_op_gen, op_def_registry

    import llgrad
    from llgrad.tensorflow import foreign, load

    library = Path(tf.__file__).with_name("libtensorflow_framework.so.2")
    kernel = llgrad.load(Path(__file__).with_name("nothing.c"), libraries=[str(library)])
    kernel.begin()
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
    yield "TensorFlow, eager", least(lambda: f(x)), least(lambda: nothing(x))
    named = str(path)
    by_name = least(lambda: foreign(x, filename=named, function="copy"))
    yield "TensorFlow, by file name", by_name, least(lambda: nothing(x))
    yield "TensorFlow, with gradient", least(lambda: gradient(f)), least(lambda: gradient(nothing))
    graph, same = tf.function(f), tf.function(nothing)
    yield "TensorFlow, tf.function", least(lambda: graph(x)), least(lambda: same(x))


def main() -> None:
    """Print the table."""
    groups = {"numpy": numpy_rows, "torch": torch_rows, "jax": jax_rows, "tensorflow": tensorflow_rows}
    print("microseconds of CPU a call      foreign   empty operation   above it")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.c"
        path.write_text(CODE)
        for name, rows in groups.items():
            if find_spec(name) is None:
                print(f"{name}: not installed here; make bench-frameworks has it")
                continue
            for title, ours, empty in rows(path):
                print(f"{title:28}  {ours:9.1f}   {empty:15.1f}   {ours - empty:8.1f}")


if __name__ == "__main__":
    main()
