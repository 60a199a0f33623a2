! A network's loss, an integrator, and a Cholesky solve, as Fortran has them: modules, array expressions, assumed shapes.
module model
  implicit none
  private
  public :: network, integrate, solve
  integer, parameter :: dp = kind(1.0d0)

contains

  !> (w2 . tanh(W1 x + b1) - target)**2
  function network(x, w1, b1, w2, target) result(loss)
    real(dp), intent(in) :: x(:), w1(:, :), b1(:), w2(:), target
    real(dp) :: loss
    real(dp) :: hidden(size(b1))

    hidden = tanh(matmul(w1, x) + b1)
    loss = (dot_product(w2, hidden) - target)**2
  end function network

  pure subroutine slope(y, k, s)
    real(dp), intent(in) :: y(:), k
    real(dp), intent(out) :: s(:)
    integer :: i, n

    n = size(y)
    do concurrent (i = 1:n)
      s(i) = y(modulo(i - 2, n) + 1) - 2*y(i) + y(modulo(i, n) + 1) - k*y(i)**3
    end do
  end subroutine slope

  !> The energy of a ring of cells after some steps of Heun's method
  function integrate(start, k, dt, steps) result(energy)
    real(dp), intent(in) :: start(:), k, dt
    integer, intent(in) :: steps
    real(dp) :: energy
    real(dp), allocatable :: y(:), mid(:), a(:), b(:)
    integer :: step

    y = start
    allocate (mid(size(y)), a(size(y)), b(size(y)))
    do step = 1, steps
      call slope(y, k, a)
      mid(:) = y + dt*a
      call slope(mid, k, b)
      y(:) = y + 0.5_dp*dt*(a + b)
    end do
    energy = sum(y**2)
  end function integrate

  subroutine cholesky(a, l)
    real(dp), intent(in) :: a(:, :)
    real(dp), intent(out) :: l(:, :)
    integer :: i, j

    l = 0
    do j = 1, size(a, 1)
      l(j, j) = sqrt(a(j, j) - sum(l(j, 1:j - 1)**2))
      do i = j + 1, size(a, 1)
        l(i, j) = (a(i, j) - dot_product(l(i, 1:j - 1), l(j, 1:j - 1)))/l(j, j)
      end do
    end do
  end subroutine cholesky

  !> b . A**-1 b + log det A of a symmetric positive definite A
  function solve(a, b) result(value)
    real(dp), intent(in) :: a(:, :), b(:)
    real(dp) :: value
    real(dp), allocatable :: l(:, :), z(:)
    integer :: i, n

    n = size(b)
    allocate (l(n, n), z(n))
    call cholesky(a, l)
    value = 0
    do i = 1, n
      z(i) = (b(i) - dot_product(l(i, :i - 1), z(:i - 1)))/l(i, i)
      value = value + 2*log(l(i, i))
    end do
    value = value + dot_product(z, z)
  end function solve
end module model
