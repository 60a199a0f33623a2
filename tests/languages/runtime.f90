! What flang leaves to its runtime: all intrinsics of arrays at -O0, few of them above.
module left
  implicit none
  integer, parameter :: dp = kind(1.0d0)

contains

  function reductions(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, a(2, 3)
    complex(dp) :: z(3)
    a = reshape(x, [2, 3])
    z = cmplx(x(1:3), x(4:6), dp)
    r = sum(x**2, mask=x > 0.5_dp) + product(x) + maxval(x)*minval(x**2) + dot_product(x, x**3)
    r = r + sum(sum(a**2, dim=1)**2) + sum(maxval(a, dim=1))*sum(minval(a, dim=2)) + sum(norm2(a, 1))
    r = r + real(sum(z)*product(z)) + abs(dot_product(z, z**2)) + reduce(x, times)
  end function

  pure function times(a, b) result(c)
    real(dp), intent(in) :: a, b
    real(dp) :: c
    c = a*b
  end function

  function places(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, a(2, 3)
    integer :: k(1), n(3), m
    a = reshape(x, [2, 3])
    k = maxloc(x)
    n = minloc(a, dim=1)
    m = findloc(x > 0.5_dp, .true., dim=1)
    r = x(k(1))**2 + a(n(1), 1)*a(n(2), 2) + x(m)**3*count(x > 0.4_dp)
    if (any(x > 0.9_dp) .and. .not. all(x > 0.5_dp)) r = r**2
  end function

  function products(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, a(2, 3), b(3, 3)
    a = reshape(x, [2, 3])
    b = matmul(transpose(a), a)
    r = b(1, 2)*b(3, 3) + sum(matmul(a, x(1:3))**2) + sum(matmul(x(1:2), a)**3)
  end function

  function orders(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, a(2, 4)
    a = reshape(x, [2, 4], pad=[x(2), 1.0_dp], order=[2, 1])
    r = sum(a(1, :)*a(2, :)**2) + sum(spread(x, 2, 2)**3) + sum(pack(x**2, x > 0.3_dp))
  end function

  function shifts(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, a(2, 3)
    a = reshape(x, [2, 3])
    r = sum(a*cshift(a, 1, dim=2)) + sum(x*cshift(x, 2)) + sum(a**2*eoshift(a, -1, dim=2)) + sum(x*eoshift(x, 1))
  end function

  function unpacked(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, a(6)
    a = unpack(x(3:6), [.true., .false., .true., .true., .false., .true.], 2*x)
    r = sum(a**3)
  end function

  function allocation(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    real(dp), allocatable :: a(:), b(:), c(:, :)
    real(dp), pointer :: p(:), q(:)
    integer :: status
    allocate (a, source=x)
    allocate (b, mold=a)
    allocate (c(2, 3), source=x(2))
    allocate (p(6), stat=status)
    b = a**2
    p = b*x(1)
    deallocate (a, stat=status)
    call move_alloc(b, a)
    r = sum(a)*sum(c)*p(3) + cubes(3, x(1:6:2))
    call scale(3, p(2:6:2))
    r = r + sum(p)
    allocate (q, source=x)
    if (.not. associated(q, p)) r = r + q(4)**2
    deallocate (p, q)
  end function

  function texts(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    character(:), allocatable :: names
    character(8) :: list(3)
    list = [character(8) :: "bond", "  angle", "torsion"]
    names = "bond,angle"
    r = pick(names(:index(names, ",") - 1)) + pick(adjustr(names(6:)//" "))*pick(repeat("bond", 1))
    r = r*(scan(names, "xyg") + verify(names, "bnod") + index(names, "a", back=.true.) + len_trim(list(2)))
  contains
    function pick(name) result(y)
      character(*), intent(in) :: name
      real(dp) :: y
      integer :: i
      y = x(6)
      do i = 1, 3
        if (trim(adjustl(list(i))) == adjustl(name)) y = x(i)
      end do
    end function
  end function

  ! an argument that may be absent is assigned as it was given, in a procedure that is called more than once
  function optional_sources(x) result(r)
    real(dp), intent(in) :: x(6)
    real(dp) :: r
    real(dp), allocatable :: a(:)
    call begin(a, 3, x(1:2))
    r = sum(a)*a(3)
    call begin(a, 2)
    r = r + a(2)*x(3) + x(5)**2
  end function

  subroutine begin(a, n, y)
    real(dp), allocatable, intent(out) :: a(:)
    integer, intent(in) :: n
    real(dp), intent(in), optional :: y(:)
    allocate (a(0:n))
    a = 1
    if (present(y)) a(0:size(y) - 1) = y
    a(n) = a(0)*a(1)
  end subroutine

  function cubes(n, x) result(r)
    integer, intent(in) :: n
    real(dp), intent(in) :: x(n)
    real(dp) :: r
    r = sum(x**3)
  end function

  subroutine scale(n, x)
    integer, intent(in) :: n
    real(dp), intent(inout) :: x(n)
    x = x**2
  end subroutine

end module
