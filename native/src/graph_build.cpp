// Building a graph: rows are inserted in batches, the rows of a batch at the same time.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph_beam.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/graph.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kFirstRows = 64;                       // inserted at once, and where searches begin
constexpr int64_t kBatchShare = 32;                      // a batch is this part of the rows inserted before
constexpr int64_t kSearchWidth = 3;                      // ef of the searches, in degrees
constexpr int64_t kEqualShare = 4;                       // at most this part of the links leads to rows of key 0
constexpr int64_t kAtOnce = 8;                           // rows compared between two looks at whether one is too near
constexpr int64_t kRowsAtOnce = 8, kTargetsAtOnce = 64;  // items of work

// Chooses links among candidates; each thread has its own.
class LinkChoice {
 public:
  LinkChoice(const GraphOps& ops, const GraphView& graph) : ops_(ops), graph_(graph), keys_(kAtOnce) {}

  std::vector<Near> candidates;

  void add_candidates(uint32_t row, const uint32_t* others, int64_t count) {
    std::vector<float> keys(count);
    ops_.keys(graph_.bytes + row * graph_.d, graph_.norms[row], graph_.bytes, graph_.norms, graph_.d, others, count,
              keys.data());
    for (int64_t i = 0; i < count; ++i) candidates.push_back({keys[i], others[i]});
  }

  // Writes links of a row, followed by its own number.
  void choose(uint32_t row, uint32_t* links) {
    std::sort(candidates.begin(), candidates.end(), nearer);
    const int64_t most_equal = std::max<int64_t>(1, graph_.degree / kEqualShare);
    int64_t count = 0;
    for (const Near& c : candidates) {
      if (count == graph_.degree) break;
      if (c.row == row || (c.key == 0 && count >= most_equal)) continue;
      if (is_apart(c, links, count)) links[count++] = c.row;
    }
    std::fill(links + count, links + graph_.degree, row);
    candidates.clear();
  }

 private:
  // Whether no row among the links is nearer to the candidate than the candidate is to the row of the links.
  bool is_apart(const Near& c, const uint32_t* links, int64_t count) {
    const uint8_t* bytes = graph_.bytes + c.row * graph_.d;
    for (int64_t i = 0; i < count; i += kAtOnce) {
      const int64_t some = std::min(kAtOnce, count - i);
      ops_.keys(bytes, graph_.norms[c.row], graph_.bytes, graph_.norms, graph_.d, links + i, some, keys_.data());
      for (int64_t j = 0; j < some; ++j)
        if (keys_[j] < c.key) return false;
    }
    return true;
  }

  const GraphOps& ops_;
  const GraphView& graph_;
  std::vector<float> keys_;
};

using Edge = std::pair<uint32_t, uint32_t>;  // a row that gets a link, and to which row

// Adds links, sorted by the rows that get them, of which `first` .. `last` are those of one row.
void add_links(LinkChoice& choice, const GraphView& graph, uint32_t* links, const Edge* first, const Edge* last) {
  const uint32_t row = first->first;
  uint32_t* own = links + row * graph.degree;
  const int64_t before = std::find(own, own + graph.degree, row) - own;
  std::vector<uint32_t> all(own, own + before);
  for (const Edge* e = first; e < last; ++e)
    if (std::find(own, own + before, e->second) == own + before) all.push_back(e->second);
  const auto count = static_cast<int64_t>(all.size());
  if (count <= graph.degree) {
    std::copy(all.begin(), all.end(), own);
  } else {
    choice.add_candidates(row, all.data(), count);
    choice.choose(row, own);
  }
}

}  // namespace

void graph_build(const Isa& isa, const uint8_t* bytes, const float* norms, int64_t n, int64_t d, const uint32_t* order,
                 int64_t done, int64_t count, uint32_t* links, int64_t degree, int threads, Interrupted interrupted) {
  const GraphOps& ops = isa.graph;
  std::vector<uint32_t> chosen;
  std::vector<Edge> edges;
  std::vector<int64_t> ends;
  const auto all = [](uint32_t) { return true; };
  for (int64_t batch; done < count; done += batch) {
    batch = std::min(count - done, done == 0 ? kFirstRows : std::max<int64_t>(1, done / kBatchShare));
    const GraphView graph = {bytes, norms, n, d, links, degree, order, std::min(done, kFirstRows)};
    chosen.resize(batch * degree);
    const int64_t parts = (batch + kRowsAtOnce - 1) / kRowsAtOnce;
    bool complete = parallel(parts, threads, interrupted, [&](const auto& next) {
      GraphBeam beam;
      LinkChoice choice(ops, graph);
      for (int64_t part; (part = next()) >= 0;)
        for (int64_t i = part * kRowsAtOnce; i < std::min(batch, (part + 1) * kRowsAtOnce); ++i) {
          const uint32_t row = order[done + i];
          if (done == 0)
            choice.add_candidates(row, order, batch);
          else
            beam.search(ops, graph, bytes + row * d, norms[row], kSearchWidth * degree, all, &choice.candidates);
          choice.choose(row, chosen.data() + i * degree);
        }
    });
    if (!complete) return;
    edges.clear();
    for (int64_t i = 0; i < batch; ++i) {
      const uint32_t row = order[done + i];
      const uint32_t* own = chosen.data() + i * degree;
      std::copy_n(own, degree, links + row * degree);
      for (int64_t j = 0; j < degree && own[j] != row; ++j) edges.emplace_back(own[j], row);
    }
    std::sort(edges.begin(), edges.end());
    ends.assign(1, 0);
    for (std::size_t e = 1; e <= edges.size(); ++e)
      if (e == edges.size() || edges[e].first != edges[e - 1].first) ends.push_back(static_cast<int64_t>(e));
    const auto targets = edges.empty() ? 0 : static_cast<int64_t>(ends.size()) - 1;
    complete = in_parts(targets, kTargetsAtOnce, threads, interrupted, [&](int64_t first, int64_t last) {
      LinkChoice choice(ops, graph);
      for (int64_t t = first; t < last; ++t)
        add_links(choice, graph, links, edges.data() + ends[t], edges.data() + ends[t + 1]);
    });
    if (!complete) return;
  }
}

}  // namespace kernelsketch
