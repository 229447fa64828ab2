// The core on awkward shapes, to be run under the address and undefined-behaviour sanitizers. Values are checked
// against the formula here, bit for bit against the reference in test_backend.py.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core_test.h"
#include "kernelsketch/codes.h"
#include "kernelsketch/csv.h"
#include "kernelsketch/decimal.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/fourier.h"
#include "kernelsketch/gcws.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/growth.h"
#include "kernelsketch/text.h"
#include "kernelsketch/trees.h"

using namespace kernelsketch;

int failures = 0;

namespace {

// Of all samples, and of all Fourier features: the same on every instruction set and machine.
uint64_t checksum = 0, fourier_checksum = 0;

void add_to(uint64_t& sum, uint64_t v) { sum = (sum ^ v) * 0x100000001B3u + 1; }

void add_to_checksum(const std::vector<int64_t>& values) {
  for (const int64_t v : values) add_to(checksum, static_cast<uint64_t>(v));
}

template <class T>
void check(const char* what, const Isa& isa, const std::vector<T>& k, const std::vector<T>& a, const std::vector<T>& b,
           int64_t n, int64_t m, int64_t d) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      const double expected = formula(&a[i * d], &b[j * d], d);
      if (!(std::fabs(k[i * m + j] - expected) < 2e-6)) {
        std::printf("%s %s %lld x %lld x %lld at %lld, %lld: %g, expected %g\n", what, isa.name,
                    static_cast<long long>(n), static_cast<long long>(m), static_cast<long long>(d),
                    static_cast<long long>(i), static_cast<long long>(j), static_cast<double>(k[i * m + j]), expected);
        ++failures;
        return;
      }
    }
}

// Vectors of exactly the needed size: one read or write past them is seen.
template <class T>
void run(const Isa& isa, int64_t n, int64_t m, int64_t d, unsigned seed) {
  std::mt19937 random(seed);
  const bool symmetric = n == m;
  std::vector<T> a(n * d), b(m * d);
  std::vector<uint8_t> a8(n * ((d + 7) / 8 * 8)), b8(m * ((d + 7) / 8 * 8));
  const auto fill = [&](std::vector<T>& x) {
    for (T& v : x) v = random() % 3 ? static_cast<T>(static_cast<int>(random() % 201) - 100) : T(0);
  };
  fill(a);
  if (symmetric)
    b = a;
  else
    fill(b);
  std::vector<T> k(n * m);

  const DenseRows<T> left{a.data(), n, d, d}, right{symmetric ? a.data() : b.data(), m, d, d};
  gmm_dense<T>(isa, left, right, {k.data(), m}, Ratio::min_max, symmetric, 2, nullptr);
  check("dense", isa, k, a, b, n, m, d);

  const int64_t padded = (d + 7) / 8 * 8;
  std::vector<T> a_norms(n), b_norms(m);
  const auto encode = [&](const std::vector<T>& x, std::vector<uint8_t>& bytes, std::vector<T>& norms) {
    for (std::size_t i = 0; i < norms.size(); ++i)
      for (int64_t f = 0; f < d; ++f) {
        bytes[i * padded + f] = static_cast<uint8_t>(x[i * d + f] + 100);
        norms[i] += std::fabs(x[i * d + f]);
      }
  };
  encode(a, a8, a_norms);
  encode(b, b8, b_norms);
  std::fill(k.begin(), k.end(), T(-1));
  gmm_bytes<T>(isa, {a8.data(), n, padded, padded}, {b8.data(), m, padded, padded}, a_norms.data(), b_norms.data(),
               {k.data(), m}, Ratio::min_max, symmetric, 2, nullptr);
  check("bytes", isa, k, a, b, n, m, d);

  std::vector<int64_t> a_ptr{0}, b_ptr{0}, a_idx, b_idx;
  std::vector<T> a_val, b_val;
  const int64_t stride = d % 2 ? 1 : int64_t{1} << 40;  // odd widths direct, even ones through the hash table
  const auto compress = [&](const std::vector<T>& x, int64_t rows, auto& ptr, auto& idx, auto& val) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t f = 0; f < d; ++f)
        if (x[i * d + f] != 0) idx.push_back(f * stride), val.push_back(x[i * d + f]);
      ptr.push_back(static_cast<int64_t>(idx.size()));
    }
  };
  compress(a, n, a_ptr, a_idx, a_val);
  compress(b, m, b_ptr, b_idx, b_val);
  std::fill(k.begin(), k.end(), T(-1));
  gmm_sparse<T, int64_t>(isa, {a_ptr.data(), a_idx.data(), a_val.data(), n, d * stride},
                         {b_ptr.data(), b_idx.data(), b_val.data(), m, d * stride}, {k.data(), m}, Ratio::min_max,
                         symmetric, 2, nullptr);
  check("sparse", isa, k, a, b, n, m, d);
}

