// Arrays that grow, and that Python may take over.
//
// Memory that is not written to takes no room. A process that writes to a page for the first time waits for it, in a
// virtual machine longer than it takes to fill the page, so large arrays have huge pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kernelsketch {

inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

// Memory of whole huge pages, if the system has such pages; nullptr if it has not, or has no memory.
inline void* huge_pages([[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  bytes = (bytes + kHugePage - 1) & ~(kHugePage - 1);
  void* const memory = std::aligned_alloc(kHugePage, bytes);
  if (memory) (void)madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
#else
  return nullptr;
#endif
}

// Numbers one after the other; memory that is added is not initialized.
template <class T>
class Growing {
 public:
  Growing() = default;
  Growing(Growing&& other) noexcept : data_(other.data_), size_(other.size_), room_(other.room_) { other.release(); }
  Growing& operator=(Growing&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~Growing() { std::free(data_); }

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  void clear() { size_ = 0; }
  void set_size(int64_t size) { size_ = size; }
  // Makes room for so many numbers, and keeps those that there are.
  void grow(int64_t room) {
    if (room > room_) allocate(std::max(room, 2 * room_));
  }
  void push(T number) {
    grow(size_ + 1);
    data_[size_++] = number;
  }
  // Gives back the memory that is not used.
  void shrink() { allocate(std::max<int64_t>(size_, 1)); }
  // Leaves the memory to the caller, who frees it.
  T* release() {
    size_ = room_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void allocate(int64_t room) {
    const auto bytes = static_cast<std::size_t>(room) * sizeof(T);
    void* memory = room > room_ && bytes >= kHugePage ? huge_pages(bytes) : nullptr;
    if (memory) {
      if (size_) std::memcpy(memory, data_, size_ * sizeof(T));
      std::free(data_);
    } else {
      memory = std::realloc(data_, bytes);
      if (!memory) throw std::bad_alloc();
    }
    data_ = static_cast<T*>(memory);
    room_ = room;
  }

  T* data_ = nullptr;
  int64_t size_ = 0, room_ = 0;
};

}  // namespace kernelsketch
