! Intrinsics that flang leaves to its runtime at any level, and values of those that it leaves there at -O0.
module numbers
  implicit none
contains
  pure real(8) function mul(a, b)
    real(8), intent(in) :: a, b
    mul = a*b
  end function
  pure real(8) function addv(a, b)
    real(8), value, intent(in) :: a, b
    addv = a + b*1.5d0
  end function
  function folded(x) result(f)
  real(8), intent(in) :: x(:)
  real(8) :: f
  real(8) :: a(2,3), v(3)
  integer :: k(2), cnt(3)
  logical :: l(3), l2(2)
  a = reshape(x, [2,3])
  f = reduce(x, mul) + reduce(x, mul, mask=x > 0.5d0) 
  v = reduce(a, mul, dim=1)
  f = f + sum(v**2) + reduce(x, mul, mask=x > 5, identity=1d0) + reduce(x, addv)
  l = any(a > 0.8d0, dim=1)
  l2 = all(a > 0.3d0, dim=2)
  cnt = count(a > 0.5d0, dim=1)
  f = f + sum(pack(v, l)) + sum(cnt*v) + count(l2)*x(1)
  f = f + sum(maxval(a, dim=2, mask=a > 0.5d0)) + sum(a, mask=a > 0.5)
  k = maxloc(a)
  f = f*a(k(1), k(2)) + x(minloc(x, dim=1, mask=x > 0.5)) 
  if (parity([.true., .false., .true.])) f = 1
  end function
  function of_any_kind(x) result(f)
  real(8), intent(in) :: x(:)
  real(8) :: f
  complex(8) :: z(2,3), s(3), p(2)
  integer(1) :: b(2,3)
  integer :: n(2,3), k(3), i, l(1)
  integer(8) :: big(3)
  character(9) :: names(4)
  complex(4) :: c(2,2)
  z = reshape([(cmplx(x(i), i*x(1), 8), i=1,6)], [2,3])
  s = sum(z, dim=1)
  p = product(z, dim=2)
  f = sum(abs(s)) + real(p(1)*p(2))*0.01d0
  c = z(:, 1:2)
  f = f + abs(sum(real(sum(c, dim=2))))*1d-9
  b = reshape([1_1,2_1,3_1,4_1,5_1,6_1], [2,3])
  if (any(sum(b, dim=1) /= [3_1,7_1,11_1])) f = -1
  n = -reshape([1,2,3,4,5,6], [2,3])
  if (any(maxval(n, dim=1) /= [-1,-3,-5])) f = -2
  if (any(minval(b, dim=2) /= [1_1,2_1])) f = -3
  if (any(maxloc(n, dim=1) /= 1)) f = -4
  names = ["alpha    ", "alphabet ", "beta     ", "alphabeta"]
  if (findloc(names, "alphabet", dim=1) /= 2) f = -5
  if (findloc(names, "alphabeta", dim=1) /= 4) f = -6
  l = findloc(names, "beta")
  if (l(1) /= 3) f = -7
  big = [9007199254740993_8, 9007199254740992_8, 1_8]
  if (findloc(big, 9007199254740992_8, dim=1) /= 2) f = -8
  if (maxloc(names, dim=1) /= 3) f = -9
  if (findloc(z(1,:), z(1,2), dim=1) /= 2) f = -10
  f = f + x(findloc([1,5,7,9], 7.0, dim=1))
  end function
  function drawn(x) result(f)
  real(8), intent(in) :: x(:)
  real(8) :: f
  real(8) :: u(6), w(3), one
  integer :: n, i
  integer, allocatable :: seed(:)
  call random_seed(size=n)
  allocate(seed(n))
  seed = 42
  call random_seed(put=seed)
  call random_number(u)
  f = 0
  do i = 1, 6
    f = f + x(i)*u(i)**2
  end do
  w = x(1:3)
  f = f + product(w)
  call random_number(w)
  w = w + x(4:6)
  f = f + sum(w**2)
  call random_number(one)
  f = f*one
  call random_number(w(2:3))
  f = f + sum(w)
  end function
  function transferred(x) result(f)
  real(8), intent(in) :: x(:)
  real(8) :: f
  integer(8) :: bits
  real(8) :: y, v(3)
  real(8), allocatable :: w(:)
  integer(8) :: iv(3)
  type :: pair
    real(8) :: a, b
  end type
  type(pair) :: p
  complex(8) :: z
  bits = transfer(1d0, bits)
  y = transfer(bits, y)
  f = x(1)*y
  p = transfer([x(2), x(3)], p)
  f = f + p%a*p%b
  z = transfer(p, z)
  f = f + abs(z)
  w = transfer([p, pair(x(4), x(5))], [0d0])
  f = f + sum(w*x(1:size(w)))
  iv = transfer(x(1:3), iv)
  v = transfer(iv, v)
  f = f + sum(v**2)
  end function
  function scaled(x) result(f)
    real(8), intent(in) :: x(:)
    real(8) :: f
    f = erfc_scaled(x(1))*erfc_scaled(30*x(2)) + erfc_scaled(-x(3)) + erfc_scaled(real(x(4)))*1d-9
  end function
end module

module fftm
  implicit none
  integer, parameter :: wp = kind(1d0)
contains
  recursive subroutine fft(a)
    complex(wp), intent(inout) :: a(:)
    complex(wp), allocatable :: even(:), odd(:)
    complex(wp) :: t
    integer :: n, k
    real(wp), parameter :: pi = acos(-1._wp)
    n = size(a)
    if (n <= 1) return
    even = a(1::2)
    odd = a(2::2)
    call fft(even)
    call fft(odd)
    do k = 1, n/2
      t = exp(cmplx(0, -2*pi*(k - 1)/n, wp))*odd(k)
      a(k) = even(k) + t
      a(k + n/2) = even(k) - t
    end do
  end subroutine
  function dft(x) result(y)
    real(wp), intent(in) :: x(:)
    complex(wp), allocatable :: y(:)
    y = cmplx(x, kind=wp)
    call fft(y)
  end function
  function spectrum(x) result(f)
    real(wp), intent(in) :: x(:)
    real(wp) :: f
    complex(wp), allocatable :: y(:)
    y = dft([x, x(1:2)])
    f = sum(abs(y)**2*[1, 2, 3, 4, 5, 6, 7, 8]) + real(y(3)) + aimag(y(2))
  end function
end module
