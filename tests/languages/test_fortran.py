"""Fortran: array intrinsics, descriptors of any strides, derived types, modules in files of their own, refusals."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import called, differences

import llgrad
from llgrad.errors import ArgumentError, CompilerError, ForeignError, NoRuleError, UnsupportedError
from llgrad.frontends.c.clang import find_compiler

HERE = Path(__file__).parent
X = np.array([0.7, 0.45, 1.3, 0.25, 0.9])
A = np.asfortranarray(np.random.default_rng(1).uniform(0, 1, (5, 5)))


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.f90")
    return llgrad.load(HERE / "features.f90")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("growing", [X], marks=pytest.mark.full),
        pytest.param("reductions", [X, A], marks=pytest.mark.full),
        ("shuffles", [X]), ("outer", [X]), ("layers", [X]),
        ("scalars", [1.37, 3]), ("shared", [0.7]), ("cubes", [5, X]),
    ],
)  # fmt: skip
def test_idioms(lib: llgrad.Library, name: str, arguments: list[object]) -> None:
    function = lib[name]
    wrt = tuple(n for n, a in enumerate(arguments) if not isinstance(a, int))
    found = llgrad.grad(function, wrt=wrt)(*arguments)
    truth = differences(lambda v: function(*v), arguments)
    for n, ours in zip(wrt, found, strict=True):
        np.testing.assert_allclose(ours, truth[n], rtol=1e-7, atol=1e-8)


SMALL = """
module particles
  implicit none
  type :: particle
    real(8) :: x(3)
    real(8) :: mass
  end type
contains
  function energy(p, n, k) result(e)
    integer, intent(in) :: n
    type(particle), intent(in) :: p(n)
    real(8), intent(in) :: k
    real(8) :: e
    integer :: i
    e = 0
    do i = 1, n - 1
      e = e + k*sum((p(i + 1)%x - p(i)%x)**2)*p(i)%mass
    end do
  end function
  function quadratic(a, x) result(r)
    real(8), intent(in) :: a(:, :), x(:)
    real(8) :: r
    r = dot_product(x, matmul(a, x))
  end function
end module
subroutine saxpy(n, a, x, y)
  integer :: n
  real(8) :: a, x(n), y(n)
  y = a*x**2 + y
end subroutine
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    require("a.f90")
    path = tmp_path_factory.mktemp("fortran") / "small.f90"
    path.write_text(SMALL)
    return llgrad.load(path)


def test_arrays_of_any_strides(small: llgrad.Library) -> None:
    """Assumed shapes take what NumPy has; shadows have the strides of their arrays."""
    a, x = np.arange(9.0).reshape(3, 3) / 5 + np.eye(3), np.arange(1.0, 7.0)[::2]
    df = llgrad.grad(small.quadratic, wrt=("a", "x"))
    for view in (a, np.asfortranarray(a), a[:, ::-1], a.T, np.kron(a, np.ones((2, 2)))[::2, 1::2]):
        da, dx = df(view, x)
        np.testing.assert_allclose(da, np.outer(x, x), rtol=1e-14)
        np.testing.assert_allclose(dx, (view + view.T) @ x, rtol=1e-14)


def test_derived_types_and_numbers_by_reference(small: llgrad.Library) -> None:
    p = np.zeros(4, small.energy.signature.parameters[0].type.dtype)
    p["x"], p["mass"] = np.random.default_rng(2).uniform(size=(4, 3)), 2.0
    dp, dk = llgrad.grad(small.energy, wrt=("p", "k"))(p, 4, 3.0)
    apart = np.diff(p["x"], axis=0)
    np.testing.assert_allclose(dk, 2 * (apart**2).sum(), rtol=1e-13)
    np.testing.assert_allclose(dp["mass"][:-1], 3 * (apart**2).sum(axis=1), rtol=1e-13)
    assert isinstance(dk, float)


def test_outputs(small: llgrad.Library) -> None:
    x, y = np.arange(1.0, 4.0), np.ones(3)
    _, (da, dx) = llgrad.vjp(small.saxpy, wrt=("a", "x"), of="y")(3, 2.0, x, y, seed=np.ones(3))
    assert da == 14.0
    assert np.array_equal(dx, 4 * x)


