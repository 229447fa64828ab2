// The parser of LIBSVM text on texts that nobody meant to write, to be built with sanitizers; fuzz.py calls it.
//
//   fuzz_libsvm mutate SECONDS SEED OUT CORPUS...   changes texts and keeps those that reach new code, in the folder OUT
//   fuzz_libsvm check                               texts from standard input, what was parsed to standard output
//
// A text lies in memory of its own size, and so do the arrays that the parser fills: the sanitizer sees each step outside.
#include <sanitizer/common_interface_defs.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernelsketch/libsvm.h"

using namespace kernelsketch;

namespace {

const std::string* current = nullptr;  // for the report of a crash
std::string out_folder = ".";

void save(const std::string& text, const std::string& name) {
  std::ofstream(out_folder + "/" + name, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

void on_death() {
  if (current) save(*current, "crash");
}

[[noreturn]] void wrong(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  on_death();
  std::exit(1);
}

template <class Real>
struct Rows {
  std::unique_ptr<double[]> labels;
  std::unique_ptr<int64_t[]> label_at, qid, indptr, ids;
  std::unique_ptr<Real[]> values;
  LibsvmFound found;
};

template <class Real>
Rows<Real> parse(const std::string& text, int64_t base, int threads) {
  const auto size = static_cast<int64_t>(text.size());
  const std::unique_ptr<char[]> exact(new char[text.size()]);
  std::memcpy(exact.get(), text.data(), text.size());
  const LibsvmSize bounds = libsvm_size(exact.get(), size);
  const auto lines = static_cast<std::size_t>(bounds.lines), colons = static_cast<std::size_t>(bounds.colons);
  Rows<Real> rows{std::unique_ptr<double[]>(new double[lines]),
                  std::unique_ptr<int64_t[]>(new int64_t[2 * lines]),
                  std::unique_ptr<int64_t[]>(new int64_t[lines]),
                  std::unique_ptr<int64_t[]>(new int64_t[lines + 1]),
                  std::unique_ptr<int64_t[]>(new int64_t[colons]),
                  std::unique_ptr<Real[]>(new Real[colons]),
                  {}};
  rows.found = libsvm_parse<Real>(
      exact.get(), size, base,
      {rows.labels.get(), rows.label_at.get(), rows.qid.get(), rows.indptr.get(), rows.ids.get(), rows.values.get()},
      threads);
  const LibsvmFound& found = rows.found;
  if (found.rows > bounds.lines || found.pairs > bounds.colons) wrong("more rows or pairs than bounds");
  if (found.error != LibsvmError::none) {
    if (found.at < 0 || found.length < 1 || found.at + found.length > size) wrong("error outside the text");
    return rows;
  }
  if (rows.indptr[0] != 0 || rows.indptr[found.rows] != found.pairs) wrong("row pointers");
  for (int64_t r = 0; r < found.rows; ++r) {
    const int64_t begin = rows.label_at[2 * r], end = rows.label_at[2 * r + 1];
    if (begin < 0 || begin >= end || end > size) wrong("label outside the text");
    if (rows.qid[r] < -1 || rows.qid[r] > kLargestId) wrong("qid");
    for (int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k) {
      if (rows.ids[k] < 0 || rows.ids[k] > found.largest_id || found.largest_id > kLargestId) wrong("id");
      if (k > rows.indptr[r] && rows.ids[k] <= rows.ids[k - 1]) wrong("order of ids");
      if (!std::isfinite(rows.values[k])) wrong("value");
    }
  }
  return rows;
}

template <class T>
bool same(const T& a, const T& b, int64_t count) {
  return count == 0 || std::memcmp(a.get(), b.get(), static_cast<std::size_t>(count) * sizeof(a[0])) == 0;
}

void run(const std::string& text, bool threads) {
  current = &text;
  const int64_t base = text[0] & 1;
  const auto one = parse<double>(text, base, 1);
  parse<float>(text, base, 1);
  if (threads) {
    const auto more = parse<double>(text, base, 3);
    const LibsvmFound &a = one.found, &b = more.found;
    if (a.error != b.error || a.at != b.at || a.length != b.length) wrong("threads find another error");
    if (a.error == LibsvmError::none &&
        (a.rows != b.rows || a.pairs != b.pairs || a.first_text != b.first_text || a.largest_id != b.largest_id ||
         a.any_qid != b.any_qid || !same(one.labels, more.labels, a.rows) || !same(one.qid, more.qid, a.rows) ||
         !same(one.label_at, more.label_at, 2 * a.rows) || !same(one.indptr, more.indptr, a.rows + 1) ||
         !same(one.ids, more.ids, a.pairs) || !same(one.values, more.values, a.pairs)))
      wrong("threads find other rows");
  }
}

// Which code was reached: the compiler calls this at each branch of the parser.
constexpr std::size_t kPlaces = 1 << 16;
uint8_t reached[kPlaces], known[kPlaces];
uintptr_t before = 0;

bool is_news() {
  bool news = false;
  for (std::size_t k = 0; k < kPlaces; ++k) {
    const uint8_t times = reached[k] > 3 ? 3 : reached[k];
    if (times > known[k]) known[k] = times, news = true;
    reached[k] = 0;
  }
  return news;
}

std::string changed(const std::vector<std::string>& texts, std::mt19937_64& rng) {
  static const char* const words[] = {"1",
                                      ":",
                                      " ",
                                      "\n",
                                      "\r\n",
                                      "#",
                                      "qid:",
                                      "nan",
                                      "inf",
                                      "infinity",
                                      "e",
                                      "e-",
                                      "+",
                                      "-",
                                      ".",
                                      "0",
                                      "1:1 ",
                                      "\t",
                                      "\r",
                                      "1e99",
                                      "e-300",
                                      "e+308",
                                      "\0",
                                      "9007199254740993",
                                      "007",
                                      "4611686018427387903",
                                      "4611686018427387904",
                                      "18446744073709551617",
                                      "1 1:1\n",
                                      "3.4028236e38",
                                      "00000000000000000000",
                                      "0.1",
                                      "e9999999999999999999",
                                      "1e-45",
                                      "16777217",
                                      "abc",
                                      "\xff",
                                      "label "};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  std::string text = texts[below(texts.size())];
  for (std::size_t times = 1 + below(6); times > 0; --times) {
    const std::size_t at = below(text.size() + 1), length = below(text.size() - at + 1);
    const std::string word = words[below(std::size(words))];
    switch (below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1: text.insert(at, word); break;
      case 2: text.erase(at, below(8) ? below(8) : length); break;
      case 3: text.insert(at, text.substr(at, length)); break;
      case 4: text.replace(at, word.size() < length ? word.size() : length, word); break;
      case 5: text.insert(at, texts[below(texts.size())]); break;
      case 6:
        if (at < text.size()) text[at] = static_cast<char>('0' + below(10));
        break;
      default:
        if (at < text.size()) std::swap(text[at], text[below(text.size())]);
    }
  }
  if (text.size() > 4096) text.resize(4096);
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

int mutate(int count, char** arguments) {
  const double seconds = std::atof(arguments[0]);
  std::mt19937_64 rng(std::strtoull(arguments[1], nullptr, 10));
  out_folder = arguments[2];
  std::vector<std::string> texts{"1 1:1\n"};
  for (int i = 3; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.empty() || text.back() != '\n') text += '\n';
    texts.push_back(text);
  }
  for (const std::string& text : texts) run(text, true);
  is_news();
  const auto start = std::chrono::steady_clock::now();
  int64_t runs = 0, kept = 0;
  while (runs % 256 || std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
    const std::string text = changed(texts, rng);
    run(text, runs++ % 64 == 0);
    if (is_news()) {
      texts.push_back(text);
      save(text, "kept-" + std::to_string(kept++));
    }
  }
  std::printf("%lld texts, %lld of them reached new code\n", static_cast<long long>(runs),
              static_cast<long long>(kept));
  return 0;
}

void print(const void* data, std::size_t size) {
  std::putchar(' ');
  for (std::size_t k = 0; k < size; ++k) std::printf("%02x", static_cast<const unsigned char*>(data)[k]);
}

template <class Real>
void report(const std::string& text, int64_t base, int threads) {
  current = &text;
  const auto rows = parse<Real>(text, base, threads);
  const LibsvmFound& found = rows.found;
  std::printf("%d %lld %lld", static_cast<int>(found.error), static_cast<long long>(found.at),
              static_cast<long long>(found.length));
  if (found.error == LibsvmError::none) {
    const auto n = static_cast<std::size_t>(found.rows), pairs = static_cast<std::size_t>(found.pairs);
    print(rows.labels.get(), 8 * n);
    print(rows.label_at.get(), 16 * n);
    print(rows.qid.get(), 8 * n);
    print(rows.indptr.get(), 8 * (n + 1));
    print(rows.ids.get(), 8 * pairs);
    print(rows.values.get(), sizeof(Real) * pairs);
  }
  std::putchar('\n');
  std::fflush(stdout);
}

// Each text comes with its length (4 bytes, the lowest first) and a byte: bit 0 the base, bit 1 float32, bit 2 threads.
int check() {
  unsigned char head[5];
  while (std::fread(head, 1, 5, stdin) == 5) {
    std::string text(head[0] | head[1] << 8 | head[2] << 16, '\0');
    if (std::fread(text.data(), 1, text.size(), stdin) != text.size()) return 1;
    const int threads = head[4] & 4 ? 3 : 1;
    head[4] & 2 ? report<float>(text, head[4] & 1, threads) : report<double>(text, head[4] & 1, threads);
  }
  return 0;
}

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  uint8_t& times = reached[(here ^ (before << 1)) % kPlaces];
  if (times < 255) ++times;
  before = here;
}

int main(int count, char** arguments) {
  __sanitizer_set_death_callback(on_death);
  if (count >= 5 && std::strcmp(arguments[1], "mutate") == 0) return mutate(count - 2, arguments + 2);
  if (count == 2 && std::strcmp(arguments[1], "check") == 0) return check();
  std::fprintf(stderr, "usage: fuzz_libsvm mutate SECONDS SEED OUT CORPUS... | check\n");
  return 2;
}
