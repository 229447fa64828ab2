// The steps down a tree of trees.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/trees.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

#if defined(KS_X86) && defined(__AVX512VL__)

// Eight rows at a time, and kVectors such groups at a time, because gathers take long. Nodes are two gathers apart:
// the threshold, and the column with the left child. The intrinsics stay here: no other loop gathers doubles.
constexpr int kVectors = 4;
constexpr int kAtOnce = 8 * kVectors;

struct Walkers {
  __m256i at[kVectors];

  KS_INLINE explicit Walkers(int32_t root) {
    for (int v = 0; v < kVectors; ++v) at[v] = _mm256_set1_epi32(root);
  }
  // Makes one step; returns whether any row has moved.
  KS_INLINE bool step(const TreeNode* nodes, const double* block) {
    uint32_t moved = 0;
    KS_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const __m256i place = _mm256_add_epi32(at[v], at[v]);
      const __m512d threshold = _mm512_i32gather_pd(place, &nodes->threshold, 8);
      const __m512i words = _mm512_i32gather_epi64(place, &nodes->column, 8);
      const __m256i column = _mm512_cvtepi64_epi32(words), left = _mm512_cvtepi64_epi32(_mm512_srli_epi64(words, 32));
      const __m256i lane = _mm256_add_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32(8 * v));
      const __m256i from = _mm256_add_epi32(column, lane);
      const __m512d x = _mm512_i32gather_pd(from, block, 8);
      const __mmask8 right = _mm512_cmp_pd_mask(x, threshold, _CMP_NLE_UQ);
      const __m256i next = _mm256_mask_add_epi32(left, right, left, _mm256_set1_epi32(1));
      moved |= _mm256_cmpneq_epi32_mask(next, at[v]);
      at[v] = next;
    }
    return moved != 0;
  }
  KS_INLINE void store(int32_t* to) const {
    for (int v = 0; v < kVectors; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8 * v), at[v]);
  }
};

#else

constexpr int kAtOnce = 16;

struct Walkers {
  int32_t at[kAtOnce];

  KS_INLINE explicit Walkers(int32_t root) {
    for (int i = 0; i < kAtOnce; ++i) at[i] = root;
  }
  KS_INLINE bool step(const TreeNode* nodes, const double* block) {
    int32_t moved = 0;
    KS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const TreeNode& node = nodes[at[i]];
      const int32_t next = node.left + !(block[node.column + i] <= node.threshold);
      moved |= next ^ at[i];
      at[i] = next;
    }
    return moved != 0;
  }
  KS_INLINE void store(int32_t* to) const {
    for (int i = 0; i < kAtOnce; ++i) to[i] = at[i];
  }
};

#endif

static_assert(kTreeBlock % kAtOnce == 0);

void walk(const TreeNode* nodes, const double* values, int32_t root, const double* block, int64_t count, double* sums,
          int64_t stride) {
  for (int64_t r = 0; r < count; r += kAtOnce) {
    Walkers walkers(root);
    while (walkers.step(nodes, block + r)) {
    }
    int32_t at[kAtOnce];
    walkers.store(at);
    const int64_t last = count - r < kAtOnce ? count - r : kAtOnce;
    for (int64_t i = 0; i < last; ++i) sums[(r + i) * stride] += values[at[i]];
  }
}

}  // namespace

extern const TreeOps trees = {walk};

}  // namespace kernelsketch::KERNELSKETCH_ISA
