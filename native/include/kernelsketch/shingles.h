// Shingles: from texts to sparse rows of 62-bit features and their counts, as reference/shingles.py specifies.
//
// A unit (a word, or a character) is hashed to 64 bits, u. A shingle of n units has p = sum of u_i G^(n-1-i) modulo
// 2^64, which rolls along the text, and the feature mix64(p + n) >> 2. Features of different shingles are equal with a
// probability of about 2^-62. All arithmetic is in integers, so there is one implementation for all instruction sets.
//
// Time is linear in the bytes: features are uniform, so a row is sorted by its leading bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace kernelsketch {

struct ShingleParams {
  bool words;            // units are words; otherwise characters
  int64_t n_min, n_max;  // units of a shingle
  bool lowercase;
};

// Numbers one after the other; memory that is added is not initialized.
template <class T>
class Growing {
 public:
  T* data() const { return data_.get(); }
  int64_t size() const { return size_; }
  void clear() { size_ = 0; }
  // Makes room for so many numbers, and keeps those that there are.
  void grow(int64_t room) {
    if (room <= room_) return;
    room_ = std::max(room, 2 * room_);
    std::unique_ptr<T[]> wider(new T[static_cast<std::size_t>(room_)]);
    if (size_) std::memcpy(wider.get(), data_.get(), static_cast<std::size_t>(size_) * sizeof(T));
    data_ = std::move(wider);
  }
  void set_size(int64_t size) { size_ = size; }

 private:
  std::unique_ptr<T[]> data_;
  int64_t size_ = 0, room_ = 0;
};

// Rows of successive texts.
struct ShingleRows {
  std::vector<int64_t> sizes;  // features of each row
  Growing<int64_t> features;
  Growing<float> counts;
};

// Rows of n texts, the i-th from ends[i] to ends[i + 1], in parts that follow each other. The result does not depend on
// the number of threads. Returns nothing if it was interrupted.
std::vector<ShingleRows> shingles(const char* text, const int64_t* ends, int64_t n, const ShingleParams& params,
                                  int threads, bool (*interrupted)());

}  // namespace kernelsketch