def test_signatures_are_fortrans(small: llgrad.Library) -> None:
    told = str(small.quadratic.signature)
    assert told == "real(kind=8) function quadratic(real(kind=8) :: a(:,:), real(kind=8) :: x(:))"
    assert str(small.saxpy.signature).startswith("subroutine saxpy(integer :: n, real(kind=8) :: a, ")
    with pytest.raises(ArgumentError, match="2 dimensions, not 1"):
        small.quadratic(A, A)


def test_files_are_ordered_by_their_modules(tmp_path: Path) -> None:
    require("a.f90")
    first, second = tmp_path / "a_main.f90", tmp_path / "z_maths.f90"
    first.write_text("function f(x) result(r)\n  use maths\n  real(8) :: x, r\n  r = cube(x)*scale\nend function\n")
    second.write_text(
        "module maths\n  implicit none\n  include 'scale.inc'\ncontains\n  function cube(x) result(r)\n"
        "    real(8), intent(in) :: x\n    real(8) :: r\n    r = x**3\n  end function\nend module\n"
    )
    (tmp_path / "scale.inc").write_text("real(8), parameter :: scale = 2\n")
    lib = llgrad.load([first, second])
    assert llgrad.grad(lib.f, wrt="x")(3.0) == 54.0



def test_files_in_their_own_order_find_the_runtime(tmp_path: Path) -> None:
    """Bodies of flang's runtime are linked after all files: the linker drops what nothing calls yet."""
    require("a.f90")
    first, second = tmp_path / "kinds.f90", tmp_path / "sums.f90"
    first.write_text("module kinds\n  integer, parameter :: wp = kind(1d0)\nend module\n")
    second.write_text(
        "module sums\n  use kinds\ncontains\n"
        "  pure subroutine inner(f, n, r)\n    integer, intent(in) :: n\n    real(wp), intent(in) :: f(n)\n"
        "    real(wp), intent(out) :: r\n    r = sum(f**2)\n  end subroutine\n"
        "  subroutine top(f, r)\n    real(wp), intent(in) :: f(:)\n    real(wp), intent(out) :: r\n"
        "    call inner(f, size(f), r)\n  end subroutine\nend module\n"
    )  # a section that may have strides is packed by the runtime
    gradient = llgrad.grad(llgrad.load([first, second]).top, wrt="f", of="r")(np.arange(1.0, 7.0)[::2], np.zeros(1))
    assert gradient.tolist() == [2, 6, 10]



HANDED_ON = """
module solvers
 implicit none
 abstract interface
  subroutine fn(n, x, f)
   integer, intent(in) :: n
   real(8), intent(in) :: x(n)
   real(8), intent(out) :: f(n)
  end subroutine
 end interface
contains
 subroutine fixed(f, n, x, r)
  procedure(fn) :: f
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  real(8), intent(out) :: r(n)
  integer :: k
  main: block
   do k = 1, 5
    call f(n, x, r)
    if (sum(r**2) < 1e-30_8) exit main
    x = x - 0.1_8 * r
   end do
  end block main
 end subroutine
 subroutine easy(f, n, x, r)
  procedure(fn) :: f
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  real(8), intent(out) :: r(n)
  call fixed(f, n, x, r)
 end subroutine
end module
module use_solvers
 use solvers
 implicit none
contains
 subroutine go(n, p, r)
  integer, intent(in) :: n
  real(8), intent(in) :: p(n)
  real(8), intent(out) :: r
  real(8) :: x(n), f(n)
  x = 1
  call easy(res, n, x, f)
  r = sum(x)
 contains
  subroutine res(n, x, f)
   integer, intent(in) :: n
   real(8), intent(in) :: x(n)
   real(8), intent(out) :: f(n)
   f = x**2 - p
  end subroutine
 end subroutine
end module
"""


def test_an_internal_procedure_is_handed_on_through_two_routines(tmp_path: Path) -> None:
    """Five damped steps of x**2 = p: the copy of `easy` calls the copy of `fixed`."""
    require("a.f90")
    path, p = tmp_path / "handed.f90", np.arange(1.0, 4.0)
    path.write_text(HANDED_ON)
    go = llgrad.load(path).go

    def after(p: np.ndarray) -> np.ndarray:
        x = np.ones(3)
        for _ in range(5):
            x = x - 0.1 * (x**2 - p)
        return x

    gradient = llgrad.grad(go, wrt="p", of="r")(3, p, np.zeros(1))
    step = 1e-5
    np.testing.assert_allclose(gradient, (after(p + step) - after(p - step)) / (2 * step), rtol=1e-8)


