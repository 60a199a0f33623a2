! A recursive host whose nested procedures are all alive at once, kept in objects and called from C++.
module hosts
  use iso_c_binding
  implicit none
  abstract interface
    real(c_double) function fn(t) bind(c)
      import
      real(c_double), value :: t
    end function
  end interface
  interface
    real(c_double) function trapezoid(g, a, b, n) bind(c)
      import
      type(c_funptr), value :: g
      real(c_double), value :: a, b
      integer(c_int), value :: n
    end function
  end interface
  type :: keeper
    procedure(fn), pointer, nopass :: p => null()
  end type
contains
  recursive real(8) function levels(n, x, kept) result(r)
    integer, intent(in) :: n
    type(keeper), intent(inout) :: kept(3)
    real(8), intent(in) :: x(:)
    integer :: i
    r = trapezoid(c_funloc(own), 0d0, x(2), 4)
    kept(n)%p => own
    if (n > 1) then
      r = r + levels(n - 1, x, kept)
    else
      do i = 1, 3
        if (associated(kept(i)%p)) r = r*kept(i)%p(x(i))
      end do
    end if
  contains
    real(c_double) function own(t) bind(c)
      real(c_double), value :: t
      own = sin(t*x(n)) + n*x(4)
    end function
  end function
end module
real(8) function hosted(x)
  use hosts
  real(8), intent(in) :: x(6)
  type(keeper) :: kept(3)
  hosted = levels(3, x, kept)
end function
