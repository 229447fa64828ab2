// The index: its tables, postings and searches against the relations that they stand for; and with damaged parts.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "core_test.h"
#include "kernelsketch/index.h"

using namespace kernelsketch;

namespace {

// A search by heavy features against the relation itself; then with garbage for postings.
void run_postings(const Isa& isa, int64_t n, int64_t d, const std::vector<uint8_t>& codes,
                  const std::vector<uint8_t>& flags, const std::vector<int64_t>& ids, const IndexVectors& x,
                  double heavy_fraction) {
  std::vector<uint8_t> heavy(x.stored), shares(n * d);
  index_heavy(x.indptr, x.data, x.norms, n, heavy_fraction, heavy.data(), 2);
  std::vector<int64_t> keys, starts;
  std::vector<uint32_t> entries;
  for (int64_t f = 0; f < d; ++f) {
    keys.push_back(2 * f);
    starts.push_back(static_cast<int64_t>(entries.size() / 2));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q)
        if (x.narrow[q] == f && heavy[q]) {
          shares[i * d + f] = 1;
          if (flags[i]) continue;
          entries.push_back(static_cast<uint32_t>(i));
          entries.push_back(std::bit_cast<uint32_t>(x.data[q]));
        }
  }
  starts.push_back(static_cast<int64_t>(entries.size() / 2));
  std::vector<uint32_t> directory(d + 1);
  for (int64_t g = 0; g <= d; ++g) directory[g] = static_cast<uint32_t>(g);
  const int64_t k = static_cast<int64_t>(codes.size()) / n;
  IndexSegment segment{n, codes.data(), flags.data(), ids.data(), nullptr, nullptr, 0, 0, x, {}};
  const IndexQueries queries{n, nullptr, flags.data(), x, -1, 0};
  const auto search = [&] {
    const auto stored = static_cast<int64_t>(entries.size() / 2);
    segment.postings = {d, 1, directory.data(), d, keys.data(), starts.data(), stored, entries.data()};
    std::vector<std::vector<Neighbor>> found(n);
    index_search(isa, queries, &segment, 1, k, {1, 0, 0, 0, 0.0, true, false, heavy_fraction}, found.data(), 2,
                 nullptr);
    return found;
  };
  const auto found = search();
  for (int64_t i = 0; i < n; ++i) {
    std::vector<int64_t> expected, there;
    for (int64_t j = 0; j < n && !flags[i]; ++j) {
      bool candidate = false;
      for (int64_t f = 0; f < d; ++f) candidate |= shares[i * d + f] && shares[j * d + f];
      if (candidate && !flags[j]) expected.push_back(ids[j]);
    }
    for (const Neighbor& one : found[i]) there.push_back(one.id);
    std::sort(there.begin(), there.end());
    if (there != expected) ++failures, std::printf("postings %s: row %lld\n", isa.name, static_cast<long long>(i));
  }
  std::mt19937_64 random(7);
  const auto garbage = [&](auto& part) {
    const auto whole = part;
    for (int turn = 0; turn < 3; ++turn) {
      auto* bytes = reinterpret_cast<uint8_t*>(part.data());
      for (std::size_t b = 0; b < part.size() * sizeof(part[0]); ++b) bytes[b] = turn ? random() % 256 : 255;
      try {
        search();
      } catch (const std::runtime_error&) {
      }
    }
    part = whole;
  };
  garbage(directory), garbage(keys), garbage(starts), garbage(entries);
}

