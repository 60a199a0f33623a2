// Assembly on an integer only.
double inline_assembly_integer(double *x, int n) {
    int k = 2;
    __asm__("" : "+r"(k));
    return x[k] * x[1];
}
