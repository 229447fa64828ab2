// Blocks of rows, where their parameters come from, and what becomes of the winners.
#include "kernelsketch/gcws.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rng.h"

namespace kernelsketch {
namespace {

constexpr int64_t kTableBytes = int64_t{32} << 20;     // of parameters at a time
constexpr int64_t kDirectFeatures = int64_t{1} << 21;  // slots are counted in an array up to here, else sorted
constexpr int64_t kNearSlots = 1024;      // up to here rows walk a table: a tile of it, 768 bytes a slot, is in the L2 cache
constexpr int64_t kFewHashes = 128;       // too few to pay for turning rows into columns: up to four times as many slots
constexpr int64_t kTableUses = 6;         // nonzeros a feature that pay for a table of both its slots
constexpr int64_t kRowsAtOnce = 64;       // of a block that walks a table
constexpr int64_t kBlocksTogether = 16;   // of them, while a tile of the table stays in the cache
constexpr int64_t kRowsInColumns = 8192;  // of a block in columns, at most: its running minima take 1 MiB
constexpr int64_t kUses = 32;             // of a generated parameter: the rows of a block that share it, where there are
constexpr int64_t kEntries = int64_t{1} << 21;  // nonzeros in work, over all threads
constexpr int64_t kLookedAt = 32;         // rows, to choose a strategy

int32_t code_of(uint64_t slot, int bits) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  return static_cast<int32_t>(((slot >> 1) ^ ((slot & 1) << (bits - 1))) & mask);
}

template <class T>
int64_t most_nonzeros(const Dense<T>& x, int64_t first, int64_t last) {
  return (last - first) * x.d;
}
template <class T, class Index>
int64_t most_nonzeros(const Csr<T, Index>& x, int64_t first, int64_t last) {
  return x.indptr[last] - x.indptr[first];
}

// What a few rows tell of all of them. It decides on the strategy, not on any result.
struct Look {
  int64_t nonzeros = 0;  // of all rows, about
  bool is_signed = false;
};
template <class T>
Look look_at(const Dense<T>& x, const double* center) {
  Look look;
  const int64_t step = std::max<int64_t>(1, x.n / kLookedAt);
  for (int64_t i = 0; i < x.n; i += step)
    for (int64_t f = 0; f < x.d; ++f) {
      const double v = static_cast<double>(x.data[i * x.stride + f]) - (center ? center[f] : 0);
      look.nonzeros += v != 0;
      look.is_signed |= v < 0;
    }
  look.nonzeros *= step;
  return look;
}
template <class T, class Index>
Look look_at(const Csr<T, Index>& x, const double*) {
  Look look{x.indptr[x.n], false};
  const int64_t step = std::max<int64_t>(1, x.n / kLookedAt);
  for (int64_t i = 0; i < x.n; i += step)
    for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q) look.is_signed |= x.data[q] < 0;
  return look;
}

// The parameters of all slots of d features, tile by tile: [tile][key][group of the tile][kSetFloats].
// The key of a slot is its feature, plus d for negative values: what occurs together lies together.
class Table {
 public:
  Table(const GcwsOps& ops, uint64_t seed, int64_t d, int64_t group, int64_t groups, int threads,
        Interrupted interrupted)
      : keys_(2 * d), groups_(groups), sets_(keys_ * groups * kSetFloats) {
    std::vector<uint64_t> slots(static_cast<std::size_t>(keys_));
    for (int64_t key = 0; key < keys_; ++key) slots[static_cast<std::size_t>(key)] = slot_of(key, d);
    const int64_t tiles = (groups + kTileGroups - 1) / kTileGroups;
    finished_ = parallel(tiles, threads, interrupted, [&](const auto& next) {
      for (int64_t tile; (tile = next()) >= 0;)
        ops.parameters(seed, slots.data(), keys_, group + tile * kTileGroups,
                       std::min(kTileGroups, groups_ - tile * kTileGroups), sets_.get() + start(tile));
    });
  }
  bool finished() const { return finished_; }
  const float* tile(int64_t tile) const { return sets_.get() + start(tile); }
  static uint64_t slot_of(int64_t key, int64_t d) {
    return static_cast<uint64_t>(key < d ? 2 * key : 2 * (key - d) + 1);
  }

