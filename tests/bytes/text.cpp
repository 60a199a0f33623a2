// Bytes of floats kept in strings and read from them again. Each function is the sum of the squares of its numbers.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
extern "C" double appended(const double *x, int n) {
    std::string b;
    for (int i = 0; i < n; i++) b.append((const char *)&x[i], 8);
    double s = 0;
    for (int i = 0; i < n; i++) { double d; std::memcpy(&d, b.data() + 8 * i, 8); s += d * d; }
    return s;
}
extern "C" double copied(const double *x, int n) {
    std::string b(8 * n, ' ');
    for (int i = 0; i < n; i++) std::memcpy(&b[8 * i], &x[i], 8);
    std::string c = b;
    double s = 0;
    for (int i = 0; i < n; i++) { double d; std::memcpy(&d, &c[8 * i], 8); s += d * d; }
    return s;
}
extern "C" double cast(const double *x, int n) {
    std::string b;
    b.resize(8 * n);
    double *p = reinterpret_cast<double *>(&b[0]);
    for (int i = 0; i < n; i++) p[i] = x[i] * x[i];
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i];
    return s;
}
extern "C" double from_array(const double *x, int n) {
    std::string b((const char *)x, 8 * n);
    std::vector<double> v(n);
    std::memcpy(v.data(), b.data(), b.size());
    double s = 0;
    for (double d : v) s += d * d;
    return s;
}
static void put(std::string &b, double d) {
    char t[8];
    std::memcpy(t, &d, 8);
    for (char c : t) b.push_back(c);
}
static double get(const std::string &b, int i) {
    char t[8];
    for (int k = 0; k < 8; k++) t[k] = b[8 * i + k];
    double d;
    std::memcpy(&d, t, 8);
    return d;
}
extern "C" double by_characters(const double *x, int n) {
    std::string b;
    for (int i = 0; i < n; i++) put(b, x[i]);
    double s = 0;
    for (int i = 0; i < n; i++) { double d = get(b, i); s += d * d; }
    return s;
}
extern "C" double to_vector(const double *x, int n) {
    std::string b((const char *)x, 8 * n);
    std::vector<char> v(b.begin(), b.end());
    double s = 0;
    for (int i = 0; i < n; i++) { double d; std::memcpy(&d, &v[8 * i], 8); s += d * d; }
    return s;
}
extern "C" double copied_out(const double *x, int n) {
    std::string b((const char *)x, 8 * n);
    double *p = (double *)malloc(8 * n);
    b.copy((char *)p, 8 * n);
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i] * p[i];
    free(p);
    return s;
}
extern "C" double shifted(const double *x, int n) {
    std::string b;
    for (int i = 0; i < n; i++) { unsigned long u; std::memcpy(&u, &x[i], 8); for (int k = 0; k < 8; k++) b += char(u >> (8 * k)); }
    double s = 0;
    for (int i = 0; i < n; i++) { unsigned long u = 0; for (int k = 0; k < 8; k++) u |= (unsigned long)(unsigned char)b[8 * i + k] << (8 * k); double d; std::memcpy(&d, &u, 8); s += d * d; }
    return s;
}
