// Symbols for the codes of neighbouring hashes: a hash table per group numbers their combinations as they come.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/rng.h"
#include "hash_table.h"
#include "kernelsketch/compiler.h"
#include "kernelsketch/newton.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRows = 1024;           // after which a thread looks whether to go on
constexpr int64_t kAhead = 16;            // rows: they are too far apart to be fetched in time unasked
constexpr int64_t kTableBytes = 4 << 20;  // of the hash tables of a thread, where codes are in a file
constexpr int64_t kLineBytes = 64;        // the groups of an item are in the same cache line of a row, if threads allow

// The codes of a group in one number.
struct Combination {
  uint64_t low = 0, high = 0;
  bool operator==(const Combination&) const = default;
};
uint64_t hash_of(const Combination& key) { return (key.low * KS_GOLDEN64 ^ key.high) * KS_GOLDEN64; }

template <class Code, class Members>
Combination combination(const Code* codes, Members members) {
  uint64_t words[2] = {};
  std::memcpy(words, codes, members * sizeof(Code));
  return {words[0], words[1]};
}

// The numbers of the combinations of one group.
class Numbers {
 public:
  Numbers() { table_.clear(kFirstPlaces); }
  int64_t count() const { return count_; }
  static int64_t bytes_for(int64_t most) {
    int64_t places = kFirstPlaces;
    while (places < 2 * (most + 1)) places *= 2;
    return places * Table::kPlaceBytes;
  }
  // The number of a combination. `found()` is called for a new one.
  template <class Found>
  uint16_t of(const Combination& key, const Found& found) {
    const int32_t number = table_[key];
    if (number >= 0) return static_cast<uint16_t>(number);
    if (2 * (count_ + 1) > table_.places()) table_.grow();
    found();
    table_.enter(key) = count_;
    return static_cast<uint16_t>(count_++);
  }

 private:
  static constexpr int64_t kFirstPlaces = 1 << 10;
  using Table = HashTable<Combination, int32_t>;
  Table table_{-1};
  int32_t count_ = 0;
};

}  // namespace

template <class Code>
bool make_symbols(const CodeRows<Code>& x, int64_t together, int64_t most, uint16_t* out, int64_t* counts,
                  int32_t* first, int threads, Interrupted interrupted, bool mapped) {
  const int64_t groups = (x.k + together - 1) / together;
  int64_t in_line = kLineBytes / (together * static_cast<int64_t>(sizeof(Code)));
  if (mapped) in_line = std::clamp<int64_t>(kTableBytes / Numbers::bytes_for(most), 1, in_line);
  const FileMap from = mapped ? FileMap(x.codes, x.n * x.k * static_cast<int64_t>(sizeof(Code))) : FileMap();
  const FileMap to_file = mapped ? FileMap(out, x.n * groups * 2) : FileMap();
  const int64_t at_once = std::clamp<int64_t>(groups / threads, 1, in_line);
  std::atomic<bool> fits{true};
  parallel((groups + at_once - 1) / at_once, threads, interrupted, [&](const auto& next) {
    for (int64_t item; fits && (item = next()) >= 0;) {
      const int64_t begin = item * at_once, end = std::min(groups, begin + at_once);
      std::vector<Numbers> numbers(at_once);
      const auto number = [&](const auto& members) {  // of rows whose groups are all complete, or not
        for (int64_t i = 0; i < x.n; ++i) {
          if (i % kRows == 0) {
            if (!fits || next.stopped()) return;
            from.release(x.row(std::max<int64_t>(0, i - kRows)), x.row(i));
            to_file.release(out + std::max<int64_t>(0, i - kRows) * groups, out + i * groups);
          }
          if (i + kAhead < x.n) prefetch(x.row(i + kAhead) + begin * together);
          uint16_t* to = out + i * groups + begin;
          for (int64_t g = begin; g < end; ++g, ++to) {
            Numbers& of_group = numbers[(g - begin)];
            *to = x.empty[i] ? uint16_t{0} : of_group.of(combination(x.row(i) + g * together, members(g)), [&] {
              if (of_group.count() < most)
                first[g * most + of_group.count()] = static_cast<int32_t>(i);
              else
                fits = false;
            });
          }
        }
      };
      // With constant numbers of codes, the compiler loads them in one piece.
      if (end * together > x.k)
        number([&](int64_t g) { return std::min(together, x.k - g * together); });
      else if (together == 8)
        number([](int64_t) { return std::integral_constant<int64_t, 8>{}; });
      else if (together == 4)
        number([](int64_t) { return std::integral_constant<int64_t, 4>{}; });
      else
        number([](int64_t) { return std::integral_constant<int64_t, 2>{}; });
      for (int64_t g = begin; g < end; ++g) counts[g] = numbers[(g - begin)].count();
    }
  });
  return fits;
}

#define KS_INSTANTIATE(Code)                                                                                           \
  template bool make_symbols(const CodeRows<Code>&, int64_t, int64_t, uint16_t*, int64_t*, int32_t*, int, Interrupted, \
                             bool);
KS_INSTANTIATE(uint8_t)
KS_INSTANTIATE(uint16_t)

}  // namespace kernelsketch
