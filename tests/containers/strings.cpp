// Strings and streams beside the numbers.
#include <sstream>
#include <string>
#include <vector>
extern "C" double strings(double *x, int n) {
    std::string name = "column";
    std::vector<std::string> names;
    std::ostringstream log;
    double s = 0;
    for (int i = 0; i < n; i++) {
        names.push_back(name + std::to_string(i) + "a longer text than fits");
        if (names[i].back() == 's') s += x[i] * x[i];
        log << i << ' ' << x[i];
    }
    return s * names.size() + x[0];
}
