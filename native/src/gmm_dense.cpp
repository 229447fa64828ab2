// Dense rows: panels of b, packed feature by feature, against register tiles of a.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/mirror.h"
#include "kernelsketch/parallel.h"
#include "panel.h"

namespace kernelsketch {
namespace {

// Rows of `a` that one item of work takes: enough to pay for packing its panel, few enough to share out.
constexpr int64_t kItemRows = 2040;  // a multiple of every tile's rows
constexpr int64_t kMinItemRows = 240;
constexpr int64_t kGroupBytes = 512 * 1024;  // of packed panels: the L2 cache
constexpr int kGroupColumns = 512;

template <class T>
struct RowSums {
  Buffer<T> sum, abs;
  explicit RowSums(int64_t n) : sum(n), abs(n) {}
};

// Sum and L1 norm in the order of the tile, so that the M of a row with itself is its sum to the last bit.
template <class T>
void ordered_sums(const T* x, int64_t d, T& sum, T& abs) {
  double sum_total = 0, abs_total = 0;
  for (int64_t f0 = 0; f0 < d; f0 += kFeatureChunk) {
    T s = 0, n = 0;
    const auto tree = [](const auto& y) { return ((y(0) + y(1)) + (y(2) + y(3))) + ((y(4) + y(5)) + (y(6) + y(7))); };
    const auto add_group = [&](const T* y) {
      s = tree([y](int i) { return y[i]; }) + s;
      n = tree([y](int i) { return std::fabs(y[i]); }) + n;
    };
    const int64_t f1 = std::min(f0 + kFeatureChunk, d);
    int64_t f = f0;
    for (; f + kFeatureGroup <= f1; f += kFeatureGroup) add_group(x + f);
    if (f < f1) {
      T rest[kFeatureGroup] = {};
      std::copy(x + f, x + f1, rest);
      add_group(rest);
    }
    sum_total += static_cast<double>(s);
    abs_total += static_cast<double>(n);
  }
  sum = static_cast<T>(sum_total);
  abs = static_cast<T>(abs_total);
}

template <class T>
bool row_sums(const DenseRows<T>& x, int64_t padded, int threads, const RowSums<T>& out, Interrupted interrupted) {
  return each_row(padded, 64, threads, interrupted, [&](int64_t i) {
    out.sum[i] = out.abs[i] = 0;
    if (i < x.n) ordered_sums(x.data + i * x.stride, x.d, out.sum[i], out.abs[i]);
  });
}

// Pieces of work: a few panels of columns, packed together, x a range of rows. Several panels per row tile keep
// the tile in the L1 cache and write longer runs of the output.
struct Pieces {
  int64_t n, m, width, rows, groups, ranges;
  Pieces(int64_t n_, int64_t m_, int cols, int64_t panel_bytes, int threads) : n(n_), m(m_) {
    const int64_t panels = std::clamp<int64_t>(kGroupBytes / panel_bytes, 1, std::max(1, kGroupColumns / cols));
    width = panels * cols;
    groups = (m + width - 1) / width;
    rows = kItemRows;
    while (rows > kMinItemRows && groups * ((n + rows - 1) / rows) < 8 * threads) rows -= kMinItemRows;
    ranges = (n + rows - 1) / rows;
  }
  int64_t count() const { return groups * ranges; }
  int64_t column(int64_t item) const { return item / ranges * width; }
  int64_t columns_end(int64_t item) const { return std::min(column(item) + width, m); }
  int64_t first(int64_t item) const { return item % ranges * rows; }
  int64_t last(int64_t item) const { return std::min(first(item) + rows, n); }
};

}  // namespace

template <class T>
void gmm_dense(const Isa& isa, DenseRows<T> a, DenseRows<T> b, Output<T> out, Ratio ratio, bool symmetric, int threads,
               Interrupted interrupted) {
  const GmmOps<T>& ops = isa.gmm.of<T>();
  const int64_t features = (std::min(a.d, kPanelFeatures) + kFeatureGroup - 1) / kFeatureGroup * kFeatureGroup;
  const int64_t panel_size = features * ops.cols, tile_size = static_cast<int64_t>(ops.rows) * ops.cols;
  const Pieces items(a.n, b.n, ops.cols, panel_size * static_cast<int64_t>(sizeof(T)), threads);
  const int64_t padded = items.groups * items.width;
  const RowSums<T> b_sums(padded), a_sums(symmetric ? 0 : a.n);
  if (!row_sums(b, padded, threads, b_sums, interrupted)) return;
  if (!symmetric && !row_sums(a, a.n, threads, a_sums, interrupted)) return;
  const RowSums<T>& left = symmetric ? b_sums : a_sums;

  const bool whole = a.d <= kPanelFeatures;  // all features in one panel: no totals to carry
  const bool finished = parallel(items.count(), threads, interrupted, [&](const auto& next) {
    const int64_t panels = items.width / ops.cols;
    const Buffer<T> packed(panels * panel_size), sums(tile_size);
    const Buffer<double> totals(whole ? tile_size : (items.rows / ops.rows + 1) * panels * tile_size);
    int64_t packed_column = -1;
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t c0 = items.column(item), c1 = items.columns_end(item);
      const int64_t first = items.first(item), last = symmetric ? std::min(items.last(item), c1) : items.last(item);
      if (first >= last) continue;
      for (int64_t f0 = 0; f0 < a.d && !next.stopped(); f0 += kPanelFeatures) {
        const int64_t d = std::min(kPanelFeatures, a.d - f0);
        if (packed_column != c0 || !whole)
          for (int64_t c = c0; c < c1; c += ops.cols)
            pack_panel(b, c, ops.cols, f0, d, packed.get() + (c - c0) / ops.cols * panel_size);
        packed_column = c0;
        const bool start = f0 == 0, end = f0 + d == a.d;
        double* carried = totals.get();
        for (int64_t i = first; i < last; i += ops.rows) {
          const int n = static_cast<int>(std::min<int64_t>(ops.rows, last - i));
          for (int64_t c = c0; c < c1; c += ops.cols) {
            if (symmetric && c + ops.cols <= i) continue;  // below the diagonal
            ops.tile(a.data + i * a.stride + f0, a.stride, n, packed.get() + (c - c0) / ops.cols * panel_size, d,
                     carried, sums.get(), start, end);
            if (!whole) carried += tile_size;
            if (end)
              ops.finish(sums.get(), ops.cols, false, n, static_cast<int>(std::min<int64_t>(ops.cols, b.n - c)),
                         left.sum.get() + i, left.abs.get() + i, b_sums.sum.get() + c, b_sums.abs.get() + c,
                         out.data + i * out.stride + c, out.stride, ratio);
          }
        }
      }
    }
  });
  if (finished && symmetric) mirror(out, a.n, threads, interrupted);
}

