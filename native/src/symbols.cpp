// Symbols for the codes of neighbouring hashes: numbers for pairs of codes, then for pairs of these numbers.
#include <algorithm>
#include <atomic>
#include <vector>

#include "kernelsketch/newton.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRows = 1024;  // that are numbered for one pair, and then for the next
constexpr int64_t kGroups = 8;   // of an item: they are in the same cache line of a row

// The numbers of pairs, given as they come.
class PairNumbers {
 public:
  PairNumbers(int64_t width, int64_t most)
      : width_(width), most_(most), numbers_(static_cast<std::size_t>(width * width), kNone) {}
  int64_t count() const { return static_cast<int64_t>(used_.size()); }
  void forget() {
    for (const std::size_t at : used_) numbers_[at] = kNone;
    used_.clear();
  }
  // Numbers the pairs of some rows. Calls `found(i)` for each that is new; returns false if there are too many.
  template <class Left, class Right, class Found>
  bool number(int64_t n, const Left& left, const Right& right, uint16_t* out, const Found& found) {
    for (int64_t i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(left(i) * width_ + right(i));
      if (numbers_[at] == kNone) {
        if (count() == most_) return false;
        found(i);
        numbers_[at] = static_cast<uint16_t>(count());
        used_.push_back(at);
      }
      out[i] = numbers_[at];
    }
    return true;
  }

 private:
  static constexpr uint16_t kNone = 65535;
  int64_t width_, most_;
  std::vector<uint16_t> numbers_;  // [code][code]
  std::vector<std::size_t> used_;
};

// The numbers of a group: a level for pairs, one for pairs of pairs, and so on. The last has the symbols.
class GroupNumbers {
 public:
  GroupNumbers(int64_t width, int64_t together, int64_t most) {
    int64_t most_pairs = kMostPairs;
    for (int64_t pairs = together / 2; pairs > 0; pairs /= 2, most_pairs *= 4) {
      const int64_t of_level = pairs == 1 ? most : std::min(most, most_pairs);
      levels_.emplace_back(static_cast<std::size_t>(pairs), PairNumbers(width, of_level));
      width = of_level;
    }
  }
  int64_t count() const { return levels_.back()[0].count(); }
  void forget() {
    for (auto& level : levels_)
      for (PairNumbers& pair : level) pair.forget();
  }

  template <class Code, class Found>
  bool number(const Code* const* rows, int64_t n, int64_t members, uint16_t* out, const Found& found) {
    uint16_t numbers[2][kMostTogether / 2][kRows];
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const auto& before = numbers[(level + 1) % 2];
      const auto no_one = [](int64_t) {};
      for (std::size_t p = 0; p < levels_[level].size(); ++p) {
        const bool last = level + 1 == levels_.size();
        uint16_t* to = last ? out : numbers[level % 2][p];
        const auto of_codes = [&](int64_t j) {
          return [=](int64_t i) { return j < members ? static_cast<int64_t>(rows[i][j]) : 0; };
        };
        const auto of_pairs = [&](std::size_t j) { return [of = before[j]](int64_t i) { return int64_t{of[i]}; }; };
        const auto number = [&](const auto& left, const auto& right) {
          return last ? levels_[level][p].number(n, left, right, to, found)
                      : levels_[level][p].number(n, left, right, to, no_one);
        };
        const int64_t j = 2 * static_cast<int64_t>(p);
        if (!(level == 0 ? number(of_codes(j), of_codes(j + 1)) : number(of_pairs(2 * p), of_pairs(2 * p + 1))))
          return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<PairNumbers>> levels_;
};

}  // namespace

template <class Code>
bool make_symbols(const CodeRows<Code>& x, int64_t width, int64_t together, int64_t most, uint16_t* out,
                  int64_t* counts, int32_t* first, int threads, Interrupted interrupted) {
  const int64_t groups = (x.k + together - 1) / together;
  std::atomic<bool> fits{true};
  parallel((groups + kGroups - 1) / kGroups, threads, interrupted, [&](const auto& next) {
    std::vector<GroupNumbers> numbers(kGroups, GroupNumbers(width, together, most));
    const Code* rows[kRows];
    int64_t index[kRows];
    uint16_t symbols[kRows];
    for (int64_t item; fits && (item = next()) >= 0;) {
      const int64_t begin = item * kGroups, end = std::min(groups, begin + kGroups);
      for (int64_t row = 0; row < x.n && fits && !next.stopped(); row += kRows)
        for (int64_t g = begin; g < end && fits; ++g) {
          int64_t full = 0;
          for (int64_t i = row; i < std::min(x.n, row + kRows); ++i) {
            if (x.empty[i]) {
              out[i * groups + g] = 0;
              continue;
            }
            rows[full] = x.row(i) + g * together;
            index[full++] = i;
          }
          GroupNumbers& of_group = numbers[static_cast<std::size_t>(g - begin)];
          const auto found = [&](int64_t i) { first[g * most + of_group.count()] = static_cast<int32_t>(index[i]); };
          if (!of_group.number(rows, full, std::min(together, x.k - g * together), symbols, found)) fits = false;
          for (int64_t i = 0; i < full; ++i) out[index[i] * groups + g] = symbols[i];
        }
      for (int64_t g = begin; g < end; ++g) {
        counts[g] = numbers[static_cast<std::size_t>(g - begin)].count();
        numbers[static_cast<std::size_t>(g - begin)].forget();
      }
    }
  });
  return fits;
}

#define KERNELSKETCH_INSTANTIATE(Code)                                                                          \
  template bool make_symbols(const CodeRows<Code>&, int64_t, int64_t, int64_t, uint16_t*, int64_t*, int32_t*, int, \
                             Interrupted);
KERNELSKETCH_INSTANTIATE(uint8_t)
KERNELSKETCH_INSTANTIATE(uint16_t)

}  // namespace kernelsketch
