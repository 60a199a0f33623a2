// Whole structs are assigned, which clang makes memcpy.
// s: [("k", "i4"), ("a", "f8"), ("b", "f4"), ("c", "f8", (3,))] 3 k=1,2,3
// n: 3
struct box { int k; double a; float b; double c[3]; };
void struct_copy(struct box *s, int n) {
    struct box t = s[0];
    s[0] = s[2];
    s[2] = s[1];
    s[1] = t;
    s[0].a *= s[1].c[s[0].k % 3] * s[1].b;
    s[2].c[1] += s[0].a * s[2].k;
}
