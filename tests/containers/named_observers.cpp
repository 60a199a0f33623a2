// Values, factories and functions by name; some are erased, one has the wrong type.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
namespace {
struct Config { std::map<std::string, std::variant<int, double, std::string>> values;
    template <class T> T get(const std::string &k, T d) const { auto it = values.find(k); if (it == values.end()) return d; if (auto p = std::get_if<T>(&it->second)) return *p; throw std::runtime_error("type of " + k); } };
static double config(double *x, int n) {
    Config c; c.values["rate"] = x[0]; c.values["steps"] = 3; c.values["name"] = std::string("model"); c.values["decay"] = x[1] * x[2];
    double r = c.get<double>("rate", 1.0), d = c.get("decay", 0.5), m = c.get("momentum", 0.9); int k = c.get("steps", 1);
    double w = x[3]; for (int i = 0; i < k; i++) w -= r * (w * w * w - x[4]) * std::pow(d, i) * m;
    try { c.get<int>("rate", 1); } catch (const std::runtime_error &e) { w *= e.what()[0] == 't' ? 2 : 3; }
    return w + c.get<std::string>("name", "").size();
}
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
extern "C" double named_observers(double *x, int n) { return config(x, n) + registry(x, n) + observers(x, n); }
