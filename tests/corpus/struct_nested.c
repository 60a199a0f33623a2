// Structs within structs within arrays.
// s: [("scale", "f4"), ("inner", [("n", "i2"), ("v", "f8", (2,))], (2,)), ("sum", "f8")] 2 n=2,1,2,0
// n: 2
struct inner { short n; double v[2]; };
struct outer { float scale; struct inner inner[2]; double sum; };
void struct_nested(struct outer *s, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < s[i].inner[j].n; k++) {
                s[i].sum += s[i].scale * s[i].inner[j].v[k] * s[(i + 1) % n].inner[j].v[k];
                s[i].inner[j].v[k] *= 1.1;
            }
}
