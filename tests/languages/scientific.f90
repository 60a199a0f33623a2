! Fortran as it is written for science: what needed work of llgrad's, one function each.
module trajectories
  implicit none
  integer, parameter :: dp = kind(1.d0)
  abstract interface
    pure function rhs(t, y, p) result(dy)
      import dp
      real(dp), intent(in) :: t, y(:), p(:)
      real(dp) :: dy(size(y))
    end function
  end interface
  type :: problem
    procedure(rhs), pointer, nopass :: slope => null()
    procedure(scaled), pointer :: scale => null()
    real(dp), allocatable :: p(:)
  contains
    procedure :: run
  end type
contains
  pure function lotka(t, y, p) result(dy)
    real(dp), intent(in) :: t, y(:), p(:)
    real(dp) :: dy(size(y))
    dy(1) = p(1)*y(1) - p(2)*y(1)*y(2)
    dy(2) = -p(2)*y(2) + p(1)*y(1)*y(2)
  end function
  pure function decay(t, y, p) result(dy)
    real(dp), intent(in) :: t, y(:), p(:)
    real(dp) :: dy(size(y))
    dy = -p(1)*y + p(2)*t
  end function
  function scaled(this, y) result(r)
    class(problem), intent(in) :: this
    real(dp), intent(in) :: y
    real(dp) :: r
    r = this%p(2)*y
  end function
  function integrate(f, y0, p, h, steps) result(y)
    procedure(rhs) :: f
    real(dp), intent(in) :: y0(:), p(:), h
    integer, intent(in) :: steps
    real(dp), allocatable :: y(:, :)
    real(dp) :: k(size(y0), 2)
    integer :: i
    allocate (y(size(y0), 0:steps))
    y(:, 0) = y0
    do i = 1, steps
      associate (now => y(:, i - 1), t => (i - 1)*h)
        k(:, 1) = f(t, now, p)
        k(:, 2) = f(t + h, now + h*k(:, 1), p)
        y(:, i) = now + h/2*matmul(k, [1._dp, 1._dp])
      end associate
    end do
  end function
  function run(this, y0) result(r)
    class(problem), intent(in) :: this
    real(dp), intent(in) :: y0(:)
    real(dp) :: r
    real(dp), allocatable :: y(:, :)
    y = integrate(this%slope, y0, this%p, 0.1_dp, 3)
    r = sum(y(1, :)**2) + maxval(y(2, :))
    if (associated(this%scale)) r = this%scale(r)
  end function
  function pointers(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    type(problem) :: a, b
    procedure(rhs), pointer :: h
    a%slope => lotka
    a%p = x(1:2)
    h => decay
    b%slope => h
    b%p = x(2:3)
    b%scale => scaled
    r = a%run(x(4:5)) + b%run(x(2:3))
    b = a
    r = r*b%run(x(1:2))
  end function
end module

module ranks
  implicit none
  integer, parameter :: dp = kind(1.d0)
contains
  function total(a) result(s)
    real(dp), intent(in) :: a(..)
    real(dp) :: s
    select rank (a)
    rank (0)
      s = a
    rank (1)
      s = sum(a**2)
    rank (2)
      s = sum(a(:, 1)) + a(1, ubound(a, 2))*size(a)
    rank default
      s = rank(a)
    end select
  end function
  subroutine scale(a, k)
    real(dp), intent(inout) :: a(..)
    real(dp), intent(in) :: k
    select rank (a)
    rank (1)
      a = a*k
    rank (2)
      a = a*k + 1
    end select
  end subroutine
  function any_rank(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    real(dp), target :: v(4)
    real(dp), pointer :: m(:, :), q(:)
    v = x(1:4)
    m(1:2, 1:2) => v
    q => m(2, :)
    r = total(x(5)) + total(v(4:1:-2)) + total(m)
    call scale(q, x(3))
    call scale(m, x(5))
    r = r + total(q) + total(m)
  end function
end module

module particles
  implicit none
  integer, parameter :: dp = kind(1.d0)
  type :: particle
    real(dp) :: r(3), q
    integer :: id
  end type
contains
  function rearranged(x) result(res)
    real(dp), intent(in) :: x(:)
    real(dp) :: res
    type(particle) :: all(5), few(3)
    type(particle), allocatable :: some(:), grid(:, :)
    integer :: i
    do i = 1, 5
      all(i) = particle([x(i), x(i)**2, 1._dp*i], x(6 - i), i)
    end do
    all(2:4) = all(4:2:-1)
    few = all([5, 1, 3])
    some = pack(all, all%q > 0.4_dp)
    res = few(1)%q*few(2)%r(1)*few(3)%id + sum(some%q*some%id)
    grid = reshape(all(1:4), [2, 2])
    grid(1, :) = grid(2, :)
    some = [some, all(1)]
    some = some(size(some):1:-1)
    res = res + some(1)%r(1)*some(2)%q + grid(1, 2)%r(2)*grid(1, 1)%q
  end function
end module

module settings
  implicit none
  integer, parameter :: dp = kind(1.d0)
contains
  function reading(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r, w(3)
    character(len=32) :: line
    integer :: k
    real :: e
    w = x(1:3)
    line = "2.5, 0.25, , 3"
    read (line, *) w(2), e, w(3), k
    print *, x(1)
    r = w(1)*w(2)*e + w(3)**k
    line = " 1.5  0.5  0.2"
    read (line, "(3f5.2)") w
    r = r + sum(w*x(3:5))
  end function
  function neighbours(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    r = nearest(x(1)*x(2), -1._dp)*x(3) + spacing(x(4)) + fraction(x(4))*exponent(x(4)) + scale(x(5), 2)
    r = r + nearest(x(1) - 0.7_dp, 1._dp)*x(2) + real(nearest(real(x(4)), 1.0), dp)*x(1)
  end function
  function read_back(x, unit) result(r)
    real(dp), intent(in) :: x
    integer, intent(in) :: unit
    real(dp) :: r
    character(len=32) :: line
    if (unit > 0) then
      open (unit, status="scratch")
      write (unit, *) x
      rewind (unit)
      read (unit, *) r
    else
      write (line, *) x
      read (line, *) r
    end if
  end function
end module
