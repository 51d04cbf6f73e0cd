"""Triton kernels for triton_test.py, compiled by compile.py."""
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + row[:, None] * lda + (start + k)[None, :], mask=(row[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        right = tl.load(b + (start + k)[:, None] * ldb + col[None, :], mask=((start + k)[:, None] < K) & (col[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(c + row[:, None] * ldc + col[None, :], acc, mask=(row[:, None] < M) & (col[None, :] < N))


@triton.jit
def softmax(x, y, n, ld, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * ld + i, mask=i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * ld + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def layer_norm(x, gain, bias, y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(i < n, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
    out = d / tl.sqrt(var + eps) * tl.load(gain + i, mask=i < n) + tl.load(bias + i, mask=i < n)
    tl.store(y + row * n + i, out, mask=i < n)


@triton.jit
def attention(q, k, v, o, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < T, other=0.0)
    best = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        cols = start + tl.arange(0, BN)
        key = tl.load(k + cols[None, :] * D + d[:, None], mask=cols[None, :] < T, other=0.0)
        s = tl.dot(query, key) * scale
        s = tl.where(cols[None, :] < T, s, float("-inf"))
        now = tl.maximum(best, tl.max(s, axis=1))
        p = tl.exp(s - now[:, None])
        fix = tl.exp(best - now)
        total = total * fix + tl.sum(p, axis=1)
        value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None] < T, other=0.0)
        acc = tl.dot(p.to(tl.float16), value, acc * fix[:, None])
        best = now
    tl.store(o + rows[:, None] * D + d[None, :], acc / total[:, None], mask=rows[:, None] < T)


@triton.jit
def scaled(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    s = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + row[:, None] * K + (start + k)[None, :])
        right = tl.load(b + col[None, :] * K + (start + k)[:, None])
        ls = tl.load(sa + row[:, None] * (K // 32) + (start // 32 + s)[None, :])
        rs = tl.load(sb + col[:, None] * (K // 32) + (start // 32 + s)[None, :])
        acc = tl.dot_scaled(left, ls, "e4m3", right, rs, "e4m3", acc)
    tl.store(c + row[:, None] * N + col[None, :], acc)
