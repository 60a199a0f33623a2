// An object with state, methods that are not inlined.
class Filter {
    double state = 0, gain;
public:
    explicit Filter(double g) : gain(g) {}
    __attribute__((noinline)) double step(double v) { return state += gain * (v - state) * v; }
};
extern "C" void cpp_class_state(double *x, int n) {
    Filter filter(x[0]);
    for (int i = 1; i < n; i++) x[i] = filter.step(x[i]);
}
