#include "kernelsketch/text.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "kernelsketch/decimal.h"

namespace kernelsketch {
namespace {

constexpr int64_t kWhole = 20;  // digits of a whole number
constexpr int64_t kPair = 2 + kWhole + kDecimalSize;
constexpr std::string_view kGroup = " qid:";

char* put(char* p, std::string_view text) {
  if (!text.empty()) std::memcpy(p, text.data(), text.size());
  return p + text.size();
}

char* put(char* p, uint64_t whole) { return std::to_chars(p, p + kWhole, whole).ptr; }

// Numbers as text. Values often come many at a time, such as the ones of one-hot features: the last one is kept.
template <class Value>
class Written {
 public:
  char* put(char* p, Value value) {
    if (std::memcmp(&value, &last_, sizeof value) != 0) {
      last_ = value;
      size_ = write_decimal(text_, value) - text_;
    }
    std::memcpy(p, text_, kDecimalSize);  // a constant size is faster
    return p + size_;
  }

 private:
  Value last_ = 0;
  char text_[kDecimalSize] = {'0'};
  int64_t size_ = 1;
};

}  // namespace

int64_t text_bound(int64_t n, int64_t pairs, int64_t heads) {
  return heads + n * (static_cast<int64_t>(kGroup.size()) + kWhole + 1) + pairs * kPair;
}

template <class Value>
int64_t text_lines(const TextRows<Value>& rows, char* out) {
  Written<Value> written;
  char* p = out;
  for (int64_t row = 0; row < rows.n; ++row) {
    const int64_t* const head = rows.heads.ends + row;
    p = put(p, {rows.heads.text + head[0], static_cast<std::size_t>(head[1] - head[0])});
    if (rows.qid && rows.qid[row] >= 0) p = put(put(p, kGroup), static_cast<uint64_t>(rows.qid[row]));
    for (int64_t k = rows.indptr[row]; k < rows.indptr[row + 1]; ++k) {
      *p++ = ' ';
      p = put(p, static_cast<uint64_t>(rows.ids[k]) + static_cast<uint64_t>(rows.base));
      *p++ = ':';
      p = written.put(p, rows.values[k]);
    }
    *p++ = '\n';
  }
  return p - out;
}

template <class Value>
void text_numbers(const Value* values, int64_t n, char* out, int64_t* ends) {
  Written<Value> written;
  char* p = out;
  ends[0] = 0;
  for (int64_t i = 0; i < n; ++i) {
    p = written.put(p, values[i]);
    ends[i + 1] = p - out;
  }
}

template int64_t text_lines<float>(const TextRows<float>&, char*);
template int64_t text_lines<double>(const TextRows<double>&, char*);
template int64_t text_lines<int64_t>(const TextRows<int64_t>&, char*);
template int64_t text_lines<uint64_t>(const TextRows<uint64_t>&, char*);
template void text_numbers<float>(const float*, int64_t, char*, int64_t*);
template void text_numbers<double>(const double*, int64_t, char*, int64_t*);
template void text_numbers<int64_t>(const int64_t*, int64_t, char*, int64_t*);
template void text_numbers<uint64_t>(const uint64_t*, int64_t, char*, int64_t*);

}  // namespace kernelsketch
