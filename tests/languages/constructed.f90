! Constructors of objects with an allocatable `class` component, which takes the type of what it is given.
module constructed
  implicit none
  type, abstract :: shape
  contains
    procedure(get), deferred :: area
  end type
  abstract interface
    function get(self) result(a)
      import
      class(shape), intent(in) :: self
      real(8) :: a
    end function
  end interface
  type, extends(shape) :: circle
    real(8) :: r
  contains
    procedure :: area => circle_area
  end type
  type, extends(circle) :: ring
    real(8) :: inner
  contains
    procedure :: area => ring_area
  end type
  type :: box
    class(shape), allocatable :: s
  end type
  type :: wrap
    class(*), allocatable :: v
  end type
contains
  function circle_area(self) result(a)
    class(circle), intent(in) :: self
    real(8) :: a
    a = 3*self%r**2
  end function
  function ring_area(self) result(a)
    class(ring), intent(in) :: self
    real(8) :: a
    a = self%circle%area() - 3*self%inner**2
  end function
  function boxes(x) result(s)
    real(8), intent(in) :: x(:)
    real(8) :: s
    type(box), allocatable :: b(:)
    integer :: i
    b = [box(circle(x(1)))]
    b = [b, box(ring(x(2) + 2, x(3)*x(4)))]
    s = 0
    do i = 1, size(b)
      s = s + b(i)%s%area()*i
    end do
  end function
  function wraps(x) result(s)
    real(8), intent(in) :: x(:)
    real(8) :: s
    type(wrap) :: w
    w = wrap(x(1)*x(2))
    s = x(3)
    select type (v => w%v)
    type is (real(8))
      s = s + v**2
    end select
  end function
end module
