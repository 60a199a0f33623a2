"""The gradient of a foreign layer beside that of the same layer written in the framework, in one process:
`python -m benchmarks.layers`.

Two layers of `examples/frameworks`: a recurrent one, whose loop over time a framework runs operation by operation (or,
in JAX and TensorFlow, compiles), and one of bumps, which is a few operations on whole arrays. Values and gradients are
compared first. Times are CPU times of the whole process, least of many turns; frameworks are kept to one thread, for
their idle threads spin. Then what a tape saves a backward.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from examples.adbench.timing import take_turns

HERE = Path(__file__).parents[1] / "examples" / "frameworks"
BATCH, STEPS, WIDTH, POINTS, BUMPS = 16, 48, 64, 512, 160
RECURRENT = {"out": lambda w, x: (x[0], w[1]), "counts": {"steps": ("x", 0), "width": ("w", 1)}}
FIELD = {"out": "like sharpness", "counts": {"n": "sharpness"}}
Rows = Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]


def data() -> dict[str, Any]:
    """Inputs of both layers."""
    rng = np.random.default_rng(0)
    shapes = {"w": (2, WIDTH, WIDTH), "x": (BATCH, STEPS, 2 * WIDTH), "p": (POINTS, 2), "c": (BUMPS, 2), "s": (BUMPS,)}
    scale = {"w": WIDTH**-0.5, "s": 3.0}
    return {n: (scale.get(n, 1.0) * rng.normal(size=shape)).astype(np.float32) for n, shape in shapes.items()}


def torch_rows(given: dict[str, Any]) -> Rows:
    """Eager: what PyTorch does unless it is asked to compile."""
    import torch

    from llgrad.torch import foreign

    torch.set_num_threads(1)
    w, x, p, c, s = (torch.tensor(given[n], requires_grad=n in "wcs") for n in "wxpcs")
    recurrent = foreign(HERE / "recurrent.c", "recurrent", **RECURRENT)
    field = foreign(HERE / "bumps.c", "bumps", **FIELD)

    def own_recurrent() -> Any:
        h, every = torch.zeros(BATCH, WIDTH), []
        for t in range(STEPS):
            state, gate = x[:, t, :WIDTH] + h @ w[0], x[:, t, WIDTH:] + h @ w[1]
            h = h + (torch.tanh(state) - h) * torch.sigmoid(gate)
            every.append(h)
        return torch.autograd.grad(torch.stack(every, 1).square().sum(), w)

    def own_field() -> Any:
        out = torch.exp(-(s**2) * ((p[:, None] - c) ** 2).sum(-1))
        return torch.autograd.grad(out.square().sum(), (c, s))

    def ours() -> Any:
        return torch.autograd.grad(recurrent.batched(w, x, shared=("w",)).square().sum(), w)

    def our_field() -> Any:
        return torch.autograd.grad(field.batched(p, c, s, shared=("centres", "sharpness")).square().sum(), (c, s))

    yield "PyTorch, recurrent", ours, own_recurrent
    yield "PyTorch, bumps", our_field, own_field
    taped = foreign(HERE / "recurrent.c", "recurrent", keep_tape=True, **RECURRENT)
    one = x[0].contiguous()
    results = [f(w, one).square().sum() for f in (taped, recurrent)]
    back = [lambda r=r: torch.autograd.grad(r, w, retain_graph=True) for r in results]
    yield "  backward of one, from its tape | from the inputs", back[0], back[1]


def jax_rows(given: dict[str, Any]) -> Rows:
    """Under jit."""
    import jax
    from jax import numpy as jnp

    from llgrad.jax import foreign

    w, x, p, c, s = (jnp.asarray(given[n]) for n in "wxpcs")
    recurrent = foreign(HERE / "recurrent.c", "recurrent", **RECURRENT)
    field = foreign(HERE / "bumps.c", "bumps", **FIELD)

    def own_recurrent(w: Any) -> Any:
        def step(h: Any, at: Any) -> Any:
            state, gate = at[:, :WIDTH] + h @ w[0], at[:, WIDTH:] + h @ w[1]
            h = h + (jnp.tanh(state) - h) * jax.nn.sigmoid(gate)
            return h, h

        return jnp.sum(jax.lax.scan(step, jnp.zeros((BATCH, WIDTH)), x.swapaxes(0, 1))[1] ** 2)

    def own_field(of: Any) -> Any:
        return jnp.sum(jnp.exp(-(of[1] ** 2) * ((p[:, None] - of[0]) ** 2).sum(-1)) ** 2)

    def ours(w: Any) -> Any:
        return jnp.sum(jax.vmap(recurrent, (None, 0))(w, x) ** 2)

    def our_field(of: Any) -> Any:
        return jnp.sum(jax.vmap(field, (0, None, None))(p, *of) ** 2)

    def gradient(f: Any, at: Any) -> Callable[[], Any]:
        compiled = jax.jit(jax.grad(f))
        return lambda: jax.block_until_ready(compiled(at))

    yield "JAX, recurrent", gradient(ours, w), gradient(own_recurrent, w)
    yield "JAX, bumps", gradient(our_field, (c, s)), gradient(own_field, (c, s))


def tensorflow_rows(given: dict[str, Any]) -> Rows:
    """Under tf.function; the loop over time is unrolled, as Keras does where it is told to."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from llgrad.tensorflow import load

    w, x, p, c, s = (tf.constant(given[n]) for n in "wxpcs")
    recurrent = load(HERE / "recurrent.c", "recurrent", **RECURRENT)
    field = load(HERE / "bumps.c", "bumps", **FIELD)

    def own_recurrent(w: Any) -> Any:
        h, every = tf.zeros((BATCH, WIDTH)), []
        for t in range(STEPS):
            state, gate = x[:, t, :WIDTH] + h @ w[0], x[:, t, WIDTH:] + h @ w[1]
            h = h + (tf.tanh(state) - h) * tf.sigmoid(gate)
            every.append(h)
        return tf.stack(every, 1)

    def own_field(c: Any, s: Any) -> Any:
        return tf.exp(-(s**2) * tf.reduce_sum((p[:, None] - c) ** 2, -1))

    def gradient(f: Any, *at: Any) -> Callable[[], Any]:
        def both() -> Any:
            with tf.GradientTape() as tape:
                tape.watch(at)
                value = tf.reduce_sum(f(*at) ** 2)
            return tape.gradient(value, at)

        compiled: Callable[[], Any] = tf.function(both, autograph=False)
        return compiled

    ours = gradient(lambda w: recurrent.batched(w, x, shared=("w",)), w)
    yield "TensorFlow, recurrent", ours, gradient(own_recurrent, w)
    our_field = gradient(lambda c, s: field.batched(p, c, s, shared=("centres", "sharpness")), c, s)
    yield "TensorFlow, bumps", our_field, gradient(own_field, c, s)


def same(one: Any, other: Any) -> None:
    """Both gradients, within what single precision leaves."""
    pairs = zip(*(g if isinstance(g, tuple | list) else (g,) for g in (one, other)), strict=True)
    for a, b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.abs(b).max())


def main() -> None:
    """Print the table."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    groups = {"torch": torch_rows, "jax": jax_rows, "tensorflow": tensorflow_rows}
    print("milliseconds of CPU a gradient                        foreign   the framework's   ratio")
    for name, rows in groups.items():
        if find_spec(name) is None:
            print(f"{name}: not installed here; make bench-frameworks has it")
            continue
        for title, ours, theirs in rows(data()):
            same(ours(), theirs())
            taken = take_turns({"ours": ours, "theirs": theirs}, 15)
            a, b = (1e3 * taken[n].best for n in ("ours", "theirs"))
            print(f"{title:52} {a:8.2f}  {b:16.2f}   {a / b:5.2f}", flush=True)


if __name__ == "__main__":
    main()
