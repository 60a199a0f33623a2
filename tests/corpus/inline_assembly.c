// Assembly on an active value.
double inline_assembly(double *x, int n) {
    double a = x[0];
    __asm__("addsd %0, %0" : "+x"(a));
    return a * x[1];
}
