// Empty assembly keeps the optimiser out, and leaves values and memory as they are.
double empty_assembly(double *x, int n) {
    double a = x[0], b = x[1];
    float f = x[2];
    __asm__("" : "+x"(a), "+x"(b));
    __asm__ volatile("" : "+m"(x[1]), "+r"(n) : : "memory");
    __asm__ volatile("" : : "r,m"(x) : "memory");
    __asm__ volatile("" : : "x"(b) : "memory");
    __asm__("" : "+rm"(f));
    __asm__("" : "+m"(f));
    x[2] = a * b + f;
    __asm__ volatile("" : : "g"(x[2]) : "memory");
    double c;
    __asm__("" : "=x"(c) : "0"(x[2] * x[1]));
    return c * a;
}
