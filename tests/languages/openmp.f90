! Parallel loops, sections, atomics, critical sections, workshare.
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
