"""SciPy: bundle adjustment of an instance of ADBench, in C: 49 cameras, 7,776 points, 31,843 observations.

The Jacobian has 63,686 by 23,867 numbers and is never made: least_squares asks for products with it.
`python -m examples.frameworks.bundle`
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

import llgrad
from examples.adbench.instances import HERE, read_ba
from examples.frameworks.common import Bar, axes, save
from llgrad import scipy

OUT = {"reproj_err": ("p", 2), "w_err": ("p",)}
COUNTS = {"n": ("cams", 0), "m": ("X", 0), "p": "w"}


def adjust(evaluations=12):
    """Reprojection errors before and after, a pair each observation, and their mean at each evaluation."""
    ba = read_ba()
    given = {"cams": ba.cams, "X": ba.points, "w": ba.weights, "obs": ba.obs, "feats": ba.feats}
    function = llgrad.load(HERE / "ba.c").ba_objective
    errors = scipy.objective(function, wrt=("cams", "X"), given=given, out=OUT, counts=COUNTS)
    rng, true = np.random.default_rng(0), errors.pack(ba.cams, ba.points)
    start = true * (1 + 1e-3 * rng.normal(size=true.size))
    bar, costs = Bar("adjusting"), []
    steps = iter(bar.steps(evaluations))

    def sizes(found):
        return np.hypot(*found[: 2 * len(ba.obs)].reshape(-1, 2).T)

    def fun(x):
        found = errors.fun(x)
        costs.append(float(np.mean(sizes(found))))
        next(steps, None)
        bar.say(f"mean error {costs[-1]:.3g}")
        return found

    found = optimize.least_squares(fun, start, jac=errors.operator, x_scale=np.abs(true) + 1e-2, tr_solver="lsmr",
                                   max_nfev=evaluations)  # fmt: skip
    for _ in steps:
        pass
    return sizes(errors.fun(start)), sizes(found.fun), costs


def main():
    before, after, costs = adjust()
    print(f"mean reprojection error: {before.mean():.3g} before, {after.mean():.3g} after {len(costs)} evaluations")
    figure, ((left, right),) = axes(2)
    left.semilogy(costs, "o-")
    left.set(title="SciPy, bundle adjustment in C", xlabel="evaluation", ylabel="mean error")
    bins = np.geomspace(max(min(after.min(), before.min()), 1e-12), before.max(), 60)
    right.hist([before, after], bins=bins, label=["before", "after"])
    right.set(xscale="log", title="reprojection errors", ylabel="observations")
    right.legend()
    save(figure, "bundle")


if __name__ == "__main__":
    main()
