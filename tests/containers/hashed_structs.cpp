// Structs with text, numbers and vectors, looked up by text in a hash table, and erased from it.
#include <string>
#include <unordered_map>
#include <vector>
namespace {
struct Atom { std::string symbol; double mass, charge; int number; std::vector<double> shells; };
}
extern "C" double hashed_structs(double *x, int n) {
    std::unordered_map<std::string, Atom> atoms;
    atoms["H"] = Atom{"H", x[0], x[1], 1, {x[2]}};
    atoms["C"] = Atom{"C", x[1] * x[2], x[0], 6, {x[3], x[4]}};
    atoms["O"] = Atom{"O", x[3], x[2] * x[4], 8, std::vector<double>(x, x + n)};
    double m = 0;
    for (auto s : {"H", "O", "H", "C"}) {
        auto &a = atoms.at(s);
        m += a.mass * a.number + a.charge * a.charge;
        for (double v : a.shells) m += v * a.mass;
    }
    atoms.erase("H");
    return m + atoms.size();
}
