! Parallel loops, sections, atomics, critical sections, workshare.
module team_state
  implicit none
  real(8) :: scale = 1
  !$omp threadprivate(scale)
  type :: pt
    real(8) :: a, b
  end type
contains
  subroutine shared(n, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(inout) :: y(n)
    integer :: i
    !$omp do schedule(guided)
    do i = 1, n
      y(i) = y(i) + x(i)**2
    end do
    !$omp end do
  end subroutine
end module

! Arrays, objects and routines of a team.
subroutine arrays(n, x, s)
  use team_state
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: s
  real(8), allocatable :: y(:), w(:)
  real(8) :: h(3), t
  type(pt) :: p
  integer :: i
  allocate(y(n), w(n))
  y = 0; h = 0; p%a = 1; p%b = 0
  !$omp parallel
  call shared(n, x, y)
  !$omp end parallel
  !$omp parallel do reduction(+:h) firstprivate(p) private(w)
  do i = 1, n
    w = x(i)
    h(mod(i,3)+1) = h(mod(i,3)+1) + y(i) * p%a + sum(w)
  end do
  s = h(1)*h(2)+h(3)
  !$omp parallel do private(t)
  do i = 1, n
    !$omp atomic capture
    t = s
    s = s + x(i)
    !$omp end atomic
  end do
  deallocate(y, w)
end subroutine

! Variables of which each thread has its own.
subroutine own_state(n, x, s)
  use team_state
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: s
  integer :: i
  scale = 2
  s = 0
  !$omp parallel copyin(scale)
  !$omp do reduction(+:s)
  do i = 1, n
    s = s + scale*x(i)**2
  end do
  !$omp end parallel
end subroutine

subroutine shared_work(n, x, y, s)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y(n), s
  real(8) :: t, p, m
  integer :: i
  s = 0; p = 1; m = -1d300
  !$omp parallel do reduction(+:s) schedule(dynamic, 2)
  do i = 1, n
    s = s + sin(x(i)) * x(i)
  end do
  !$omp parallel do private(t) reduction(max:m)
  do i = 1, n
    t = x(i) * x(i)
    y(i) = t * x(i)
    !$omp atomic
    p = p * t
    m = max(m, t)
  end do
  !$omp parallel
  !$omp do
  do i = 1, n
    y(i) = y(i) * x(n + 1 - i)
  end do
  !$omp end do
  !$omp single
  s = s * p
  !$omp end single
  !$omp end parallel
  !$omp parallel sections
  !$omp section
  s = s + m
  !$omp section
  p = x(1)
  !$omp end parallel sections
  !$omp parallel workshare
  y = y * p
  !$omp end parallel workshare
  do concurrent (i = 1:n)
    y(i) = y(i) + x(i)
  end do
  s = s + sum(y)
end subroutine

subroutine heat(n, steps, u0, k, e)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(in) :: u0(n), k
  real(8), intent(out) :: e
  real(8) :: u(n), v(n)
  integer :: i, s
  u = u0
  do s = 1, steps
    !$omp parallel do
    do i = 1, n
      v(i) = u(i) + k * (u(modulo(i, n) + 1) - 2 * u(i) + u(modulo(i - 2, n) + 1))
    end do
    !$omp end parallel do
    !$omp parallel do simd
    do i = 1, n
      u(i) = v(i)
    end do
  end do
  e = 0
  !$omp parallel do reduction(+:e)
  do i = 1, n
    e = e + u(i)**2
  end do
end subroutine

subroutine collapsed(n, a, s)
  use omp_lib
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n, n)
  real(8), intent(out) :: s
  real(8) :: t
  integer :: i, j
  s = 0
  !$omp parallel private(t)
  t = 0
  !$omp do collapse(2) schedule(static, 3)
  do j = 1, n
    do i = 1, n
      t = t + a(i, j) * a(j, i)
    end do
  end do
  !$omp end do nowait
  !$omp critical
  s = s + t
  !$omp end critical
  !$omp end parallel
  !$omp parallel
  !$omp single
  !$omp task shared(s)
  s = s * a(1, 1)
  !$omp end task
  !$omp taskwait
  !$omp end single
  !$omp end parallel
  s = s * (1 + 0 * omp_get_max_threads())
end subroutine