// Samples of dense and CSR rows are the same; codes are their low bits; packed codes come back; counts are right.
void run_hash(const Isa& isa, int64_t n, int64_t d, int64_t k, int bits, int t_bits, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(n * d);
  for (float& v : x) {
    const unsigned kind = random() % 3, size = random() % 2001, exponent = random() % 40;  // in this order
    v = kind ? std::ldexp(static_cast<float>(size) - 1000, static_cast<int>(exponent)) : 0.0f;
  }
  std::vector<int64_t> ptr{0}, idx;
  std::vector<float> val;
  const int64_t stride = d % 2 ? 1 : int64_t{1} << 40;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t f = 0; f < d; ++f)
      if (x[i * d + f] != 0) idx.push_back(f * stride), val.push_back(x[i * d + f]);
    ptr.push_back(static_cast<int64_t>(idx.size()));
  }
  const GcwsParams params{nullptr, 1.0, seed, k, bits, t_bits};
  const CsrRows<float, int64_t> csr{ptr.data(), idx.data(), val.data(), n, d * stride};
  std::vector<int64_t> slots(n * k), t(n * k);
  std::vector<uint8_t> empty(n);
  gcws(isa, csr, params, SampleOutput{slots.data(), t.data(), empty.data()}, 2, nullptr);
  add_to_checksum(slots);
  add_to_checksum(t);
  std::vector<uint32_t> codes(n * k);
  gcws(isa, csr, params, CodeOutput<uint32_t>{codes.data(), empty.data()}, 2, nullptr);
  const int width = bits + t_bits;
  bool right = true;
  for (int64_t q = 0; q < n * k; ++q) {
    const int64_t s = slots[q];
    const int64_t code =
        (((s >> 1) ^ ((s & 1) << (bits - 1))) & ((1 << bits) - 1)) | ((t[q] & ((1 << t_bits) - 1)) << bits);
    right = right && codes[q] == (s < 0 ? 0 : static_cast<uint32_t>(code));
  }
  if (stride == 1) {
    std::vector<int64_t> slots2(n * k), t2(n * k);
    gcws(isa, DenseRows<float>{x.data(), n, d, d}, params, SampleOutput{slots2.data(), t2.data(), empty.data()}, 2,
         nullptr);
    right = right && slots == slots2 && t == t2;
  }
  std::vector<uint8_t> packed(n * ((k * width + 7) / 8));
  std::vector<uint32_t> back(n * k);
  pack<uint32_t>(codes.data(), n, k, width, packed.data(), 2);
  unpack<uint32_t>(packed.data(), n, k, width, (k * width + 7) / 8, back.data(), 2);
  right = right && back == codes;
  std::vector<int32_t> counts(n * n);
  match_counts<uint32_t>(isa, codes.data(), n, empty.data(), codes.data(), n, empty.data(), k, counts.data(), 2,
                         nullptr);
  for (int64_t i = 0; i < n; ++i) right = right && counts[i * n + i] == (empty[i] ? 0 : k);
  if (!right) {
    std::printf("hash %s n=%lld d=%lld k=%lld\n", isa.name, static_cast<long long>(n), static_cast<long long>(d),
                static_cast<long long>(k));
    ++failures;
  }
}

