! Derived types that own memory, extend others, are polymorphic, end in procedures of their own.
module types
  implicit none
  integer, parameter :: dp = kind(1d0)
  type :: vec
    real(dp), allocatable :: v(:)
    character(:), allocatable :: name
  end type
  type :: body
    type(vec) :: pos, vel
    real(dp) :: mass = 1
    integer :: id = 7
  end type
  type, abstract :: shape
    real(dp) :: scale = 1
  contains
    procedure(area_i), deferred :: area
  end type
  abstract interface
    function area_i(this) result(a)
      import
      class(shape), intent(in) :: this
      real(dp) :: a
    end function
  end interface
  type, extends(shape) :: circle
    real(dp) :: r = 0
  contains
    procedure :: area => circle_area
  end type
  type, extends(shape) :: rectangle
    real(dp) :: w = 0, h = 0
  contains
    procedure :: area => rectangle_area
  end type
  type :: buffer
    real(dp), allocatable :: own(:)
    real(dp), pointer :: p(:) => null()
    real(dp), pointer :: gone => null()
  contains
    final :: let_go
  end type
  type :: mixed_t
    real(dp), allocatable :: a(:)
    integer, allocatable :: k(:)
    complex(dp), allocatable :: z(:)
  end type

contains

  function circle_area(this) result(a)
    class(circle), intent(in) :: this
    real(dp) :: a
    a = 3*this%r**2*this%scale
  end function

  function rectangle_area(this) result(a)
    class(rectangle), intent(in) :: this
    real(dp) :: a
    a = this%w*this%h*this%scale
  end function

  function nested(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    type(body) :: a, b
    a%pos = vec(v=x, name="a")
    a%vel%v = 2*x
    a%mass = x(1)
    b = a
    b%pos%v = b%pos%v + a%vel%v
    a%vel%v = 0
    r = b%mass*sum(b%pos%v**2) + dot_product(a%pos%v, b%vel%v)*b%id
    if (b%pos%name /= "a" .or. allocated(b%vel%name)) r = -1
  end function

  function arrays(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    type(vec), allocatable :: p(:), q(:)
    type(vec) :: two(2)
    integer :: i
    allocate (p(size(x)))
    do i = 1, size(x)
      p(i)%v = x(:i)*x(i)
    end do
    q = p(2:4)
    q = [q, p(1)]
    two = q(2:1:-1)
    p(3:4) = p(2:3)
    r = sum(q(4)%v)*sum(two(1)%v) + p(4)%v(2)*two(2)%v(1)
    deallocate (p)
    allocate (p(2), source=q(1:2))
    r = r + sum(p(2)%v)**2
  end function

  function make(round, x) result(s)
    logical, intent(in) :: round
    real(dp), intent(in) :: x(:)
    class(shape), allocatable :: s
    if (round) then
      s = circle(scale=x(1), r=x(2))
    else
      allocate (s, source=rectangle(scale=x(3), w=x(4), h=x(5)))
    end if
  end function

  function polymorphic(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    class(shape), allocatable :: s, t
    s = make(.true., x)
    r = s%area()
    s = make(.false., x)
    r = r*s%area()
    allocate (circle :: t)
    select type (t)
    type is (circle)
      t%r = x(3)
    end select
    call move_alloc(t, s)
    r = r + s%area()*x(4)
  end function

  subroutine let_go(this)
    type(buffer), intent(inout) :: this
    if (associated(this%gone)) this%gone = this%gone*this%own(2)
    if (associated(this%p)) deallocate (this%p)
  end subroutine

  function finals(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    real(dp), target :: g
    g = x(3)
    r = inner(2*x)*g
  contains
    function inner(y) result(z)
      real(dp), intent(in) :: y(:)
      real(dp) :: z
      type(buffer) :: b
      allocate (b%p(size(y)))
      b%gone => g
      b%own = y*y
      b%p = b%own*y
      z = sum(b%p)
    end function
  end function

  ! Kinds that are converted, components in memory of the heap, sections that overlap
  function mixed(x) result(r)
    real(dp), intent(in) :: x(:)
    real(dp) :: r
    type(mixed_t), allocatable :: p(:)
    integer(8) :: big(5)
    character(4) :: names(3)
    integer :: i
    allocate (p(2))
    big = [(i, i=1, 5)]
    p(1)%a = big
    p(2)%a = p(1)%a*x
    p(2)%a(2:5) = p(2)%a(1:4)
    p(1)%k = big
    p(2)%k = x*9.7_dp
    p(1)%z = x(:3)
    p(2)%z = p(1)%z
    names = ["a   ", "b   ", "c   "]
    names(2:3) = names(1:2)
    r = sum(p(2)%a*x) + sum(p(1)%k*x) + sum(p(2)%k) + real(sum(p(2)%z**2))
    if (names(3) == "b") r = r*2
    p(2) = mixed_t(a=x, k=[1, 2])
    p = p(2:1:-1)
    r = r + p(1)%a(3)*p(1)%k(2) + p(2)%a(2)
    if (allocated(p(1)%z) .or. .not. allocated(p(2)%z)) r = -1
  end function

end module
