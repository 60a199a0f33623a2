"""Keras: a model whose first layer is C code learns the lie of the land near Jacksboro, Tennessee.

The elevations come with matplotlib (a piece of the USGS National Elevation Dataset).
`python -m examples.frameworks.terrain`
"""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from matplotlib import cbook

from examples.frameworks.common import HERE, Bar, axes, save
from llgrad.tensorflow import load


class Bumps(tf.keras.layers.Layer):
    """Points of the plane → values of bumps, whose places and widths are learnt."""

    def __init__(self, count, **options):
        super().__init__(**options)
        self.count = count
        self.function = load(HERE / "bumps.c", "bumps", out="like sharpness", counts={"n": "sharpness"})

    def build(self, shape):
        places = tf.keras.initializers.RandomUniform(0.0, 1.0)
        self.centres = self.add_weight(name="centres", shape=(self.count, 2), initializer=places)
        self.sharpness = self.add_weight(
            name="sharpness", shape=(self.count,), initializer=tf.keras.initializers.Constant(1.2 * np.sqrt(self.count))
        )

    def call(self, points):
        weights = (tf.convert_to_tensor(w) for w in (self.centres, self.sharpness))
        return self.function.batched(points, *weights, shared=("centres", "sharpness"))

    def compute_output_shape(self, shape):
        return (shape[0], self.count)


class Progress(tf.keras.callbacks.Callback):
    """A bar over the epochs."""

    def __init__(self, epochs):
        super().__init__()
        self.bar = Bar("learning the terrain")
        self.steps = self.bar.steps(epochs)

    def on_epoch_begin(self, epoch, logs=None):
        next(self.steps)

    def on_epoch_end(self, epoch, logs=None):
        self.bar.say(f"{np.sqrt(logs['loss']):.2f} standard deviations off")

    def on_train_end(self, logs=None):
        next(self.steps, None)


def read(every=3):
    """Elevations in metres, every so many points of the grid, and the places of these in the unit square."""
    found = np.load(cbook.get_sample_data("jacksboro_fault_dem.npz", asfileobj=False))
    land = found["elevation"][::every, ::every].astype(np.float32)
    rows, columns = np.indices(land.shape, dtype=np.float32)
    scale = np.float32(max(land.shape))
    return land, np.stack([columns.ravel() / scale, rows.ravel() / scale], axis=1)


def train(epochs=30, count=160):
    """The land, what is learnt of it, and the error of each epoch, in metres."""
    tf.keras.utils.set_random_seed(0)
    land, points = read()
    mean, spread = land.mean(), land.std()
    model = tf.keras.Sequential([tf.keras.Input((2,)), Bumps(count), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(0.03, 30 * 60)), "mse")
    heights = (land.ravel()[:, None] - mean) / spread
    history = model.fit(points, heights, batch_size=256, epochs=epochs, verbose=0, callbacks=[Progress(epochs)])
    learnt = model.predict(points, batch_size=4096, verbose=0).reshape(land.shape) * spread + mean
    return land, learnt, np.sqrt(history.history["loss"]) * spread


def main():
    land, learnt, errors = train()
    print(f"{errors[0]:.0f} m off after the first epoch, {errors[-1]:.0f} m after the last, of {np.ptp(land):.0f} m")
    figure, ((left, middle, right),) = axes(3)
    for axis, heights, title in ((left, land, "the land"), (middle, learnt, "learnt by Keras, bumps in C")):
        shown = axis.imshow(heights, cmap="terrain", vmin=land.min(), vmax=land.max())
        axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(shown, ax=middle, label="metres")
    right.plot(errors)
    right.set(title="error", xlabel="epoch", ylabel="metres")
    save(figure, "terrain")


if __name__ == "__main__":
    main()