// Features of dense and CSR rows are the same, with all weights at once and in blocks; NRFF rows have unit norm.
template <class T>
void run_fourier(const Isa& isa, int64_t n, int64_t d, int64_t k, bool normalize, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(n * d);
  for (T& v : x) {
    const unsigned kind = random() % 3, size = random() % 2001, exponent = random() % 40;  // in this order
    v = kind ? std::ldexp(static_cast<T>(size) - 1000, static_cast<int>(exponent)) : T(0);
  }
  std::vector<int64_t> ptr{0}, idx;
  std::vector<T> val;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t f = 0; f < d; ++f)
      if (x[i * d + f] != 0) idx.push_back(f), val.push_back(x[i * d + f]);
    ptr.push_back(static_cast<int64_t>(idx.size()));
  }
  const DenseRows<T> dense{x.data(), n, d, d};
  const CsrRows<T, int64_t> csr{ptr.data(), idx.data(), val.data(), n, d};
  std::vector<T> z(n * k), other(n * k);
  FourierParams params{0.25, seed, k, normalize, int64_t{1} << 30};
  fourier<DenseRows<T>, T>(isa, dense, params, {z.data(), k}, 2, nullptr);
  bool right = true;
  for (const int64_t bytes : {int64_t{1} << 30, int64_t{0}}) {
    params.table_bytes = bytes;
    fourier<CsrRows<T, int64_t>, T>(isa, csr, params, {other.data(), k}, 2, nullptr);
    right = right && z == other;
    fourier<DenseRows<T>, T>(isa, dense, params, {other.data(), k}, 1, nullptr);
    right = right && z == other;
  }
  for (int64_t i = 0; i < n; ++i) {
    double norm = 0;
    for (int64_t j = 0; j < k; ++j) norm += static_cast<double>(z[i * k + j]) * static_cast<double>(z[i * k + j]);
    const bool empty = ptr[i] == ptr[i + 1];
    right = right && (empty ? norm == 0 : !normalize || std::fabs(norm - 1) < 1e-5);
  }
  for (const T v : z) {
    uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof v);
    add_to(fourier_checksum, bits);
  }
  if (!right) {
    std::printf("fourier %s n=%lld d=%lld k=%lld\n", isa.name, static_cast<long long>(n), static_cast<long long>(d),
                static_cast<long long>(k));
    ++failures;
  }
}

// Every row gets the value of the leaf that its bins lead to, on any number of threads.
void run_growth(int64_t n, int64_t d, int64_t outputs, int64_t leaves, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> bins(d), g(outputs * n), h(outputs * n);
  std::vector<uint8_t> binned(d * n);
  for (int64_t f = 0; f < d; ++f) {
    bins[f] = static_cast<int32_t>(1 + random() % (f == 0 ? 255 : 9));
    for (int64_t i = 0; i < n; ++i)
      binned[f * n + i] = static_cast<uint8_t>(random() % static_cast<unsigned>(bins[f] + 1));
  }
  for (auto& x : g) x = static_cast<int32_t>(random() % 2001) - 1000;
  for (auto& x : h) x = static_cast<int32_t>(random() % 1000);
  const int64_t nodes = 2 * leaves - 1;
  const GrowthRows rows(binned.data(), d, n, bins.data());
  bool right = true;
  std::vector<double> values[2];
  for (const int t : {0, 1}) {
    std::vector<int32_t> feature(outputs * nodes), bin(outputs * nodes), left(outputs * nodes),
        to_right(outputs * nodes);
    std::vector<uint8_t> missing(outputs * nodes);
    std::vector<double> value(outputs * nodes);
    std::vector<int64_t> sizes(outputs);
    values[t].resize(outputs * n);
    std::vector<GrownTree> trees;
    for (int64_t o = 0; o < outputs; ++o)
      trees.push_back({feature.data() + o * nodes, bin.data() + o * nodes, left.data() + o * nodes,
                       to_right.data() + o * nodes, missing.data() + o * nodes, value.data() + o * nodes});
    rows.grow(g.data(), h.data(), outputs, {leaves, 3, 1.0, 0.5}, trees.data(), sizes.data(), values[t].data(),
              1 + 2 * t, nullptr);
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t i = 0; i < n; ++i) {
        int32_t at = 0;
        while (trees[o].left[at] >= 0) {
          const int32_t f = trees[o].feature[at], b = binned[f * n + i];
          at = (b == bins[f] ? trees[o].missing_left[at] != 0 : b <= trees[o].bin[at]) ? trees[o].left[at]
                                                                                       : trees[o].right[at];
        }
        right = right && at < sizes[o] && values[t][o * n + i] == trees[o].value[at];
      }
  }
  if (!right || values[0] != values[1]) {
    std::printf("growth n=%lld d=%lld leaves=%lld\n", static_cast<long long>(n), static_cast<long long>(d),
                static_cast<long long>(leaves));
    ++failures;
  }
}

// A number reads back from its text, and both ways to find that text agree. Memory is of the size that is promised.
template <class Real>
void check_number(Real value) {
  std::vector<char> text(kDecimalSize), other(kDecimalSize + 1);
  const std::string found(text.data(), write_decimal(text.data(), value));
  bool right = read_decimal<Real>((found + " ").c_str()).value == value;
  const Real size = std::fabs(value);
  for (const bool fixed : {true, false})
    if (size > 0 && (!fixed || (size >= Real(1e-3) && size < Real(1e6)))) {
      const std::string printed(other.data(), decimal::print_shortest(other.data(), size, fixed));
      right = right && printed == std::string(text.data(), decimal::put_shortest(text.data(), size, fixed));
    }
  if (!right) {
    std::printf("number %.17g: %s\n", static_cast<double>(value), found.c_str());
    ++failures;
  }
}