def test_stored_procedures_get_frames_of_their_own() -> None:
    """Secant steps to sqrt(p): r = p + sqrt(p). A frame that went to another procedure led to a number as code."""
    require("a.f90")
    lib, r = llgrad.load(HERE / "fallback.f90"), np.zeros(1)
    lib.root2(4.0, r)
    np.testing.assert_allclose(r, 6, rtol=1e-6)
    np.testing.assert_allclose(llgrad.grad(lib.root2, wrt="p", of="r")(4.0, r), 1.25, rtol=1e-6)


def test_allocatable_arrays_are_assigned_where_nothing_is_optimised(tmp_path: Path) -> None:
    """What flang's runtime asks of types and ranks is folded at level 0; what is left is refused at the user's line."""
    require("a.f90")
    path, x = tmp_path / "assigned.f90", np.arange(1.0, 7.0)
    path.write_text(
        "subroutine assigned(x, r)\n  real(8), intent(in) :: x(:)\n  real(8), intent(out) :: r\n"
        "  real(8), allocatable :: w(:)\n  allocate (w(size(x)))\n  w = x**2 + 1\n  w = [w, x]\n  r = sum(w)\n"
        "end subroutine\n"
        "subroutine ranks(x, r)\n  real(8), intent(in) :: x(:)\n  real(8), intent(out) :: r\n"
        "  real(8), allocatable :: d(:, :, :, :, :)\n"
        "  d = 2*reshape(x, [1, 2, 3, 1, 1])\n  r = sum(d(1, :, 2, 1, 1))\nend subroutine\n"
    )
    for level in (0, 2):
        lib = llgrad.load(path, optimize=level)
        assert llgrad.grad(lib.assigned, wrt="x", of="r")(x, np.zeros(1)).tolist() == (2 * x + 1).tolist()
    with pytest.raises(NoRuleError, match=r"assigned.f90:14:3: .*_FortranAAssign"):
        llgrad.grad(lib.ranks, wrt="x", of="r")


UNUSUAL = """
module unusual
  implicit none
  type :: t
    real(8) :: x
  end type
contains
  function text(k) result(s)
    integer, intent(in) :: k
    character(len=8) :: s
    write(s, '(i0)') k
  end function
  function upper(a) result(s)
    character(len=*), intent(in) :: a
    character(len=len(a)) :: s
    s = a
  end function
  function wide(k) result(i)
    integer(16), intent(in) :: k
    integer(16) :: i
    i = k
  end function
  function complex(z) result(w)
    complex(8), intent(in) :: z
    complex(8) :: w
    w = z
  end function
  function scaled(x, k) result(r)
    real(8), intent(in) :: x(3), k
    real(8) :: r(3)
    r = k*x
  end function
  function pure_array() result(r)
    real(8) :: r(2)
    r = 4
  end function
  function doubled(x) result(r)
    real(8), intent(in) :: x(:)
    real(8), allocatable :: r(:)
    r = 2*x
  end function
  function whole(x) result(r)
    real(8), target, intent(in) :: x(:)
    real(8), pointer :: r(:)
    r => x
  end function
  function fresh(x) result(r)
    real(8), intent(in) :: x
    real(8), pointer :: r
    allocate (r)
    r = x
  end function
  subroutine grow(x)
    real(8), allocatable, intent(inout) :: x(:)
    x = [x, x]
  end subroutine
  subroutine point(x, y)
    real(8), pointer, intent(inout) :: x(:)
    real(8), target, intent(in) :: y(:)
    x => y
  end subroutine
  subroutine number(x, r)
    real(8), allocatable, intent(in) :: x
    real(8), intent(out) :: r
    r = x
  end subroutine
  subroutine object(x, r)
    class(t), intent(in) :: x
    real(8), intent(out) :: r
    r = x%x
  end subroutine
  subroutine anything(x, r)
    class(*), intent(in) :: x
    real(8), intent(out) :: r
    select type (x)
    type is (real(8))
      r = x
    end select
  end subroutine
  function total(x) result(r)
    real(8), allocatable, intent(in) :: x(:)
    real(8) :: r
    r = 0
    if (allocated(x)) r = sum(x**2)
  end function
  subroutine twice(x)
    real(8), allocatable, intent(inout) :: x(:)
    integer :: i
    do i = 1, size(x)
      x(i) = 2*x(i)
    end do
  end subroutine
  function area(x) result(r)
    real(8), intent(in) :: x
    real(8) :: r
    associate (y => x)
      r = y*y
    end associate
  end function
end module
"""


