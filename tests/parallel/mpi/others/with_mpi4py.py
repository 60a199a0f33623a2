"""Run by each rank: a gradient, tangents and a Jacobian's product of a function that takes a communicator."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import llgrad

comm = MPI.COMM_WORLD
lib = llgrad.load(Path(__file__).with_name("norm.c"), mpi=True)
x = np.array([1.0, 2.0, 3.0]) * (1 + comm.rank)
norm = lib.norm(x, 3, comm)
want = np.sqrt(comm.allreduce(x @ x))
value, gradient = llgrad.value_and_grad(lib.norm, wrt="x")(x, 3, comm)
half = comm.Split(comm.rank % 2)  # a communicator of its own
alone, of_half = llgrad.value_and_grad(lib.norm, wrt="x")(x, 3, half)
assert np.allclose([norm, value], want)
assert np.allclose(gradient, comm.size * x / want)  # of the sum of what all ranks return
assert np.allclose(of_half, half.size * x / alone)
tangent = llgrad.jvp(lib.norm, wrt="x")(x, 3, comm, tangents=x)[1]
assert np.allclose(tangent, want)
rows = llgrad.jacobian(lib.squares, wrt="x", of="y", mode="reverse")(x, 3, np.zeros(3), comm)
assert np.allclose(rows, np.diag(2 * x))  # of what all ranks have of an output
columns = llgrad.jacobian(lib.squares, wrt="x", of="y", mode="forward")(x, 3, np.zeros(3), comm)
together = comm.allreduce(np.diag(2 * x))
assert np.allclose(columns, together if comm.rank == 0 else 0)  # by the inputs of all ranks together
sys.stdout.write("right\n" if comm.rank == 0 else "")
