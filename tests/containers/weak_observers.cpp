// Shared and weak pointers, wide strings, text that names what is observed.
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
namespace {
struct Cell { std::wstring name; double value; std::weak_ptr<Cell> next; };
static std::string_view family(std::string_view s) { return s.substr(0, s.find('.')); }
}
extern "C" double weak_observers(double *x, int n) {
    std::vector<std::shared_ptr<Cell>> cells;
    for (int i = 0; i < n; i++)
        cells.push_back(std::make_shared<Cell>(Cell{(i % 2 ? L"odd" : L"even, and of a long name") + std::to_wstring(i), x[i], {}}));
    for (int i = 0; i + 1 < n; i++) cells[i]->next = cells[i + 1];
    cells.pop_back();
    double s = 0;
    for (auto &c : cells)
        if (auto next = c->next.lock()) s += c->value * std::sin(next->value) * c->name.size();
    std::string text = "x." + std::to_string(n);
    return s + (family(text) == "x" ? x[n - 1] * x[0] : 0);
}