@pytest.fixture(scope="module")
def unusual(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    require("a.f90")
    path = tmp_path_factory.mktemp("unusual") / "unusual.f90"
    path.write_text(UNUSUAL)
    return llgrad.load(path)


def test_functions_that_python_cannot_call_do_not_spoil_the_others(unusual: llgrad.Library) -> None:
    """Results of unusual types; allocatables and pointers, which would free or replace NumPy's memory."""
    assert unusual.area(3.0) == 9 and llgrad.grad(unusual.area)(3.0) == 6
    two, one = np.ones(2), np.ones(1)
    for name, arguments in {
        "text": (3,), "upper": (two,), "wide": (3,), "complex": (1j,), "doubled": (two, two), "whole": (two, two),
        "fresh": (one, 2.0), "grow": (two,), "point": (two, two), "number": (one, one), "object": (one, one),
        "anything": (one, one),
    }.items():  # fmt: skip
        with pytest.raises(UnsupportedError, match=r"unusual.f90:\d+: (.|\n)*cannot be called from Python"):
            unusual[name](*arguments)
        with pytest.raises(UnsupportedError, match="cannot be called from Python"):
            llgrad.jvp(unusual[name], wrt=0)
    assert two.tolist() == [1, 1]


def test_allocatables_that_stay_where_they_are_take_arrays(unusual: llgrad.Library) -> None:
    x = np.array([3.0, 4.0])
    assert unusual.total(x) == 25 and llgrad.grad(unusual.total)(x).tolist() == [6, 8]
    unusual.twice(x)
    assert x.tolist() == [6, 8]


def test_results_in_memory_are_the_first_parameter(unusual: llgrad.Library) -> None:
    """An array that is returned has the name of the result, and the others have theirs."""
    assert [p.name for p in unusual.scaled.signature.parameters] == ["r", "x", "k"]
    assert [p.name for p in unusual.pure_array.signature.parameters] == ["r"]
    assert [p.name for p in unusual.area.signature.parameters] == ["x"]
    r, x = np.zeros(3), np.arange(3.0)
    unusual.scaled(r, x, 2.0)
    assert r.tolist() == [0, 2, 4] and x.tolist() == [0, 1, 2]
    _, (dx, dk) = llgrad.vjp(unusual.scaled, wrt=("x", "k"), of="r")(r, x, 2.0, seed=np.array([1.0, 10, 100]))
    assert dx.tolist() == [2, 20, 200] and dk == 210


BOXES = """
module boxes
  implicit none
  type :: box
    real(8) :: k
    real(8), allocatable :: v(:)
    integer :: n
    real(8), allocatable :: w(:, :)
    real(8) :: last(2)
  end type
  type :: crate
    type(box) :: inner
  end type
contains
  function whole(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    type(box) :: a, b, none
    a%k = x(1)
    a%n = size(x)
    allocate (a%v(size(x)))
    a%v = a%k*x
    a%last = x(2:3)
    allocate (b%v(1), b%w(2, 2))
    b%v = x(1)
    b = a
    a%v = 0
    r = sum(b%v**2)*b%k + b%last(1)*b%last(2)*b%n
    if (allocated(b%w)) r = -1
    b = none
    if (allocated(b%v)) r = -1
  end function
  function nested(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    type(crate) :: a, b
    allocate (a%inner%v(size(x)))
    a%inner%v = x
    b = a
    r = sum(b%inner%v**2)
  end function
end module
"""


def test_types_with_allocatable_components(tmp_path: Path) -> None:
    """Assigned whole, let go at the end; those within other types, too."""
    require("a.f90")
    path = tmp_path / "boxes.f90"
    path.write_text(BOXES)
    lib = llgrad.load(path)
    value, dx = llgrad.value_and_grad(lib.whole, wrt="x")(X)
    expected = 2 * X[0] ** 3 * X
    expected[0] += 3 * X[0] ** 2 * (X @ X)
    expected[1:3] += 5 * X[2:0:-1]
    assert value == pytest.approx(X[0] ** 3 * (X @ X) + 5 * X[1] * X[2], rel=1e-14)
    np.testing.assert_allclose(dx, expected, rtol=1e-13)
    np.testing.assert_allclose(llgrad.grad(lib.nested, wrt="x")(X), 2 * X, rtol=1e-14)


def test_the_compilers_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bad.f90"
    path.write_text("function f(x)\n  implicit none\n  real(8) :: f, x\n  f = y\nend function\n")
    require("a.f90")
    with pytest.raises(CompilerError, match="No explicit type declared for 'y'") as caught:
        llgrad.load(path)
    assert "BISECT" not in str(caught.value)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="no Fortran compiler") as caught:
        llgrad.load(path)
    assert "flang-22" in caught.value.fix


