module ME_records
  use iso_c_binding
  implicit none
  type, bind(c) :: rec
    real(c_double) :: k, sum
    integer(c_long) :: count
  end type
  interface
    function OTHER_leaf(v, r) bind(c) result(w)
      import :: c_double, rec
      real(c_double), value :: v
      type(rec), intent(in) :: r
      real(c_double) :: w
    end function
    subroutine OTHER_inner(r, n, x, y) bind(c)
      import :: c_double, c_long, rec
      type(rec), intent(inout) :: r
      integer(c_long), value :: n
      real(c_double), intent(in) :: x(n)
      real(c_double), intent(out) :: y(n)
    end subroutine
  end interface
contains
  function ME_leaf(v, r) bind(c) result(w)
    real(c_double), value :: v
    type(rec), intent(in) :: r
    real(c_double) :: w
    w = v * v * r%k + r%sum
  end function
  subroutine ME_inner(r, n, x, y) bind(c)
    type(rec), intent(inout) :: r
    integer(c_long), value :: n
    real(c_double), intent(in) :: x(n)
    real(c_double), intent(out) :: y(n)
    integer :: i
    do i = 1, int(n)
      y(i) = r%k * OTHER_leaf(x(i), r)
      r%sum = r%sum + y(i) * x(i)
      r%count = r%count + 1
    end do
  end subroutine
  function ME_run(n, x) bind(c) result(s)
    integer(c_long), value :: n
    real(c_double), intent(in) :: x(n)
    real(c_double) :: s
    real(c_double), allocatable :: y(:)
    type(rec) :: r
    r = rec(x(1), x(2), 0)
    allocate(y(n))
    call OTHER_inner(r, n, x, y)
    s = sum(y * y) * r%count + r%sum
  end function
end module