 private:
  int64_t start(int64_t tile) const { return tile * kTileGroups * keys_ * kSetFloats; }
  int64_t keys_, groups_;
  bool finished_ = true;
  Buffer<float> sets_;
};

// The nonzeros of a block of rows. A key is feature * scale, plus `negative` for a negative value.
struct Block {
  int64_t first = 0, last = 0;  // rows
  std::vector<int64_t> starts;
  std::vector<float> log;

  template <class Key, class T>
  void read(const Dense<T>& x, const GcwsTask& task, const GcwsOps& ops, int64_t from, int64_t to, Key scale,
            Key negative, std::vector<double>& values, std::vector<Key>& keys) {
    begin(from, to);
    const auto most = static_cast<std::size_t>((last - first) * x.d + 8);  // 8: room for a whole vector at the end
    if (values.size() < most) values.resize(most);
    if (keys.size() < most) keys.resize(most);
    for (int64_t i = first; i < last; ++i) {
      const T* row = x.data + i * x.stride;
      double* found = values.data() + starts.back();
      Key* ids = keys.data() + starts.back();
      int64_t count = 0;
      if constexpr (std::is_same_v<Key, int32_t> && std::is_same_v<T, float>)
        count = ops.nonzeros_float(row, task.center, x.d, scale, negative, found, ids);
      else if constexpr (std::is_same_v<Key, int32_t>)
        count = ops.nonzeros_double(row, task.center, x.d, scale, negative, found, ids);
      else
        for (int64_t f = 0; f < x.d; ++f) {
          const double v = static_cast<double>(row[f]) - (task.center ? task.center[f] : 0);
          found[count] = v;
          ids[count] = static_cast<Key>(f) * scale + (v < 0 ? negative : 0);
          count += v != 0;
        }
      starts.push_back(starts.back() + count);
    }
    take_logs(task, ops, values);
  }

  template <class Key, class T, class Index>
  void read(const Csr<T, Index>& x, const GcwsTask& task, const GcwsOps& ops, int64_t from, int64_t to, Key scale,
            Key negative, std::vector<double>& values, std::vector<Key>& keys) {
    begin(from, to);
    const auto most = static_cast<std::size_t>(x.indptr[last] - x.indptr[first] + 1);
    if (values.size() < most) values.resize(most);
    if (keys.size() < most) keys.resize(most);
    double* found = values.data();
    Key* ids = keys.data();
    int64_t count = 0;
    for (int64_t i = first; i < last; ++i) {
      for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q) {
        found[count] = static_cast<double>(x.data[q]);
        ids[count] = static_cast<Key>(x.indices[q]) * scale + (x.data[q] < 0 ? negative : 0);
        count += x.data[q] != 0;
      }
      starts.push_back(count);
    }
    take_logs(task, ops, values);
  }

  int64_t rows() const { return last - first; }
  bool empty(int64_t row) const {
    return starts[static_cast<std::size_t>(row)] == starts[static_cast<std::size_t>(row) + 1];
  }
  void flag_empty(uint8_t* flags) const {
    for (int64_t i = 0; i < rows(); ++i) flags[first + i] = empty(i);
  }

 private:
  void begin(int64_t from, int64_t to) {
    first = from;
    last = to;
    starts.assign(1, 0);
  }
  void take_logs(const GcwsTask& task, const GcwsOps& ops, const std::vector<double>& values) {
    log.resize(static_cast<std::size_t>(starts.back()));
    ops.logs(values.data(), starts.back(), task.p, log.data());
  }
};