def test_output_is_inactive(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require("a.f90")
    path = tmp_path / "a.f90"
    path.write_text(
        "function f(x, n) result(r)\n  integer, intent(in) :: n\n  real(8), intent(in) :: x(n)\n  real(8) :: r\n"
        "  r = sum(x**2)\n  print *, 'sum', r\n  if (r > 1d6) error stop 'too large'\nend function\n"
    )
    assert np.array_equal(llgrad.grad(llgrad.load(path).f, wrt="x")(X, 5), 2 * X)


TABLE = """
module shared
  double precision :: rate
end module
double precision function decay(x)
  use shared
  double precision, intent(in) :: x
  decay = exp(-rate*x)
end function
double precision function weight(i)
  integer i
  double precision, save :: w(3)
  integer, save :: ready = 0
  if (ready == 0) then
    ready = 1
    w = [1d0, 4d0, 1d0]
  end if
  if (i > 3) then
    print *, 'no such weight', i
    stop 1
  end if
  weight = w(i)
end function
subroutine note(text, n)
  character*(*) text
  integer n
  print 901
  print *, text(1:n)
901 format(/)
end subroutine
double precision function simpson(rate_of_it, h) bind(c)
  use shared
  double precision, value :: rate_of_it, h
  double precision, external :: decay, weight
  rate = rate_of_it
  simpson = h/6*(weight(1)*decay(0d0) + weight(2)*decay(h/2) + weight(3)*decay(h))
  if (simpson > 1d3) call note('too large', 9)
end function
"""


def test_streams_are_handles(tmp_path: Path) -> None:
    """Old codes print when something is wrong, and stop: what the run-time library hands out holds nothing active."""
    require("table.f90")
    path = tmp_path / "table.f90"
    path.write_text(TABLE)
    value, (by_rate, by_h) = llgrad.value_and_grad(llgrad.load(path).simpson, wrt=(0, 1))(0.8, 0.6)
    e, m = np.exp(-0.48), np.exp(-0.24)
    assert value == pytest.approx(0.1 * (1 + 4 * m + e), rel=1e-14)
    assert by_rate == pytest.approx(0.1 * (-0.3 * 4 * m - 0.6 * e), rel=1e-14)
    assert by_h == pytest.approx((1 + 4 * m + e) / 6 + 0.1 * (-0.4 * 4 * m - 0.8 * e), rel=1e-14)


@pytest.mark.parametrize(
    "name",
    [
        "places", "products", "orders", "shifts", "unpacked", "allocation", "texts", "optional_sources",
        pytest.param("reductions", marks=pytest.mark.full),
    ],
)  # fmt: skip
def test_what_is_left_to_the_runtime(name: str) -> None:
    """At -O0 flang calls its runtime for every intrinsic of arrays; the calls have bodies here."""
    require("a.f90")
    f = llgrad.load(HERE / "runtime.f90", flags=["-O0"])[name]
    x = np.array([0.31, 0.72, 0.55, 0.13, 0.94, 0.47])
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x), differences(lambda v: f(*v), [x])[0], rtol=1e-7, atol=1e-8)


