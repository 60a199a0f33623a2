// Tuples, variants and std::any of text and numbers.
#include <any>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
namespace {
static double mixture(double *x, int n) {
    std::vector<std::tuple<std::string, double, std::optional<double>>> v;
    for (int i = 0; i < n; i++) v.emplace_back(std::string(i + 1, 'a'), x[i], i % 2 ? std::optional<double>(x[i] * 2) : std::nullopt);
    std::vector<std::any> anys; for (auto &[a, b, c] : v) { anys.push_back(a); anys.push_back(b); }
    double s = 0;
    for (auto &[a, b, c] : v) { std::string_view w(a); s += w.substr(0, 2).size() * b * c.value_or(1.5); }
    for (auto &a : anys) if (auto d = std::any_cast<double>(&a)) s += std::exp(*d); else s += std::any_cast<std::string &>(a).size();
    return s;
}
static double variants(double *x, int n) {
    std::vector<std::variant<double, std::string>> v;
    for (int i = 0; i < n; i++) { v.push_back(x[i] * x[i]); v.push_back(std::string("text ") + std::to_string(i)); }
    double s = 0;
    for (auto &e : v) { if (auto *d = std::get_if<double>(&e)) s += std::sin(*d); else s += std::get<std::string>(e).size() * x[0]; }
    return s;
}
}
extern "C" double text_or_number(double *x, int n) { return mixture(x, n) + variants(x, n); }
