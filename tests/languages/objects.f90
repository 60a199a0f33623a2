! Objects that are cloned, arrays of objects with a final procedure.
module families
  implicit none
  type :: base
    real(8), allocatable :: c(:)
  contains
    procedure :: norm => base_norm
    procedure :: clone
  end type
  type, extends(base) :: sub
    real(8) :: scale = 1
  contains
    procedure :: norm => sub_norm
  end type
contains
  real(8) function base_norm(self)
    class(base), intent(in) :: self
    base_norm = sqrt(sum(self%c**2))
  end function
  real(8) function sub_norm(self)
    class(sub), intent(in) :: self
    sub_norm = self%scale*self%base%norm()
  end function
  function clone(self) result(c)
    class(base), intent(in) :: self
    class(base), allocatable :: c
    allocate (c, source=self)
    c%c = c%c*2
  end function
  function copied(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    class(base), allocatable :: p, q
    allocate (sub :: q)
    q%c = x
    select type (q)
    type is (sub)
      q%scale = x(3)
    end select
    p = q%clone()
    r = p%norm()*q%norm()
  end function
end module

module endings
  implicit none
  type :: res
    real(8), pointer :: p => null()
    real(8), allocatable :: w(:)
  contains
    final :: free_one, free_many
  end type
contains
  subroutine free_one(r)
    type(res), intent(inout) :: r
    if (associated(r%p)) r%p = r%p*2
  end subroutine
  subroutine free_many(r)
    type(res), intent(inout) :: r(:)
    integer :: i
    do i = 1, size(r)
      if (associated(r(i)%p)) r(i)%p = r(i)%p + sum(r(i)%w)
    end do
  end subroutine
  function let_go(x) result(f)
  real(8), intent(in) :: x(:)
  real(8) :: f
  real(8), target :: acc
  acc = x(1)
  call scope()
  f = acc*x(2)
contains
  subroutine scope()
    type(res) :: a, b(2)
    type(res), allocatable :: c(:)
    integer :: i
    a%p => acc
    do i = 1, 2
      b(i)%p => acc
      b(i)%w = x(i:i+1)
    end do
    allocate(c(3))
    c(1)%p => acc
    c(1)%w = x
    deallocate(c)
  end subroutine
end function
end module
