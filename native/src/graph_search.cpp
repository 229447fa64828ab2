// Searching an index by its graphs.
#include <algorithm>
#include <cmath>
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
constexpr int64_t kValuesAtOnce = 1 << 16;
constexpr std::size_t kAhead = 4;  // rows fetched before they are compared exactly

// Bytes of a query, by which it is compared with the rows of a segment.
const uint8_t* bytes_of(const IndexQueries& queries, int64_t i, const IndexSegment& segment,
                        std::vector<uint8_t>& rounded) {
  const IndexVectors& q = queries.vectors;
  if (q.bytes && segment.vectors.bytes) return q.bytes + i * q.d;
  graph_bytes(q.dense + i * q.d, q.d, segment.graph.low, segment.graph.scale, rounded.data(), 1);
  return rounded.data();
}

}  // namespace

void graph_bytes(const float* values, int64_t count, float low, float scale, uint8_t* bytes, int threads) {
  in_parts(count, kValuesAtOnce, threads, nullptr, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const float value = std::nearbyint((values[i] - low) * scale);
      bytes[i] = static_cast<uint8_t>(std::min(std::max(value, 0.0f), 255.0f));
    }
  });
}

template <class List>
void graph_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
                  int64_t n_rerank, int64_t n_neighbors, List* found, int threads, Interrupted interrupted) {
  const IndexVectors& q = queries.vectors;
  const int64_t at_once = std::clamp<int64_t>(queries.n / (4 * int64_t{threads}), 1, kQueriesAtOnce);
  parallel((queries.n + at_once - 1) / at_once, threads, interrupted, [&](const auto& next) {
    GraphBeam beam;
    std::vector<uint8_t> rounded(q.d);
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * at_once; i < std::min(queries.n, (item + 1) * at_once) && !next.stopped(); ++i) {
        if (queries.empty[i]) continue;
        List& to = found[i];
        for (int64_t s = 0; s < count; ++s) {
          const IndexSegment& segment = segments[s];
          const IndexVectors& x = segment.vectors;
          const IndexGraph& g = segment.graph;
          const GraphView view = {g.bytes, x.norms, segment.n, x.d, g.links, g.degree, g.entries, g.entry_count};
          const int64_t own = queries.segment == s ? queries.first + i : -1;
          const auto is_open = [&](uint32_t row) { return segment.flags[row] == 0 && row != own; };
          const std::vector<Near>& near = beam.search(isa.graph, view, bytes_of(queries, i, segment, rounded),
                                                      static_cast<float>(q.norms[i]), n_rerank, is_open, nullptr);
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
