// A vector of vectors.
#include <vector>
extern "C" double cpp_nested_vector(double *x, int n) {
    std::vector<std::vector<double>> rows(3, std::vector<double>(2));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++) rows[i][j] = x[i] * x[i + j + 1];
    double s = 0;
    for (auto &row : rows) s += row[0] * row[1] + s * row[0];
    return s;
}
