! An object keeps an internal procedure; its method hands an internal procedure of its own to a routine that makes
! another such object and comes back: a fall-back solver, as in root finders. Three procedures are in records.
module boxed
 implicit none
 type, abstract :: stepper
  procedure(fn), pointer :: f => null()
 contains
  procedure :: ends
  procedure :: setup
  procedure :: run
  procedure(step_i), deferred :: step
 end type
 type, extends(stepper) :: secant
 contains
  procedure :: step => secant_step
 end type
 type, extends(stepper) :: damped
 contains
  procedure :: step => damped_step
 end type
 abstract interface
  function fn(me, x) result(v)
   import :: stepper
   class(stepper), intent(inout) :: me
   real(8), intent(in) :: x
   real(8) :: v
  end function
  subroutine step_i(me, a, b)
   import :: stepper
   class(stepper), intent(inout) :: me
   real(8), intent(inout) :: a, b
  end subroutine
  function plain(x) result(v)
   real(8), intent(in) :: x
   real(8) :: v
  end function
 end interface
contains
 subroutine setup(me, f)
  class(stepper), intent(out) :: me
  procedure(fn) :: f
  me%f => f
 end subroutine
 subroutine ends(me, a, b, ga, gb, fa, fb)
  class(stepper), intent(inout) :: me
  real(8), intent(in) :: a, b
  real(8), intent(in), optional :: ga, gb
  real(8), intent(out) :: fa, fb
  if (present(ga)) then
   fa = ga
  else
   fa = me%f(a)
  end if
  if (present(gb)) then
   fb = gb
  else
   fb = me%f(b)
  end if
 end subroutine
 recursive subroutine run(me, a, b, ga, gb)
  class(stepper), intent(inout) :: me
  real(8), intent(inout) :: a, b
  real(8), intent(in), optional :: ga, gb
  integer :: k
  real(8) :: fa, fb
  call me%ends(a, b, ga, gb, fa, fb)
  if (abs(fa) < 1e-14_8) return
  do k = 1, 8
   call me%step(a, b)
  end do
  if (b < 0) call find(2, again, a, b)   ! a fall-back with another solver, as libraries have it
 contains
  function again(x) result(v)
   real(8), intent(in) :: x
   real(8) :: v
   v = me%f(x)
  end function
 end subroutine
 subroutine secant_step(me, a, b)
  class(secant), intent(inout) :: me
  real(8), intent(inout) :: a, b
  real(8) :: fa, fb, c
  fa = me%f(a)
  fb = me%f(b)
  if (abs(fb - fa) < 1e-13_8) return
  c = b - fb*(b - a)/(fb - fa)
  a = b
  b = c
 end subroutine
 subroutine damped_step(me, a, b)
  class(damped), intent(inout) :: me
  real(8), intent(inout) :: a, b
  a = b
  b = b - 0.2_8*me%f(b)
 end subroutine
 recursive subroutine find(which, fun, a, b)
  integer, intent(in) :: which
  procedure(plain) :: fun
  real(8), intent(inout) :: a, b
  class(stepper), allocatable :: s
  if (which == 1) then
   allocate(secant :: s)
  else
   allocate(damped :: s)
  end if
  call s%setup(wrap)
  call s%run(a, b)
 contains
  function wrap(me, x) result(v)
   class(stepper), intent(inout) :: me
   real(8), intent(in) :: x
   real(8) :: v
   v = fun(x)
  end function
 end subroutine
 subroutine root2(p, r)   ! one level: the internal procedure itself is kept
  real(8), intent(in) :: p
  real(8), intent(out) :: r
  type(secant) :: s
  real(8) :: a, b
  a = 1; b = 3
  call s%setup(own)
  call s%run(a, b)
  r = b + p
 contains
  function own(me, x) result(v)
   class(stepper), intent(inout) :: me
   real(8), intent(in) :: x
   real(8) :: v
   v = x*x - p
  end function
 end subroutine
end module
