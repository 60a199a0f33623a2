// An expression is parsed, its variables looked up; an unknown one is thrown.
#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
namespace {
struct Parser {
    std::string text; size_t at = 0; const std::map<std::string, double> &vars;
    double expr() { double v = term(); while (at < text.size() && (text[at] == '+' || text[at] == '-')) { char c = text[at++]; double w = term(); v = c == '+' ? v + w : v - w; } return v; }
    double term() { double v = factor(); while (at < text.size() && (text[at] == '*' || text[at] == '/')) { char c = text[at++]; double w = factor(); v = c == '*' ? v * w : v / w; } return v; }
    double factor() {
        if (text[at] == '(') { at++; double v = expr(); at++; return v; }
        if (std::isdigit(text[at])) { double v = 0; while (at < text.size() && std::isdigit(text[at])) v = v * 10 + (text[at++] - '0'); return v; }
        std::string name; while (at < text.size() && std::isalnum(text[at])) name += text[at++];
        auto f = vars.find(name); if (f == vars.end()) throw std::runtime_error("unknown " + name);
        return f->second;
    }
};
}
extern "C" double expression_parser(double *x, int n) {
    std::map<std::string, double> vars;
    for (int i = 0; i < n; i++) vars["x" + std::to_string(i)] = x[i];
    try { Parser p{"x0*(x1+2)/(x2+x3*x3)-x4*x5*3", 0, vars}; double v = p.expr(); Parser q{"x7", 0, vars}; try { v += q.expr(); } catch (const std::runtime_error &e) { v += x[0] * std::string(e.what()).size(); } return v; }
    catch (const std::exception &) { return -1; }
}
