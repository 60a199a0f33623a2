// A benchmark program in C++: what `programs/program.h` declares has the linkage of C.
#include <adolc/adolc.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define gradient benchmark_gradient
extern "C" {
#include "../programs/program.h"
}
#undef gradient
#include <vector>
