!mod$ v1 sum:dae37b1a8b76a076
module anything
type::wrap
class(*),allocatable::v
end type
type::node
class(*),allocatable::v
type(node),pointer::next=>NULL()
end type
intrinsic::null
contains
function number(v) result(r)
class(*),intent(in)::v
real(8)::r
end
function turns(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
function wraps(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
function list(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
function assigned(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
function arrays(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
function text(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
end