// Lines that are as long as they can be, in memory of exactly that size; rows without pairs, and none at all.
template <class Value>
void run_text(Value longest) {
  for (const int64_t n : {0, 1, 5}) {
    std::vector<int64_t> indptr{0}, ids, ends{0}, qid;
    std::vector<Value> values;
    std::string heads, expected;
    char number[kDecimalSize];
    const std::string text(number, write_decimal(number, longest));
    for (int64_t row = 0; row < n; ++row) {
      heads += "head", expected += "head qid:9223372036854775807";
      qid.push_back(std::numeric_limits<int64_t>::max());
      for (int64_t k = 0; k < row; ++k) {
        ids.push_back(std::numeric_limits<int64_t>::max() - 1), values.push_back(longest);
        expected += " 9223372036854775807:" + text;
      }
      expected += "\n";
      indptr.push_back(static_cast<int64_t>(ids.size()));
      ends.push_back(static_cast<int64_t>(heads.size()));
    }
    const auto pairs = static_cast<int64_t>(ids.size()), size = static_cast<int64_t>(heads.size());
    std::vector<char> out(static_cast<std::size_t>(text_bound(n, pairs, size)));
    const int64_t written = text_lines<Value>(
        {n, {heads.data(), ends.data()}, qid.data(), indptr.data(), ids.data(), values.data(), 1}, out.data());
    std::vector<int64_t> number_ends(values.size() + 1);
    std::vector<char> numbers(values.size() * kDecimalSize);
    text_numbers<Value>(values.data(), pairs, numbers.data(), number_ends.data());
    if (std::string(out.data(), static_cast<std::size_t>(written)) != expected ||
        number_ends.back() != pairs * static_cast<int64_t>(text.size())) {
      std::printf("text of %lld rows with %s\n", static_cast<long long>(n), text.c_str());
      ++failures;
    }
  }
}

template <class Real, class Bits>
void run_numbers() {
  using Limits = std::numeric_limits<Real>;
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e) {
    const Real power = std::ldexp(Real(1), e);
    for (const Real value : {power, std::nextafter(power, Real(0)), -std::nextafter(power, Limits::max())})
      check_number(value);
  }
  std::mt19937_64 random(0);
  for (int k = 0; k < 20000; ++k) {
    const Bits bits = static_cast<Bits>(random());
    Real value;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) check_number(value);
    const auto digits = static_cast<double>(random() % 10000000000u);
    check_number(static_cast<Real>(digits / decimal::kPowers[random() % 14]));
  }
  check_number(Limits::max());
}

// A text of CSV to arrays that are just large enough; they are of the same size whatever the threads.
template <class Real>
CsvTaken take_csv(const std::string& text, const CsvTable& table, bool words, int64_t most, int threads,
                  std::vector<Real>& values, std::vector<double>& labels, std::vector<int64_t>& label_at) {
  const std::vector<char> exact(text.begin(), text.end());  // unlike a string it has nothing after its end
  const bool has_label = table.label >= 0;
  values.assign(static_cast<std::size_t>(most * (table.width - has_label)), 0);
  labels.assign(has_label && !words ? static_cast<std::size_t>(most) : 0, 0);
  label_at.assign(has_label && words ? static_cast<std::size_t>(2 * most) : 0, 0);
  const CsvRows<Real> rows{most, values.data(), labels.empty() ? nullptr : labels.data(),
                           label_at.empty() ? nullptr : label_at.data()};
  const CsvTaken taken = csv_parse<Real>(exact.data(), static_cast<int64_t>(exact.size()), table, rows, threads);
  const auto size = static_cast<int64_t>(text.size());
  bool right = taken.rows <= most && taken.rows <= taken.lines && taken.bytes <= size &&
               std::count(text.begin(), text.begin() + taken.bytes, '\n') == taken.lines &&
               (taken.bytes == 0 || text[static_cast<std::size_t>(taken.bytes - 1)] == '\n');
  values.resize(static_cast<std::size_t>(taken.rows * (table.width - has_label)));
  labels.resize(labels.empty() ? 0 : static_cast<std::size_t>(taken.rows));
  label_at.resize(label_at.empty() ? 0 : static_cast<std::size_t>(2 * taken.rows));
  for (std::size_t k = 0; k < label_at.size(); k += 2)
    right = right && label_at[k] >= 0 && label_at[k] < label_at[k + 1] && label_at[k + 1] < size;
  for (const Real value : values) right = right && std::isfinite(value);
  if (!right) {
    std::printf("csv of %lld bytes: %lld rows, %lld lines, %lld bytes\n", static_cast<long long>(size),
                static_cast<long long>(taken.rows), static_cast<long long>(taken.lines),
                static_cast<long long>(taken.bytes));
    ++failures;
  }
  return taken;
}

