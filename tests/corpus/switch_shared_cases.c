// Several cases share a body that another case falls into.
double switch_shared_cases(double *x, int n) {
    double s = 1;
    for (int i = 0; i < 7; i++)
        switch (i % 6) {
        case 0: s += x[i % n]; /* fall through */
        case 2:
        case 4: s *= x[(i + 1) % n]; break;
        case 5: break;
        default: s = s * s + 0.5;
        }
    return s;
}
