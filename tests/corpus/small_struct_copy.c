// Structs of eight bytes that LLVM copies as one integer: two floats, a float and an int.
// s: [("a", "f4"), ("k", "i4")] 4 k=1,2,3,0
// w: 6
// n: 3
struct mixed { float a; int k; };
struct floats { float a, b; };
void small_struct_copy(struct mixed *s, float *w, int n) {
    struct mixed t = s[0];
    s[0] = s[n];
    s[n] = s[s[1].k];
    s[1] = t;
    s[2].a *= s[0].a * (float)s[n].k;
    struct floats *p = (struct floats *)w, q = p[0];
    p[0] = p[2];
    p[2] = q;
    p[1].a *= p[0].b;
}
