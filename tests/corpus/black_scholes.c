// An option price.
#include <math.h>
double black_scholes(double spot, double strike, double rate, double vol) {
    double d1 = (log(spot / strike) + rate + vol * vol / 2) / vol, d2 = d1 - vol;
    return spot * 0.5 * erfc(-d1 / sqrt(2)) - strike * exp(-rate) * 0.5 * erfc(-d2 / sqrt(2));
}
