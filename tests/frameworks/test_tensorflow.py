"""TensorFlow's own tools on foreign functions: eager, graphs, nested tapes, Keras."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: make test-frameworks does that")
pytestmark = pytest.mark.filterwarnings("ignore")

from llgrad.errors import UnsupportedError  # noqa: E402
from llgrad.foreign import ForeignShapeError, ForeignSignatureError, ForeignTypeError  # noqa: E402
from llgrad.tensorflow import foreign, load  # noqa: E402

DECLARED: dict[str, dict[str, Any]] = {
    "waves": {}, "energy": {}, "layer": {"out": ("rows",)},
    "blend": {"out": {"sums": "like at"}, "counts": {"n": "at"}},
    "relax": {"updates": "u"}, "staged": {"scratch": {"tmp": "like x"}}, "product": {},
}  # fmt: skip
LAYER = {"out": ("rows",), "counts": {"rows": ("w", 0), "columns": ("w", 1)}}


def random(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(sum(shape) + len(shape)).uniform(0.5, 1.5, shape))


def inputs(name: str) -> tuple[tuple[Any, ...], list[Any]]:
    """Static arguments that come first, and tensors."""
    x = random(5)
    return {
        "energy": ((), [x, random(5) + 0.1, random()]), "layer": ((4, 5), [random(4, 5), x]),
        "relax": ((), [x, random()]), "blend": ((), [random(), random() + 1, x]), "product": ((), [x, random(5) + 0.2]),
    }.get(name, ((), [x]))  # fmt: skip


def function(lib: llgrad.Library, name: str) -> Any:
    f, static = load(lib[name], **DECLARED[name]), inputs(name)[0]
    if name == "blend":
        return lambda *tensors: f(*tensors, at=tf.constant([0, 4, 2, 2], tf.int32))[1]
    return lambda *tensors: f(*static, *tensors)


def largest(found: Any) -> float:
    """The largest difference of two Jacobians, relative to what they hold."""
    pairs = zip(*found, strict=True)
    return max(float(np.max(np.abs(a - b), initial=0) / np.max(np.abs(b), initial=1)) for a, b in pairs)


@pytest.mark.parametrize("name", DECLARED)
def test_gradients(lib: llgrad.Library, name: str) -> None:
    f, tensors = function(lib, name), inputs(name)[1]
    assert largest(tf.test.compute_gradient(f, tensors, delta=1e-5)) < 1e-7

    def slope(*given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            value = tf.reduce_sum(tf.sin(f(*given)))
        return tape.gradient(value, given)[0]

    assert largest(tf.test.compute_gradient(slope, tensors, delta=1e-5)) < 1e-7  # nested tapes
    assert largest(tf.test.compute_gradient(tf.function(slope), tensors, delta=1e-5)) < 1e-7


def test_the_first_example(source_file: Path) -> None:
    x = tf.Variable(np.linspace(-1, 1, 6, dtype=np.float32))
    with tf.GradientTape() as tape:
        out = foreign(x, filename=str(source_file), function="f")
    np.testing.assert_allclose(out, x * x * tf.sin(x), rtol=1e-5)
    wanted = 2 * x * tf.sin(x) + x * x * tf.cos(x)
    np.testing.assert_allclose(tape.gradient(out, x), wanted, rtol=1e-4, atol=1e-6)


def test_unknown_dimensions(lib: llgrad.Library) -> None:
    f, g = load(lib.waves), load(lib.layer, **LAYER)
    spec = [tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.float64)]

    @tf.function(input_signature=spec)
    def loss(w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([w, x])
            value = tf.reduce_sum(f(g(w, x)) ** 2)
        return value, tape.gradient(value, [w, x])

    for rows, columns in ((3, 4), (5, 2), (1, 0)):
        w, x = random(rows, columns), random(columns)
        with tf.GradientTape() as tape:
            tape.watch([w, x])
            value = tf.reduce_sum(f(g(w, x)) ** 2)
        found = loss(w, x)
        np.testing.assert_allclose(found[0], value)
        for a, b in zip(found[1], tape.gradient(value, [w, x]), strict=True):
            np.testing.assert_allclose(a, b)
    product = tf.function(load(lib.product), input_signature=[tf.TensorSpec([None], tf.float64)] * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="which array of product does n count"):
        product(random(3), random(2))


def test_what_shapes_must_be_where_they_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "code.c"
    path.write_text(
        "double scaled(double k, const double *x, int n)\n"
        "{ double s = 0; for (int i = 0; i < n; i++) s += k * x[i]; return s; }\n"
        "double rows(const double (*x)[3], int n)\n"
        "{ double s = 0; for (int i = 0; i < n / 3; i++) s += x[i][0] * x[i][2]; return s; }\n"
    )
    lib, some = llgrad.load(path), tf.TensorSpec([None], tf.float64)
    with pytest.raises(ForeignShapeError, match="k must be one number"):
        tf.function(load(lib.scaled), input_signature=[some, some])(random(2), random(3))
    rows = tf.function(load(lib.rows), input_signature=[some])
    assert rows(random(6)).numpy() == load(lib.rows)(random(6)).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="a shape that ends with"):
        rows(random(4))
    three = tf.function(load(lib.scaled.specialized(n=3)), input_signature=[tf.TensorSpec([], tf.float64), some])
    assert three(random(), random(3)).numpy() == load(lib.scaled)(random(), random(3)).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="specialised to n = 3"):
        three(random(), random(4))


def test_batches(lib: llgrad.Library) -> None:
    f, (_, a, k), rows = load(lib.energy), inputs("energy")[1], random(6, 5)
    wanted = tf.stack([f(row, a, k) for row in rows])

    def whole(a: Any, k: Any) -> Any:
        return f.batched(rows, a, k, shared=("a", "k"))

    np.testing.assert_allclose(whole(a, k), wanted)
    assert largest(tf.test.compute_gradient(whole, [a, k], delta=1e-5)) < 1e-7

    def slope(a: Any, k: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            value = tf.reduce_sum(tf.sin(whole(a, k)))
        return tape.gradient(value, a)

    assert largest(tf.test.compute_gradient(slope, [a, k], delta=1e-5)) < 1e-6
    g = load(lib.waves)
    with tf.GradientTape() as tape:
        tape.watch(rows)
        out = g.batched(rows)
    jacobians = tape.batch_jacobian(out, rows)
    with tf.GradientTape() as tape:
        tape.watch(row := rows[2])
        out = g(row)
    np.testing.assert_allclose(jacobians[2], tape.jacobian(out, row))


def test_wrong_arguments(lib: llgrad.Library, source_file: Path) -> None:
    f, x = load(lib.waves), random(3)
    for bad in (tf.float32, tf.complex128, tf.int32, tf.float16):
        with pytest.raises(ForeignTypeError, match="not float64"):
            f(tf.cast(x, bad))
    with pytest.raises(ForeignTypeError, match="must be a tensor, not list"):
        f([1.0])
    for sparse in (tf.ragged.constant([[1.0, 2.0], [3.0]], tf.float64), tf.sparse.from_dense(x)):
        with pytest.raises(ForeignTypeError, match="must be a dense tensor, not"):
            f(sparse)
    with pytest.raises(ForeignShapeError, match="x has 3, y has 2"):
        load(lib.product)(x, x[:2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises((ForeignTypeError, tf.errors.InvalidArgumentError), match="int64"):
        tape.gradient(y, x, output_gradients=tf.ones(3, tf.int64))
    with pytest.raises(TypeError, match="out={'y'"):
        foreign(x, filename=source_file, function="layer")
    with pytest.raises(Exception, match="no known rank"):  # (TensorFlow wraps what is raised as it traces)
        tf.function(f, input_signature=[tf.TensorSpec(None, tf.float64)])(x)
    with pytest.raises(llgrad.LlgradError, match="assembly"), tf.GradientTape() as tape:
        tape.watch(x)
        tape.gradient(load(lib.tangle)(x), x)
    with pytest.raises(tf.errors.OpError):
        tf.function(f, jit_compile=True)(x)


def test_forward_accumulators(lib: llgrad.Library) -> None:
    """Forward mode, alone and over itself, and in both orders with reverse mode; eager and in a graph."""
    f, x, v = load(lib.energy), random(5), random(5) * 0.3
    a, k = random(5) + 0.1, tf.constant(1.5, tf.float64)

    def own(x: Any) -> Any:
        return tf.reduce_sum(a * x**3 + k * k * x * tf.roll(x, -1, 0))

    def push(g: Any) -> Any:
        def pushed(x: Any) -> Any:
            with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
                y = g(x)
            return accumulator.jvp(y)

        return pushed

    def pull(g: Any) -> Any:
        def pulled(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = g(x) ** 2
            return tape.gradient(y, x)

        return pulled

    ways = (push, lambda g: push(push(g)), lambda g: push(pull(g)), lambda g: pull(push(g)))
    for way in ways:
        wanted = way(own)(x)
        np.testing.assert_allclose(way(lambda x: f(x, a, k))(x), wanted)
        np.testing.assert_allclose(tf.function(way(lambda x: f(x, a, k)))(x), wanted)
    shared = push(lambda x: f.batched(x[None] * [[1.0], [2.0]], a, k, shared=("a", "k")))(x)
    np.testing.assert_allclose(shared, push(lambda x: tf.stack([own(x), own(2 * x)]))(x))


def test_whoever_watches_operators_sees_them(lib: llgrad.Library) -> None:
    f, x = load(lib.waves), random(3)
    tf.debugging.enable_check_numerics()
    try:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert np.all(np.isfinite(tape.gradient(y, x)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
            f(x * float("nan"))
    finally:
        tf.debugging.disable_check_numerics()


def test_an_edited_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "scale.c"
    for factor in (1, 2, 3):
        path.write_text(f"double scale(const double *x, int n) {{ return {factor} * x[n - 1]; }}")
        assert foreign(random(2) * 0 + 1, filename=str(path), function="scale") == factor


def test_third_derivatives_are_refused(lib: llgrad.Library) -> None:
    f, x = load(lib.waves), random(3)
    with tf.GradientTape() as three, tf.GradientTape() as two, tf.GradientTape() as one:
        for tape in (one, two, three):
            tape.watch(x)
        first = one.gradient(f(x), x)
        second = two.gradient(first, x)
        with pytest.raises(UnsupportedError, match="third derivatives of waves"):
            three.gradient(second, x)


def test_failures_are_exceptions(tmp_path: Path) -> None:
    path = tmp_path / "throws.cpp"
    path.write_text('extern "C" double f(const double *x, int n) { if (x[0] > 1) throw 3; return x[0] * n; }')
    f = load(path, "f")
    try:
        assert f(tf.constant([0.5, 0], tf.float64)) == 1
    except llgrad.LlgradError as error:
        pytest.skip(f"no C++ here: {error.message}")
    with pytest.raises(tf.errors.InternalError, match="threw a C"):
        f(tf.constant([1.5, 0], tf.float64))


def test_threads(lib: llgrad.Library) -> None:
    f, data = load(lib.staged, **DECLARED["staged"]), random(8, 300)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = f(x)
        return tape.gradient(value, x).numpy()

    wanted, found = [slope(row) for row in data], [None] * 8

    def work(n: int) -> None:
        for _ in range(10):
            found[n] = slope(data[n])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    np.testing.assert_array_equal(found, wanted)


def test_a_keras_layer_learns(lib: llgrad.Library) -> None:
    f = load(lib.layer, **LAYER)

    class Dense(tf.keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(1, int(shape[-1])), initializer="zeros", dtype="float64")

        def call(self, x: Any) -> Any:
            return f.batched(tf.convert_to_tensor(self.w), x, shared=("w",))

        def compute_output_shape(self, shape: Any) -> Any:
            return (shape[0], 1)

    tf.keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(256, 3))
    y = np.tanh(x @ [[0.5], [-1.0], [0.25]])
    model = tf.keras.Sequential([tf.keras.Input((3,), dtype="float64"), Dense(dtype="float64")])
    model.compile(tf.keras.optimizers.Adam(0.05), "mse")
    history = model.fit(x, y, epochs=12, batch_size=32, verbose=0).history["loss"]
    assert history[-1] < 1e-3 * history[0]


def test_saved_models(lib: llgrad.Library, tmp_path: Path) -> None:
    f = load(lib.waves)
    module = tf.Module()
    module.f = tf.function(f, input_signature=[tf.TensorSpec([None], tf.float64)])
    tf.saved_model.save(module, str(tmp_path / "saved"))
    x = random(4)
    np.testing.assert_array_equal(tf.saved_model.load(str(tmp_path / "saved")).f(x), f(x))


def test_it_imports_no_other_framework() -> None:
    code = """
