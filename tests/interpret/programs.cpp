// C++: exceptions, virtual calls, templates and the heap; every one is `extern "C" double name(double, int)`.
struct Problem { double value; };
struct Worse : Problem { double more; };
struct Guard { double *count; ~Guard() { *count += 1; } };

static double risky(double x, int n, double *count) {
    Guard g{count};
    if (n == 1) throw Problem{x};
    if (n == 2) { Worse w; w.value = x; w.more = 2 * x; throw w; }
    if (n == 3) throw n;
    return x * x;
}

extern "C" double caught(double x, int n) {
    double count = 0;
    try { return risky(x, n, &count) + count; }
    catch (const Problem &p) { return p.value + 10 * count; }
    catch (int i) { return i + 100 * count; }
}

extern "C" double rethrown(double x, int n) {
    double count = 0;
    try {
        try { return risky(x, n, &count); }
        catch (Worse &w) { w.more *= 3; throw; }
    } catch (const Worse &w) { return w.more; }
    catch (...) { return -1 - count; }
}

struct Shape { virtual double area() const = 0; virtual ~Shape() {} };
struct Square : Shape { double s; Square(double s) : s(s) {} double area() const override { return s * s; } };
struct Disc : Shape { double r; Disc(double r) : r(r) {} double area() const override { return 3.14159 * r * r; } };

extern "C" double virtual_calls(double x, int n) {
    Shape **shapes = new Shape *[4];
    for (int i = 0; i < 4; i++) shapes[i] = (i + n) % 2 ? static_cast<Shape *>(new Square(x + i)) : new Disc(x * i);
    double s = 0;
    for (int i = 0; i < 4; i++) { s += shapes[i]->area() / (i + 1); delete shapes[i]; }
    delete[] shapes;
    return s;
}

static double start = 0.5;
struct Once { double v; Once() : v(start * 4) {} };
static Once once;
extern "C" double constructed(double x, int n) { return once.v * x + n; }
