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

constexpr int64_t kTableBytes = int64_t{64} << 20;     // of parameters, at most
constexpr int64_t kDirectFeatures = int64_t{1} << 21;  // slots are numbered by an array up to here, else by sorting
constexpr int64_t kNearSlots = 1024;      // up to here rows walk a table: a tile of it, 1 KiB a slot, is in the L2 cache
constexpr int64_t kFewHashes = 128;       // too few to pay for turning rows into columns: up to four times as many slots
constexpr int64_t kRowsAtOnce = 64;       // of a block that walks a table
constexpr int64_t kBlocksTogether = 16;   // of them, while a tile of the table stays in the cache
constexpr int64_t kRowsInColumns = 8192;  // of a block in columns, at most: its running minima take 1 MiB
constexpr int64_t kUses = 32;             // of a generated parameter: the rows of a block that share it, where there are
constexpr int64_t kEntries = int64_t{1} << 21;  // nonzeros in work, over all threads

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

// Marks (1 positive, 2 negative) of the slots that occur.
template <class T>
void mark_used(const Dense<T>& x, const GcwsOps& ops, const double* center, std::vector<uint8_t>& marks) {
  const auto d = static_cast<std::size_t>(x.d);
  std::vector<T> low(x.data, x.data + d), high = low;
  for (int64_t i = 1; i < x.n; ++i) {
    if constexpr (std::is_same_v<T, float>)
      ops.extremes_float(x.data + i * x.stride, x.d, low.data(), high.data());
    else
      ops.extremes_double(x.data + i * x.stride, x.d, low.data(), high.data());
  }
  for (std::size_t f = 0; f < d; ++f) {
    const double zero = center ? center[f] : 0;
    marks[f] = static_cast<uint8_t>((static_cast<double>(high[f]) > zero) | ((static_cast<double>(low[f]) < zero) << 1));
  }
}
template <class T, class Index>
void mark_used(const Csr<T, Index>& x, const GcwsOps&, const double*, std::vector<uint8_t>& marks) {
  for (int64_t q = 0; q < x.indptr[x.n]; ++q)
    marks[static_cast<std::size_t>(x.indices[q])] |= static_cast<uint8_t>((x.data[q] > 0) | ((x.data[q] < 0) << 1));
}

// The slots in use, ascending, and their numbers.
class Slots {
 public:
  // By an array over all slots: mark, then number.
  explicit Slots(int64_t features) : numbers_(static_cast<std::size_t>(2 * features), -1) {}
  Slots() = default;
  void mark(uint64_t slot) { numbers_[slot] = 0; }
  void number_marked() {
    used_.clear();
    for (std::size_t s = 0; s < numbers_.size(); ++s)
      if (numbers_[s] == 0) {
        numbers_[s] = static_cast<int32_t>(used_.size());
        used_.push_back(s);
      }
  }
  void clear() {
    for (const uint64_t s : used_) numbers_[s] = -1;
  }
  // By sorting: for vocabularies of any size.
  void number_sorted(const std::vector<uint64_t>& slots) {
    used_ = slots;
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  }
  int32_t number(uint64_t slot) const {
    if (!numbers_.empty()) return numbers_[slot];
    return static_cast<int32_t>(std::lower_bound(used_.begin(), used_.end(), slot) - used_.begin());
  }
  const std::vector<uint64_t>& used() const { return used_; }

 private:
  std::vector<int32_t> numbers_;
  std::vector<uint64_t> used_;
};

// The parameters of all slots in use, tile by tile: [tile][slot][group of the tile][kSetFloats].
class Table {
 public:
  Table(const GcwsOps& ops, uint64_t seed, const std::vector<uint64_t>& slots, int64_t groups, int threads,
        Interrupted interrupted)
      : slots_(static_cast<int64_t>(slots.size())), groups_(groups), sets_(slots_ * groups * kSetFloats) {
    const int64_t tiles = (groups + kTileGroups - 1) / kTileGroups;
    finished_ = parallel(tiles, threads, interrupted, [&](const auto& next) {
      for (int64_t tile; (tile = next()) >= 0;)
        ops.parameters(seed, slots.data(), slots_, tile * kTileGroups, tile_groups(tile), sets_.get() + start(tile));
    });
  }
  bool finished() const { return finished_; }
  int64_t tile_groups(int64_t tile) const { return std::min(kTileGroups, groups_ - tile * kTileGroups); }
  const float* tile(int64_t tile) const { return sets_.get() + start(tile); }