// A block turned slot by slot. Slots are counted in an array over all of them or, where they are few among many, sorted.
class Turned {
 public:
  Turned(int64_t features, bool counted) : counts_(static_cast<std::size_t>(counted ? 2 * features : 0)) {}

  template <class Rows>
  void read(const Rows& x, const GcwsTask& task, const GcwsOps& ops, int64_t from, int64_t to) {
    if (counts_.empty()) {
      block_.read(x, task, ops, from, to, uint64_t{2}, uint64_t{1}, values_, slots_);
      number_sorted();
    } else {
      block_.read(x, task, ops, from, to, int32_t{2}, int32_t{1}, values_, keys_);
    }
    turn();
  }
  const Block& block() const { return block_; }
  uint64_t slot(int32_t column) const { return column_slots_[static_cast<std::size_t>(column)]; }
  const std::vector<uint64_t>& slots() const { return column_slots_; }
  Columns columns(const std::vector<int32_t>& labels) const {
    return {starts_.data(), column_slots_.data(), labels.data(), entries_.data(),
            static_cast<int64_t>(column_slots_.size()), block_.rows()};
  }

 private:
  void number_sorted() {
    const auto count = static_cast<std::size_t>(block_.starts.back());
    used_.assign(slots_.begin(), slots_.begin() + block_.starts.back());
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    if (keys_.size() < count) keys_.resize(count);
    for (std::size_t q = 0; q < count; ++q)
      keys_[q] = static_cast<int32_t>(std::lower_bound(used_.begin(), used_.end(), slots_[q]) - used_.begin());
  }
  void turn() {
    const int64_t count = block_.starts.back();
    const bool sorted = counts_.empty();
    if (sorted) places_.assign(used_.size(), 0);
    std::vector<int32_t>& place = sorted ? places_ : counts_;
    for (int64_t q = 0; q < count; ++q) ++place[static_cast<std::size_t>(keys_[static_cast<std::size_t>(q)])];
    starts_.assign(1, 0);
    column_slots_.clear();
    for (std::size_t s = 0; s < place.size(); ++s) {
      if (place[s] == 0) continue;
      column_slots_.push_back(sorted ? used_[s] : s);
      const int64_t start = starts_.back();
      starts_.push_back(start + place[s]);
      place[s] = static_cast<int32_t>(start);
    }
    entries_.resize(static_cast<std::size_t>(count));
    for (int64_t i = 0; i < block_.rows(); ++i)
      for (int64_t q = block_.starts[static_cast<std::size_t>(i)]; q < block_.starts[static_cast<std::size_t>(i) + 1]; ++q)
        entries_[static_cast<std::size_t>(place[static_cast<std::size_t>(keys_[static_cast<std::size_t>(q)])]++)] = {
            static_cast<int32_t>(i), block_.log[static_cast<std::size_t>(q)]};
    if (!sorted)
      for (const uint64_t s : column_slots_) counts_[s] = 0;
  }

  Block block_;
  std::vector<double> values_;
  std::vector<int32_t> keys_, counts_, places_;
  std::vector<uint64_t> slots_, used_, column_slots_;
  std::vector<int64_t> starts_;
  std::vector<ColumnEntry> entries_;
};

// Winners of `groups` groups from `group` on, [row][groups][16], into the output. Empty rows have label 0 and t = 0.
template <class Code, class SlotOf>
void write(const CodeOutput<Code>& out, const GcwsTask& task, const Block& block, const SlotOf&, int64_t group,
           int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, task.hashes - hash);
  const int64_t mask = (int64_t{1} << task.t_bits) - 1;
  for (int64_t i = 0; i < block.rows(); ++i) {
    Code* to = out.codes + (block.first + i) * task.hashes + hash;
    const int32_t* label = winners.label + i * groups * kLanes;
    if (task.t_bits == 0) {
      if (used == groups * kLanes && used % kLanes == 0) {
        for (int64_t g = 0; g < used; g += kLanes)
          for (int64_t j = 0; j < kLanes; ++j) to[g + j] = static_cast<Code>(label[g + j]);
      } else {
        for (int64_t j = 0; j < used; ++j) to[j] = static_cast<Code>(label[j]);
      }
    } else {
      const float* above = winners.above + i * groups * kLanes;
      for (int64_t j = 0; j < used; ++j)
        to[j] = static_cast<Code>(label[j] | (((static_cast<int64_t>(above[j]) - 1) & mask) << task.bits));
    }
  }
}

