"""JAX and optax: the mass of the Sun, from where its planets are half a year later.

The simulation is C code. Each planet starts at its perihelion; half a period later it must be at its aphelion. Fitted
are the strength of the Sun's pull and the planets' speeds. Distances and periods are those of NASA's Planetary Fact
Sheet; its speeds are not used, but compared with. `python -m examples.frameworks.orbits`
"""

from __future__ import annotations

import jax
import numpy as np
import optax
from jax import numpy as jnp

from examples.frameworks.common import HERE, Bar, axes, save
from llgrad.jax import foreign

jax.config.update("jax_enable_x64", True)

NAMES = ("Mercury", "Venus", "Earth", "Mars", "Jupiter")
PERIHELION = np.array([46.000, 107.480, 147.095, 206.650, 740.595])  # millions of kilometres
APHELION = np.array([69.818, 108.941, 152.100, 249.261, 816.363])
PERIOD = np.array([87.969, 224.701, 365.256, 686.980, 4332.589])  # days
FASTEST = np.array([58.97, 35.26, 30.29, 26.50, 13.72])  # kilometres a second
KILOMETRES_A_SECOND = 1e6 / 86400  # of a million kilometres a day
NEWTON = 6.67430e-11
STEPS = 400

orbit = foreign(HERE / "orbits.c", "orbit", out="like start")


def ends(fitted, durations):
    """Where the planets are after these times, one for each."""
    speeds = jnp.exp(fitted["speeds"])
    starts = jnp.stack([PERIHELION, 0 * speeds, 0 * speeds, speeds], axis=1)
    pull = jnp.exp(fitted["pull"])
    return jax.vmap(lambda start, duration: orbit(start, pull, duration, STEPS))(starts, durations)


def misfit(fitted):
    """How far the planets are from their aphelia, as a share of the distance."""
    wanted = jnp.stack([-APHELION, np.zeros(len(NAMES))], axis=1)
    return jnp.mean(jnp.sum((ends(fitted, jnp.asarray(PERIOD) / 2)[:, :2] - wanted) ** 2, axis=1) / APHELION**2)


def fit(steps=3000):
    """What was fitted, and the misfit at each step."""
    fitted = {
        "pull": jnp.log(700.0),
        "speeds": jnp.log(0.95 * 2 * np.pi * PERIHELION / PERIOD * APHELION / PERIHELION),
    }
    optimiser = optax.adam(optax.cosine_decay_schedule(0.02, steps))
    state = optimiser.init(fitted)

    @jax.jit
    def step(fitted, state):
        value, slope = jax.value_and_grad(misfit)(fitted)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(fitted, change), state, value

    bar, values = Bar("weighing the Sun"), []
    for n in bar.steps(steps):
        fitted, state, value = step(fitted, state)
        values.append(float(value))
        if n % 20 == 0:
            bar.say(f"misfit {values[-1]:.1e}, {mass(fitted):.4g} kg")
    return fitted, values


def mass(fitted):
    """The Sun's, in kilograms."""
    return float(jnp.exp(fitted["pull"])) * 1e27 / 86400**2 / NEWTON


def main():
    fitted, values = fit()
    print(f"the Sun weighs {mass(fitted):.4g} kg (1.988e+30 is known)")
    speeds = np.exp(fitted["speeds"]) * KILOMETRES_A_SECOND
    for name, found, known in zip(NAMES, speeds, FASTEST, strict=True):
        print(f"  {name:8} {found:6.2f} km/s at its perihelion (known: {known})")
    figure, ((left, right),) = axes(2)
    share = np.linspace(0, 1, 120)
    ways = np.stack([np.asarray(ends(fitted, jnp.asarray(PERIOD * s))) for s in share])
    for n, name in enumerate(NAMES[:4]):
        left.plot(ways[:, n, 0], ways[:, n, 1], lw=1, label=name)
        left.plot([-APHELION[n], PERIHELION[n]], [0, 0], "k.", ms=4)
    left.plot(0, 0, "o", color="gold")
    left.set(title="JAX, orbits in C", xlabel="millions of kilometres", aspect="equal")
    left.legend(fontsize=7)
    right.semilogy(values)
    right.set(title="misfit", xlabel="step of Adam")
    save(figure, "orbits")


if __name__ == "__main__":
    main()
