// Building an index: LSH tables, norms and heavy parts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/codes.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/index.h"
#include "kernelsketch/parallel.h"
#include "postings.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRows = 1024;  // an item of work
}  // namespace

void index_tables(const uint8_t* codes, const uint8_t* flags, int64_t n, int64_t k, int hashes_per_table,
                  int64_t n_tables, int bits, int64_t live, uint32_t* rows, uint32_t* starts, int threads,
                  Interrupted interrupted) {
  const int64_t buckets = int64_t{1} << bits;
  parallel(n_tables, threads, interrupted, [&](const auto& next) {
    std::vector<uint32_t> bucket(n);
    for (int64_t l; (l = next()) >= 0;) {
      uint32_t* start = starts + l * (buckets + 1);
      std::fill_n(start, buckets + 1, 0);
      for (int64_t i = 0; i < n; ++i) {
        if (flags[i]) continue;
        bucket[i] = static_cast<uint32_t>(
            ks_bucket(codes + i * k + l * hashes_per_table, hashes_per_table, static_cast<uint64_t>(l), bits));
        ++start[bucket[i] + 1];
      }
      for (int64_t b = 0; b < buckets; ++b) start[b + 1] += start[b];
      // Each start moves up to the next one while its bucket is filled, and back by one place at the end.
      uint32_t* to = rows + l * live;
      for (int64_t i = 0; i < n; ++i)
        if (!flags[i]) to[start[bucket[i]]++] = static_cast<uint32_t>(i);
      for (int64_t b = buckets; b > 0; --b) start[b] = start[b - 1];
      start[0] = 0;
    }
  });
}

void index_norms(const Isa& isa, const float* dense, int64_t n, int64_t d, double* norms, int threads) {
  each_row(n, kRows, threads, nullptr,
           [&](int64_t i) { norms[i] = isa.index.common(dense + i * d, dense + i * d, d); });
}

void index_norms(const Isa& isa, const int64_t* indptr, const float* data, int64_t n, double* norms, int threads) {
  each_row(n, kRows, threads, nullptr, [&](int64_t i) {
    norms[i] = isa.index.common(data + indptr[i], data + indptr[i], indptr[i + 1] - indptr[i]);
  });
}

void index_heavy(const int64_t* indptr, const float* data, const double* norms, int64_t n, double heavy_fraction,
                 uint8_t* heavy, int threads) {
  in_parts(n, kRows, threads, nullptr, [&](int64_t first, int64_t last) {
    HeavyPart part;
    for (int64_t i = first; i < last; ++i) {
      const float least = part.least(data + indptr[i], indptr[i + 1] - indptr[i], norms[i], heavy_fraction);
      for (int64_t q = indptr[i]; q < indptr[i + 1]; ++q) heavy[q] = std::fabs(data[q]) >= least;
    }
  });
}

}  // namespace kernelsketch
