! Allocatable `class(*)` that holds numbers, as a component too.
module anything
  implicit none
  type :: wrap
    class(*), allocatable :: v
  end type
  type :: node
    class(*), allocatable :: v
    type(node), pointer :: next => null()
  end type
contains
  real(8) function number(v) result(r)
    class(*), intent(in) :: v
    select type (v)
    type is (real(8))
      r = v
    type is (integer)
      r = v
    class default
      r = 0
    end select
  end function
  function turns(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    class(*), allocatable :: a
    integer :: i
    r = 0
    do i = 1, size(x)
      if (allocated(a)) deallocate(a)
      if (mod(i, 2) == 0) then
        allocate (a, source=i)
      else
        allocate (a, source=x(i)*x(1))
      end if
      r = r + number(a)**2*x(i)
    end do
  end function
  function wraps(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    type(wrap) :: w(6)
    integer :: i
    do i = 1, size(x)
      if (i == 3) then
        allocate (w(i)%v, source=i)
      else
        allocate (w(i)%v, source=x(i)**2)
      end if
    end do
    r = 0
    do i = 1, size(x)
      r = r + number(w(i)%v)*i*x(2)
    end do
  end function
  function list(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    type(node), pointer :: head, p
    integer :: i
    head => null()
    do i = 1, size(x)
      allocate (p)
      if (mod(i, 3) == 0) then
        allocate (p%v, source=i)
      else
        allocate (p%v, source=sin(x(i)))
      end if
      p%next => head
      head => p
    end do
    r = 0
    do while (associated(head))
      r = r*x(1) + number(head%v)
      p => head%next
      deallocate (head)
      head => p
    end do
  end function
  function assigned(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    class(*), allocatable :: a, b
    a = x(1)**2
    b = a
    a = x(2)*x(3)
    r = 0
    select type (a)
    type is (real(8))
      select type (b)
      type is (real(8))
        r = a*b
      end select
    end select
  end function
  function arrays(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    class(*), allocatable :: a(:)
    allocate (a, source=x*x(1))
    r = 0
    select type (a)
    type is (real(8))
      r = sum(a**2)
    type is (integer)
      r = sum(a)
    end select
  end function
  function text(x) result(r)
    real(8), intent(in) :: x(:)
    real(8) :: r
    class(*), allocatable :: a
    integer :: i
    r = 0
    do i = 1, 3
      if (allocated(a)) deallocate (a)
      if (i == 2) then
        allocate (a, source="two words")
      else
        allocate (a, source=x(i)**2)
      end if
      select type (a)
      type is (real(8))
        r = r + a*x(4)
      type is (character(*))
        r = r*len(a)
      end select
    end do
  end function
end module
