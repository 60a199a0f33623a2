// Factories and functions by name; some are erased.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
namespace {
struct Activation { virtual ~Activation() = default; virtual double operator()(double) const = 0; virtual std::string name() const = 0; };
struct Tanh : Activation { double operator()(double v) const override { return std::tanh(v); } std::string name() const override { return "tanh"; } };
struct Soft : Activation { double b; explicit Soft(double b) : b(b) {} double operator()(double v) const override { return std::log1p(std::exp(b * v)) / b; } std::string name() const override { return "softplus with beta " + std::to_string(2); } };
static double registry(double *x, int n) {
    std::unordered_map<std::string, std::function<std::unique_ptr<Activation>(double)>> make;
    make["tanh"] = [](double) { return std::make_unique<Tanh>(); };
    make["soft"] = [](double b) { return std::make_unique<Soft>(b); };
    std::vector<std::unique_ptr<Activation>> net; size_t letters = 0;
    for (std::string k : {"tanh", "soft", "tanh", "soft"}) { net.push_back(make.at(k)(1 + x[net.size()])); letters += net.back()->name().size(); }
    double v = x[4]; for (auto &a : net) v = (*a)(v * 1.5); return v * letters;
}
struct Subject { std::vector<std::pair<std::string, std::function<double(double)>>> obs; double notify(double v) { double s = 0; for (auto &[n, f] : obs) s += f(v) * n.size(); return s; } };
static double observers(double *x, int n) {
    Subject s; for (int i = 0; i < n; i++) s.obs.emplace_back("observer" + std::string(i, '!'), [a = x[i]](double v) { return a * std::cos(v); });
    double r = s.notify(x[0]); s.obs.erase(std::remove_if(s.obs.begin(), s.obs.end(), [](auto &p) { return p.first.size() % 2; }), s.obs.end()); return r + s.notify(x[1] * x[2]);
}
}
extern "C" double named_observers(double *x, int n) { return registry(x, n) + observers(x, n); }
