! Pointers that are stored: to nested procedures, in objects and in variables, and those of a module that are exchanged.
module quadm
  implicit none
  abstract interface
    real(8) function fn(t)
      real(8), intent(in) :: t
    end function
  end interface
  type :: integrator
    procedure(fn), pointer, nopass :: g => null()
    integer :: n = 8
  contains
    procedure :: run
  end type
contains
  real(8) function run(self, a, b) result(s)
    class(integrator), intent(in) :: self
    real(8), intent(in) :: a, b
    integer :: i
    s = 0
    do i = 1, self%n
      s = s + self%g(a + (b - a)*(i - 0.5d0)/self%n)
    end do
    s = s*(b - a)/self%n
  end function
  recursive real(8) function adapt(g, a, b, depth) result(s)
    procedure(fn) :: g
    real(8), intent(in) :: a, b
    integer, intent(in) :: depth
    real(8) :: m
    m = (a + b)/2
    if (depth == 0) then
      s = (b - a)/6*(g(a) + 4*g(m) + g(b))
    else
      s = adapt(g, a, m, depth - 1) + adapt(g, m, b, depth - 1)
    end if
  end function
end module
function stored(x) result(f)
  use quadm
  implicit none
  real(8), intent(in) :: x(6)
  real(8) :: f
  type(integrator) :: q
  procedure(fn), pointer :: h
  real(8) :: shift
  shift = x(2)**2
  q%g => inner
  f = q%run(x(3), x(4))
  h => inner
  f = f + adapt(h, x(3), x(5), 3)
  shift = x(6)
  f = f + q%run(0d0, x(1)) + adapt(inner, 0d0, x(1), 2)
contains
  real(8) function inner(t)
    real(8), intent(in) :: t
    inner = sin(x(1)*t) + shift*t
  end function
end function
module buffers
  implicit none
  real(8), allocatable, target, save :: first(:), second(:)
  real(8), pointer, save :: old(:) => null(), new(:) => null()
contains
  subroutine start(x)
    real(8), intent(in) :: x(:)
    if (allocated(first)) deallocate (first, second)
    allocate (first(size(x)), second(size(x)))
    first = x
    second = 0
    old => first
    new => second
  end subroutine
  subroutine step(k)
    real(8), intent(in) :: k
    real(8), pointer :: tmp(:)
    integer :: i
    new(1) = old(1)
    new(size(new)) = old(size(old))
    do i = 2, size(old) - 1
      new(i) = old(i) + k*(old(i + 1) - 2*old(i) + old(i - 1))
    end do
    tmp => old
    old => new
    new => tmp
  end subroutine
end module
real(8) function exchanged(x) result(r)
  use buffers
  implicit none
  real(8), intent(in) :: x(6)
  integer :: i
  call start(x(1:5))
  do i = 1, 5
    call step(x(6))
  end do
  r = sum(old**2)
end function
