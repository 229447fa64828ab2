// The strategies of GCWS, by rows, by columns and by bounds, and the choice between them.
#include "kernelsketch/gcws.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "gcws_blocks.h"
#include "gcws_bounds.h"
#include "gcws_output.h"
#include "gcws_table.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kTableBytes = int64_t{32} << 20;     // of parameters at a time
constexpr int64_t kDirectFeatures = int64_t{1} << 21;  // slots are counted in an array up to here, else sorted
constexpr int64_t kNearSlots = 1024;  // slots up to which rows walk a table: its tile, 768 bytes per slot, fits in L2
constexpr int64_t kFewHashes = 128;   // up to here transposing does not pay: tables may have four times as many slots
constexpr int64_t kTableUses = 6;     // nonzeros per feature that pay for a table of both its slots
constexpr int64_t kRowsAtOnce = 64;   // rows per block that walks a table
constexpr int64_t kBlocksTogether = 16;         // blocks that walk a tile of the table while it stays in the cache
constexpr int64_t kRowsInColumns = 8192;        // rows per transposed block, at most: its running minima take 1 MiB
constexpr int64_t kUses = 32;                   // rows of a block that should share a generated parameter
constexpr int64_t kEntries = int64_t{1} << 21;  // nonzeros in work, over all threads
constexpr int64_t kProfiledRows = 32;           // rows that are looked at to choose a strategy
constexpr int64_t kBoundFeatures = 16384;       // features up to which tiles of dense rows are small enough for bounds
constexpr int64_t kBoundShare = 256;            // rows per thread from which on bounds are worth their lists
constexpr int64_t kReachRows = 128;             // rows from which the number of slots that can win is estimated

// What is estimated for all rows from a few of them. The choice of a strategy depends on it; no result does.
struct DataProfile {
  int64_t nonzeros = 0;  // of all rows, estimated
  bool is_signed = false;
};

// Calls work(slot, size) for the nonzeros of a row.
template <class AnyRows, class Work>
void for_nonzeros(const AnyRows& x, const double* center, int64_t row, const Work& work) {
  x.visit(row, [&](int64_t f, auto value) {
    const double v = static_cast<double>(value) - (center ? center[f] : 0);
    if (v != 0) work(2 * f + (v < 0), std::fabs(v));
  });
}

template <class AnyRows>
DataProfile profile_of(const AnyRows& x, const double* center) {
  DataProfile profile;
  const int64_t step = std::max<int64_t>(1, x.n / kProfiledRows);
  for (int64_t i = 0; i < x.n; i += step)
    for_nonzeros(x, center, i, [&](int64_t slot, double) {
      profile.nonzeros += step;
      profile.is_signed |= slot % 2 == 1;
    });
  if constexpr (requires { x.indptr; }) profile.nonzeros = x.indptr[x.n];
  return profile;
}

// The sum of the largest weights of all slots over the weight of a row, of some rows: bounds leave a multiple of it.
template <class AnyRows>
double reach_of(const AnyRows& x, const GcwsParams& params) {
  std::vector<double> tops((2 * x.d), 0.0);
  double weight = 0;
  int64_t rows = 0;
  const int64_t step = std::max<int64_t>(1, x.n / kReachRows);
  for (int64_t i = 0; i < x.n; i += step, ++rows)
    for_nonzeros(x, params.center, i, [&](int64_t slot, double size) {
      const double w = params.p == 1 ? size : std::pow(size, params.p);
      tops[slot] = std::max(tops[slot], w);
      weight += w;
    });
  const double reach = std::accumulate(tops.begin(), tops.end(), 0.0) * static_cast<double>(rows) / weight;
  return std::isfinite(reach) ? reach : HUGE_VAL;
}

// The rows of a block of the strategy `bounds`, whose nonzeros have room.
template <class AnyRows>
int64_t bounded_rows(const AnyRows& x, int threads, int64_t most) {
  const int64_t row = std::max<int64_t>(1, x.stored(0, x.n) / x.n);
  return std::clamp<int64_t>(std::min((x.n + threads - 1) / threads, most / row), 1, BoundedBlock::kMostRows);
}

// Whether bounds are faster than a look at all values, by nanoseconds per row on a Zen 4 core.
template <class AnyRows>
bool bounds_pay(const AnyRows& x, const GcwsParams& params, const DataProfile& profile, int threads) {
  const auto k = static_cast<double>(params.hashes), nonzeros = static_cast<double>(profile.nonzeros);
  const double values = nonzeros / static_cast<double>(x.n);
  const double all = 0.145 * values * k;
  const auto block = static_cast<double>(bounded_rows(x, threads, std::min(kEntries, 8 * kEntries / threads)));
  const double columns = std::min((profile.is_signed ? 2.0 : 1.0) * static_cast<double>(x.d), nonzeros);
  const double fixed = 8 * values + 0.2 * columns + 1.5 * k + 2 * columns * k / block;
  if (x.n / threads < kBoundShare || x.d > kBoundFeatures || params.p > 1e6 || fixed > 0.85 * all) return false;
  return fixed + 0.14 * BoundedBlock::kExpected * 1.2 * reach_of(x, params) * k < 0.85 * all;
}

