// Kernels of machine learning, whose gradients tests/gpu/test_models.py checks against NumPy's formulas.
// Attention: a query a thread, keys and values in tiles of shared memory, an online softmax
template <int D> __device__ void attention(const float *q, const float *k, const float *v, float *o, int n)
{
    __shared__ float ks[16][D], vs[16][D];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[D], largest = -1e30f, total = 0;
    for (int d = 0; d < D; d++) sums[d] = 0;
    for (int t = 0; t < n; t += 16) {
        for (int e = threadIdx.x; e < 16 * D; e += blockDim.x) {
            ks[e / D][e % D] = k[t * D + e];
            vs[e / D][e % D] = v[t * D + e];
        }
        __syncthreads();
        for (int j = 0; j < 16; j++) {
            float s = 0;
            for (int d = 0; d < D; d++) s += q[i * D + d] * ks[j][d];
            float next = fmaxf(largest, s), before = __expf(largest - next), p = __expf(s - next);
            total = total * before + p;
            for (int d = 0; d < D; d++) sums[d] = sums[d] * before + p * vs[j][d];
            largest = next;
        }
        __syncthreads();
    }
    for (int d = 0; d < D; d++) o[i * D + d] = sums[d] / total;
}
__global__ void attention8(const float *q, const float *k, const float *v, float *o, int n) { attention<8>(q, k, v, o, n); }

// Layer norm: a row a warp, sums by shuffles
__global__ void layernorm(const float *x, const float *g, float *y, int n)
{
    const float *row = x + blockIdx.x * n;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += row[i], squares += row[i] * row[i];
    for (int k = 16; k > 0; k /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, k);
        squares += __shfl_xor_sync(0xffffffff, squares, k);
    }
    float mean = sum / n, scale = rsqrtf(squares / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = (row[i] - mean) * scale * g[i];
}
