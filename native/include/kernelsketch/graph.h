// Near neighbours on dense rows by a graph: each row has links to rows near it, and a search follows them.
//
// Keys. Rows are compared as bytes: those of the index or, where it stores floats, q = round(x * scale) + zero, cut off
// to 0 .. 255. With D the sum of absolute differences of two rows of bytes and |u| = max(1, sum |u_f - zero|), their key
// is
//   D / (|u| + |v|) = (1 - GMM) / (1 + GMM)   of the rounded rows,
// D exact, norms and quotient in single precision. The row of the smallest key is the most similar one; rows of equal
// keys are in the order of their numbers.
//
// Search. A beam holds the nearest rows found so far, up to the `ef`-th that can be a neighbour; rows that are removed
// lead on to others, but do not count. It begins with the entries. As long as it has a row that was not expanded, the
// nearest such row is: the rows that it has links to are compared with the query, unless they were before. The rows
// that can be neighbours are then compared exactly, as index.h describes.
//
// Building. Rows are inserted in a given order: the first 64 at once, then in batches of a 32nd of the rows inserted so
// far. A row of a batch searches the graph of the batches before it with ef = 3 degree. All rows expanded are candidates
// for its links (in the first batch, all other rows). Links are chosen among candidates in the order of their keys: one
// is taken if it is not nearer to a row taken before than to the row itself, up to `degree` of them, of which a quarter
// can have a key of 0. Each row linked to then gets a link back. If it has no room, its links are chosen anew among old
// and new ones. Results do not depend on threads: rows of a batch do not see each other, and links back are made in the
// order of the rows.
//
// Reference: reference/graph.py is the specification.
#pragma once

#include <cstdint>

#include "kernelsketch/index.h"

namespace kernelsketch {

inline constexpr int64_t kMaxDegree = 256;
inline constexpr int kMostZero = 1 << 23;  // in absolute value: floats hold round(x * scale) + zero exactly

// The arithmetic of one instruction set; src/isa/graph.cpp fills it in.
struct GraphOps {
  // keys[i] = key of the query and row rows[i].
  void (*keys)(const uint8_t* query, float norm, const uint8_t* bytes, const float* norms, int64_t d,
               const uint32_t* rows, int64_t count, float* keys);
};

// Rounds n rows of d floats to bytes, and sums their norms.
void graph_bytes(const float* values, int64_t n, int64_t d, int zero, float scale, uint8_t* bytes, float* norms,
                 int threads);

// Inserts rows order[done] .. order[count - 1]. `links` is [n][degree]; where a row has fewer, its own number follows.
// The other rows of `order` have links already, and rows that are not in it have none.
void graph_build(const Isa& isa, const uint8_t* bytes, const float* norms, int64_t n, int64_t d, const uint32_t* order,
                 int64_t done, int64_t count, uint32_t* links, int64_t degree, int threads, Interrupted interrupted);

// Finds the n_neighbors nearest rows of each query by a search with ef = n_rerank in each segment. List is
// std::vector<Neighbor>. Throws std::runtime_error where links lead out of the graph, as those of a damaged file can.
template <class List>
void graph_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
                  int64_t n_rerank, int64_t n_neighbors, List* found, int threads, Interrupted interrupted);

}  // namespace kernelsketch