 private:
  int64_t start(int64_t tile) const { return tile * kTileGroups * slots_ * kSetFloats; }
  int64_t slots_, groups_;
  bool finished_ = true;
  Buffer<float> sets_;
};

// The nonzeros of a block of rows, and the same turned slot by slot.
struct Block {
  int64_t first = 0, last = 0;  // rows
  std::vector<int64_t> starts;
  std::vector<double> values;
  std::vector<uint64_t> slots;
  std::vector<int32_t> features, set, label;
  std::vector<float> log;

  std::vector<int64_t> column_starts, place;
  std::vector<int32_t> column_label, column_row;
  std::vector<float> column_log;
  std::vector<uint64_t> column_slots;

  template <class T>
  void read(const Dense<T>& x, const GcwsTask& task, const GcwsOps& ops, int64_t from, int64_t to) {
    first = from;
    last = to;
    const auto most = static_cast<std::size_t>((last - first) * x.d + 8);  // 8: room for a whole vector at the end
    values.resize(most);
    features.resize(most);
    starts.assign(1, 0);
    for (int64_t i = first; i < last; ++i) {
      double* found = values.data() + starts.back();
      int32_t* ids = features.data() + starts.back();
      if constexpr (std::is_same_v<T, float>)
        starts.push_back(starts.back() + ops.nonzeros_float(x.data + i * x.stride, task.center, x.d, found, ids));
      else
        starts.push_back(starts.back() + ops.nonzeros_double(x.data + i * x.stride, task.center, x.d, found, ids));
    }
    slots.resize(static_cast<std::size_t>(starts.back()));
    for (std::size_t q = 0; q < slots.size(); ++q)
      slots[q] = 2 * static_cast<uint64_t>(features[q]) + (values[q] < 0);
    take_logs(task, ops);
  }

  template <class T, class Index>
  void read(const Csr<T, Index>& x, const GcwsTask& task, const GcwsOps& ops, int64_t from, int64_t to) {
    first = from;
    last = to;
    const auto most = static_cast<std::size_t>(x.indptr[last] - x.indptr[first]);
    values.resize(most);
    slots.resize(most);
    starts.assign(1, 0);
    int64_t count = 0;
    for (int64_t i = first; i < last; ++i) {
      for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q) {
        values[static_cast<std::size_t>(count)] = static_cast<double>(x.data[q]);
        slots[static_cast<std::size_t>(count)] = 2 * static_cast<uint64_t>(x.indices[q]) + (x.data[q] < 0);
        count += x.data[q] != 0;
      }
      starts.push_back(count);
    }
    slots.resize(static_cast<std::size_t>(count));
    take_logs(task, ops);
  }

  void take_logs(const GcwsTask& task, const GcwsOps& ops) {
    log.resize(slots.size());
    ops.logs(values.data(), static_cast<int64_t>(slots.size()), task.p, log.data());
  }

  template <class Label>
  void set_labels(const Slots& numbers, const Label& label_of) {
    set.resize(slots.size());
    label.resize(slots.size());
    for (std::size_t q = 0; q < slots.size(); ++q) {
      set[q] = numbers.number(slots[q]);
      label[q] = label_of(slots[q], set[q]);
    }
  }

  Entries entries() const {
    return {starts.data(), set.data(), log.data(), label.data(), static_cast<int64_t>(starts.size()) - 1};
  }

  // `used`: the slots that the sets number, ascending.
  template <class Label>
  void turn(const std::vector<uint64_t>& used, const Label& label_of) {
    place.assign(used.size() + 1, 0);
    for (const int32_t s : set) ++place[static_cast<std::size_t>(s) + 1];
    column_starts.assign(1, 0);
    column_label.clear();
    column_slots.clear();
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (place[s + 1] > 0) {
        column_label.push_back(label_of(used[s], static_cast<int32_t>(s)));
        column_slots.push_back(used[s]);
        column_starts.push_back(column_starts.back() + place[s + 1]);
      }
      place[s + 1] += place[s];
    }
    column_row.resize(set.size());
    column_log.resize(set.size());
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      for (int64_t q = starts[i]; q < starts[i + 1]; ++q) {
        const auto to = static_cast<std::size_t>(place[static_cast<std::size_t>(set[static_cast<std::size_t>(q)])]++);
        column_row[to] = static_cast<int32_t>(i);
        column_log[to] = log[static_cast<std::size_t>(q)];
      }
  }

  Columns columns() const {
    return {column_starts.data(), column_slots.data(), column_label.data(), column_row.data(), column_log.data(),
            static_cast<int64_t>(column_slots.size()), last - first};
  }

  void flag_empty(uint8_t* empty) const {
    for (int64_t i = first; i < last; ++i) {
      const auto row = static_cast<std::size_t>(i - first);
      empty[i] = starts[row] == starts[row + 1];
    }
  }
};

