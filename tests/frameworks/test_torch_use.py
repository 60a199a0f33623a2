"""How foreign functions are used in PyTorch: tapes, layers, processes, data loaders."""

from __future__ import annotations

import copy
import gc
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import llgrad

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-frameworks does that")
pytestmark = pytest.mark.filterwarnings("ignore")

from llgrad.errors import ArgumentError, UnknownNameError  # noqa: E402
from llgrad.foreign import ForeignShapeError, ForeignTypeError  # noqa: E402
from llgrad.torch import ForeignModule, foreign  # noqa: E402

DOUBLE = torch.float64
LAYER = {"out": ("rows",), "counts": {"rows": ("w", 0), "columns": ("w", 1)}}
COUNTED = """
#include <math.h>
static int calls;
int how_often(void) { return calls; }
double counted(const double *x, int n) {
    double s = 0;
    calls++;
    for (int i = 0; i < n; i++) s += exp(sin(x[i])) * x[n - 1 - i];
    return s;
}
"""


def random(*shape: int) -> Any:
    return (torch.rand(shape, dtype=DOUBLE) + 0.5).requires_grad_()


# --- tapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["waves", "blend", "relax"])
def test_tapes_pass_pytorchs_checks(lib: llgrad.Library, name: str) -> None:
    declared = {"blend": {"out": {"sums": "like at"}, "counts": {"n": "at"}}, "relax": {"updates": "u"}}.get(name, {})
    f = foreign(lib[name], keep_tape=True, **declared)
    at = torch.tensor([0, 4, 2, 2], dtype=torch.int32)
    x = random(5)
    given = {"waves": (x,), "blend": (random(), random(), x, at), "relax": (x, random())}[name]
    assert torch.autograd.gradcheck(f, given, check_forward_ad=True, check_batched_grad=True, check_undefined_grad=True)
    assert torch.autograd.gradgradcheck(f, given)
    assert set(torch.library.opcheck(f._operator, (*given, [])).values()) == {"SUCCESS"}
    with torch.no_grad():
        expected = foreign(lib[name], **declared)(*given)
    torch.testing.assert_close(f(*given), expected)


def test_a_tape_saves_running_the_function_again(tmp_path: Path) -> None:
    path = tmp_path / "counted.c"
    path.write_text(COUNTED)
    lib = llgrad.load(path)
    x, y, two = random(6), random(4), torch.tensor(2.0, dtype=DOUBLE)
    by_x, by_y = (torch.func.grad(foreign(lib.counted))(v.detach()) for v in (x, y))
    for keep, runs in ((True, 2), (False, 6)):
        f, before = foreign(lib.counted, keep_tape=keep), lib.how_often()
        a, b = f(x), f(y)
        for _ in range(2):  # interleaved, and again
            torch.testing.assert_close(torch.autograd.grad(a, x, two, retain_graph=True)[0], 2 * by_x)
            torch.testing.assert_close(torch.autograd.grad(b, y, retain_graph=True)[0], by_y)
        assert lib.how_often() - before == runs


def test_tapes_in_transformations(lib: llgrad.Library) -> None:
    f, plain, rows = foreign(lib.waves, keep_tape=True), foreign(lib.waves), torch.rand(6, 4, dtype=DOUBLE)
    for way in (torch.func.jacrev, torch.func.jacfwd, lambda g: torch.func.vmap(torch.func.jacrev(g))):
        given = rows if way not in (torch.func.jacrev, torch.func.jacfwd) else rows[0]
        torch.testing.assert_close(way(f)(given), way(plain)(given))
    x = random(5)
    loss = lambda g: lambda x: g(torch.sin(x)).square().sum()  # noqa: E731
    wanted = torch.autograd.grad(loss(plain)(x), x)
    torch.testing.assert_close(torch.autograd.grad(torch.compile(loss(f), fullgraph=True)(x), x), wanted)
    torch.testing.assert_close(torch.autograd.grad(loss(f)(x), x), wanted)
    spread = random(8)
    torch.testing.assert_close(
        torch.autograd.grad(f(spread[::2]).sum(), spread), torch.autograd.grad(plain(spread[::2]).sum(), spread)
    )


def test_negated_views_reach_kernels_as_they_read(lib: llgrad.Library) -> None:
    x = torch.view_as_complex(torch.rand(4, 2, dtype=DOUBLE)).conj().imag  # memory that is to be read negated
    assert x.is_neg()
    f, at = foreign(lib.waves), random(4)
    wanted = torch.autograd.grad(f(at), at, x.clone())
    torch.testing.assert_close(torch.autograd.grad(f(at), at, x), wanted)
    torch.testing.assert_close(f(x), f(x.clone()))


# --- layers ----------------------------------------------------------------------------------------------------------


