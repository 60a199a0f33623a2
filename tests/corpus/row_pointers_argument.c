// An argument that is an array of row pointers.
// rows: pointers 3 4
// n: 3
double row_pointers_argument(double **rows, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++) {
            s += rows[i][j] * rows[(i + 1) % n][j];
            rows[i][j] *= s;
        }
    return s;
}
