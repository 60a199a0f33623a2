// Assembly on an active value.
double inline_assembly(double *x, int n) {
    double a = x[0];
    __asm__("" : "+x"(a));
    return a * x[1];
}
