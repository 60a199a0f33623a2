! What Fortran programs are made of: what the tests of the languages differentiate.
module features
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  type :: layer
    real(dp) :: w(2, 2), b(2)
  end type
  real(dp) :: scale = 2.0_dp
contains
  function growing(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    real(dp), allocatable :: y(:)

    y = x
    y = y*y(size(y):1:-1)
    y = [y, 2*y]
    r = sum(y**2)
  end function

  function reductions(x, a) result(r)
    real(dp), intent(in) :: x(:), a(:, :)
    real(dp) :: r
    real(dp) :: s(size(a, 2))

    s = sum(a, dim=1)
    r = product(x) + minval(x) + norm2(x) + sum(s*maxval(a, dim=1)) + sum(x, mask=x > 0.5_dp)
  end function

  function shuffles(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r

    r = sum(cshift(x, 1)*x) + x(maxloc(x, dim=1)) + sum(merge(x, -x, x > 0.4_dp)) + sum(pack(x, x > 0.3_dp)**2)
  end function

  function outer(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    real(dp) :: m(size(x), size(x))

    m = spread(x, 2, size(x))*spread(x, 1, size(x))
    where (m > 0.5_dp)
      m = m*m
    elsewhere
      m = -m
    end where
    r = sum(matmul(transpose(m), m))
  end function

  function layers(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    type(layer) :: l(2)
    integer :: i

    do i = 1, 2
      l(i)%w = reshape([x(1), x(2), x(3), x(4)], [2, 2])*i
      l(i)%b = x(1:2)
    end do
    r = apply(l(2), apply(l(1), x(3)))

  contains

    recursive function apply(this, v) result(y)
      type(layer), intent(in) :: this
      real(dp), intent(in) :: v
      real(dp) :: y

      y = sum(sin(matmul(this%w, [v, v*x(5)]) + this%b))
    end function
  end function

  function scalars(x, n) result(r)
    real(dp), intent(in) :: x
    integer, intent(in) :: n
    real(dp) :: r
    r = x**n + sign(x, -2.0_dp) + mod(x, 0.3_dp) + modulo(x, 0.3_dp) + anint(x) + abs(x)
    r = r + atan2(x, 2.0_dp) + gamma(x) + erf(x) + bessel_j0(x) + hypot(x, 1.0_dp)
  end function
  function shared(x) result(r)
    real(dp), intent(in) :: x
    real(dp) :: r, a, b(3)
    common /blk/ a, b
    a = x*x
    b = [x, 2*x, a]
    call use_common(r)
    r = r * scale
  end function
  subroutine use_common(r)
    real(dp), intent(out) :: r
    real(dp) :: a, b(3)
    common /blk/ a, b
    r = a*sum(b)
  end subroutine
  function cubes(n, x) bind(c, name="cubes") result(r)
    use iso_c_binding
    integer(c_int), value :: n
    real(c_double), intent(in) :: x(n)
    real(c_double) :: r
    r = sum(x**3)
    if (r > 1000) then
      print *, "large", r
      error stop "too large"
    end if
  end function
end module
