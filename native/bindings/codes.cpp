// Python's view of codes.h.
#include "kernelsketch/codes.h"

#include "kernelsketch/dispatch.h"
#include "rows.h"

namespace kernelsketch::bindings {
namespace {

void pack_codes(const MatrixOf<uint8_t, uint16_t, uint32_t>& codes, int width, const Target<uint8_t>& packed,
                int threads) {
  require(width >= 1 && width <= 24, "width: out of range");
  const int64_t bytes = (columns(codes) * width + 7) / 8;
  require(rows(packed) == rows(codes) && columns(packed) == bytes && in_order(packed, bytes),
          "packed: wrong shape or strides");
  codes.visit([&]<class Code>(const Code* from) {
    without_gil([&] { pack<Code>(from, rows(codes), columns(codes), width, packed.data(), threads); });
  });
}

void unpack_codes(const Matrix<uint8_t>& packed, int width, const TargetOf<uint8_t, uint16_t, uint32_t>& codes,
                  int threads) {
  require(
      rows(packed) == rows(codes) && columns(packed) * 8 >= columns(codes) * width && in_order(codes, columns(codes)),
      "codes: wrong shape or strides");
  codes.visit([&]<class Code>(Code* to) {
    require(width >= 1 && width <= static_cast<int>(8 * sizeof(Code)), "width: out of range");
    without_gil([&] { unpack<Code>(packed.data(), rows(codes), columns(codes), width, columns(packed), to, threads); });
  });
}

int64_t renumber_codes(const MatrixOf<uint8_t, uint16_t, uint32_t>& codes, const VectorOf<uint8_t, uint16_t>& number_of,
                       const TargetOf<uint8_t, uint16_t>& numbers, int threads) {
  require(rows(numbers) == rows(codes) && columns(numbers) == columns(codes) && in_order(numbers, columns(codes)),
          "numbers: wrong shape or strides");
  const int64_t size = rows(codes) * columns(codes);
  int64_t largest = 0;
  codes.visit([&]<class Code>(const Code* from) {
    require_below(from, size, rows(number_of), "codes: out of range");
    number_of.visit([&]<class Number>(const Number* table) {
      require_type(numbers.holds<Number>(), "numbers: another type than that of number_of");
      Number* to = numbers.data<Number>();
      without_gil([&] { largest = renumber<Code, Number>(from, size, table, to, threads); });
    });
  });
  return largest;
}

void mark_codes(const MatrixOf<uint8_t, uint16_t, uint32_t>& codes, const Series<uint8_t>& used, int threads) {
  const int64_t size = rows(codes) * columns(codes);
  codes.visit([&]<class Code>(const Code* from) {
    require_below(from, size, rows(used), "codes: out of range");
    without_gil([&] { mark_used<Code>(from, size, used.data(), rows(used), threads); });
  });
}

void count_matches(const std::string& isa, const PyCodeRows& a, const PyCodeRows& b, const Target<int32_t>& counts,
                   int threads) {
  std::visit(
      [&]<class Code>(const CodeRows<Code>& left) {
        const CodeRows<Code>& right = same_type(left, b);
        require(left.k == right.k, "a and b: different numbers of codes");
        require(rows(counts) == left.n && columns(counts) == right.n && in_order(counts, right.n),
                "counts: wrong shape or strides");
        without_gil([&] {
          match_counts<Code>(find_isa(isa), left.codes, left.n, left.empty, right.codes, right.n, right.empty, left.k,
                             counts.data(), threads, interrupted);
        });
      },
      a.view());
}

}  // namespace

void define_codes(nb::module_& m) {
  m.def("pack", pack_codes, "codes"_a, "width"_a, "packed"_a, "threads"_a,
        "Fill `packed` with codes of `width` bits each, one after the other.");
  m.def("unpack", unpack_codes, "packed"_a, "width"_a, "codes"_a, "threads"_a,
        "Fill `codes` from rows of codes of `width` bits each.");
  m.def("renumber", renumber_codes, "codes"_a, "number_of"_a, "numbers"_a, "threads"_a,
        "Fill `numbers` with the number of each code, and return the largest. Both may be the same array.");
  m.def("mark_used", mark_codes, "codes"_a, "used"_a, "threads"_a, "Set `used` to 1 for each code that occurs.");
  m.def("match_counts", count_matches, "isa"_a, "a"_a, "b"_a, "counts"_a, "threads"_a,
        "Fill `counts` with the number of equal codes of each row of `a` and each row of `b`.");
}

}  // namespace kernelsketch::bindings