import sys, tensorflow
before = {m.split(".")[0] for m in sys.modules}
import llgrad.tensorflow
tensorflow.config.threading.set_intra_op_parallelism_threads(1)  # nothing has begun yet
assert not ({m.split(".")[0] for m in sys.modules} - before) & {"jax", "torch"}
"""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=200, env=environment)


def test_the_example_learns() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: make test-frameworks does that")
    from examples.frameworks import terrain

    land, learnt, errors = terrain.train(epochs=2, count=40)
    assert errors[-1] < 0.8 * np.std(land) and np.isfinite(learnt).all()


def test_outputs_are_proven(lib: llgrad.Library) -> None:
    """Written before they are read, as long as the code makes them, and guarded where that is not known."""
    x, some = tf.constant([0.3, -0.2, 0.9], tf.float64), [tf.TensorSpec([None], tf.float64)]
    np.testing.assert_allclose(load(lib.softmax)(x), tf.nn.softmax(x), rtol=1e-12)
    np.testing.assert_allclose(tf.function(load(lib.softmax), input_signature=some)(x), tf.nn.softmax(x), rtol=1e-12)
    w = tf.reshape(tf.range(9, dtype=tf.float64), (3, 3))
    products, mean = load(lib.products, counts={"n": "x"}), load(lib.mean)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        made = products(w, x), tf.function(mean, input_signature=some)(x)
    np.testing.assert_allclose(tape.gradient(made[0], x), tf.reduce_sum(w, 0))
    np.testing.assert_allclose(tape.gradient(made[1], x), 4 * x)
    with pytest.raises(ForeignSignatureError, match="writes 2\\*n elements of y"):
        load(lib.wide)
    assert tf.function(load(lib.wide, out=("2*n",)), input_signature=some)(x).shape == (6,)
    with pytest.raises(ForeignShapeError, match="'y' of wide has 3 elements"):
        load(lib.wide, out="like x")(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="bytes 40 to 48, which wide writes of argument 'y'"):
        tf.function(load(lib.wide, out="like x"), input_signature=some)(x)
    fourth = tf.function(load(lib.fourth, counts={"n": "x"}), input_signature=2 * some)
    assert fourth(x, tf.ones(4, tf.float64)) == tf.reduce_sum(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="which fourth reads of argument 't'"):
        fourth(x, x)
    three = tf.function(load(lib.three), input_signature=some)
    assert three(x).shape == (3,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="which three reads of argument 'x'"):
        three(x[:2])
    begun = tf.function(load(lib.begun), input_signature=some)
    assert begun(x).shape == (3,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="begun writes another number of elements of y"):
        begun(x[:0])
