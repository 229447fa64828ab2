// A hash table with open addressing: places are looked at one after the other, from the one that the hash names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/rng.h"

namespace kernelsketch {

inline uint64_t hash_of(int64_t key) { return static_cast<uint64_t>(key) * KS_GOLDEN64; }

// Numbers by key. hash_of(key) has its best mixed bits on top. Keys that are not there have the number `absent`, which
// none may be entered with.
template <class Key, class Number>
class HashTable {
 public:
  static constexpr int64_t kPlaceBytes = sizeof(std::pair<Key, Number>);

  explicit HashTable(Number absent) : absent_(absent) {}

  // Forgets all keys; there are at least so many places, 16 or more.
  void clear(int64_t places) {
    shift_ = 60;
    for (int64_t size = 16; size < places; size *= 2) --shift_;
    mask_ = (std::size_t{1} << (64 - shift_)) - 1;
    slots_.assign(mask_ + 1, Slot{{}, absent_});
  }
  int64_t places() const { return static_cast<int64_t>(mask_) + 1; }
  Number operator[](const Key& key) const { return slots_[find(key)].number; }
  // Where the number of a key is, or is to be written.
  Number& enter(const Key& key) {
    Slot& slot = slots_[find(key)];
    slot.key = key;
    return slot.number;
  }
  // Twice as many places.
  void grow() {
    std::vector<Slot> before(2 * slots_.size(), Slot{{}, absent_});
    before.swap(slots_);
    mask_ = slots_.size() - 1;
    --shift_;
    for (const Slot& slot : before)
      if (slot.number != absent_) enter(slot.key) = slot.number;
  }

 private:
  struct Slot {
    Key key;
    Number number;
  };
  std::size_t find(const Key& key) const {
    for (std::size_t i = hash_of(key) >> shift_;; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.key == key || slot.number == absent_) return i & mask_;
    }
  }
  Number absent_;
  int shift_ = 64;
  std::size_t mask_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace kernelsketch