// Winners of `groups` groups from `group` on, [row][groups][16], into the output. Labels of empty rows are 0.
template <class Code>
void write(const CodeOutput<Code>& out, const GcwsTask& task, const Block& block, const Slots&, int64_t group,
           int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, task.hashes - hash);
  const int64_t mask = (int64_t{1} << task.t_bits) - 1;
  for (std::size_t i = 0; i + 1 < block.starts.size(); ++i) {
    Code* to = out.codes + (block.first + static_cast<int64_t>(i)) * task.hashes + hash;
    const int32_t* label = winners.label + static_cast<int64_t>(i) * groups * kLanes;
    if (task.t_bits == 0) {
      if (used == groups * kLanes && used % kLanes == 0) {
        for (int64_t g = 0; g < used; g += kLanes)
          for (int64_t j = 0; j < kLanes; ++j) to[g + j] = static_cast<Code>(label[g + j]);
      } else {
        for (int64_t j = 0; j < used; ++j) to[j] = static_cast<Code>(label[j]);
      }
    } else {
      const float* t = winners.t + static_cast<int64_t>(i) * groups * kLanes;
      for (int64_t j = 0; j < used; ++j)
        to[j] = static_cast<Code>(label[j] | ((static_cast<int64_t>(t[j]) & mask) << task.bits));
    }
  }
}

void write(const SampleOutput& out, const GcwsTask& task, const Block& block, const Slots& numbers, int64_t group,
           int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, task.hashes - hash);
  for (std::size_t i = 0; i + 1 < block.starts.size(); ++i) {
    const bool empty = block.starts[i] == block.starts[i + 1];
    const int64_t to = (block.first + static_cast<int64_t>(i)) * task.hashes + hash;
    const int64_t from = static_cast<int64_t>(i) * groups * kLanes;
    for (int64_t j = 0; j < used; ++j) {
      out.slots[to + j] =
          empty ? -1 : static_cast<int64_t>(numbers.used()[static_cast<std::size_t>(winners.label[from + j])]);
      out.t[to + j] = empty ? 0 : static_cast<int64_t>(winners.t[from + j]);
    }
  }
}

}  // namespace