def test_a_layer_owns_arrays_of_a_function(source_file: Path) -> None:
    f = foreign(source_file, "layer", **LAYER)
    torch.manual_seed(0)
    w, rows = torch.randn(2, 3, dtype=DOUBLE), torch.rand(7, 3, dtype=DOUBLE)
    one, many = ForeignModule(f, w=w), ForeignModule(f, batched=True, w=w)
    assert list(dict(many.named_parameters())) == ["w"]
    torch.testing.assert_close(many(rows), torch.tanh(rows @ w.T))
    torch.testing.assert_close(one(rows[0]), torch.tanh(w @ rows[0]))
    many(rows).sum().backward()
    torch.testing.assert_close(many.w.grad, torch.func.grad(lambda w: torch.tanh(rows @ w.T).sum())(w))
    again = ForeignModule(f, batched=True, w=torch.zeros(2, 3, dtype=DOUBLE))
    again.load_state_dict(many.state_dict())
    for other in (again, copy.deepcopy(many), pickle.loads(pickle.dumps(many))):
        torch.testing.assert_close(other(rows), many(rows))
    network = torch.nn.Sequential(torch.nn.Linear(4, 3, dtype=DOUBLE), many)
    given = torch.rand(7, 4, dtype=DOUBLE)
    torch.testing.assert_close(torch.compile(network, fullgraph=True)(given), network(given))
    with pytest.raises(ForeignTypeError, match="takes 1 inputs, not 2"):
        many(rows, rows)
    with pytest.raises(UnknownNameError, match="no input z"):
        ForeignModule(f, z=w)


def test_functions_of_libraries_are_copied_and_pickled(lib: llgrad.Library) -> None:
    f, x = foreign(lib.waves, keep_tape=True), torch.rand(4, dtype=DOUBLE)
    for other in (copy.deepcopy(f), copy.copy(f), pickle.loads(pickle.dumps(f))):
        torch.testing.assert_close(other(x), f(x))


def test_what_is_specialised_or_has_rules_where_it_is_unpickled(source_file: Path) -> None:
    lib, x = llgrad.load(source_file), torch.rand(4, dtype=DOUBLE)
    again = pickle.loads(pickle.dumps(foreign(lib.waves.specialized(n=4))))
    torch.testing.assert_close(again(x), foreign(lib.waves)(x))
    with pytest.raises(ForeignShapeError, match="specialised to 4"):
        again(x[:3])
    llgrad.inactive(lib.square)
    f = foreign(lib.waves)
    with pytest.raises(ArgumentError, match="what was registered"):
        pickle.dumps(f)
    assert copy.copy(f) is f


# --- processes -------------------------------------------------------------------------------------------------------


def _train(rank: int, folder: str, source: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    layer = ForeignModule(foreign(source, "layer", **LAYER), batched=True, w=torch.full((2, 3), 0.1, dtype=DOUBLE))
    model = torch.nn.parallel.DistributedDataParallel(layer)
    rows = torch.linspace(-1, 1, 24, dtype=DOUBLE).reshape(8, 3)
    model(rows[4 * rank : 4 * rank + 4]).square().mean().backward()
    torch.save(layer.w.grad, f"{folder}/gradient{rank}")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    os._exit(0)  # threads of the process group may still run at the interpreter's end, which aborts the process then


def test_distributed_data_parallel(source_file: Path, tmp_path: Path) -> None:
    foreign(source_file, "layer", **LAYER)  # compiled once, for both
    torch.multiprocessing.spawn(_train, (str(tmp_path), str(source_file)), nprocs=2)
    found = [torch.load(tmp_path / f"gradient{rank}") for rank in range(2)]
    rows, w = torch.linspace(-1, 1, 24, dtype=DOUBLE).reshape(8, 3), torch.full((2, 3), 0.1, dtype=DOUBLE)
    wanted = torch.func.grad(lambda w: torch.tanh(rows @ w.T).square().mean())(w)
    for gradient in found:
        torch.testing.assert_close(gradient, wanted)


class Rows(torch.utils.data.Dataset):
    """Items that a compiled function makes; the last one fails."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def __len__(self) -> int:
        return 4

    def __getitem__(self, n: int) -> Any:
        return self.f(torch.full((3,), n / 2, dtype=DOUBLE))


def test_a_failure_in_a_worker_is_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "throws.cpp"
    path.write_text('extern "C" double f(const double *x, int n) { if (x[0] > 1) throw 3; return x[0] * n; }')
    f = foreign(path, "f")
    try:
        f(torch.zeros(3, dtype=DOUBLE))
    except llgrad.LlgradError as error:
        pytest.skip(f"no C++ here: {error.message}")
    loader = torch.utils.data.DataLoader(Rows(f), batch_size=1, num_workers=2, timeout=120)
    with pytest.raises(Exception, match="threw a C"):
        list(loader)
    gc.collect()  # the loader's workers end now, and not as the interpreter does


def test_the_example_learns() -> None:
    from examples.frameworks import network

    losses, _, alone, _ = network.train(60)
    assert sum(losses[-5:]) / 5 < min(0.75 * losses[0], alone)
