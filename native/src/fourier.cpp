// Blocks of rows and of features, where the weights come from, and what becomes of the cosines.
#include "kernelsketch/fourier.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kBlockBytes = int64_t{32} << 20;     // of weights, where not all of them are kept
constexpr int64_t kBlockFeatures = int64_t{1} << 16;   // of such a block, at most
constexpr int64_t kDirectFeatures = int64_t{1} << 22;  // features are numbered by an array up to here, else by sorting
constexpr int64_t kSortedEntries = int64_t{1} << 20;   // of a chunk of rows whose features are sorted
constexpr int64_t kEntries = int64_t{1} << 16;         // nonzeros of a block of rows, and pieces of a longer row
constexpr int64_t kTileFeatures = 1024;                // of a pass over registers: 256 KiB of a panel
constexpr int64_t kMostRows = 96;                      // of a block of rows; a multiple of the rows of a tile
constexpr int64_t kOutBytes = int64_t{1} << 18;        // of the output of a block of rows
constexpr int64_t kNearBytes = int64_t{1} << 18;       // of weights that stay in the L2 cache: then long rows are
constexpr int64_t kLongBytes = 4096;                   // finished a tile at a time, in the L1 cache

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The features that have weights, ascending: all of a dense matrix, those in use of a CSR one.
struct UsedFeatures {
  int64_t count = 0;
  bool all = false;
  std::vector<int64_t> ids;      // unless all
  std::vector<int32_t> numbers;  // of each id, where there are few enough features

  const int64_t* from(int64_t first) const { return all ? nullptr : ids.data() + first; }
  int64_t number(int64_t id) const {
    if (!numbers.empty()) return numbers[id];
    return std::lower_bound(ids.begin(), ids.end(), id) - ids.begin();
  }
};

template <class T>
UsedFeatures features_of(const DenseRows<T>& x, int64_t, int64_t) {
  UsedFeatures found;
  found.count = x.d;
  found.all = true;
  return found;
}

template <class T, class Index>
UsedFeatures features_of(const CsrRows<T, Index>& x, int64_t first, int64_t last) {
  UsedFeatures found;
  const Index* begin = x.indices + x.indptr[first];
  const Index* end = x.indices + x.indptr[last];
  if (x.d <= kDirectFeatures) {
    found.numbers.assign(x.d, -1);
    for (const Index* i = begin; i < end; ++i) found.numbers[(*i)] = 0;
    for (int64_t f = 0; f < x.d; ++f)
      if (found.numbers[f] == 0) {
        found.numbers[f] = static_cast<int32_t>(found.ids.size());
        found.ids.push_back(f);
      }
  } else {
    found.ids.assign(begin, end);
    std::sort(found.ids.begin(), found.ids.end());
    found.ids.erase(std::unique(found.ids.begin(), found.ids.end()), found.ids.end());
  }
  found.count = static_cast<int64_t>(found.ids.size());
  return found;
}

// Ends of chunks of rows: one chunk, unless its features would have to be sorted.
template <class AnyRows>
int64_t chunk_end(const AnyRows& x, [[maybe_unused]] int64_t first) {
  if constexpr (requires { x.indptr; })
    if (x.d > kDirectFeatures) {
      const int64_t* end = std::upper_bound(x.indptr + first + 1, x.indptr + x.n + 1, x.indptr[first] + kSortedEntries);
      return std::max<int64_t>(first + 1, end - x.indptr - 1);
    }
  return x.n;
}

template <class T>
RowScale measure(const FourierOps<T>& ops, const DenseRows<T>& x, int64_t i, double scale) {
  return ops.measure(x.data + i * x.stride, x.d, scale);
}

// The same sums as those of a dense row: a zero adds nothing to its lane.
template <class T, class Index>
RowScale measure(const FourierOps<T>&, const CsrRows<T, Index>& x, int64_t i, double scale) {
  double largest = 0;
  for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q)
    largest = std::max(largest, std::fabs(static_cast<double>(x.data[q])));
  const double shift = largest < 0x1p-400 ? 0x1p600 : largest > 0x1p400 ? 0x1p-600 : 1;
  double sums[8] = {};
  for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q) {
    const double v = static_cast<double>(x.data[q]) * shift;
    sums[x.indices[q] & 7] += v * v;
  }
  const double total = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  if (total == 0) return {1, 0};
  return std::isfinite(total) ? RowScale{shift, scale / std::sqrt(total)} : kNotFinite;
}

// A block of weights [panel][feature][64], and its place among all of them.
struct WeightBlock {
  const float* table;
  const float* phases;
  int64_t panel, panels;  // of the hashes
  int64_t first, count;   // of the features
  bool opens, closes;     // with the first and the last feature
};

// The memory that one thread works in: rows over their norms, entries of CSR rows, a panel that passes the end of the
// output.
template <class T>
struct Scratch {
  std::vector<T> rows;
  std::vector<int32_t> slots;
  std::vector<T> values;
  std::vector<int64_t> starts;
  std::vector<T> edge;
};