template <class Rows, class Out>
void gcws(const Isa& isa, const Rows& x, const GcwsTask& task, const Out& out, int threads,
          Interrupted interrupted) {
  constexpr bool samples = std::is_same_v<Out, SampleOutput>;
  const GcwsOps& ops = isa.gcws;
  const int64_t groups = (task.hashes + kLanes - 1) / kLanes;
  const bool with_t = samples || task.t_bits > 0, direct = x.d <= kDirectFeatures;
  const auto label_of = [&](uint64_t slot, int32_t number) { return samples ? number : code_of(slot, task.bits); };

  // The slots of the whole input, if their parameters fit in a table.
  Slots all;
  bool with_table = false;
  int64_t rows_in_columns = kRowsInColumns;
  if (direct) {
    std::vector<uint8_t> marks(static_cast<std::size_t>(x.d));
    mark_used(x, ops, task.center, marks);
    all = Slots(x.d);
    for (std::size_t f = 0; f < marks.size(); ++f)
      for (uint64_t negative : {0, 1})
        if (marks[f] >> negative & 1) all.mark(2 * f + negative);
    all.number_marked();
    const int64_t used = static_cast<int64_t>(all.used().size());
    with_table = used * groups * kSetFloats * int64_t{sizeof(float)} <= kTableBytes &&
                 (used <= kNearSlots || (task.hashes <= kFewHashes && used <= kNearSlots * 4));
    // In columns: as many rows as make a parameter worth its making.
    const int64_t row = std::max<int64_t>(1, most_nonzeros(x, 0, x.n) / x.n);
    rows_in_columns = std::clamp<int64_t>(kUses * used / row, kRowsAtOnce, kRowsInColumns);
  }
  static const std::vector<uint64_t> none;
  const Table table(ops, task.seed, with_table ? all.used() : none, groups, threads, interrupted);
  if (!table.finished()) return;
  // Blocks of rows.
  const int64_t most_rows = with_table ? kRowsAtOnce : rows_in_columns;
  const int64_t most_entries = std::max<int64_t>(kEntries / std::max(threads, 1), 1);
  std::vector<int64_t> blocks{0};
  const int64_t share = with_table ? x.n : (x.n + threads - 1) / threads;
  while (blocks.back() < x.n) {
    const int64_t first = blocks.back();
    int64_t last = std::min(x.n, first + std::min(most_rows, std::max<int64_t>(share, 1)));
    while (last > first + 1 && most_nonzeros(x, first, last) > most_entries) last = first + (last - first) / 2;
    blocks.push_back(last);
  }

  // An item of work is a few blocks: a tile of the table stays in the cache while they pass by.
  const int64_t n_blocks = static_cast<int64_t>(blocks.size()) - 1;
  const int64_t together =
      with_table ? std::clamp<int64_t>(n_blocks / (4 * std::max(threads, 1)), 1, kBlocksTogether) : 1;
  const int64_t step = with_table ? kTileGroups : 1;

  parallel((n_blocks + together - 1) / together, threads, interrupted, [&](const auto& next) {
    std::vector<Block> held(static_cast<std::size_t>(together));
    Slots own;
    if (!with_table && direct) own = Slots(x.d);
    const Slots& numbers = with_table ? all : own;
    std::vector<int32_t> labels;
    std::vector<float> best, kept;
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t count = std::min(together, n_blocks - item * together);
      int64_t most = 0;
      for (int64_t c = 0; c < count; ++c) {
        Block& block = held[static_cast<std::size_t>(c)];
        const auto number = static_cast<std::size_t>(item * together + c);
        block.read(x, task, ops, blocks[number], blocks[number + 1]);
        block.flag_empty(out.empty);
        if (!with_table) {
          if (direct) {
            for (const uint64_t slot : block.slots) own.mark(slot);
            own.number_marked();
          } else {
            own.number_sorted(block.slots);
          }
        }
        block.set_labels(numbers, label_of);
        if (!with_table) block.turn(numbers.used(), label_of);
        most = std::max(most, block.last - block.first);
      }
      labels.resize(static_cast<std::size_t>(most * step * kLanes));
      kept.resize(with_t ? labels.size() : 0);
      best.resize(with_table ? 0 : labels.size());
      const Winners winners{labels.data(), with_t ? kept.data() : nullptr};
      for (int64_t group = 0; group < groups && !next.stopped(); group += step) {
        const int64_t used = std::min(step, groups - group);
        const float* sets = with_table ? table.tile(group / kTileGroups) : nullptr;
        for (int64_t c = 0; c < count; ++c) {
          const Block& block = held[static_cast<std::size_t>(c)];
          if (with_table)
            ops.rows(block.entries(), sets, used, winners);
          else
            ops.columns(block.columns(), task.seed, group, best.data(), winners);
          write(out, task, block, numbers, group, used, winners);
        }
      }
      if (!with_table && direct) own.clear();
    }
  });
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
  KERNELSKETCH_INSTANTIATE_OUT(Rows, SampleOutput)
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
