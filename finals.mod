!mod$ v1 sum:9fcd5e0d4d0fbedf
module finals
real(8),target::log_
type::holder
real(8),allocatable::w(:)
real(8),pointer::acc=>NULL()
contains
final::free_any
end type
intrinsic::null
type::elem
real(8)::k=0._8
integer(4)::n=0_4
real(8),pointer::acc=>NULL()
contains
final::free_elem
end type
contains
subroutine free_any(o)
type(holder),intent(inout)::o(..)
end
elemental impure subroutine free_elem(o)
type(elem),intent(inout)::o
end
function any_rank(x) result(f)
real(8),intent(in)::x(:)
real(8)::f
end
function elemental(x) result(f)
real(8),intent(in)::x(:)
real(8)::f
end
end
