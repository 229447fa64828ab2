// Near neighbours under the GMM kernel: LSH tables, inverted lists and exact re-ranking.
//
// Codes. A row has k codes. Code j is the fingerprint of its full sample (i*, t*) of hash j: one byte. Two rows of
// similarity s have equal codes j with probability c = s + (1 - s) / 256, independently for each j.
//
// LSH tables. Band l is the codes l h .. (l + 1) h - 1, where h is the number of hashes per table. A row is a candidate
// for a query if all codes of one of the first L bands are equal, L being the number of tables: this happens with
// probability 1 - (1 - c^h)^L. Being a candidate is a relation of two rows and of nothing else; the tables only find
// these rows faster. Table l holds the numbers of all rows, ordered by the bucket of their band. It takes 4 bytes per
// row, and its directory takes at most 1 byte per row. Rows that share only the bucket are dropped when codes are
// compared, which is done for every candidate anyway.
//
// Inverted lists (postings). Sparse rows can be found by features instead of bands. The heavy part of a row is its
// largest values, as few as hold `heavy_fraction` of its L1 norm. Postings hold, for each feature and sign, the rows
// whose heavy part has it. Candidates share one with the query. They are ranked by their level: the GMM of what the
// heavy parts share, in 4096ths.
//
// Re-ranking. The `n_rerank` candidates with the most equal codes, or of the highest level, are compared exactly:
//   M = sum of min(|u_f|, |v_f|) over features of equal sign,    GMM = M / ((|u| + |v|) - M),
// in double. For dense rows M is summed in eight lanes, feature f in lane f % 8, and the lanes are added as a tree. For
// sparse rows the q-th value of the indexed row goes to lane q % 8. For bytes M = ((|u| + |v|) - D) / 2 with D the sum
// of absolute differences; all of it is exact, so it equals the sum in lanes. Without vectors GMM is estimated by (m /
// k - 1/256) / (255/256) for m equal codes.
//
// Ties go to the smaller id, so no result depends on threads, on segments or on the order of insertion.
//
// Reference: reference/index.py is the specification.
#pragma once

#include <cstdint>

#include "core/pair.h"
#include "kernelsketch/interrupt.h"

