! Types with assignments of their own, as components.
module assignments
  implicit none
  type :: dual
    real(8) :: v = 0, d = 0
  contains
    procedure, private :: set_r
    generic :: assignment(=) => set_r
    procedure, private, pass(b) :: r_times
    procedure, private :: times, plus
    generic :: operator(*) => times, r_times
    generic :: operator(+) => plus
  end type
  type :: owner
    type(dual) :: a
    real(8), allocatable :: w(:)
  end type
  type :: tracked
    real(8), allocatable :: data(:)
    integer :: copies = 0
  contains
    procedure, private :: copy_tracked
    generic :: assignment(=) => copy_tracked
  end type
  type :: outer
    type(tracked) :: t
    real(8) :: k
  end type
contains
  elemental subroutine set_r(a, r)
    class(dual), intent(inout) :: a
    real(8), intent(in) :: r
    a%v = r
    a%d = 1
  end subroutine
  elemental type(dual) function times(a, b)
    class(dual), intent(in) :: a
    type(dual), intent(in) :: b
    times%v = a%v*b%v
    times%d = a%d*b%v + a%v*b%d
  end function
  elemental type(dual) function plus(a, b)
    class(dual), intent(in) :: a
    type(dual), intent(in) :: b
    plus%v = a%v + b%v
    plus%d = a%d + b%d
  end function
  elemental type(dual) function r_times(a, b)
    real(8), intent(in) :: a
    class(dual), intent(in) :: b
    r_times%v = a*b%v
    r_times%d = a*b%d
  end function
  subroutine copy_tracked(a, b)
    class(tracked), intent(inout) :: a
    type(tracked), intent(in) :: b
    a%data = b%data*2
    a%copies = b%copies + 1
  end subroutine
  function assigned(x) result(f)
  real(8), intent(in) :: x(:)
  real(8) :: f
  type(dual) :: a, b(3), c
  type(owner) :: o, p
  type(tracked) :: t, u
  type(outer) :: s, q
  a = x(1)
  b = x(2:4)
  c = a*b(1) + 2d0*b(2)*a*a + b(3)
  o%a = c
  o%w = x
  p = o
  f = p%a%d*p%w(2) + p%a%v
  t%data = x
  u = t
  f = f + sum(u%data)*u%copies
  s%t%data = x*x
  s%k = 2
  q = s
  f = f + sum(q%t%data)*q%k
end function
end module
