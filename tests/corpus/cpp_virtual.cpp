// A virtual method, called through a base pointer that LLVM may resolve.
struct Shape { virtual double area(double a) const = 0; virtual ~Shape() {} };
struct Square : Shape { double area(double a) const override { return a * a; } };
struct Circle : Shape { double area(double a) const override { return 3.0 * a * a * a; } };
extern "C" double cpp_virtual(double *x, int n) {
    Square square;
    Circle circle;
    const Shape *shapes[2] = {&square, &circle};
    double s = 0;
    for (int i = 0; i < n; i++) s += shapes[i % 2]->area(x[i]) * s + x[i];
    return s;
}
