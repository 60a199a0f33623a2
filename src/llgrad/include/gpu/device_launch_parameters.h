/* In place of the toolkit's: `llgrad_cuda.h` has what kernels need, and is included already. */
#pragma once