// Outputs of whole samples: labels are numbers of slots.
template <class Out>
constexpr bool kWholeSamples = std::is_same_v<Out, SampleOutput> || std::is_same_v<Out, MixOutput>;

template <class SlotOf>
void write(const SampleOutput& out, const GcwsTask& task, const Block& block, const SlotOf& slot_of, int64_t group,
           int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, task.hashes - hash);
  for (int64_t i = 0; i < block.rows(); ++i) {
    const bool empty = block.empty(i);
    const int64_t to = (block.first + i) * task.hashes + hash;
    const int64_t from = i * groups * kLanes;
    for (int64_t j = 0; j < used; ++j) {
      out.slots[to + j] = empty ? -1 : static_cast<int64_t>(slot_of(winners.label[from + j]));
      out.t[to + j] = empty ? 0 : static_cast<int64_t>(winners.above[from + j]) - 1;
    }
  }
}

template <class SlotOf>
void write(const MixOutput& out, const GcwsTask& task, const Block& block, const SlotOf& slot_of, int64_t group,
           int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, task.hashes - hash);
  for (int64_t i = 0; i < block.rows(); ++i) {
    uint8_t* to = out.codes + (block.first + i) * task.hashes + hash;
    if (block.empty(i)) {  // whose labels are of no slot
      std::fill_n(to, used, uint8_t{0});
      continue;
    }
    const int64_t from = i * groups * kLanes;
    for (int64_t j = 0; j < used; ++j) {
      const uint64_t slot = slot_of(winners.label[from + j]);
      const int64_t t = static_cast<int64_t>(winners.above[from + j]) - 1;
      const uint64_t h = mix64(slot + static_cast<uint64_t>(hash + j + 1) * kGolden64);
      to[j] = static_cast<uint8_t>(mix64(h + static_cast<uint64_t>(t) + kGolden64));
    }
  }
}

// First rows of blocks of `rows` rows, fewer where they hold too many nonzeros; and x.n.
template <class Rows>
std::vector<int64_t> split(const Rows& x, int64_t rows, int threads) {
  const int64_t most = std::max<int64_t>(kEntries / threads, 1);
  std::vector<int64_t> firsts{0};
  while (firsts.back() < x.n) {
    const int64_t first = firsts.back();
    int64_t last = std::min(x.n, first + rows);
    while (last > first + 1 && most_nonzeros(x, first, last) > most) last = first + (last - first) / 2;
    firsts.push_back(last);
  }
  return firsts;
}