// Texts of bytes that CSV is made of, most of them broken; and long ones with blank and odd lines, on threads.
template <class Real>
void run_csv() {
  std::mt19937 random(0);
  std::vector<Real> values[2];
  std::vector<double> labels[2];
  std::vector<int64_t> label_at[2];
  const std::string bytes = "001122.5-+e,,,,;; \t\n\n\r\"\"x";
  for (int k = 0; k < 30000; ++k) {
    std::string text;
    for (auto size = random() % 40; size > 0; --size) text += bytes[random() % bytes.size()];
    if (!text.empty()) text += '\n';
    const auto width = static_cast<int64_t>(1 + random() % 3);
    const auto label = width > 1 ? static_cast<int64_t>(random() % 4) % (width + 1) - 1 : -1;
    take_csv<Real>(text, {",; \t"[random() % 4], width, label}, random() % 2, static_cast<int64_t>(random() % 4),
                   1 + static_cast<int>(random() % 2), values[0], labels[0], label_at[0]);
  }
  for (const bool words : {false, true})
    for (const char* const odd : {"", "\"a\"\"\",1,2\n", "1,2\n", "\r"}) {
      std::string text;
      for (int line = 0; line < 60000; ++line)
        text += line == 40000 ? odd : line % 5 ? std::to_string(line) + ",\"2\", 0.25 \n" : "\r\n";
      for (const int64_t most : {1, 20000, 48000}) {
        const CsvTable table{',', 3, 1};
        const CsvTaken one = take_csv<Real>(text, table, words, most, 1, values[0], labels[0], label_at[0]);
        const int64_t expected = std::min<int64_t>(most, *odd ? 32000 : 48000);
        bool right = one.rows == expected && values[0].back() == Real(0.25);
        for (int64_t bytes_taken = 0, taken = 0; taken < one.rows;) {  // threads may take fewer rows at a time
          const std::string rest = text.substr(static_cast<std::size_t>(bytes_taken));
          const CsvTaken part =
              take_csv<Real>(rest, table, words, one.rows - taken, 3, values[1], labels[1], label_at[1]);
          right = right && part.rows > 0 &&
                  std::equal(values[1].begin(), values[1].end(), values[0].begin() + 2 * taken) &&
                  std::equal(labels[1].begin(), labels[1].end(), labels[0].begin() + (words ? 0 : taken));
          for (std::size_t k = 0; k < label_at[1].size(); ++k)
            right = right && label_at[1][k] + bytes_taken == label_at[0][static_cast<std::size_t>(2 * taken) + k];
          if (!right) break;
          bytes_taken += part.bytes;
          taken += part.rows;
        }
        if (!right) {
          std::printf("csv with %s, at most %lld rows\n", odd, static_cast<long long>(most));
          ++failures;
        }
        if (!words) continue;
        const int64_t n = one.rows;
        std::vector<int64_t> numbers(static_cast<std::size_t>(n)), first(static_cast<std::size_t>(n));
        if (distinct_texts(text.data(), label_at[0].data(), n, numbers.data(), first.data()) != 1 || first[0] != 0 ||
            std::count(numbers.begin(), numbers.end(), 0) != n)
          ++failures;
      }
    }
}