NESTED = """
module nested
  abstract interface
    function fn(v) result(w)
      real(8), intent(in) :: v
      real(8) :: w
    end function
  end interface
  type box
    procedure(fn), pointer, nopass :: f
  end type
contains
  recursive subroutine each(f, y, n)
    procedure(fn) :: f
    real(8), intent(inout) :: y(:)
    integer, intent(in) :: n
    integer :: i
    do i = 1, size(y)
      y(i) = f(y(i))
    end do
    if (n > 1) call each(f, y, n - 1)
  end subroutine
  recursive function run(b, x, n) result(r)
    type(box), intent(in) :: b
    real(8), intent(in) :: x
    integer, intent(in) :: n
    real(8) :: r
    r = b%f(x)
    if (n > 0) r = r + run(b, r, n - 1)
  end function
  function passed(x, n) result(r)
    real(8), intent(in) :: x(:)
    integer, intent(in) :: n
    real(8) :: r, y(size(x))
    y = x
    call each(scaled, y, n)
    r = sum(y)
  contains
    function scaled(v) result(w)
      real(8), intent(in) :: v
      real(8) :: w
      w = sin(v)*x(2)
    end function
  end function
  function stored(x, n) result(r)
    real(8), intent(in) :: x(:)
    integer, intent(in) :: n
    real(8) :: r
    type(box) :: b
    b%f => scaled
    r = run(b, x(1), n)
  contains
    function scaled(v) result(w)
      real(8), intent(in) :: v
      real(8) :: w
      w = v*x(2)
    end function
  end function
end module
"""


def test_nested_procedures(tmp_path: Path) -> None:
    """No machine code is written on the stack: who is called with one is copied; one that is stored is a record."""
    require("a.f90")
    path = tmp_path / "nested.f90"
    path.write_text(NESTED)
    lib = llgrad.load(path)
    for f in (lib.passed, lib.stored):
        truth = differences(called(f), [X, 3])[0]
        np.testing.assert_allclose(llgrad.grad(f, wrt="x")(X, 3), truth, rtol=1e-8)


HISTORY = """
function history(x, n) result(r)
  real(8), intent(in) :: x
  integer, intent(in) :: n
  real(8) :: r
  real(8), allocatable :: h(:)
  integer :: i
  allocate (h(0))
  do i = 1, n
    h = [h, x**i + sum(h)]
  end do
  r = sum(h*h)
end function
"""


def test_a_number_at_the_end_of_an_array(tmp_path: Path) -> None:
    require("a.f90")
    path = tmp_path / "history.f90"
    path.write_text(HISTORY)
    f = llgrad.load(path).history
    truth = differences(lambda v: f(*v), [0.7, 4])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(0.7, 4), truth, rtol=1e-8)


OWNERS = """
module owners
  type :: item
    real(8), allocatable :: d(:)
  end type
  type :: plain
    real(8) :: d(2)
  end type
contains
  function owned(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    type(item), allocatable :: p(:), q(:)
    allocate (p(1))
    p(1)%d = x
    q = [p, p(1)]
    r = sum(q(2)%d)
  end function
  function flat(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    type(plain) :: p, q(2)
    p%d = x(1:2)
    q = [p, p]
    r = q(2)%d(1)*q(1)%d(2)
  end function
end module
"""


def test_constructors_of_objects(tmp_path: Path) -> None:
    """What owns memory is not copied flatly: that would free it twice."""
    require("a.f90")
    path = tmp_path / "owners.f90"
    path.write_text(OWNERS)
    lib = llgrad.load(path)
    assert np.array_equal(llgrad.grad(lib.owned, wrt="x")(X), np.ones(5))
    assert lib.flat(X) == X[0] * X[1]


HOLDER = """
module m
  implicit none
  type :: base
    real(8) :: a = 0
  end type
  type, extends(base) :: child
    real(8) :: b = 0
    !more
  contains
    final :: kill
  end type
  type :: holder
    class(base), allocatable :: p
  end type
contains
  subroutine kill(x)
    type(child), intent(inout) :: x(..)
  end subroutine
  real(8) function f(x) bind(c)
    real(8), intent(in) :: x(2)
    type(holder) :: h, g
    allocate(child :: h%p)
    h%p%a = x(1)
    select type (q => h%p)
    type is (child)
      q%b = x(2)
    end select
    g = h
    f = g%p%a * 2
    select type (q => g%p)
    type is (child)
      f = f + q%b * q%b
    end select
  end function
end module
"""