template <class Rows, class Out>
void by_rows(const GcwsOps& ops, const Rows& x, const GcwsTask& task, const Out& out, int threads,
             Interrupted interrupted) {
  constexpr bool samples = kWholeSamples<Out>;
  const bool with_t = samples || task.t_bits > 0;
  const auto slot_of = [&](int32_t key) { return Table::slot_of(key, x.d); };
  std::vector<int32_t> label_of(static_cast<std::size_t>(2 * x.d));
  for (int32_t key = 0; key < 2 * x.d; ++key)
    label_of[static_cast<std::size_t>(key)] = samples ? key : code_of(slot_of(key), task.bits);

  const std::vector<int64_t> blocks = split(x, kRowsAtOnce, threads);
  // An item of work is a few blocks: a tile of the table stays in the cache while they pass by.
  const int64_t n_blocks = static_cast<int64_t>(blocks.size()) - 1;
  const int64_t together = std::clamp<int64_t>(n_blocks / (4 * threads), 1, kBlocksTogether);
  const int64_t groups = (task.hashes + kLanes - 1) / kLanes;
  const int64_t fitting = kTableBytes / (2 * x.d * kSetFloats * int64_t{sizeof(float)}) / kTileGroups * kTileGroups;
  for (int64_t start = 0; start < groups; start += fitting) {
    const int64_t end = std::min(groups, start + fitting);
    const Table table(ops, task.seed, x.d, start, end - start, threads, interrupted);
    if (!table.finished()) return;
    const bool finished = parallel((n_blocks + together - 1) / together, threads, interrupted, [&](const auto& next) {
      std::vector<Block> held(static_cast<std::size_t>(together));
      std::vector<std::vector<int32_t>> keys(held.size());
      std::vector<double> values;
      std::vector<int32_t> found, labels(kRowsAtOnce * kTileGroups * kLanes);
      std::vector<float> kept(with_t ? labels.size() : 0);
      const Winners winners{labels.data(), with_t ? kept.data() : nullptr};
      for (int64_t item; (item = next()) >= 0;) {
        const int64_t count = std::min(together, n_blocks - item * together);
        for (int64_t c = 0; c < count; ++c) {
          Block& block = held[static_cast<std::size_t>(c)];
          const auto number = static_cast<std::size_t>(item * together + c);
          block.read(x, task, ops, blocks[number], blocks[number + 1], int32_t{1}, static_cast<int32_t>(x.d), values,
                     found);
          keys[static_cast<std::size_t>(c)].assign(found.begin(), found.begin() + block.starts.back());
          block.flag_empty(out.empty);
        }
        for (int64_t group = start; group < end && !next.stopped(); group += kTileGroups) {
          const int64_t used = std::min(kTileGroups, end - group);
          const float* sets = table.tile((group - start) / kTileGroups);
          for (int64_t c = 0; c < count; ++c) {
            const Block& block = held[static_cast<std::size_t>(c)];
            const Entries entries{block.starts.data(), keys[static_cast<std::size_t>(c)].data(), block.log.data(),
                                  label_of.data(), block.rows()};
            ops.rows(entries, sets, used, winners);
            write(out, task, block, slot_of, group, used, winners);
          }
        }
      }
    });
    if (!finished) return;
  }
}

template <class Rows, class Out>
void by_columns(const GcwsOps& ops, const Rows& x, const GcwsTask& task, const Out& out, const Look& look, int threads,
                Interrupted interrupted) {
  constexpr bool samples = kWholeSamples<Out>;
  const bool with_t = samples || task.t_bits > 0;
  const bool counted = x.d <= kDirectFeatures && look.nonzeros >= x.d / 16;
  // As many rows as make a parameter worth its making.
  int64_t rows = kRowsInColumns;
  if (x.d <= kDirectFeatures) {
    const int64_t used = std::min((look.is_signed ? 2 : 1) * x.d, look.nonzeros);
    const int64_t row = std::max<int64_t>(1, look.nonzeros / x.n);
    rows = std::clamp<int64_t>(kUses * used / row, kRowsAtOnce, kRowsInColumns);
  }
  // The same number of blocks for each thread, of the same size; a little larger ones rather than twice as many.
  const int64_t share = (x.n + threads - 1) / threads, rounds = std::max<int64_t>(1, (share * 4 + 5 * rows - 1) / (5 * rows));
  rows = std::max<int64_t>(1, (share + rounds - 1) / rounds);
  const std::vector<int64_t> blocks = split(x, rows, threads);
  const int64_t groups = (task.hashes + kLanes - 1) / kLanes;
  parallel(static_cast<int64_t>(blocks.size()) - 1, threads, interrupted, [&](const auto& next) {
    Turned turned(x.d, counted);
    const auto slot_of = [&](int32_t column) { return turned.slot(column); };
    std::vector<int32_t> labels, column_labels;
    std::vector<float> best, kept;
    for (int64_t item; (item = next()) >= 0;) {
      turned.read(x, task, ops, blocks[static_cast<std::size_t>(item)], blocks[static_cast<std::size_t>(item) + 1]);
      const Block& block = turned.block();
      block.flag_empty(out.empty);
      column_labels.resize(turned.slots().size());
      for (std::size_t c = 0; c < column_labels.size(); ++c)
        column_labels[c] = samples ? static_cast<int32_t>(c) : code_of(turned.slots()[c], task.bits);
      labels.resize(static_cast<std::size_t>(block.rows() * kLanes));
      best.resize(labels.size());
      kept.resize(with_t ? labels.size() : 0);
      const Winners winners{labels.data(), with_t ? kept.data() : nullptr};
      const Columns columns = turned.columns(column_labels);
      for (int64_t group = 0; group < groups && !next.stopped(); ++group) {
        ops.columns(columns, task.seed, group, best.data(), winners);
        write(out, task, block, slot_of, group, 1, winners);
      }
    }
  });
}

}  // namespace

