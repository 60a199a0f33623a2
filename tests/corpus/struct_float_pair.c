// Two floats in one register, passed as <2 x float>.
struct pair { float a, b; };
static __attribute__((noinline)) struct pair turn(struct pair p) { return (struct pair){p.a * p.b, p.b - p.a}; }
float struct_float_pair(float *x, int n) {
    struct pair p = turn((struct pair){x[0], x[1]});
    return turn(p).a * x[2];
}
