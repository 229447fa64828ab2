// An array that is the map of a file. Pages of the file that were read count as memory of the process until they are
// released; the system maps them again when they are needed.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace kernelsketch {

class FileMap {
 public:
  FileMap() = default;  // stands for an array in memory, of which nothing is released
  FileMap(const void* data, int64_t size)
      : data_(reinterpret_cast<uintptr_t>(data)), size_(static_cast<uintptr_t>(size)) {}
  explicit operator bool() const { return size_ > 0; }

  // Releases the pages from `first` to `last`, and those that the system maps around the page that is read.
  void release(const void* first, const void* last) const {
    if (size_ > 0) release_pages(reinterpret_cast<uintptr_t>(first), reinterpret_cast<uintptr_t>(last));
  }

 private:
  static constexpr uintptr_t kAround = 2 << 20;  // bytes that Linux may map at a time: 64 KiB to 2 MiB
  static uintptr_t round_up(uintptr_t x, uintptr_t to) { return (x + to - 1) / to * to; }
  void release_pages(uintptr_t first, uintptr_t last) const {
#if defined(MADV_DONTNEED)
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), around = std::max(page, kAround);
    const uintptr_t begin = std::max(data_, first / around * around);
    const uintptr_t end = std::min(round_up(data_ + size_, page), round_up(last, around));
    if (data_ % page == 0 && begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
#else
    (void)first, (void)last;
#endif
  }
  uintptr_t data_ = 0, size_ = 0;
};

}  // namespace kernelsketch
