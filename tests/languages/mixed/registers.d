extern(C): struct S_FF { float a; float b; }
S_FF OTHER_make_FF(double a, double b); S_FF OTHER_map_FF(S_FF s, double k); double OTHER_use_FF(S_FF s, double k);
S_FF ME_make_FF(double a, double b) { S_FF r; r.a = cast(float)(a * 1.0 + b * b); r.b = cast(float)(a * 2.0 + b * b); return r; }
pragma(inline, false) S_FF ME_map_FF(S_FF s, double k) { S_FF r; r.a = cast(float)(cast(double)(s.a) * k + cast(double)(s.a) * cast(double)(s.a)); r.b = cast(float)(cast(double)(s.b) * k + cast(double)(s.b) * cast(double)(s.b)); return r; }
double ME_use_FF(S_FF s, double k) { return cast(double)(s.a) * cast(double)(s.a) * k * 1.0 + cast(double)(s.b) * cast(double)(s.b) * k * 2.0 + cast(double)(s.a) * cast(double)(s.b); }
double ME_run_FF(double a, double b) { S_FF s = OTHER_make_FF(a, b); s = OTHER_map_FF(s, b); return OTHER_use_FF(s, a) * a; }
extern(C): struct S_FD { float a; double b; }
S_FD OTHER_make_FD(double a, double b); S_FD OTHER_map_FD(S_FD s, double k); double OTHER_use_FD(S_FD s, double k);
S_FD ME_make_FD(double a, double b) { S_FD r; r.a = cast(float)(a * 1.0 + b * b); r.b = cast(double)(a * 2.0 + b * b); return r; }
pragma(inline, false) S_FD ME_map_FD(S_FD s, double k) { S_FD r; r.a = cast(float)(cast(double)(s.a) * k + cast(double)(s.a) * cast(double)(s.a)); r.b = cast(double)(cast(double)(s.b) * k + cast(double)(s.b) * cast(double)(s.b)); return r; }
double ME_use_FD(S_FD s, double k) { return cast(double)(s.a) * cast(double)(s.a) * k * 1.0 + cast(double)(s.b) * cast(double)(s.b) * k * 2.0 + cast(double)(s.a) * cast(double)(s.b); }
double ME_run_FD(double a, double b) { S_FD s = OTHER_make_FD(a, b); s = OTHER_map_FD(s, b); return OTHER_use_FD(s, a) * a; }
extern(C): struct S_FFI { float a; float b; int n; }
S_FFI OTHER_make_FFI(double a, double b); S_FFI OTHER_map_FFI(S_FFI s, double k); double OTHER_use_FFI(S_FFI s, double k);
S_FFI ME_make_FFI(double a, double b) { S_FFI r; r.a = cast(float)(a * 1.0 + b * b); r.b = cast(float)(a * 2.0 + b * b); r.n = cast(int)(4); return r; }
pragma(inline, false) S_FFI ME_map_FFI(S_FFI s, double k) { S_FFI r; r.a = cast(float)(cast(double)(s.a) * k + cast(double)(s.a) * cast(double)(s.a)); r.b = cast(float)(cast(double)(s.b) * k + cast(double)(s.b) * cast(double)(s.b)); r.n = cast(int)(s.n + 1); return r; }
double ME_use_FFI(S_FFI s, double k) { return cast(double)(s.a) * cast(double)(s.a) * k * 1.0 + cast(double)(s.b) * cast(double)(s.b) * k * 2.0 + cast(double)(s.n) * k * k + cast(double)(s.a) * cast(double)(s.b) * cast(double)(s.n); }
double ME_run_FFI(double a, double b) { S_FFI s = OTHER_make_FFI(a, b); s = OTHER_map_FFI(s, b); return OTHER_use_FFI(s, a) * a; }