// `run(out, stride, stage)` on a panel of rows, with a detour where the panel is wider than what is left of the output.
template <class T, class Run>
void on_panel(const WeightBlock& w, const FourierParams& params, Output<T> out, int64_t row, int64_t rows, int64_t p,
              bool opens, bool closes, Scratch<T>& scratch, const Run& run) {
  const int64_t hash = (w.panel + p) * kPanel, columns = std::min(kPanel, params.hashes - hash);
  const PanelEnd end = !closes ? PanelEnd::sums : params.normalize ? PanelEnd::cosines : PanelEnd::scaled_cosines;
  const T scale = static_cast<T>(std::sqrt(2.0 / static_cast<double>(params.hashes)));
  const PanelStage<T> stage{opens ? w.phases + hash : nullptr, end, scale};
  T* to = out.data + row * out.stride + hash;
  if (columns == kPanel) return run(to, out.stride, stage);
  scratch.edge.resize((rows * kPanel));
  T* edge = scratch.edge.data();
  for (int64_t r = 0; r < rows && !opens; ++r) std::copy_n(to + r * out.stride, columns, edge + r * kPanel);
  run(edge, kPanel, stage);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(edge + r * kPanel, columns, to + r * out.stride);
}

template <class T>
void rows_by_weights(const FourierOps<T>& ops, const DenseRows<T>& x, const UsedFeatures&, const WeightBlock& w,
                     const FourierParams& params, const RowScale* scales, Output<T> out, int64_t first, int64_t last,
                     Scratch<T>& scratch) {
  const int64_t width = std::min(kTileFeatures, w.count);
  scratch.rows.resize(((last - first) * width));
  for (int64_t f = 0; f < w.count; f += kTileFeatures) {
    const int64_t count = std::min(kTileFeatures, w.count - f);
    for (int64_t i = first; i < last; ++i)
      ops.scale(x.data + i * x.stride + w.first + f, count, scales[i], scratch.rows.data() + (i - first) * width);
    const bool opens = w.opens && f == 0, closes = w.closes && f + count == w.count;
    for (int64_t p = 0; p < w.panels; ++p) {
      const float* weights = w.table + (p * w.count + f) * kPanel;
      on_panel(w, params, out, first, last - first, p, opens, closes, scratch,
               [&](T* to, int64_t stride, const PanelStage<T>& stage) {
                 ops.panel(scratch.rows.data(), width, last - first, weights, count, to, stride, stage);
               });
    }
  }
}

template <class T, class Index>
void rows_by_weights(const FourierOps<T>& ops, const CsrRows<T, Index>& x, const UsedFeatures& features,
                     const WeightBlock& w, const FourierParams& params, const RowScale* scales, Output<T> out,
                     int64_t first, int64_t last, Scratch<T>& scratch) {
  if (w.count == 0) return;  // nothing but rows of zeros
  // Entries of each row within the features of the block. A row that is longer than a block comes alone, in pieces.
  const auto bound = [&](int64_t i, int64_t number) {
    if (number >= features.count) return x.indptr[i + 1];
    const Index* from = x.indices + x.indptr[i];
    const Index* to = x.indices + x.indptr[i + 1];
    return static_cast<int64_t>(std::lower_bound(from, to, features.ids[number]) - x.indices);
  };
  std::vector<int64_t>& starts = scratch.starts;
  int64_t piece = bound(first, w.first);
  for (bool more = true; more;) {
    scratch.slots.clear();
    scratch.values.clear();
    starts.assign(1, 0);
    const bool opens = w.opens && piece == bound(first, w.first);
    more = false;
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i == first ? piece : bound(i, w.first);
      int64_t end = bound(i, w.first + w.count);
      if (last - first == 1 && end - begin > kEntries) {
        end = begin + kEntries;
        piece = end;
        more = true;
      }
      const auto count = static_cast<std::size_t>(end - begin);
      const std::size_t had = scratch.slots.size();
      scratch.slots.resize(had + count);
      scratch.values.resize(had + count);
      for (std::size_t q = 0; q < count; ++q)
        scratch.slots[had + q] =
            static_cast<int32_t>(features.number(x.indices[begin + static_cast<int64_t>(q)]) - w.first);
      ops.scale(x.data + begin, end - begin, scales[i], scratch.values.data() + had);
      starts.push_back(static_cast<int64_t>(scratch.slots.size()));
    }
    const bool closes = w.closes && !more;
    for (int64_t p = 0; p < w.panels; ++p) {
      const float* weights = w.table + p * w.count * kPanel;
      for (int64_t i = first; i < last; ++i) {
        const int64_t begin = starts[(i - first)];
        const int64_t count = starts[(i - first) + 1] - begin;
        if (count == 0 && !opens && !closes) continue;
        on_panel(w, params, out, i, 1, p, opens, closes, scratch, [&](T* to, int64_t, const PanelStage<T>& stage) {
          ops.entries(scratch.slots.data() + begin, scratch.values.data() + begin, count, weights, to, stage);
        });
      }
    }
  }
}

