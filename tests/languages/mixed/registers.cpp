typedef struct { float a; float b; } S_FF;
extern "C" S_FF OTHER_make_FF(double a, double b);
extern "C" S_FF OTHER_map_FF(S_FF s, double k);
extern "C" double OTHER_use_FF(S_FF s, double k);
extern "C" S_FF ME_make_FF(double a, double b) { S_FF r = {(float)(a * 1.0 + b * b), (float)(a * 2.0 + b * b)}; return r; }
extern "C" __attribute__((noinline)) S_FF ME_map_FF(S_FF s, double k) { S_FF r = {(float)((double)(s.a) * k + (double)(s.a) * (double)(s.a)), (float)((double)(s.b) * k + (double)(s.b) * (double)(s.b))}; return r; }
extern "C" double ME_use_FF(S_FF s, double k) { return (double)(s.a) * (double)(s.a) * k * 1.0 + (double)(s.b) * (double)(s.b) * k * 2.0 + (double)(s.a) * (double)(s.b); }
extern "C" double ME_run_FF(double a, double b) { S_FF s = OTHER_make_FF(a, b); s = OTHER_map_FF(s, b); return OTHER_use_FF(s, a) * a; }
typedef struct { float a; double b; } S_FD;
extern "C" S_FD OTHER_make_FD(double a, double b);
extern "C" S_FD OTHER_map_FD(S_FD s, double k);
extern "C" double OTHER_use_FD(S_FD s, double k);
extern "C" S_FD ME_make_FD(double a, double b) { S_FD r = {(float)(a * 1.0 + b * b), (double)(a * 2.0 + b * b)}; return r; }
extern "C" __attribute__((noinline)) S_FD ME_map_FD(S_FD s, double k) { S_FD r = {(float)((double)(s.a) * k + (double)(s.a) * (double)(s.a)), (double)((double)(s.b) * k + (double)(s.b) * (double)(s.b))}; return r; }
extern "C" double ME_use_FD(S_FD s, double k) { return (double)(s.a) * (double)(s.a) * k * 1.0 + (double)(s.b) * (double)(s.b) * k * 2.0 + (double)(s.a) * (double)(s.b); }
extern "C" double ME_run_FD(double a, double b) { S_FD s = OTHER_make_FD(a, b); s = OTHER_map_FD(s, b); return OTHER_use_FD(s, a) * a; }
typedef struct { float a; float b; int n; } S_FFI;
extern "C" S_FFI OTHER_make_FFI(double a, double b);
extern "C" S_FFI OTHER_map_FFI(S_FFI s, double k);
extern "C" double OTHER_use_FFI(S_FFI s, double k);
extern "C" S_FFI ME_make_FFI(double a, double b) { S_FFI r = {(float)(a * 1.0 + b * b), (float)(a * 2.0 + b * b), (int)(4)}; return r; }
extern "C" __attribute__((noinline)) S_FFI ME_map_FFI(S_FFI s, double k) { S_FFI r = {(float)((double)(s.a) * k + (double)(s.a) * (double)(s.a)), (float)((double)(s.b) * k + (double)(s.b) * (double)(s.b)), (int)(s.n + 1)}; return r; }
extern "C" double ME_use_FFI(S_FFI s, double k) { return (double)(s.a) * (double)(s.a) * k * 1.0 + (double)(s.b) * (double)(s.b) * k * 2.0 + (double)(s.n) * k * k + (double)(s.a) * (double)(s.b) * (double)(s.n); }
extern "C" double ME_run_FFI(double a, double b) { S_FFI s = OTHER_make_FFI(a, b); s = OTHER_map_FFI(s, b); return OTHER_use_FFI(s, a) * a; }