// WeightTables and a search of all rows against the relation itself, on every kind of vectors; and tables that are
// damaged.
void run_index(const Isa& isa, int64_t n, int64_t d, int64_t k, int hashes_per_table, int64_t tables, int bits,
               unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> codes(n * k), flags(n), bytes(n * d);
  for (auto& c : codes) c = random() % 3;
  for (auto& f : flags) f = random() % 5 == 0;
  for (auto& b : bytes) b = random() % 4 ? random() % 256 : 0;
  std::vector<float> dense(bytes.begin(), bytes.end()), data;
  std::vector<int64_t> indptr{0}, wide, ids(n);
  std::vector<int32_t> narrow;
  for (int64_t i = 0; i < n; ++i) {
    ids[i] = 3 * i - n;
    for (int64_t f = 0; f < d; ++f)
      if (dense[i * d + f] != 0) narrow.push_back(f), wide.push_back(f), data.push_back(dense[i * d + f]);
    indptr.push_back(static_cast<int64_t>(data.size()));
  }
  std::vector<double> norms(n), sparse_norms(n);
  index_norms(isa, dense.data(), n, d, norms.data(), 2);
  index_norms(isa, indptr.data(), data.data(), n, sparse_norms.data(), 2);
  const int64_t live = std::count(flags.begin(), flags.end(), 0), buckets = int64_t{1} << bits;
  std::vector<uint32_t> rows(tables * live), starts(tables * (buckets + 1));
  index_tables(codes.data(), flags.data(), n, k, hashes_per_table, tables, bits, live, rows.data(), starts.data(), 2,
               nullptr);

  IndexVectors kinds[4];
  kinds[0].bytes = bytes.data();
  kinds[1].dense = dense.data();
  for (int wide_indices : {0, 1}) {
    IndexVectors& x = kinds[2 + wide_indices];
    x.indptr = indptr.data();
    x.narrow = wide_indices ? nullptr : narrow.data();
    x.wide = wide_indices ? wide.data() : nullptr;
    x.data = data.data();
    x.stored = static_cast<int64_t>(data.size());
  }
  for (IndexVectors& x : kinds) {
    x.norms = norms.data();
    x.d = d;
    using Kind = std::tuple<int64_t, int64_t, double>;
    for (const auto& [used, n_rerank, least] : {Kind{0, 0, 0.0}, {0, n, 0.0}, {0, 0, 0.4321}, {tables, 0, 0.0}}) {
      const IndexSegment segment{n, codes.data(), flags.data(), ids.data(), rows.data(), starts.data(), live, bits, x,
                                 {}};
      IndexQueries queries{n, codes.data(), flags.data(), x, -1, 0};
      if (&x == &kinds[0]) queries.vectors.dense = dense.data();
      const SearchParams params{hashes_per_table, used, n_rerank, 0, least, true, false, 0.0};
      std::vector<std::vector<Neighbor>> found(n);
      index_search(isa, queries, &segment, 1, k, params, found.data(), 2, nullptr);
      for (int64_t i = 0; i < n; ++i) {
        int64_t expected = 0;
        for (int64_t j = 0; j < n; ++j) {
          bool candidate = used == 0;
          for (int64_t l = 0; l < used; ++l)
            candidate |= std::equal(&codes[i * k + l * hashes_per_table], &codes[i * k + (l + 1) * hashes_per_table],
                                    &codes[j * k + l * hashes_per_table]);
          if (!candidate || flags[i] || flags[j]) continue;
          const double s = formula(&dense[i * d], &dense[j * d], d);
          const bool similar = s > 0 && s >= least;
          expected += similar;
          const bool there = std::any_of(found[i].begin(), found[i].end(), [&](const Neighbor& found_one) {
            return found_one.id == ids[j] && std::fabs(found_one.similarity - s) < 1e-12;
          });
          if (there != similar) ++failures, std::printf("index %s: row %lld\n", isa.name, static_cast<long long>(j));
        }
        if (expected != static_cast<int64_t>(found[i].size())) ++failures, std::printf("index %s\n", isa.name);
      }
    }
  }
  for (const double heavy_fraction : {0.3, 1.0}) run_postings(isa, n, d, codes, flags, ids, kinds[2], heavy_fraction);
  if (live < 2) return;
  for (auto* damaged : {&rows, &starts}) {
    const std::vector<uint32_t> whole = *damaged;
    std::fill(damaged->begin(), damaged->end(), 0xFFFFFFF0u);
    const IndexSegment segment{n,    codes.data(), flags.data(), ids.data(), rows.data(), starts.data(),
                               live, bits,         kinds[1],     {}};
    const IndexQueries queries{n, codes.data(), flags.data(), kinds[1], -1, 0};
    std::vector<std::vector<Neighbor>> found(n);
    try {
      index_search(isa, queries, &segment, 1, k, {hashes_per_table, tables, 0, 0, 0.0, true, false, 0.0}, found.data(),
                   2, nullptr);
      ++failures;
      std::printf("index %s: damaged tables were accepted\n", isa.name);
    } catch (const std::runtime_error&) {
    }
    *damaged = whole;
  }
}

}  // namespace

void test_index(const Isa& isa) {
  unsigned index_seed = 0;
  for (const int64_t n : {1, 7, 130})
    for (const int64_t k : {1, 8, 63, 64, 65, 200})
      for (const int hashes_per_table : {1, 3, 8})
        if (hashes_per_table <= k) {
          ++index_seed;
          run_index(isa, n, 1 + 5 * index_seed % 43, k, hashes_per_table, k / hashes_per_table,
                    static_cast<int>(index_seed % 4), index_seed);
        }
}