// First rows of blocks of `rows` rows, fewer where they may hold more than `most` nonzeros; and x.n.
template <class AnyRows>
std::vector<int64_t> split(const AnyRows& x, int64_t rows, int64_t most) {
  std::vector<int64_t> firsts{0};
  while (firsts.back() < x.n) {
    const int64_t first = firsts.back();
    int64_t last = std::min(x.n, first + rows);
    while (last > first + 1 && x.stored(first, last) > most) last = first + (last - first) / 2;
    firsts.push_back(last);
  }
  return firsts;
}

template <class AnyRows, class Out>
void by_rows(const GcwsOps& ops, const AnyRows& x, const GcwsParams& params, const Out& out, int threads,
             Interrupted interrupted, const ParameterTable* ready) {
  constexpr bool samples = kWholeSamples<Out>;
  const bool with_t = samples || params.t_bits > 0;
  const auto slot_of = [&](int32_t key) { return ParameterTable::slot_of(key, x.d); };
  std::vector<int32_t> label_of((2 * x.d));
  for (int32_t key = 0; key < 2 * x.d; ++key) label_of[key] = samples ? key : code_of(slot_of(key), params.bits);

  const std::vector<int64_t> blocks = split(x, kRowsAtOnce, std::max<int64_t>(kEntries / threads, 1));
  // An item of work is a few blocks: a tile of the table stays in the cache while they pass by.
  const int64_t n_blocks = static_cast<int64_t>(blocks.size()) - 1;
  const int64_t together = std::clamp<int64_t>(n_blocks / (4 * threads), 1, kBlocksTogether);
  const int64_t groups = (params.hashes + kLanes - 1) / kLanes;
  const int64_t fitting =
      ready ? groups : kTableBytes / (2 * x.d * kParameterFloats * int64_t{sizeof(float)}) / kTileGroups * kTileGroups;
  for (int64_t start = 0; start < groups; start += fitting) {
    const int64_t end = std::min(groups, start + fitting);
    std::optional<ParameterTable> made;
    if (!ready && !made.emplace(ops, params.seed, x.d, start, end - start, threads, interrupted).finished()) return;
    const ParameterTable& table = ready ? *ready : *made;
    const bool finished = parallel((n_blocks + together - 1) / together, threads, interrupted, [&](const auto& next) {
      std::vector<RowBlock> held(together);
      std::vector<std::vector<int32_t>> keys(held.size());
      std::vector<double> values;
      std::vector<int32_t> found, labels(kRowsAtOnce * kTileGroups * kLanes);
      std::vector<float> kept(with_t ? labels.size() : 0);
      const Winners winners{labels.data(), with_t ? kept.data() : nullptr};
      for (int64_t item; (item = next()) >= 0;) {
        const int64_t count = std::min(together, n_blocks - item * together);
        for (int64_t c = 0; c < count; ++c) {
          RowBlock& block = held[c];
          const auto number = static_cast<std::size_t>(item * together + c);
          block.read(x, params, ops, blocks[number], blocks[number + 1], int32_t{1}, static_cast<int32_t>(x.d), values,
                     found);
          keys[c].assign(found.begin(), found.begin() + block.starts.back());
          block.flag_empty(out.empty);
        }
        for (int64_t group = start; group < end && !next.stopped(); group += kTileGroups) {
          const int64_t used = std::min(kTileGroups, end - group);
          const float* parameters = table.tile((group - start) / kTileGroups);
          for (int64_t c = 0; c < count; ++c) {
            const RowBlock& block = held[c];
            const RowEntries entries{block.starts.data(), keys[c].data(), block.log.data(), label_of.data(),
                                     block.rows()};
            ops.rows(entries, parameters, used, winners);
            write_winners(out, params, block, slot_of, group, used, winners);
          }
        }
      }
    });
    if (!finished) return;
  }
}