def test_types_that_are_left_to_the_runtime_are_not_copied_as_what_they_extend(tmp_path: Path) -> None:
    x = np.array([1.5, 0.5])
    for name, more in (("holder", ""), ("ranks", "real(8), allocatable :: c(:, :, :, :, :)")):
        (tmp_path / f"{name}.f90").write_text(HOLDER.replace("!more", more))
        f = llgrad.load(tmp_path / f"{name}.f90").f
        assert f(x) == 3.25
        if more:
            with pytest.raises(NoRuleError, match="_FortranA"):
                llgrad.grad(f, wrt="x")(x)
        else:
            assert np.array_equal(llgrad.grad(f, wrt="x")(x), [2, 1])


@pytest.mark.parametrize(
    "name", ["nested", "arrays", "polymorphic", "finals", pytest.param("mixed", marks=pytest.mark.full)]
)
def test_derived_types(name: str) -> None:
    """Types within types, arrays of them, structure constructors, polymorphic allocatables, final procedures."""
    require("types.f90")
    f = llgrad.load(HERE / "types.f90")[name]
    truth = differences(lambda v: f(*v), [X])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(X), truth, rtol=1e-7, atol=1e-8)


@pytest.fixture(scope="module")
def scientific() -> llgrad.Library:
    require("scientific.f90")
    return llgrad.load(HERE / "scientific.f90")


@pytest.mark.parametrize("name", ["pointers", "any_rank", "rearranged", "reading"])
def test_scientific_programs(scientific: llgrad.Library, name: str) -> None:
    """Procedure pointers in objects, dummies of any rank, arrays of objects in another order, `read`."""
    f = scientific[name]
    truth = differences(lambda v: f(*v), [X])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(X), truth, rtol=1e-7, atol=1e-8)


def test_the_neighbours_of_a_float(scientific: llgrad.Library) -> None:
    """`nearest` moves with its argument, from zero, too."""
    x, dx = X, llgrad.grad(scientific.neighbours, wrt="x")(X)
    expected = [x[1] * x[2] + x[1] + np.float32(x[3]), x[0] * x[2], x[0] * x[1], -2 + x[0], 4.0]
    np.testing.assert_allclose(dx, expected, rtol=1e-6)


def test_floats_that_are_written_and_read_back_are_refused(scientific: llgrad.Library) -> None:
    assert scientific.read_back(1.5, 0) == scientific.read_back(1.5, 17) == 1.5
    with pytest.raises(UnsupportedError, match="read from text or a file"):
        llgrad.grad(scientific.read_back, wrt="x")(1.5, 0)


SIX = np.array([0.7, 0.45, 1.3, 0.25, 0.9, 0.6])


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("objects.f90", "copied"), ("objects.f90", "let_go"), ("assignments.f90", "assigned"), ("stored.f90", "stored"),
        ("stored.f90", "exchanged"),
    ],
)  # fmt: skip
def test_objects(file: str, name: str) -> None:
    """Clones of `class` dummies, final procedures for arrays, assignments of the type's own for components, pointers
    to nested procedures that are stored, pointers of a module that are exchanged."""
    require(file)
    f = llgrad.load(HERE / file)[name]
    truth = differences(lambda v: f(*v), [SIX])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(SIX), truth, rtol=1e-7, atol=1e-8)


def test_constructors() -> None:
    """An allocatable `class` component takes the type of what it is given; its methods were null."""
    require("constructed.f90")
    x = np.array([0.7, 0.5, 0.9, 0.3, 1.1, 0.2])
    for level in (0, 2):
        built = llgrad.load(HERE / "constructed.f90", optimize=level)
        assert built.boxes(x) == pytest.approx(38.5326, rel=1e-14)
        assert built.wraps(x) == pytest.approx(1.0225, rel=1e-14)
    f = llgrad.load(HERE / "constructed.f90").boxes
    truth = differences(lambda v: f(*v), [x])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x), truth, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("level", [pytest.param("-O0", marks=pytest.mark.full), "-O1"])
@pytest.mark.parametrize("name", ["folded", "drawn", "transferred", "scaled", "spectrum"])
def test_intrinsics(name: str, level: str) -> None:
    require("intrinsics.f90")
    f = llgrad.load(HERE / "intrinsics.f90", flags=[level])[name]
    truth = differences(lambda v: f(*v), [SIX])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(SIX), truth, rtol=1e-7, atol=1e-8)


