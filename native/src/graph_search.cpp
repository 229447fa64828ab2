// Searching an index by its graphs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "dense_pair.h"
#include "graph_beam.h"
#include "kernelsketch/compiler.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/graph.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kQueriesAtOnce = 16;  // an item of work
constexpr int64_t kRowsAtOnce = 256;
constexpr std::size_t kAhead = 4;  // rows fetched before they are compared exactly

// A query as bytes, by which it is compared with the rows of a segment, and their norm.
struct RoundedQuery {
  std::vector<uint8_t> memory;
  const uint8_t* bytes = nullptr;
  float norm = 0;

  void set(const IndexQueries& queries, int64_t i, const IndexSegment& segment) {
    const IndexVectors& q = queries.vectors;
    if (q.bytes && segment.vectors.bytes) {
      bytes = q.bytes + i * q.d;
      norm = static_cast<float>(q.norms[i]);
      return;
    }
    memory.resize(q.d);
    bytes = memory.data();
    graph_bytes(q.dense + i * q.d, 1, q.d, segment.graph.zero, segment.graph.scale, memory.data(), &norm, 1);
  }
};

}  // namespace

void graph_bytes(const float* values, int64_t n, int64_t d, int zero, float scale, uint8_t* bytes, float* norms,
                 int threads) {
  const auto shift = static_cast<float>(zero);
  each_row(n, kRowsAtOnce, threads, nullptr, [&](int64_t i) {
    const float* x = values + i * d;
    uint8_t* to = bytes + i * d;
    int64_t norm = 0;
    for (int64_t f = 0; f < d; ++f) {
      const float value = std::nearbyint(x[f] * scale) + shift;
      to[f] = static_cast<uint8_t>(std::min(std::max(value, 0.0f), 255.0f));
      norm += std::abs(to[f] - zero);
    }
    norms[i] = static_cast<float>(std::max<int64_t>(norm, 1));
  });
}

template <class List>
void graph_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
                  int64_t n_rerank, int64_t n_neighbors, List* found, int threads, Interrupted interrupted) {
  const IndexVectors& q = queries.vectors;
  const int64_t at_once = std::clamp<int64_t>(queries.n / (4 * int64_t{threads}), 1, kQueriesAtOnce);
  parallel((queries.n + at_once - 1) / at_once, threads, interrupted, [&](const auto& next) {
    GraphBeam beam;
    RoundedQuery rounded;
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * at_once; i < std::min(queries.n, (item + 1) * at_once) && !next.stopped(); ++i) {
        if (queries.empty[i]) continue;
        List& to = found[i];
        for (int64_t s = 0; s < count; ++s) {
          const IndexSegment& segment = segments[s];
          const IndexVectors& x = segment.vectors;
          const IndexGraph& g = segment.graph;
          const GraphView view = {g.bytes, g.norms, segment.n, x.d, g.links, g.degree, g.entries, g.entry_count};
          const int64_t own = queries.segment == s ? queries.first + i : -1;
          const auto is_open = [&](uint32_t row) { return segment.flags[row] == 0 && row != own; };
          rounded.set(queries, i, segment);
          const std::vector<Near>& near =
              beam.search(isa.graph, view, rounded.bytes, rounded.norm, n_rerank, is_open, nullptr);
          for (std::size_t c = 0; c < near.size(); ++c) {
            if (x.dense && c + kAhead < near.size()) prefetch(x.dense + near[c + kAhead].row * x.d, x.d);
            if (!near[c].is_open) continue;
            const double common = dense_common(isa.index, q, i, x, near[c].row);
            const double similarity = ks::of_minima(common, q.norms[i] + x.norms[near[c].row]);
            if (similarity > 0) to.push_back({similarity, segment.ids[near[c].row]});
          }
        }
        const auto before = [](const Neighbor& a, const Neighbor& b) {
          return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
        };
        const int64_t wanted = std::min<int64_t>(n_neighbors, static_cast<int64_t>(to.size()));
        std::partial_sort(to.begin(), to.begin() + wanted, to.end(), before);
        to.resize(wanted);
        to.shrink_to_fit();
      }
  });
}
template void graph_search(const Isa&, const IndexQueries&, const IndexSegment*, int64_t, int64_t, int64_t,
                           std::vector<Neighbor>*, int, Interrupted);

}  // namespace kernelsketch
