"""PyTorch's own tools on foreign functions: opcheck, gradcheck, torch.func, torch.compile, and how they are used."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import llgrad

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-frameworks does that")
pytestmark = pytest.mark.filterwarnings("ignore")

from llgrad.errors import UnsupportedError  # noqa: E402
from llgrad.foreign import ForeignShapeError, ForeignSignatureError, ForeignTypeError  # noqa: E402
from llgrad.torch import foreign  # noqa: E402

DOUBLE = torch.float64
DECLARED: dict[str, dict[str, Any]] = {
    "waves": {}, "energy": {}, "layer": {"out": ("rows",)},
    "blend": {"out": {"sums": "like at"}, "counts": {"n": "at"}},
    "relax": {"updates": "u"}, "staged": {"scratch": {"tmp": "like x"}}, "product": {},
}  # fmt: skip


def random(*shape: int, dtype: Any = DOUBLE) -> Any:
    return (torch.rand(shape, dtype=dtype) + 0.5).requires_grad_()


def inputs(name: str) -> tuple[Any, ...]:
    torch.manual_seed(0)
    x = random(5)
    return {
        "energy": (x, random(5), random()), "layer": (4, 5, random(4, 5), x), "relax": (x, random()),
        "blend": (random(), random(), x, torch.tensor([0, 4, 2, 2], dtype=torch.int32)), "product": (x, random(5)),
    }.get(name, (x,))  # fmt: skip


@pytest.fixture(scope="module", params=DECLARED)
def case(request: pytest.FixtureRequest, lib: llgrad.Library) -> tuple[Any, tuple[Any, ...]]:
    return foreign(lib[request.param], **DECLARED[request.param]), inputs(request.param)


def test_the_first_example(source_file: Path) -> None:
    f = foreign(source_file, "f")
    x = torch.randn(6, requires_grad=True)
    f(x).sum().backward()
    torch.testing.assert_close(f(x), x * x * torch.sin(x))
    torch.testing.assert_close(x.grad, 2 * x * torch.sin(x) + x * x * torch.cos(x))
    torch.testing.assert_close(f.apply(x), f(x))


def test_gradcheck(case: Any) -> None:
    f, given = case
    assert torch.autograd.gradcheck(
        f, given, check_forward_ad=True, check_batched_grad=True, check_undefined_grad=True,
        check_batched_forward_grad=True,
    )  # fmt: skip


def test_opcheck(case: Any) -> None:
    f, given = case
    tensors = [a for a in given if isinstance(a, torch.Tensor)]
    statics = [a for a in given if isinstance(a, int)]
    rows = [a.detach().expand(3, *a.shape).clone() if n == 0 else a for n, a in enumerate(tensors)]
    for args in ((*tensors, *statics, []), (*rows, *statics, [1, *[0] * (len(rows) - 1)])):
        found = torch.library.opcheck(f._operator, args)
        assert set(found.values()) == {"SUCCESS"}


def test_float32(source_file: Path) -> None:
    f, x = foreign(source_file, "f"), random(7, dtype=torch.float32)
    assert torch.autograd.gradcheck(f, (x,), eps=1e-2, atol=2e-2, rtol=2e-2, check_forward_ad=True)


def test_inputs_that_need_no_gradient(lib: llgrad.Library) -> None:
    f = foreign(lib.energy)
    x, a, k = inputs("energy")
    f(x, a.detach(), 0.5).backward()
    expected = 3 * a * x**2 + 0.25 * (x.roll(1) + x.roll(-1))
    torch.testing.assert_close(x.grad, expected.detach())
    assert a.grad is None
    assert not f(x.detach(), a.detach(), k.detach()).requires_grad
    with torch.no_grad():
        assert not f(x, a, k).requires_grad


def test_layouts(lib: llgrad.Library) -> None:
    f = foreign(lib.waves)
    base = random(12)
    wanted = f(base.detach().clone()[::2].contiguous())
    torch.testing.assert_close(f(base[::2]), wanted)
    assert torch.autograd.gradcheck(lambda x: f(x[::2]), (base,))
    assert torch.autograd.gradcheck(lambda x: f(x.expand(4)), (random(1),))
    assert torch.autograd.gradcheck(lambda x: f(x.t()), (random(2, 3),))
    empty = torch.zeros(0, dtype=DOUBLE, requires_grad=True)
    f(empty).sum().backward()
    assert empty.grad.shape == (0,) == f(empty).shape
    one = torch.tensor(0.7, dtype=DOUBLE, requires_grad=True)
    assert f(one).shape == () and torch.autograd.gradcheck(f, (one,))
    assert torch.autograd.gradcheck(foreign(lib.product), (x := random(3), x))


def test_no_copy_of_contiguous_inputs(tmp_path: Path) -> None:
    path = tmp_path / "where.c"
    path.write_text("double where(const double *x, int n) { return n + 0 * x[0] + (double)(long)x; }")
    x = torch.ones(4, dtype=DOUBLE)
    assert foreign(path, "where")(x).item() == x.data_ptr() + 4


def test_wrong_arguments(lib: llgrad.Library, source_file: Path) -> None:
    f, g = foreign(lib.waves), foreign(lib.product)
    x = torch.ones(3, dtype=DOUBLE)
    for bad in (torch.float32, torch.float16, torch.complex128, torch.int64):
        with pytest.raises(ForeignTypeError, match="not float64") as raised:
            f(x.to(bad))
        assert isinstance(raised.value, TypeError) and "x.to(torch.float64)" in str(raised.value)
    with pytest.raises(ForeignTypeError, match="device meta"):
        foreign(lib.waves)(x.to("meta"))
    with pytest.raises(ForeignTypeError, match="must be a tensor, not list"):
        f([1.0, 2.0])
    with pytest.raises(ForeignTypeError, match="takes 2 inputs, not 1"):
        g(x)
    with pytest.raises(ForeignShapeError, match="x has 3, y has 2") as misshapen:
        g(x, x[:2])
    assert isinstance(misshapen.value, ValueError)
    with pytest.raises(TypeError, match="out={'y'"):
        foreign(source_file, "layer")
    with pytest.raises(llgrad.LlgradError, match="assembly"):
        foreign(lib.tangle)(x.requires_grad_()).backward()


def test_functions_on_functions(lib: llgrad.Library) -> None:
    f = foreign(lib.energy)
    x, a, k = (t.detach() for t in inputs("energy"))
    exact = 3 * a * x**2 + k * k * (x.roll(1) + x.roll(-1))
    torch.testing.assert_close(torch.func.grad(f)(x, a, k), exact)
    torch.testing.assert_close(torch.func.jacrev(f)(x, a, k), exact)
    torch.testing.assert_close(torch.func.jacfwd(f)(x, a, k), exact)
    torch.testing.assert_close(torch.func.jvp(lambda x: f(x, a, k), (x,), (a,))[1], exact @ a)
    pull = torch.func.vjp(lambda x: f(x, a, k), x)[1]
    torch.testing.assert_close(pull(torch.tensor(2.0, dtype=DOUBLE))[0], 2 * exact)
    w = foreign(lib.waves)
    torch.testing.assert_close(torch.func.jacrev(w)(x), torch.func.jacfwd(w)(x))


def test_batches(lib: llgrad.Library) -> None:
    f, vmap = foreign(lib.energy), torch.func.vmap
    many = torch.rand(6, 5, dtype=DOUBLE)
    _, a, k = (t.detach() for t in inputs("energy"))
    wanted = torch.stack([f(row, a, k) for row in many])
    torch.testing.assert_close(vmap(f, in_dims=(0, None, None))(many, a, k), wanted)
    torch.testing.assert_close(vmap(f, in_dims=(1, None, None))(many.t().contiguous(), a, k), wanted)
    by_a = torch.stack([torch.func.grad(f, argnums=1)(row, a, k) for row in many])
    torch.testing.assert_close(vmap(torch.func.grad(f, argnums=1), in_dims=(0, None, None))(many, a, k), by_a)
    shared = torch.func.grad(lambda a: vmap(f, in_dims=(0, None, None))(many, a, k).sum())(a)
    torch.testing.assert_close(shared, by_a.sum(0))
    along = torch.func.jvp(lambda a: vmap(f, in_dims=(0, None, None))(many, a, k), (a,), (a,))[1]
    torch.testing.assert_close(along, by_a @ a)
    ks = torch.rand(3, dtype=DOUBLE)
    both = vmap(vmap(f, in_dims=(0, None, None)), in_dims=(None, None, 0))(many, a, ks)
    torch.testing.assert_close(both, torch.stack([torch.stack([f(row, a, one) for row in many]) for one in ks]))
    nested = vmap(vmap(torch.func.grad(f), in_dims=(0, None, None)), in_dims=(None, None, 0))(many, a, ks)
    torch.testing.assert_close(nested[1, 2], torch.func.grad(f)(many[2], a, ks[1]))
    assert torch.autograd.gradcheck(vmap(f, in_dims=(0, None, None)), (many.requires_grad_(), a.requires_grad_(), k))
    assert vmap(foreign(lib.waves))(torch.zeros(0, 4, dtype=DOUBLE)).shape == (0, 4)


def test_compiled(lib: llgrad.Library) -> None:
    f, layer = foreign(lib.waves), foreign(lib.layer, out=("rows",), counts={"rows": ("w", 0), "columns": ("w", 1)})

    def loss(x: Any, w: Any) -> Any:
        return f(layer(w, torch.sin(x))).square().sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=True)
    for rows, columns in ((3, 4), (5, 2)):
        x, w = random(columns), random(rows, columns)
        wanted = torch.autograd.grad(loss(x, w), (x, w))
        torch.testing.assert_close(torch.autograd.grad(compiled(x, w), (x, w)), wanted)


def test_checkpoint_and_autocast(lib: llgrad.Library, source_file: Path) -> None:
    from torch.utils.checkpoint import checkpoint

    f, single = foreign(lib.waves), foreign(source_file, "f")
    x = random(5)
    wanted = torch.autograd.grad(f(x).sum(), x)
    torch.testing.assert_close(torch.autograd.grad(checkpoint(f, x, use_reentrant=False).sum(), x), wanted)
    half = torch.rand(5, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = single(half)
    assert out.dtype is torch.float32
    out.sum().backward()
    assert half.grad.dtype is torch.bfloat16
    torch.testing.assert_close(out, single(half.float()))


def test_repeated_and_interleaved_backwards(lib: llgrad.Library) -> None:
    f = foreign(lib.waves)
    x, y = random(4), random(6)
    a, b = f(x).sum(), f(y).sum()
    first = torch.autograd.grad(a, x, retain_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(b, y)[0], torch.autograd.grad(f(y).sum(), y)[0])
    torch.testing.assert_close(torch.autograd.grad(a, x)[0], first)


def test_threads(lib: llgrad.Library) -> None:
    f = foreign(lib.staged, scratch={"tmp": "like x"})
    data = torch.rand(8, 300, dtype=DOUBLE)
    wanted = [torch.func.grad(f)(row) for row in data]
    found: list[Any] = [None] * 8

    def work(n: int) -> None:
        for _ in range(20):
            x = data[n].clone().requires_grad_()
            f(x).backward()
            found[n] = x.grad

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    torch.testing.assert_close(found, wanted)


class Module(torch.nn.Module):
    """A layer whose weights are the array of a C function."""

    def __init__(self, f: Any) -> None:
        super().__init__()
        self.f, self.w = f, torch.nn.Parameter(torch.ones(2, 3, dtype=DOUBLE))

    def forward(self, x: Any) -> Any:
        return self.f(self.w, x)


def test_batches_of_one_size(lib: llgrad.Library) -> None:
    f = foreign(lib.product)
    with pytest.raises(ForeignShapeError, match="the batches of product differ: 3, 2 items"):
        f.batched(torch.ones(3, 4, dtype=DOUBLE), torch.ones(2, 4, dtype=DOUBLE))


def test_pickle_and_copy(source_file: Path) -> None:
    f = foreign(source_file, "layer", out=("rows",), counts={"rows": ("w", 0), "columns": ("w", 1)})
    module, x = Module(f), torch.rand(3, dtype=DOUBLE)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        torch.testing.assert_close(other(x), module(x))
        other(x).sum().backward()
        assert other.w.grad is not None and module.w.grad is None


class Rows(torch.utils.data.Dataset):
    def __init__(self, f: Any) -> None:
        self.f = f

    def __len__(self) -> int:
        return 8

    def __getitem__(self, n: int) -> Any:
        return self.f(torch.full((3,), float(n), dtype=DOUBLE))


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_data_loader_workers(source_file: Path, way: str) -> None:
    f = foreign(source_file, "waves")
    rows = torch.utils.data.DataLoader(Rows(f), batch_size=4, num_workers=2, multiprocessing_context=way, timeout=120)
    torch.testing.assert_close(torch.cat(list(rows)), torch.stack([Rows(f)[n] for n in range(8)]))


@pytest.mark.parametrize("name", ["waves", "energy", "relax", "blend"])
def test_second_derivatives(lib: llgrad.Library, name: str) -> None:
    f, given = foreign(lib[name], **DECLARED[name]), inputs(name)
    assert torch.autograd.gradgradcheck(f, given, check_fwd_over_rev=True, check_rev_over_rev=True)
    assert torch.autograd.gradcheck(
        f, given, check_forward_ad=True, check_backward_ad=False, check_batched_forward_grad=True
    )


def test_hessians(lib: llgrad.Library) -> None:
    f, (x, a, k) = foreign(lib.energy), (t.detach() for t in inputs("energy"))
    coupling = torch.roll(torch.eye(5, dtype=DOUBLE), 1, 0)
    exact = torch.diag(6 * a * x) + k * k * (coupling + coupling.T)
    func = torch.func
    for way in (func.hessian(f), func.jacrev(func.jacrev(f)), func.jacfwd(func.jacfwd(f)), func.jacrev(func.jacfwd(f))):
        torch.testing.assert_close(way(x, a, k), exact)
    many = torch.rand(4, 5, dtype=DOUBLE)
    found = func.vmap(func.hessian(f), in_dims=(0, None, None))(many, a, k)
    torch.testing.assert_close(found[2], torch.diag(6 * a * many[2]) + k * k * (coupling + coupling.T))
    torch.testing.assert_close(torch.autograd.functional.hessian(lambda x: f(x, a, k), x), exact)


def test_third_derivatives_are_refused(lib: llgrad.Library) -> None:
    f, x = foreign(lib.waves), random(4)
    first = torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    with pytest.raises(UnsupportedError, match="third derivatives of waves"):
        second.sum().backward()


def test_failures_are_exceptions(tmp_path: Path) -> None:
    path = tmp_path / "throws.cpp"
    path.write_text('extern "C" double f(const double *x, int n) { if (x[0] > 1) throw 3; return x[0] * n; }')
    f = foreign(path, "f")
    try:
        assert f(torch.tensor([0.5, 0], dtype=DOUBLE)).item() == 1
    except llgrad.LlgradError as error:
        pytest.skip(f"no C++ here: {error.message}")
    with pytest.raises(llgrad.LlgradError, match="threw a C"):
        f(torch.tensor([1.5, 0], dtype=DOUBLE))


def test_it_imports_no_other_framework() -> None:
    code = "import sys, llgrad.torch; assert not {m.split('.')[0] for m in sys.modules} & {'jax', 'tensorflow'}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_tapes_may_live_to_the_end(lib: llgrad.Library) -> None:
    code = f"""