// The norms of all rows of a block come first: a square root and a quotient take long, but rows do not wait for each
// other.
template <class T>
void finish_rows(const FourierOps<T>& ops, const FourierParams& params, const RowScale* scales, Output<T> out,
                 int64_t first, int64_t last) {
  T factors[kMostRows];
  for (int64_t i = first; i < last && params.normalize; ++i)
    factors[i - first] = ops.inverse_norm(out.data + i * out.stride, params.hashes);
  for (int64_t i = first; i < last; ++i) {
    T* row = out.data + i * out.stride;
    if (scales[i].factor == 0)
      std::fill_n(row, params.hashes, T(0));
    else if (params.normalize)
      ops.multiply(row, params.hashes, factors[i - first]);
  }
}

// Blocks of rows whose output, and whose entries, stay in the cache.
template <class AnyRows>
std::vector<int64_t> row_blocks(const AnyRows& x, int64_t first, int64_t last, int64_t row_bytes, bool near, int tile,
                                int threads) {
  const int64_t fair = divide_up(last - first, int64_t{4} * std::max(threads, 1));
  const int64_t fits = near && row_bytes >= kLongBytes ? 1 : std::min(kOutBytes / row_bytes, fair);
  const int64_t most = divide_up(std::clamp<int64_t>(fits, 1, kMostRows), tile) * tile;
  std::vector<int64_t> blocks{first};
  while (blocks.back() < last) {
    const int64_t from = blocks.back();
    int64_t to = std::min(last, from + most);
    if constexpr (requires { x.indptr; })
      while (to > from + 1 && x.stored(from, to) > kEntries) to = from + (to - from) / 2;
    blocks.push_back(to);
  }
  return blocks;
}

}  // namespace

template <class AnyRows, class T>
bool fourier(const Isa& isa, const AnyRows& x, const FourierParams& params, Output<T> out, int threads,
             Interrupted interrupted) {
  const FourierOps<T>& ops = isa.fourier.of<T>();
  const int64_t panels = divide_up(params.hashes, kPanel);
  Buffer<float> phases(panels * kPanel);
  for (int64_t p = 0; p < panels; ++p) isa.fourier_weights.phases(params.seed, p, phases.get() + p * kPanel);

  std::vector<RowScale> scales(x.n);
  for (int64_t start = 0; start < x.n;) {
    const int64_t stop = chunk_end(x, start);
    const UsedFeatures features = features_of(x, start, stop);
    constexpr int64_t feature_bytes = kPanel * int64_t{sizeof(float)};
    const bool near = features.count * panels * feature_bytes <= kNearBytes;
    const auto blocks =
        row_blocks(x, start, stop, params.hashes * static_cast<int64_t>(sizeof(T)), near, ops.rows, threads);
    const int64_t n_blocks = static_cast<int64_t>(blocks.size()) - 1;

    const bool whole = features.count <= params.table_bytes / feature_bytes / panels;
    const int64_t block = std::max<int64_t>(1, whole ? features.count : std::min(features.count, kBlockFeatures));
    const int64_t together = whole ? panels : std::clamp<int64_t>(kBlockBytes / feature_bytes / block, 1, panels);
    const Buffer<float> table(block * together * kPanel);

    for (int64_t p0 = 0; p0 < panels; p0 += together)
      for (int64_t f0 = 0; f0 == 0 || f0 < features.count; f0 += block) {
        const WeightBlock w{table.get(), phases.get(),
                            p0,          std::min(together, panels - p0),
                            f0,          std::min(block, features.count - f0),
                            f0 == 0,     f0 + block >= features.count};
        constexpr int64_t step = 4096;  // features of an item
        const int64_t steps = divide_up(w.count, step);
        bool done = each_item(w.panels * steps, threads, interrupted, [&](int64_t item) {
          const int64_t p = item / steps, f = item % steps * step;
          isa.fourier_weights.weights(params.seed, features.from(f0 + f), f0 + f, std::min(step, w.count - f), p0 + p,
                                      table.get() + (p * w.count + f) * kPanel);
        });
        done = done && parallel(n_blocks, threads, interrupted, [&](const auto& next) {
                 Scratch<T> scratch;
                 for (int64_t item; (item = next()) >= 0;) {
                   const auto number = static_cast<std::size_t>(item);
                   const int64_t first = blocks[number], last = blocks[number + 1];
                   if (p0 == 0 && f0 == 0)
                     for (int64_t i = first; i < last; ++i) scales[i] = measure(ops, x, i, params.scale);
                   rows_by_weights(ops, x, features, w, params, scales.data(), out, first, last, scratch);
                   if (p0 + together >= panels && w.closes) finish_rows(ops, params, scales.data(), out, first, last);
                 }
               });
        if (!done) return true;
      }
    start = stop;
  }
  return std::all_of(scales.begin(), scales.end(), [](const RowScale& row) { return row.shift != 0; });
}

#define KS_INSTANTIATE(AnyRows) \
  template bool fourier(const Isa&, const AnyRows&, const FourierParams&, Output<AnyRows::Value>, int, Interrupted);
KS_EACH_ROWS(KS_INSTANTIATE)

}  // namespace kernelsketch
