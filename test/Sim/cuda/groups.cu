// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int N>
__device__ int tileSum(cg::thread_block block, int v) {
  auto tile = cg::tiled_partition<N>(block);
  for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  return tile.shfl(v, 0) + tile.thread_rank() + 100 * tile.meta_group_rank();
}

extern "C" __global__ void tiles(const int* x, int* out) {
  cg::thread_block block = cg::this_thread_block();
  int i = block.thread_rank(), n = block.size();
  out[i] = tileSum<4>(block, x[i]);
  out[n + i] = tileSum<16>(block, x[i]);
  out[2 * n + i] = tileSum<32>(block, x[i]);
  auto tile = cg::tiled_partition<8>(block);
  out[3 * n + i] = tile.ballot(x[i] & 1) | tile.any(x[i] == 3) << 8 | tile.all(x[i] > 0) << 9;
  out[4 * n + i] = tile.match_any(x[i] & 1);
  block.sync();
}

extern "C" __global__ void reduces(const int* x, int* out, float* floats) {
  cg::thread_block block = cg::this_thread_block();
  int i = block.thread_rank(), n = block.size();
  auto tile = cg::tiled_partition<16>(block);
  out[i] = cg::reduce(tile, x[i], cg::plus<int>());
  out[n + i] = cg::reduce(tile, x[i], cg::greater<int>());
  out[2 * n + i] = cg::reduce(tile, x[i], cg::bit_xor<int>());
  out[3 * n + i] = cg::inclusive_scan(tile, x[i]);
  out[4 * n + i] = cg::exclusive_scan(tile, x[i], cg::plus<int>());
  floats[i] = cg::reduce(tile, static_cast<float>(x[i]), cg::less<float>());
}

extern "C" __global__ void coalesced(const int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r = -1;
  if (x[i] & 1) {
    cg::coalesced_group g = cg::coalesced_threads();
    r = g.shfl(x[i], g.size() - 1) * 64 + g.thread_rank();
    r += cg::reduce(g, x[i], cg::plus<int>()) * 4096;
    g.sync();
  } else {
    cg::coalesced_group g = cg::coalesced_threads();
    auto label = cg::labeled_partition(g, x[i] & 6);
    r = label.size() * 64 + label.thread_rank();
  }
  out[i] = r;
}

// Blocks that meet: each reads what another wrote before. One lane of each group writes for all of it.
extern "C" __global__ void wholeGrid(const int* x, int* between, int* counts, int* out) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  between[i] = x[i] * 2;
  grid.sync();
  int v = between[grid.size() - 1 - i];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto alike = cg::labeled_partition(tile, x[i] & 3);
  int first = cg::invoke_one_broadcast(alike, [&] { return alike.size() * 1000 + (x[i] & 3); });
  cg::invoke_one(alike, [&] { atomicAdd(&counts[x[i] & 3], static_cast<int>(alike.size())); });
  auto token = grid.barrier_arrive();
  v += first;
  grid.barrier_wait(std::move(token));
  out[i] = v + 100000 * counts[x[i] & 3];
}
