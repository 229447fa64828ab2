// Lines of a text, shared out to threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kernelsketch {

// After the next line end at or behind p; `end` if there is none.
inline const char* next_line(const char* p, const char* end) {
  const void* const lf = std::memchr(p, '\n', end - p);
  return lf ? static_cast<const char*>(lf) + 1 : end;
}

// Bounds of parts that are about equally long and end at line ends: one more than there are parts.
inline std::vector<const char*> line_parts(const char* text, int64_t size, int64_t parts) {
  std::vector<const char*> bounds{text};
  for (int64_t i = 1; i < parts; ++i)
    bounds.push_back(next_line(std::max(text + size * i / parts, bounds.back()), text + size));
  bounds.push_back(text + size);
  return bounds;
}

// Elements of an array that lie further on close ranks.
template <class T>
void close_ranks(T* to, const T* from, int64_t count) {
  if (to != from) std::memmove(to, from, count * sizeof(T));
}

}  // namespace kernelsketch