template <class AnyRows, class Out>
void by_columns(const GcwsOps& ops, const AnyRows& x, const GcwsParams& params, const Out& out,
                const DataProfile& profile, int threads, Interrupted interrupted) {
  constexpr bool samples = kWholeSamples<Out>;
  const bool with_t = samples || params.t_bits > 0;
  const bool counted = x.d <= kDirectFeatures && profile.nonzeros >= x.d / 16;
  // As many rows as make a parameter worth its making.
  int64_t rows = kRowsInColumns;
  if (x.d <= kDirectFeatures) {
    const int64_t used = std::min((profile.is_signed ? 2 : 1) * x.d, profile.nonzeros);
    const int64_t row = std::max<int64_t>(1, profile.nonzeros / x.n);
    rows = std::clamp<int64_t>(kUses * used / row, kRowsAtOnce, kRowsInColumns);
  }
  // The same number of blocks for each thread, of the same size; a little larger ones rather than twice as many.
  const int64_t share = (x.n + threads - 1) / threads,
                rounds = std::max<int64_t>(1, (share * 4 + 5 * rows - 1) / (5 * rows));
  rows = std::max<int64_t>(1, (share + rounds - 1) / rounds);
  const std::vector<int64_t> blocks = split(x, rows, std::max<int64_t>(kEntries / threads, 1));
  const int64_t groups = (params.hashes + kLanes - 1) / kLanes;
  parallel(static_cast<int64_t>(blocks.size()) - 1, threads, interrupted, [&](const auto& next) {
    TransposedBlock transposed(x.d, counted);
    const auto slot_of = [&](int32_t column) { return transposed.slot(column); };
    std::vector<int32_t> labels, column_labels;
    std::vector<float> best, kept;
    for (int64_t item; (item = next()) >= 0;) {
      transposed.read(x, params, ops, blocks[item], blocks[item + 1]);
      const RowBlock& block = transposed.block();
      block.flag_empty(out.empty);
      column_labels.resize(transposed.slots().size());
      for (std::size_t c = 0; c < column_labels.size(); ++c)
        column_labels[c] = samples ? static_cast<int32_t>(c) : code_of(transposed.slots()[c], params.bits);
      labels.resize((block.rows() * kLanes));
      best.resize(labels.size());
      kept.resize(with_t ? labels.size() : 0);
      const Winners winners{labels.data(), with_t ? kept.data() : nullptr};
      const ColumnBlock columns = transposed.columns(column_labels);
      for (int64_t group = 0; group < groups && !next.stopped(); ++group) {
        ops.columns(columns, params.seed, group, best.data(), winners);
        write_winners(out, params, block, slot_of, group, 1, winners);
      }
    }
  });
}

template <class AnyRows, class Out>
void by_bounds(const Isa& isa, const AnyRows& x, const GcwsParams& params, const Out& out, int threads,
               Interrupted interrupted) {
  // The same number of blocks for each thread, of the same size.
  const int64_t most = std::min(kEntries, 8 * kEntries / threads);
  const int64_t rows = bounded_rows(x, threads, most), share = (x.n + threads - 1) / threads;
  const int64_t rounds = (share + rows - 1) / rows;
  const std::vector<int64_t> blocks = split(x, (share + rounds - 1) / rounds, most);
  parallel(static_cast<int64_t>(blocks.size()) - 1, threads, interrupted, [&](const auto& next) {
    BoundedBlock block(isa.gcws, isa.bounds, params, x.d, kWholeSamples<Out>);
    for (int64_t item; (item = next()) >= 0;)
      if (!block.hash(x, blocks[item], blocks[item + 1], out, next)) return;
  });
}

}  // namespace

template <class AnyRows, class Out>
void gcws(const Isa& isa, const AnyRows& x, const GcwsParams& params, const Out& out, int threads,
          Interrupted interrupted, const ParameterTable* ready) {
  if (x.n == 0) return;
  if (ready) return by_rows(isa.gcws, x, params, out, std::max(threads, 1), interrupted, ready);
  const DataProfile profile = profile_of(x, params.center);
  if (bounds_pay(x, params, profile, std::max(threads, 1)))
    return by_bounds(isa, x, params, out, std::max(threads, 1), interrupted);
  const int64_t near = params.hashes <= kFewHashes ? 4 * kNearSlots : kNearSlots;
  const bool few_slots = x.d <= near / (profile.is_signed ? 2 : 1);
  if (few_slots && profile.nonzeros >= kTableUses * x.d)
    by_rows(isa.gcws, x, params, out, std::max(threads, 1), interrupted, nullptr);
  else
    by_columns(isa.gcws, x, params, out, profile, std::max(threads, 1), interrupted);
}

void concatenate(const int64_t* slots, const int64_t* t, int64_t n, const int64_t* counts, int64_t count, int64_t* out,
                 int threads) {
  int64_t total = 0;
  for (int64_t j = 0; j < count; ++j) total += counts[j];
  each_item(n, threads, nullptr, [&](int64_t i) {
    int64_t q = i * total;
    for (int64_t j = 0; j < count; ++j) {
      uint64_t h = 0;
      for (const int64_t end = q + counts[j]; q < end; ++q) h = ks_join(h, static_cast<uint64_t>(slots[q]), t[q]);
      out[i * count + j] = static_cast<int64_t>(ks_signature(h));
    }
  });
}

#define KS_INSTANTIATE_OUT(AnyRows, Out)                                                          \
  template void gcws(const Isa&, const AnyRows&, const GcwsParams&, const Out&, int, Interrupted, \
                     const ParameterTable*);
#define KS_INSTANTIATE(AnyRows)                     \
  KS_INSTANTIATE_OUT(AnyRows, CodeOutput<uint8_t>)  \
  KS_INSTANTIATE_OUT(AnyRows, CodeOutput<uint16_t>) \
  KS_INSTANTIATE_OUT(AnyRows, CodeOutput<uint32_t>) \
  KS_INSTANTIATE_OUT(AnyRows, SampleOutput)         \
  KS_INSTANTIATE_OUT(AnyRows, FingerprintOutput)
KS_EACH_ROWS(KS_INSTANTIATE)

}  // namespace kernelsketch
