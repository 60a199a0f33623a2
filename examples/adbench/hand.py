"""ADBench's hand: the instance, the objective in NumPy (for complex steps), and the Jacobian by llgrad.

The model is in `data/hand` (bones, vertices, triangles); an instance gives correspondences, points and parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import llgrad

from .instances import DATA, HERE, Array

Indices = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Hand:
    """relatives and inverses (bones, 4, 4), positions (vertices, 3), the bones and weights of vertex v at
    first[v]:first[v + 1], triangles (t, 3); chosen (count,) and points (count, 3), theta (26,).

    u (count, 2) makes it the complicated variant, whose chosen are triangles; else they are vertices.
    """

    parents: Indices
    relatives: Array
    inverses: Array
    positions: Array
    first: Indices
    bone: Indices
    weight: Array
    triangles: Indices
    chosen: Indices
    points: Array
    theta: Array
    u: Array | None = None

    @property
    def objective(self) -> str:
        """The name of its C function."""
        return "hand_simple" if self.u is None else "hand_complicated"

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of its C function."""
        model = (len(self.parents), self.parents, self.relatives, self.inverses, len(self.positions), self.positions,
                 self.first, self.bone, self.weight)  # fmt: skip
        chosen = (len(self.chosen), self.chosen, *(() if self.u is None else (self.triangles,)))
        active = (self.points, self.theta, *(() if self.u is None else (self.u,)))
        return (*model, *chosen, *active, np.zeros_like(self.positions), np.zeros_like(self.points))


def read_hand(path: Path = DATA / "hand" / "simple_c100.txt", model: Path = DATA / "hand") -> Hand:
    """Reads an instance; those with two numbers a correspondence besides are complicated."""
    bones = [line.split(":") for line in (model / "bones.txt").read_text().split()]
    matrices = np.array([[float(x) for x in line[2:]] for line in bones]).reshape(-1, 2, 4, 4)
    parents = np.array([int(line[1]) for line in bones], np.int32)
    vertices = [line.split(":") for line in (model / "vertices.txt").read_text().split()]
    positions = np.array([[float(x) for x in line[:3]] for line in vertices])
    pairs = [line[9:] for line in vertices]  # five numbers, and the count of pairs, come between
    first = np.cumsum([0, *(len(p) // 2 for p in pairs)]).astype(np.int32)
    bone = np.array([int(b) for p in pairs for b in p[0::2]], np.int32)
    weight = np.array([float(w) for p in pairs for w in p[1::2]])
    lines = (model / "triangles.txt").read_text().split()
    triangles = np.array([[int(i) for i in line.split(":")] for line in lines], np.int32)
    words = path.read_text().split()
    count, size = int(words[0]), int(words[1])
    data = np.array([float(w) for w in words[2:]])
    given, rest = data[: 4 * count].reshape(count, 4), data[4 * count :]
    u = rest[:-size].reshape(count, 2).copy() if len(rest) > size else None
    relatives, inverses = (np.ascontiguousarray(matrices[:, n]) for n in range(2))
    chosen, points = given[:, 0].astype(np.int32), given[:, 1:].copy()
    return Hand(parents, relatives, inverses, positions, first, bone, weight, triangles, chosen, points,
                rest[-size:].copy(), u)  # fmt: skip


def errors(h: Hand) -> Any:
    """The objective, (count, 3), in NumPy; `theta` and `u` may be complex."""
    mesh = _mesh(h)
    if h.u is None:
        return h.points - mesh[h.chosen]
    a, b, c = (mesh[h.triangles[h.chosen, n]] for n in range(3))
    s, t = h.u[:, :1], h.u[:, 1:]
    return h.points - (s * a + t * b + (1 - s - t) * c)


def _mesh(h: Hand) -> Any:
    absolute: list[Any] = []
    for b, parent in enumerate(h.parents):
        own = h.relatives[b] @ _joint(b, h.theta)
        absolute.append(own if parent < 0 else absolute[parent] @ own)
    transforms = np.array([m @ i for m, i in zip(absolute, h.inverses, strict=True)])
    whole = np.concatenate([h.positions, np.ones((len(h.positions), 1))], axis=1)
    vertex = np.repeat(np.arange(len(h.positions)), np.diff(h.first))
    moved = np.einsum("pij,pj->pi", transforms[h.bone, :3], whole[vertex]) * h.weight[:, None]
    skinned = np.zeros((len(h.positions), 3), moved.dtype)
    np.add.at(skinned, vertex, moved)
    return skinned @ _rotation(h.theta[:3]).T + h.theta[3:6]


def _joint(b: int, theta: Any) -> Any:
    """The turn of bone `b`: about x, then about z."""
    finger, joint = divmod(b - 1, 4)
    if not 0 <= finger < 5 or joint == 0:
        return np.eye(4)
    angles = theta[6 + 4 * finger :]
    x, z = (angles[0], angles[1]) if joint == 1 else (angles[joint], 0.0)
    made = np.eye(4, dtype=np.result_type(theta, float))
    made[:3, :3] = _about(2, z) @ _about(0, x)
    return made


def _about(axis: int, angle: Any) -> Any:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    made = np.eye(3, dtype=np.result_type(angle, float))
    made[i, i] = made[j, j] = np.cos(angle)
    made[i, j], made[j, i] = -np.sin(angle), np.sin(angle)
    return made


def _rotation(r: Any) -> Any:
    """exp of the matrix that is the cross product with `r`."""
    angle = np.sqrt(np.sum(r * r))
    x, y, z = r
    cross = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])
    if angle == 0:
        return np.eye(3) + cross
    return np.eye(3) + np.sin(angle) / angle * cross + (1 - np.cos(angle)) / angle**2 * cross @ cross


def jacobian(h: Hand) -> tuple[Array, ...]:
    """The errors' derivatives by theta, (count, 3, 26), and by u, (count, 3, 2), of each correspondence by its own."""
    function = llgrad.load(HERE / "hand.c")[h.objective]
    by_theta = llgrad.jacobian(function, wrt="theta", of="errors")
    rows = (by_theta(*h.arguments()),)
    if h.u is None:
        return rows
    along = llgrad.jvp(function, wrt="u", of="errors")  # a seed for all first, and for all second numbers
    units = [np.ascontiguousarray(np.broadcast_to(unit, h.u.shape)) for unit in np.eye(2)]
    columns = [along(*h.arguments(), tangents=unit)[1] for unit in units]
    return *rows, np.stack(columns, axis=-1)


__all__ = ["Hand", "errors", "jacobian", "read_hand"]
