/* Vector extensions, intrinsics' shapes, and loops that LLVM vectorises. */
typedef float v4 __attribute__((vector_size(16)));
typedef double d8 __attribute__((vector_size(64)));
typedef int i4 __attribute__((vector_size(16)));
typedef unsigned char b16 __attribute__((vector_size(16)));
typedef double d3 __attribute__((ext_vector_type(3)));
typedef _Bool mask8 __attribute__((ext_vector_type(8)));

v4 mix(v4 a, v4 b) { return __builtin_shufflevector(a, b, 0, 5, -1, 7) * (v4){1, 2, 3, 4} + 0.5f; }
i4 compare(v4 a, v4 b) { return (a < b) & (i4){-1, 0, -1, 0}; }
d8 splat(double x) { d8 v = x - (d8){}; v[3] = x * x; return v / 3.0; }
double at(d8 v, int i) { return v[i] + v[0]; }
d3 cross(d3 a, d3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
b16 bytes(b16 a) { return (a >> 1) + (b16){1, 2, 3} * 255; }
mask8 masks(d8 a, d8 b) { return __builtin_convertvector(a > b, mask8); }
v4 convert(i4 a) { return __builtin_convertvector(a, v4); }
float reduce(v4 a) { return __builtin_reduce_max(a) + __builtin_reduce_add(__builtin_convertvector(a, i4)); }
v4 minmax(v4 a, v4 b) { return __builtin_elementwise_max(a, __builtin_elementwise_sqrt(b)); }
void saxpy(float *restrict y, const float *restrict x, float a, int n) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }
void gather(double *y, const double *x, const int *index, int n) { for (int i = 0; i < n; i++) y[i] = x[index[i]] > 0 ? x[index[i]] : -1.0; }
int dot(const short *a, const short *b, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
void strided(double *a, int n) { for (int i = 0; i < n; i++) { a[2 * i] = a[2 * i + 1] * 2; a[2 * i + 1] = 0; } }
void transpose(float (*restrict a)[8], float (*restrict b)[8]) { for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) a[i][j] = b[j][i]; }
double norm(const float *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += (double)x[i] * x[i]; return s; }