namespace kernelsketch {

struct Isa;

inline constexpr int64_t kMaxCodes = 4096;    // codes per row
inline constexpr int kMaxHashesPerTable = 8;  // codes that make a bucket
using ks::kLevels;                            // levels of similarity by shared features

// The arithmetic of one instruction set; src/isa/index.cpp fills it in.
struct IndexOps {
  // counts[i] = number of equal codes of the query and row rows[i], -1 where no band is equal. Bit j of `firsts` is
  // set where a band starts at code j.
  void (*matches)(const uint8_t* query, const uint8_t* codes, const uint32_t* rows, int64_t count, int64_t k, int band,
                  const uint64_t* firsts, int32_t* counts);
  // M of two dense rows.
  double (*common)(const float* a, const float* b, int64_t d);
  double (*common_bytes)(const float* a, const uint8_t* b, int64_t d);
  // M of a query, its values by feature, and a sparse row; features are taken modulo mask + 1.
  double (*common_sparse)(const float* values, uint32_t mask, const int32_t* indices, const float* data, int64_t count);
  // Sum of absolute differences.
  int64_t (*distance_bytes)(const uint8_t* a, const uint8_t* b, int64_t d);
  // marks[i] = whether row i shares something, and at least a part `cut` of its norm and the query's.
  void (*sharing)(const float* shared, const double* norms, int64_t count, float norm, float cut, uint8_t* marks);
  // marks[i] = whether factor * sums[i] is not below base + share * norms[i] - negatives[i]. Returns whether any is not.
  bool (*reaching)(const float* sums, float factor, const float* norms, const float* negatives, int count, float share,
                   float base, uint8_t* marks);
};

// Rows to be compared exactly: as bytes, as floats, or sparse. Queries can be bytes and floats at once.
struct IndexVectors {
  const uint8_t* bytes = nullptr;
  const float* dense = nullptr;
  const int64_t* indptr = nullptr;
  const int32_t* narrow = nullptr;  // indices of either width
  const int64_t* wide = nullptr;
  const float* data = nullptr;
  const double* norms = nullptr;  // L1
  int64_t d = 0;
  int64_t stored = 0;  // values of sparse rows
  // call(indices from a value on), whatever their width
  template <class Call>
  auto with_indices(int64_t begin, const Call& call) const {
    return narrow ? call(narrow + begin) : call(wide + begin);
  }
};

// The rows in whose heavy part a feature is: key 2 f, or 2 f + 1 for those of negative values.
struct IndexPostings {
  int64_t groups = 0;  // of keys that are equal but for their last `shift` bits
  int shift = 0;
  const uint32_t* directory = nullptr;  // [groups + 1]: where the keys of each group begin
  int64_t count = 0;                    // keys
  const int64_t* keys = nullptr;        // ascending
  const int64_t* starts = nullptr;      // [count + 1]
  int64_t stored = 0;
  const uint32_t* entries = nullptr;  // [stored][2]: a row, and its value without the sign, the bits of a float
};

// Links of dense rows to rows near them (graph.h).
struct IndexGraph {
  int64_t degree = 0;
  const uint32_t* links = nullptr;  // [n][degree]
  int64_t entry_count = 0;
  const uint32_t* entries = nullptr;  // where a search begins
  const uint8_t* bytes = nullptr;     // [n][d]; those of the vectors, or what floats were rounded to
  const float* norms = nullptr;       // of these bytes
  int zero = 0;                       // floats become round(x * scale) + zero
  float scale = 1;
};

// Rows that were indexed together, ids ascending.
struct IndexSegment {
  int64_t n;
  const uint8_t* codes;  // [n][k]
  const uint8_t* flags;  // [n], not 0 for rows that are never neighbours: empty or removed
  const int64_t* ids;
  const uint32_t* rows;    // [tables][live]: row numbers ordered by bucket, then row
  const uint32_t* starts;  // [tables][2^bits + 1]
  int64_t live;            // rows in each table
  int bits;
  IndexVectors vectors;
  IndexPostings postings;
  IndexGraph graph;
};

struct IndexQueries {
  int64_t n;
  const uint8_t* codes;  // [n][k]; not read where candidates are found by features, or are all rows
  const uint8_t* empty;
  IndexVectors vectors;
  int64_t segment, first;  // query i is row first + i of that segment, and no neighbour of itself; or segment -1
};

// What to search.
struct SearchParams {
  int hashes_per_table;
  int64_t n_tables;       // 0: every row is a candidate
  int64_t n_rerank;       // candidates that are compared exactly; 0: all
  int64_t n_neighbors;    // neighbours per query; 0: all
  double min_similarity;  // of a neighbour
  bool exact;             // else similarities are estimated from codes
  bool later_only;        // only neighbours whose id is above the query's own: each pair once
  double heavy_fraction;  // of the heavy part of queries; 0: candidates are found by codes
};

struct Neighbor {
  double similarity;
  int64_t id;
};

// Fills LSH tables with the rows whose flag is 0: rows [n_tables][live], starts [n_tables][2^bits + 1].
void index_tables(const uint8_t* codes, const uint8_t* flags, int64_t n, int64_t k, int hashes_per_table,
                  int64_t n_tables, int bits, int64_t live, uint32_t* rows, uint32_t* starts, int threads,
                  Interrupted interrupted);

// L1 norms, summed in the order of M, so that a row has similarity 1 with itself.
void index_norms(const Isa& isa, const float* dense, int64_t n, int64_t d, double* norms, int threads);
void index_norms(const Isa& isa, const int64_t* indptr, const float* data, int64_t n, double* norms, int threads);

// heavy[q] = whether value q of sparse rows is in the heavy part of its row.
void index_heavy(const int64_t* indptr, const float* data, const double* norms, int64_t n, double heavy_fraction,
                 uint8_t* heavy, int threads);

// Finds the neighbours of each query, the most similar first. `found` has one list per query. Codes have k bytes per
// row. Throws std::runtime_error where tables or vectors lead out of their arrays, as those of a damaged file can. List
// is std::vector<Neighbor>: the files of one instruction set include this header and must not use std::vector.
template <class List>
void index_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count, int64_t k,
                  const SearchParams& params, List* found, int threads, Interrupted interrupted);

}  // namespace kernelsketch