template <class Rows, class Out>
void gcws(const Isa& isa, const Rows& x, const GcwsTask& task, const Out& out, int threads,
          Interrupted interrupted) {
  if (x.n == 0) return;
  const Look look = look_at(x, task.center);
  const int64_t near = task.hashes <= kFewHashes ? 4 * kNearSlots : kNearSlots;
  const bool few_slots = x.d <= near / (look.is_signed ? 2 : 1);
  if (few_slots && look.nonzeros >= kTableUses * x.d)
    by_rows(isa.gcws, x, task, out, std::max(threads, 1), interrupted);
  else
    by_columns(isa.gcws, x, task, out, look, std::max(threads, 1), interrupted);
}

void concatenate(const int64_t* slots, const int64_t* t, int64_t n, const int64_t* counts, int64_t count, int64_t* out,
                 int threads) {
  int64_t total = 0;
  for (int64_t j = 0; j < count; ++j) total += counts[j];
  parallel(n, threads, nullptr, [&](const auto& next) {
    for (int64_t i; (i = next()) >= 0;) {
      int64_t q = i * total;
      for (int64_t j = 0; j < count; ++j) {
        uint64_t h = 0;
        for (const int64_t end = q + counts[j]; q < end; ++q) {
          h = mix64(h + static_cast<uint64_t>(slots[q]) + kGolden64);
          h = mix64(h + static_cast<uint64_t>(t[q]) + kGolden64);
        }
        out[i * count + j] = static_cast<int64_t>(h >> 1);
      }
    }
  });
}

#define KERNELSKETCH_INSTANTIATE_OUT(Rows, Out) \
  template void gcws(const Isa&, const Rows&, const GcwsTask&, const Out&, int, Interrupted);
#define KERNELSKETCH_INSTANTIATE(Rows)                      \
  KERNELSKETCH_INSTANTIATE_OUT(Rows, CodeOutput<uint8_t>)   \
  KERNELSKETCH_INSTANTIATE_OUT(Rows, CodeOutput<uint16_t>)  \
  KERNELSKETCH_INSTANTIATE_OUT(Rows, CodeOutput<uint32_t>)  \
  KERNELSKETCH_INSTANTIATE_OUT(Rows, SampleOutput)          \
  KERNELSKETCH_INSTANTIATE_OUT(Rows, MixOutput)
using CsrFloat32 = Csr<float, int32_t>;
using CsrFloat64 = Csr<float, int64_t>;
using CsrDouble32 = Csr<double, int32_t>;
using CsrDouble64 = Csr<double, int64_t>;
KERNELSKETCH_INSTANTIATE(Dense<float>)
KERNELSKETCH_INSTANTIATE(Dense<double>)
KERNELSKETCH_INSTANTIATE(CsrFloat32)
KERNELSKETCH_INSTANTIATE(CsrFloat64)
KERNELSKETCH_INSTANTIATE(CsrDouble32)
KERNELSKETCH_INSTANTIATE(CsrDouble64)

}  // namespace kernelsketch
