// CUDA kernels, compiled by NVRTC when the first of them is used; cuda/*.rs says what each computes.

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

__device__ float warp_max(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

// The row of a warp: each takes one.
__device__ size_t row_of_warp()
{
    return (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32;
}

extern "C" __global__ void adamw_step(
    float *weights, float *mean, float *square, const float *grad, size_t n, float old1, float new1, float old2,
    float new2, float decay_factor, float rate, float inverse_root, float eps, float scale)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const float g = grad[i] * scale;
        const float m = mean[i] * old1 + g * new1;
        const float v = square[i] * old2 + g * g * new2;
        mean[i] = m;
        square[i] = v;
        weights[i] = weights[i] * decay_factor - rate * m / (sqrtf(v) * inverse_root + eps);
    }
}

// Each block writes the sum of squares of its values. A block has 256 threads (`THREADS` in cuda.rs), and the order of the
// additions is fixed.
extern "C" __global__ void sums_of_squares(const float *values, double *sums, size_t n)
{
    __shared__ double partial[256];
    double sum = 0.0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        sum += (double)values[i] * (double)values[i];
    }
    partial[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = partial[0];
    }
}

extern "C" __global__ void softmax(const float *x, float *y, size_t rows, size_t d)
{
    const size_t row = row_of_warp();
    if (row >= rows) {
        return;
    }
    x += row * d;
    y += row * d;
    const unsigned lane = threadIdx.x % 32;
    float largest = __int_as_float(0xff800000); // minus infinity
    for (size_t i = lane; i < d; i += 32) {
        largest = fmaxf(largest, x[i]);
    }
    largest = warp_max(largest);
    float sum = 0.0f;
    for (size_t i = lane; i < d; i += 32) {
        y[i] = expf(x[i] - largest);
        sum += y[i];
    }
    sum = warp_sum(sum);
    for (size_t i = lane; i < d; i += 32) {
        y[i] /= sum;
    }
}

extern "C" __global__ void softmax_gradient(const float *y, const float *grad, float *dx, size_t rows, size_t d)
{
    const size_t row = row_of_warp();
    if (row >= rows) {
        return;
    }
    y += row * d;
    grad += row * d;
    dx += row * d;
    const unsigned lane = threadIdx.x % 32;
    float dot = 0.0f;
    for (size_t i = lane; i < d; i += 32) {
        dot += y[i] * grad[i];
    }
    dot = warp_sum(dot);
    for (size_t i = lane; i < d; i += 32) {
        dx[i] = y[i] * (grad[i] - dot);
    }
}

__device__ float inverse_rms(const float *x, size_t d, float eps)
{
    float squares = 0.0f;
    for (size_t i = threadIdx.x % 32; i < d; i += 32) {
        squares += x[i] * x[i];
    }
    return 1.0f / sqrtf(warp_sum(squares) / d + eps);
}

extern "C" __global__ void rms_norm(const float *x, const float *weight, float *y, size_t rows, size_t d, float eps)
{
    const size_t row = row_of_warp();
    if (row >= rows) {
        return;
    }
    x += row * d;
    y += row * d;
    const float r = inverse_rms(x, d, eps);
    for (size_t i = threadIdx.x % 32; i < d; i += 32) {
        y[i] = x[i] * r * weight[i];
    }
}

// gradients (2, rows, d): first the gradient of x, then the contribution of each row to the gradient of the weight.
extern "C" __global__ void rms_norm_gradients(
    const float *x, const float *weight, const float *grad, float *gradients, size_t rows, size_t d, float eps)
{
    const size_t row = row_of_warp();
    if (row >= rows) {
        return;
    }
    x += row * d;
    grad += row * d;
    float *dx = gradients + row * d;
    float *shares = gradients + (rows + row) * d;
    const unsigned lane = threadIdx.x % 32;
    const float r = inverse_rms(x, d, eps);
    float dot = 0.0f;
    for (size_t i = lane; i < d; i += 32) {
        dot += grad[i] * weight[i] * x[i];
    }
    const float along = warp_sum(dot) * r * r / d;
    for (size_t i = lane; i < d; i += 32) {
        dx[i] = r * (grad[i] * weight[i] - x[i] * along);
        shares[i] = grad[i] * x[i] * r;
    }
}
