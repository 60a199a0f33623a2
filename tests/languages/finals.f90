! Final procedures for arrays of any rank, and for each element.
module finals
  implicit none
  real(8), target :: log_ = 0
  type :: holder
    real(8), allocatable :: w(:)
    real(8), pointer :: acc => null()
  contains
    final :: free_any
  end type
  type :: elem
    real(8) :: k = 0
    integer :: n = 0
    real(8), pointer :: acc => null()
  contains
    final :: free_elem
  end type
contains
  subroutine free_any(o)
    type(holder), intent(inout) :: o(..)
    integer :: i
    select rank (o)
    rank (0)
      if (associated(o%acc)) o%acc = o%acc*1.5d0
    rank (1)
      do i = 1, size(o)
        if (associated(o(i)%acc)) o(i)%acc = o(i)%acc + sum(o(i)%w**2)
      end do
    end select
  end subroutine
  impure elemental subroutine free_elem(o)
    type(elem), intent(inout) :: o
    if (associated(o%acc)) o%acc = o%acc + o%k**2*o%n
  end subroutine
  function any_rank(x) result(f)
    real(8), intent(in) :: x(:)
    real(8) :: f
    real(8), target :: acc
    acc = x(1)
    call scope()
    f = acc*x(2)
  contains
    subroutine scope()
      type(holder) :: a, b(2)
      integer :: i
      a%acc => acc
      do i = 1, 2
        b(i)%acc => acc
        b(i)%w = x(i:i+2)
      end do
    end subroutine
  end function
  function elemental(x) result(f)
    real(8), intent(in) :: x(:)
    real(8) :: f
    real(8), target :: acc
    acc = x(1)
    call scope()
    f = acc*x(2)
  contains
    subroutine scope()
      type(elem) :: a, b(2, 2)
      type(elem), allocatable :: c(:)
      a%acc => acc
      a%k = x(3); a%n = 2
      b(1, 2)%acc => acc
      b(1, 2)%k = x(4); b(1, 2)%n = 3
      allocate (c(3))
      c(2)%acc => acc
      c(2)%k = x(5); c(2)%n = 5
    end subroutine
  end function
end module
