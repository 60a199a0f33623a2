// A parameter of array type, a[i][j].
// x: 12
// n: 3
void two_dimensional_array(double x[][4], int n) {
    for (int i = 1; i < n; i++)
        for (int j = 1; j < 4; j++) x[i][j] += x[i - 1][j] * x[i][j - 1] - x[i - 1][j - 1];
}
