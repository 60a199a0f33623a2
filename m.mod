!mod$ v1 sum:9866827b53cce11d
module m
contains
subroutine each(f,y)
interface
function f(v) result(w)
real(8),intent(in)::v
real(8)::w
end
end interface
real(8),intent(inout)::y(:)
end
function host(x) result(r)
real(8),intent(in)::x(:)
real(8)::r
end
end
