// A class with two maps whose nodes hold different things, searched and erased from.
#include <map>
#include <string>
namespace {
class Portfolio {
    std::map<std::string, double> prices;
    std::map<int, double> weights;
public:
    void quote(const std::string &name, double price) { prices[name] = price; }
    void weigh(int id, double weight) { weights[id] += weight; }
    void forget(int id) { weights.erase(id); }
    double value() const {
        double s = 0;
        int id = 0;
        for (auto &p : prices)
            if (auto w = weights.find(id++); w != weights.end()) s += p.second * w->second;
        return s;
    }
};
}
extern "C" double class_of_maps(double *x, int n) {
    static const char *const names[] = {"gold", "oil", "wheat"};
    Portfolio p;
    for (int i = 0; i < n; i++) {
        p.quote(names[i % 3], x[i] * 2);
        p.weigh(i % 4, x[i] * x[0]);
    }
    double before = p.value();
    p.forget(1);
    return before * p.value();
}
