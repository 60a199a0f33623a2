module ME_second
  use iso_c_binding
  implicit none
  type, bind(c) :: two
    real(c_double) :: x, y
  end type
  type, bind(c) :: vec
    real(c_double) :: x, y, z
  end type
  type :: model
    real(c_double) :: k
    real(c_double), allocatable :: w(:)
  end type
  interface
    function OTHER_two(a, k) bind(c) result(r)
      import
      type(two), value :: a
      real(c_double), value :: k
      type(two) :: r
    end function
    function OTHER_vec(a, k) bind(c) result(r)
      import
      type(vec), value :: a
      real(c_double), value :: k
      type(vec) :: r
    end function
    function OTHER_make(k) bind(c) result(h)
      import
      real(c_double), value :: k
      type(c_ptr) :: h
    end function
    function OTHER_use(h, v) bind(c) result(r)
      import
      type(c_ptr), value :: h
      real(c_double), value :: v
      real(c_double) :: r
    end function
    subroutine OTHER_drop(h) bind(c)
      import
      type(c_ptr), value :: h
    end subroutine
    function OTHER_apply(f, c, n, x) bind(c) result(s)
      import
      type(c_funptr), value :: f
      type(c_ptr), value :: c
      integer(c_long), value :: n
      real(c_double), intent(in) :: x(n)
      real(c_double) :: s
    end function
  end interface
  abstract interface
    function callback_type(c, v) bind(c) result(r)
      import
      type(c_ptr), value :: c
      real(c_double), value :: v
      real(c_double) :: r
    end function
  end interface
contains
  function ME_two(a, k) bind(c) result(r)
    type(two), value :: a
    real(c_double), value :: k
    type(two) :: r
    r%x = a%x * k
    r%y = a%y + k
  end function
  function ME_vec(a, k) bind(c) result(r)
    type(vec), value :: a
    real(c_double), value :: k
    type(vec) :: r
    r = vec(a%x * k, a%y + k, a%z * a%x)
  end function
  function ME_make(k) bind(c) result(h)
    real(c_double), value :: k
    type(c_ptr) :: h
    type(model), pointer :: m
    allocate(m)
    m%k = k
    m%w = [k * k]
    h = c_loc(m)
  end function
  function ME_use(h, v) bind(c) result(r)
    type(c_ptr), value :: h
    real(c_double), value :: v
    real(c_double) :: r
    type(model), pointer :: m
    call c_f_pointer(h, m)
    m%k = m%k + v
    r = m%k * m%w(1) * v
  end function
  subroutine ME_drop(h) bind(c)
    type(c_ptr), value :: h
    type(model), pointer :: m
    call c_f_pointer(h, m)
    deallocate(m)
  end subroutine
  function ME_apply(f, c, n, x) bind(c) result(s)
    type(c_funptr), value :: f
    type(c_ptr), value :: c
    integer(c_long), value :: n
    real(c_double), intent(in) :: x(n)
    real(c_double) :: s
    procedure(callback_type), pointer :: g
    integer :: i
    call c_f_procpointer(f, g)
    s = 0
    do i = 1, int(n)
      s = s + g(c, x(i)) * x(1)
    end do
  end function
  function ME_callback(c, v) bind(c) result(r)
    type(c_ptr), value :: c
    real(c_double), value :: v
    real(c_double) :: r
    real(c_double), pointer :: k
    call c_f_pointer(c, k)
    r = k * v * v
  end function
  function ME_run(n, x) bind(c) result(s)
    integer(c_long), value :: n
    real(c_double), intent(in) :: x(n)
    real(c_double) :: s
    real(c_double), target :: k
    type(two) :: t
    type(vec) :: v
    type(c_ptr) :: h
    integer :: i
    t = OTHER_two(two(x(1), x(2)), x(3))
    v = OTHER_vec(vec(x(2), x(3), x(4)), x(4))
    h = OTHER_make(x(1))
    s = t%x * t%y + v%x * v%y * v%z
    do i = 1, int(n)
      s = s + OTHER_use(h, x(i))
    end do
    call OTHER_drop(h)
    k = x(4) * x(4)
    s = s + OTHER_apply(c_funloc(ME_callback), c_loc(k), n, x)
  end function
end module