template <class T>
void gmm_bytes(const Isa& isa, DenseRows<uint8_t> a, DenseRows<uint8_t> b, const T* a_norms, const T* b_norms,
               Output<T> out, Ratio ratio, bool symmetric, int threads, Interrupted interrupted) {
  const ByteOps& ops = isa.gmm_bytes;
  const int64_t panel_size = b.d * ops.cols, tile_size = static_cast<int64_t>(ops.rows) * ops.cols;
  const Pieces items(a.n, b.n, ops.cols, panel_size, threads);
  const int64_t padded = items.groups * items.width;
  const Buffer<T> norms(padded);
  std::copy_n(b_norms, b.n, norms.get());
  std::fill(norms.get() + b.n, norms.get() + padded, T(0));

  const bool finished = parallel(items.count(), threads, interrupted, [&](const auto& next) {
    const Buffer<uint8_t> packed(items.width / ops.cols * panel_size);
    const Buffer<float> distances(tile_size);
    const Buffer<T> converted(std::is_same_v<T, float> ? 0 : tile_size);
    int64_t packed_column = -1;
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t c0 = items.column(item), c1 = items.columns_end(item);
      const int64_t first = items.first(item), last = symmetric ? std::min(items.last(item), c1) : items.last(item);
      if (first >= last) continue;
      if (packed_column != c0)
        for (int64_t c = c0; c < c1; c += ops.cols)
          pack_bytes(b, c, ops.cols, packed.get() + (c - c0) / ops.cols * panel_size);
      packed_column = c0;
      for (int64_t i = first; i < last; i += ops.rows) {
        const int n = static_cast<int>(std::min<int64_t>(ops.rows, last - i));
        for (int64_t c = c0; c < c1; c += ops.cols) {
          if (symmetric && c + ops.cols <= i) continue;
          ops.tile(a.data + i * a.stride, a.stride, n, packed.get() + (c - c0) / ops.cols * panel_size, a.d,
                   distances.get());
          const T* sums;
          if constexpr (std::is_same_v<T, float>) {
            sums = distances.get();
          } else {
            std::copy_n(distances.get(), tile_size, converted.get());
            sums = converted.get();
          }
          isa.gmm.of<T>().finish(sums, ops.cols, true, n, static_cast<int>(std::min<int64_t>(ops.cols, b.n - c)),
                                 a_norms + i, a_norms + i, norms.get() + c, norms.get() + c,
                                 out.data + i * out.stride + c, out.stride, ratio);
        }
      }
    }
  });
  if (finished && symmetric) mirror(out, a.n, threads, interrupted);
}

#define KS_INSTANTIATE(T)                                                                                           \
  template void gmm_dense(const Isa&, DenseRows<T>, DenseRows<T>, Output<T>, Ratio, bool, int, Interrupted);        \
  template void gmm_bytes(const Isa&, DenseRows<uint8_t>, DenseRows<uint8_t>, const T*, const T*, Output<T>, Ratio, \
                          bool, int, Interrupted);
KS_INSTANTIATE(float)
KS_INSTANTIATE(double)

}  // namespace kernelsketch
