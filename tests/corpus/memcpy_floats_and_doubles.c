// One byte buffer that carries floats, doubles and integers at computed offsets.
#include <string.h>
double memcpy_floats_and_doubles(double *x, int n) {
    unsigned char buffer[64];
    float f = (float)x[1];
    int k = 2;
    memcpy(buffer, &x[0], 8);
    memcpy(buffer + 8, &f, 4);
    memcpy(buffer + 12, &k, 4);
    memcpy(buffer + 16, x + 2, 16);
    double a, b;
    float g;
    int j;
    memcpy(&a, buffer, 8);
    memcpy(&g, buffer + 8, 4);
    memcpy(&j, buffer + 12, 4);
    memcpy(&b, buffer + 16 + 8, 8);
    return a * b * g * j;
}