import torch
from llgrad.torch import foreign
f = foreign({str(lib.waves.library.paths[0])!r}, "waves", keep_tape=True)
x = torch.ones(5, dtype=torch.float64, requires_grad=True)
f(x).sum().backward()
kept = [f(x)]
kept.append(kept)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_outputs_are_proven(lib: llgrad.Library) -> None:
    """Written before they are read, as long as the code makes them, and guarded where that is not known."""
    x = random(3)
    found = torch.func.jacrev(foreign(lib.softmax))(x)
    torch.testing.assert_close(found, torch.func.jacrev(lambda x: torch.softmax(x, 0))(x))
    w, products = random(3, 3), foreign(lib.products, counts={"n": "x"})
    torch.testing.assert_close(torch.func.jacrev(products, 1)(w, x), w)
    torch.testing.assert_close(torch.func.jacrev(foreign(lib.mean))(x), torch.diag(4 * x))
    with pytest.raises(ForeignSignatureError, match="writes 2\\*n elements of y"):
        foreign(lib.wide)
    wide = torch.compile(foreign(lib.wide, out=("2*n",)), dynamic=True, fullgraph=True)
    assert [wide(random(n)).shape for n in (3, 4)] == [(6,), (8,)]
    with pytest.raises(ForeignShapeError, match="'y' of wide has 3 elements"):
        foreign(lib.wide, out="like x")(x)
    with pytest.raises(ForeignShapeError, match="'x' of three has 2 elements"):
        foreign(lib.three)(random(2))
    put, at = foreign(lib.put, out={"y": (5,)}, counts={"n": "at"}), torch.tensor([0, 4, 2], dtype=torch.int32)
    put(x, at).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    with pytest.raises(llgrad.LlgradError, match="put accessed element 5 of argument 'y'"):
        put(x, at + 1)
