// new[] and delete[], a class with a destructor.
struct Buffer {
    double *data;
    int n;
    explicit Buffer(int m) : data(new double[m]), n(m) {}
    ~Buffer() { delete[] data; }
    double &operator[](int i) { return data[i]; }
};
extern "C" double cpp_new_array(double *x, int n) {
    Buffer a(n);
    for (int i = 0; i < n; i++) a[i] = x[i] * x[i];
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * a[(i + 1) % n];
    return s;
}