// Trees of 2 c + 1 nodes: the left child of an inner node is a leaf, the right child splits again.
void run_trees(const Isa& isa, int64_t n, int64_t d, int32_t c, int64_t outputs, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> feature, left, right, roots;
  std::vector<uint8_t> missing_left;
  std::vector<double> threshold, value, baseline(static_cast<std::size_t>(outputs), 0.5);
  for (int64_t tree = 0; tree < 2 * outputs; ++tree) {
    const auto root = static_cast<int32_t>(feature.size());
    roots.push_back(root);
    for (int32_t i = 0; i < 2 * c + 1; ++i) {
      const bool inner = i % 2 == 0 && i < 2 * c;
      feature.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(d)));
      threshold.push_back(static_cast<double>(random() % 7) - 3);
      left.push_back(inner ? root + i + 1 : -1);
      right.push_back(inner ? root + i + 2 : -1);
      missing_left.push_back(random() % 2);
      value.push_back(static_cast<double>(random() % 1000));
    }
  }
  std::vector<double> x(static_cast<std::size_t>(n * d)), out(static_cast<std::size_t>(n * outputs));
  for (double& v : x) v = random() % 5 ? static_cast<double>(random() % 7) - 3 : std::nan("");
  Trees trees = {};
  trees.feature = feature.data(), trees.threshold = threshold.data(), trees.value = value.data();
  trees.left = left.data(), trees.right = right.data(), trees.missing_left = missing_left.data();
  trees.nodes = static_cast<int64_t>(feature.size());
  trees.roots = roots.data(), trees.trees = 2 * outputs;
  trees.baseline = baseline.data(), trees.outputs = outputs;
  trees_decide(isa, {x.data(), n, d, 1, n}, trees, out.data(), 2, nullptr);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0.5;
      for (int64_t tree = o; tree < 2 * outputs; tree += outputs) {
        auto at = static_cast<std::size_t>(roots[static_cast<std::size_t>(tree)]);
        while (left[at] >= 0) {
          const double v = x[static_cast<std::size_t>(feature[at] * n + i)];
          const bool goes_left = std::isnan(v) ? missing_left[at] != 0 : v <= threshold[at];
          at = static_cast<std::size_t>(goes_left ? left[at] : right[at]);
        }
        sum += value[at];
      }
      if (out[static_cast<std::size_t>(i * outputs + o)] != sum) ++failures;
    }
}

}  // namespace

int main() {
  unsigned seed = 0;
  for (const auto& name : supported_isas()) {
    const Isa& isa = find_isa(name);
    seed = 0;
    checksum = fourier_checksum = 0;
    for (const int64_t n : {1, 5, 6, 65})
      for (const int64_t m : {1, 17, 64, 65})
        for (const int64_t d : {1, 7, 8, 64, 67, 131}) {
          run<float>(isa, n, m, d, ++seed);
          run<double>(isa, n, m, d, ++seed);
        }
    for (const int64_t n : {1, 66})
      for (const int64_t d : {1, 2, 16, 301})
        for (const int64_t k : {1, 17, 130})
          run_hash(isa, n, d, k, 1 + static_cast<int>(seed % 16), static_cast<int>(seed / 16 % 9), seed), ++seed;
    for (const int64_t n : {1, 13})
      for (const int64_t d : {1, 7, 70, 1030})
        for (const int64_t k : {1, 65, 130}) {
          run_fourier<float>(isa, n, d, k, seed % 2 == 0, seed);
          run_fourier<double>(isa, n, d, k, seed % 2 == 0, seed);
          ++seed;
        }
    std::printf("%s %016llx %016llx\n", isa.name, static_cast<unsigned long long>(checksum),
                static_cast<unsigned long long>(fourier_checksum));
    for (const int64_t n : {1, 5, 200})
      for (const int64_t leaves : {1, 2, 31}) run_growth(n, 1 + seed % 5, 1 + seed % 3, leaves, seed), ++seed;
    test_linear(isa);
    test_bounds(isa);
    test_measure(isa);
    unsigned trees_seed = 0;
    for (const int64_t n : {0, 1, 63, 64, 130})
      for (const int32_t c : {0, 1, 9}) run_trees(isa, n, 1 + n % 5, c, 1 + n % 3, ++trees_seed);
    test_index(isa);
    run<float>(isa, 13, 70, 2 * kPanelFeatures + 3, ++seed);
    run<double>(isa, 70, 70, kPanelFeatures + 1, ++seed);
  }
  test_texts();
  run_numbers<float, uint32_t>();
  run_numbers<double, uint64_t>();
  run_csv<float>();
  run_csv<double>();
  run_text(-1.17549435e-38f);
  run_text(-2.2250738585072014e-308);
  run_text(std::numeric_limits<int64_t>::min());
  run_text(std::numeric_limits<uint64_t>::max());
  try {
    find_isa("none");
    ++failures;
  } catch (const std::invalid_argument&) {
  }
  std::printf("%u cases an instruction set, %d failures\n", seed, failures);
  return failures != 0;
}