def test_intrinsics_of_all_kinds() -> None:
    """Sums of complex numbers along a dimension, and what is found among texts, complex and long integers."""
    require("intrinsics.f90")
    f = llgrad.load(HERE / "intrinsics.f90", flags=["-O0"]).of_any_kind
    assert f(SIX) == pytest.approx(17.504830956557743, rel=1e-13)  # as flang alone has it
    truth = differences(lambda v: f(*v), [SIX])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(SIX), truth, rtol=1e-7, atol=1e-8)


def test_clocks(tmp_path: Path) -> None:
    """What `etime` writes is constant, and what was there before has no adjoint any more."""
    source = tmp_path / "clock.f90"
    source.write_text("""
subroutine timed(x, f)
  real(4), intent(in) :: x(2)
  real(4), intent(out) :: f
  real(4) :: w(3), total
  w(1:2) = x**2
  w(3) = x(1)
  f = sum(w(1:2))
  call etime(w(1:2), total)
  f = f + 0 * w(1) * x(1) + w(3)**3 + 0 * total * x(2)
  f = f + w(2)
end subroutine
""")
    require("intrinsics.f90")
    x, f = np.array([1, 2], "f4"), np.zeros((), "f4")
    np.testing.assert_allclose(llgrad.grad(llgrad.load(source).timed, wrt="x", of="f")(x, f), [2 + 3, 4])


def test_nested_procedures_that_are_called_from_cpp() -> None:
    """Those of several activations of their host, each with its own frame."""
    require("hosts.f90", "hosts.cpp")
    f = llgrad.load([HERE / "hosts.f90", HERE / "hosts.cpp"]).hosted
    assert f(SIX) == pytest.approx(0.8965152826459724, rel=1e-14)  # with trampolines, by flang and clang alone
    truth = differences(lambda v: f(*v), [SIX])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(SIX), truth, rtol=1e-7, atol=1e-8)


LENT = """
module lending
  use iso_c_binding
  implicit none
  abstract interface
    real(8) function fn(t)
      real(8), intent(in) :: t
    end function
  end interface
  type :: holder
    procedure(fn), pointer, nopass :: f => null()
  end type
  interface
    real(c_double) function run_held(held, t) bind(c)
      import
      type(*) :: held
      real(c_double), intent(in) :: t
    end function
  end interface
contains
  function lent(x) result(r)
    real(8), intent(in) :: x(2)
    real(8) :: r
    type(holder) :: held
    integer :: hits
    hits = 0
    held%f => inner
    if (run_held(held, 1d0) > 0) hits = hits + 1
    r = x(1)**2*x(2) + hits
  contains
    real(8) function inner(t)
      real(8), intent(in) :: t
      hits = hits + 1
      inner = t*2
    end function
  end function
end module
"""


def test_nested_procedures_that_a_library_finds_in_memory(tmp_path: Path) -> None:
    """Code that was compiled elsewhere cannot call one: an error, where a record would have been run as code."""
    require("a.f90", "a.c")
    (tmp_path / "lent.f90").write_text(LENT)
    (tmp_path / "run.c").write_text("double run_held(double (**f)(double *), double *t) { return (*f)(t); }\n")
    library = str(tmp_path / "librun.so")
    subprocess.run([*find_compiler().c, "-shared", "-fPIC", "-o", library, tmp_path / "run.c"], check=True)
    lib = llgrad.load(tmp_path / "lent.f90", libraries=[library])
    with pytest.raises(ForeignError, match="nested procedure"):
        lib.lent(SIX[:2])


@pytest.mark.parametrize(
    ("file", "name"),
    [
        *(("anything", name) for name in ("turns", "wraps", "list", "assigned", "arrays", "text")),
        ("finals", "any_rank"), ("finals", "elemental"),
    ],
)  # fmt: skip
def test_anything(file: str, name: str) -> None:
    """A `class(*)` that is allocated holds reals and integers in turn, as a component too; FINAL of any rank."""
    require("a.f90")
    f = llgrad.load(HERE / f"{file}.f90")[name]
    x = np.array([0.31, 0.72, 0.55, 0.13, 0.94, 0.47])
    truth = differences(lambda v: f(*v), [x])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x), truth, rtol=1e-7, atol=1e-8)
    along = np.array([0.3, -0.2, 0.7, 0.1, -0.5, 0.4])
    _, tangent = llgrad.jvp(f, wrt="x")(x, tangents=along)
    assert tangent == pytest.approx(truth @ along, rel=1e-7)
