// Forward mode of a function that returns an object.
#include "selfcheck.h"
#include <enzyme/enzyme>
struct state { double position, velocity, energy; };
static state step(const state &s, double h)
{
    state r{s.position + h * s.velocity, s.velocity - h * std::sin(s.position), 0};
    r.energy = r.velocity * r.velocity / 2 - std::cos(r.position);
    return r;
}
int main()
{
    using namespace enzyme;
    state s{0.5, 1, 0}, ds{1, 0, 0};
    auto object = [](const state &s, double h) { return step(s, h); };
    auto [r, t] = autodiff<Forward, Duplicated<state>>(object, Duplicated<state &>(s, ds), Const{0.1});
    expect("value", 0, r.position, 0.6);
    expect("position", 1, t.position, 1);
    expect("velocity", 2, t.velocity, -0.1 * std::cos(0.5));
    expect("energy", 3, t.energy, r.velocity * t.velocity + std::sin(r.position) * t.position);
    return failures();
}
