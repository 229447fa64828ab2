// Python's view of index.h.
#include "kernelsketch/index.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/graph.h"
#include "kernelsketch/growing.h"
#include "returned.h"
#include "rows.h"

namespace kernelsketch::bindings {
namespace {

// Vectors of rows: bytes, floats, both, or CSR. Ends of CSR rows are checked when a row is read, as those of a mapped
// file that is damaged can be anything.
class PyIndexVectors {
 public:
  PyIndexVectors(Vector<double> norms, std::optional<Matrix<uint8_t>> bytes, std::optional<Matrix<float>> dense,
                 std::optional<Vector<int64_t>> indptr, std::optional<VectorOf<int32_t, int64_t>> indices,
                 std::optional<Vector<float>> data, int64_t n_features)
      : norms_(std::move(norms)), bytes_(std::move(bytes)), dense_(std::move(dense)), indptr_(std::move(indptr)),
        indices_(std::move(indices)), data_(std::move(data)) {
    const int64_t n = count();
    view_.norms = norms_.data();
    if (indptr_) {
      require(!bytes_ && !dense_ && indices_ && data_, "vectors: either dense or CSR");
      require(rows(*indptr_) == n + 1 && rows(*indices_) == rows(*data_), "vectors: wrong length");
      view_.indptr = indptr_->data();
      view_.data = data_->data();
      view_.stored = rows(*data_);
      view_.d = n_features;
      if (indices_->holds<int32_t>())
        view_.narrow = indices_->data<int32_t>();
      else
        view_.wide = indices_->data<int64_t>();
      return;
    }
    require((bytes_ || dense_) && !indices_ && !data_, "vectors: either dense or CSR");
    if (bytes_) {
      require(rows(*bytes_) == n, "vectors: wrong length");
      view_.bytes = bytes_->data();
      view_.d = columns(*bytes_);
    }
    if (dense_) {
      require(rows(*dense_) == n, "vectors: wrong length");
      require(!bytes_ || view_.d == columns(*dense_), "vectors: different numbers of features");
      view_.dense = dense_->data();
      view_.d = columns(*dense_);
    }
  }
  int64_t count() const { return rows(norms_); }
  const IndexVectors& view() const { return view_; }

 private:
  Vector<double> norms_;
  std::optional<Matrix<uint8_t>> bytes_;
  std::optional<Matrix<float>> dense_;
  std::optional<Vector<int64_t>> indptr_;
  std::optional<VectorOf<int32_t, int64_t>> indices_;
  std::optional<Vector<float>> data_;
  IndexVectors view_;
};

class PyIndexPostings {
 public:
  PyIndexPostings(int shift, Vector<uint32_t> directory, Vector<int64_t> keys, Vector<int64_t> starts,
                  Matrix<uint32_t> entries)
      : directory_(std::move(directory)), keys_(std::move(keys)), starts_(std::move(starts)),
        entries_(std::move(entries)) {
    require(
        shift >= 0 && shift < 64 && rows(directory_) >= 1 && rows(starts_) == rows(keys_) + 1 && columns(entries_) == 2,
        "postings: wrong shape");
    view_ = {rows(directory_) - 1, shift,          directory_.data(), rows(keys_),
             keys_.data(),         starts_.data(), rows(entries_),    entries_.data()};
  }
  const IndexPostings& view() const { return view_; }

 private:
  Vector<uint32_t> directory_;
  Vector<int64_t> keys_, starts_;
  Matrix<uint32_t> entries_;
  IndexPostings view_;
};

class PyIndexGraph {
 public:
  PyIndexGraph(Matrix<uint32_t> links, Vector<uint32_t> entries, Vector<float> norms, int zero, float scale,
               std::optional<Matrix<uint8_t>> bytes)
      : links_(std::move(links)), entries_(std::move(entries)), norms_(std::move(norms)), bytes_(std::move(bytes)) {
    require(columns(links_) >= 1 && columns(links_) <= kMaxDegree, "links: wrong shape");
    require(rows(norms_) == rows(links_), "norms: wrong length");
    require(!bytes_ || rows(*bytes_) == rows(links_), "bytes: wrong length");
    require(zero >= -kMostZero && zero <= kMostZero, "zero: out of range");
    view_ = {columns(links_), links_.data(), rows(entries_), entries_.data(), bytes_ ? bytes_->data() : nullptr,
             norms_.data(),   zero,          scale};
  }
  // The graph of rows with these vectors.
  IndexGraph of(const IndexVectors& x, int64_t n) const {
    require(rows(links_) == n && x.norms && !x.indptr, "graph: not of these rows");
    require(bytes_ ? columns(*bytes_) == x.d : x.bytes != nullptr, "graph: its bytes are not of these rows");
    IndexGraph view = view_;
    if (!bytes_) view.bytes = x.bytes;
    return view;
  }

 private:
  Matrix<uint32_t> links_;
  Vector<uint32_t> entries_;
  Vector<float> norms_;
  std::optional<Matrix<uint8_t>> bytes_;
  IndexGraph view_;
};

// The objects that a segment or a set of queries refers to stay alive with it.
IndexVectors vectors_of(const std::optional<nb::typed<nb::object, PyIndexVectors>>& vectors, int64_t n) {
  if (!vectors) return {};
  const auto& found = nb::cast<const PyIndexVectors&>(*vectors);
  require(found.count() == n, "vectors: wrong length");
  return found.view();
}
using MaybeVectors = std::optional<nb::typed<nb::object, PyIndexVectors>>;
using MaybePostings = std::optional<nb::typed<nb::object, PyIndexPostings>>;
using MaybeGraph = std::optional<nb::typed<nb::object, PyIndexGraph>>;

class PyIndexSegment {
 public:
  PyIndexSegment(Matrix<uint8_t> codes, Vector<uint8_t> flags, Vector<int64_t> ids, Matrix<uint32_t> table_rows,
                 Matrix<uint32_t> starts, MaybeVectors vectors, MaybePostings postings, MaybeGraph graph)
      : codes_(std::move(codes)), flags_(std::move(flags)), ids_(std::move(ids)), rows_(std::move(table_rows)),
        starts_(std::move(starts)), vectors_(std::move(vectors)), postings_(std::move(postings)),
        graph_(std::move(graph)) {
    const int64_t n = rows(codes_);
    require(rows(flags_) == n && rows(ids_) == n && n < int64_t{1} << 32, "flags, ids: wrong length");
    require(rows(rows_) == rows(starts_) && columns(rows_) <= n, "rows, starts: wrong shape");
    int bits = 0;
    while (bits < 31 && (int64_t{1} << bits) + 1 < columns(starts_)) ++bits;
    require(rows(starts_) == 0 || (int64_t{1} << bits) + 1 == columns(starts_), "starts: wrong shape");
    view_ = {n,
             codes_.data(),
             flags_.data(),
             ids_.data(),
             rows_.data(),
             starts_.data(),
             columns(rows_),
             bits,
             vectors_of(vectors_, n),
             postings_ ? nb::cast<const PyIndexPostings&>(*postings_).view() : IndexPostings{},
             {}};
    if (graph_) view_.graph = nb::cast<const PyIndexGraph&>(*graph_).of(view_.vectors, n);
  }
  const IndexSegment& view() const { return view_; }
  int64_t k() const { return columns(codes_); }
  int64_t tables() const { return rows(starts_); }

 private:
  Matrix<uint8_t> codes_;
  Vector<uint8_t> flags_;
  Vector<int64_t> ids_;
  Matrix<uint32_t> rows_, starts_;
  MaybeVectors vectors_;
  MaybePostings postings_;
  MaybeGraph graph_;
  IndexSegment view_;
};

class PyIndexQueries {
 public:
  PyIndexQueries(Matrix<uint8_t> codes, Vector<uint8_t> empty, MaybeVectors vectors, int64_t segment, int64_t first)
      : codes_(std::move(codes)), empty_(std::move(empty)), vectors_(std::move(vectors)) {
    const int64_t n = rows(codes_);
    require(rows(empty_) == n, "empty: wrong length");
    view_ = {n, codes_.data(), empty_.data(), vectors_of(vectors_, n), segment, first};
  }
  const IndexQueries& view() const { return view_; }
  int64_t k() const { return columns(codes_); }

 private:
  Matrix<uint8_t> codes_;
  Vector<uint8_t> empty_;
  MaybeVectors vectors_;
  IndexQueries view_;
};

bool go_together(const IndexVectors& q, const IndexVectors& x) {
  if (!q.norms || !x.norms) return false;
  if (x.indptr || q.indptr) return x.indptr && q.indptr && x.d == q.d;
  return x.d == q.d && (q.dense || (q.bytes && x.bytes));
}

// (where the neighbours of each query begin, their ids, their similarities)
using Answer = std::tuple<Returned<int64_t>, Returned<int64_t>, Returned<double>>;

void require_own_rows(const IndexQueries& queries, const std::vector<IndexSegment>& segments) {
  const bool in_segment = queries.segment >= 0;
  const int64_t own_rows =
      in_segment && queries.segment < static_cast<int64_t>(segments.size()) ? segments[queries.segment].n : 0;
  require(!in_segment || (queries.first >= 0 && queries.first + queries.n <= own_rows), "own rows: out of range");
}

// What `search(found)` finds for n queries.
template <class Search>
Answer answer(int64_t n, const Search& search) {
  Growing<int64_t> ends, ids;
  Growing<double> similarities;
  without_gil([&] {
    std::vector<std::vector<Neighbor>> found(n);
    search(found.data());
    int64_t total = 0;
    for (const auto& list : found) total += static_cast<int64_t>(list.size());
    ends.grow(n + 1);
    ids.grow(total);
    similarities.grow(total);
    for (const auto& list : found) {
      ends.push(ids.size());
      for (const Neighbor& neighbor : list) {
        ids.push(neighbor.id);
        similarities.push(neighbor.similarity);
      }
    }
    ends.push(total);
  });
  return {taken(std::move(ends)), taken(std::move(ids)), taken(std::move(similarities))};
}

Answer search(const std::string& isa, const PyIndexQueries& given, const std::vector<const PyIndexSegment*>& segments,
              const SearchParams& params, int threads) {
  const IndexQueries& queries = given.view();
  const bool by_features = params.heavy_fraction != 0;
  const bool by_codes = !by_features && !(params.n_tables == 0 && params.n_rerank == 0 && params.exact);
  const int64_t n = queries.n, k = segments.empty() || !segments[0] ? given.k() : segments[0]->k();
  require(!by_codes || given.k() == k, "codes: not those of the segments");
  require(params.heavy_fraction >= 0 && params.heavy_fraction <= 1, "heavy_fraction: out of range");
  require(k >= 1 && k <= kMaxCodes, "codes: too many");
  require(params.hashes_per_table >= 1 && params.hashes_per_table <= kMaxHashesPerTable && params.n_tables >= 0 &&
              params.n_tables * params.hashes_per_table <= k,
          "hashes_per_table, n_tables: out of range");
  require(params.n_rerank >= 0 && params.n_neighbors >= 0, "n_rerank, n_neighbors: out of range");
  std::vector<IndexSegment> parts;
  for (const PyIndexSegment* segment : segments) {
    require(segment && segment->k() == k && segment->tables() >= params.n_tables,
            "segments: other codes or too few tables");
    const IndexSegment& part = segment->view();
    require(!params.exact || go_together(queries.vectors, part.vectors), "segments: vectors do not go together");
    require(!by_features || (part.postings.starts && part.vectors.indptr && queries.vectors.indptr),
            "segments: no postings");
    parts.push_back(part);
  }
  require_own_rows(queries, parts);
  require(!params.later_only || queries.segment >= 0, "later_only: without own rows");
  return answer(n, [&](std::vector<Neighbor>* found) {
    index_search(find_isa(isa), queries, parts.data(), static_cast<int64_t>(parts.size()), k, params, found, threads,
                 interrupted);
  });
}

Answer search_graphs(const std::string& isa, const PyIndexQueries& given,
                     const std::vector<const PyIndexSegment*>& segments, int64_t n_rerank, int64_t n_neighbors,
                     int threads) {
  const IndexQueries& queries = given.view();
  require(n_rerank >= 1 && n_neighbors >= 1, "n_rerank, n_neighbors: out of range");
  std::vector<IndexSegment> parts;
  for (const PyIndexSegment* segment : segments) {
    require(segment && segment->view().graph.links, "segments: no graph");
    require(go_together(queries.vectors, segment->view().vectors), "segments: vectors do not go together");
    parts.push_back(segment->view());
  }
  require_own_rows(queries, parts);
  return answer(queries.n, [&](std::vector<Neighbor>* found) {
    graph_search(find_isa(isa), queries, parts.data(), static_cast<int64_t>(parts.size()), n_rerank, n_neighbors, found,
                 threads, interrupted);
  });
}

void bytes_of(const Matrix<float>& values, int zero, float scale, const Target<uint8_t>& bytes,
              const Series<float>& norms, int threads) {
  const int64_t n = rows(values), d = columns(values);
  require(rows(bytes) == n && columns(bytes) == d && in_order(bytes, d), "bytes: wrong shape or strides");
  require(rows(norms) == n, "norms: wrong length");
  require(zero >= -kMostZero && zero <= kMostZero, "zero: out of range");
  without_gil([&] { graph_bytes(values.data(), n, d, zero, scale, bytes.data(), norms.data(), threads); });
}

// Links are written in place. Rows of the order that have links already, the first `done`, must link to others of them.
void build_graph(const std::string& isa, const Matrix<uint8_t>& bytes, const Vector<float>& norms,
                 const Vector<uint32_t>& order, int64_t done, const Target<uint32_t>& links, int threads) {
  const int64_t n = rows(bytes), degree = columns(links);
  require(rows(norms) == n && rows(links) == n && n < int64_t{1} << 31, "norms, links: wrong length");
  require(degree >= 1 && degree <= kMaxDegree && in_order(links, degree), "links: wrong shape or strides");
  require(done >= 0 && done <= rows(order), "done: out of range");
  const float* norm = norms.data();
  require_each(n, [&] { return std::all_of(norm, norm + n, [](float x) { return x >= 1; }); }, "norms: below 1");
  const uint32_t *first = order.data(), *last = first + rows(order);
  require_each(
      rows(order), [&] { return std::all_of(first, last, [n](uint32_t row) { return row < n; }); },
      "order: a row that does not exist");
  without_gil([&] {
    graph_build(find_isa(isa), bytes.data(), norms.data(), n, columns(bytes), order.data(), done, rows(order),
                links.data(), degree, threads, interrupted);
  });
}

void build_tables(const Matrix<uint8_t>& codes, const Vector<uint8_t>& flags, int hashes_per_table, int bits,
                  const Target<uint32_t>& table_rows, const Target<uint32_t>& starts, int threads) {
  const int64_t tables = rows(table_rows), live = columns(table_rows);
  require(
      hashes_per_table >= 1 && hashes_per_table <= kMaxHashesPerTable && tables * hashes_per_table <= columns(codes),
      "hashes_per_table, rows: out of range");
  require(bits >= 0 && bits < 31 && rows(starts) == tables && columns(starts) == (int64_t{1} << bits) + 1 &&
              in_order(starts, columns(starts)) && in_order(table_rows, live),
          "starts: wrong shape or strides");
  require(rows(flags) == rows(codes), "flags: wrong length");
  const uint8_t *first = flags.data(), *last = first + rows(flags);
  require_each(rows(flags), [&] { return std::count(first, last, 0) == live; }, "rows: wrong shape");
  without_gil([&] {
    index_tables(codes.data(), flags.data(), rows(codes), columns(codes), hashes_per_table, tables, bits, live,
                 table_rows.data(), starts.data(), threads, interrupted);
  });
}

void norms_of(const std::string& isa, const PyRows& given, const Series<double>& norms, int threads) {
  visit_rows(given, [&]<class View>(const View& x) {
    if constexpr (std::is_same_v<typename View::Value, double>) {
      throw nb::type_error("rows: not float32");
    } else {
      require(rows(norms) == x.n, "norms: wrong length");
      without_gil([&] {
        if constexpr (std::is_same_v<View, DenseRows<float>>)
          index_norms(find_isa(isa), x.data, x.n, x.d, norms.data(), threads);
        else
          index_norms(find_isa(isa), x.indptr, x.data, x.n, norms.data(), threads);
      });
    }
  });
}

void heavy_of(const PyCsrRows& given, const Vector<double>& norms, double heavy_fraction, const Series<uint8_t>& heavy,
              int threads) {
  require(heavy_fraction > 0 && heavy_fraction <= 1, "heavy_fraction: out of range");
  std::visit(
      [&]<class T, class Index>(const CsrRows<T, Index>& x) {
        if constexpr (std::is_same_v<T, double>) {
          throw nb::type_error("rows: not float32");
        } else {
          require(rows(norms) == x.n, "norms: wrong length");
          require(rows(heavy) == x.indptr[x.n], "heavy: wrong length");
          without_gil([&] { index_heavy(x.indptr, x.data, norms.data(), x.n, heavy_fraction, heavy.data(), threads); });
        }
      },
      given.view());
}

}  // namespace

void define_index(nb::module_& m) {
  nb::class_<PyIndexVectors>(m, "IndexVectors",
                             "Rows to be compared exactly and their L1 norms: bytes, floats, both, or CSR rows.")
      .def(nb::init<Vector<double>, std::optional<Matrix<uint8_t>>, std::optional<Matrix<float>>,
                    std::optional<Vector<int64_t>>, std::optional<VectorOf<int32_t, int64_t>>,
                    std::optional<Vector<float>>, int64_t>(),
           "norms"_a, "bytes"_a = nb::none(), "dense"_a = nb::none(), "indptr"_a = nb::none(), "indices"_a = nb::none(),
           "data"_a = nb::none(), "n_features"_a = 0);
  nb::class_<PyIndexPostings>(
      m, "IndexPostings", "Inverted lists: the rows in whose heavy part each feature is, found by a directory of keys.")
      .def(nb::init<int, Vector<uint32_t>, Vector<int64_t>, Vector<int64_t>, Matrix<uint32_t>>(), "shift"_a,
           "directory"_a, "keys"_a, "starts"_a, "entries"_a);
  nb::class_<PyIndexGraph>(m, "IndexGraph",
                           "Links of rows to rows near them, and bytes by which they are compared: those of the "
                           "vectors, or round(x * scale) + zero.")
      .def(nb::init<Matrix<uint32_t>, Vector<uint32_t>, Vector<float>, int, float, std::optional<Matrix<uint8_t>>>(),
           "links"_a, "entries"_a, "norms"_a, "zero"_a, "scale"_a, "bytes"_a = nb::none());
  nb::class_<PyIndexSegment>(m, "IndexSegment", "Rows that were indexed together, with their LSH tables.")
      .def(nb::init<Matrix<uint8_t>, Vector<uint8_t>, Vector<int64_t>, Matrix<uint32_t>, Matrix<uint32_t>, MaybeVectors,
                    MaybePostings, MaybeGraph>(),
           "codes"_a, "flags"_a, "ids"_a, "rows"_a, "starts"_a, "vectors"_a = nb::none(), "postings"_a = nb::none(),
           "graph"_a = nb::none());
  nb::class_<PyIndexQueries>(
      m, "IndexQueries",
      "Query i is row `first` + i of segment `segment`, and no neighbour of itself; or `segment` is -1.")
      .def(nb::init<Matrix<uint8_t>, Vector<uint8_t>, MaybeVectors, int64_t, int64_t>(), "codes"_a, "empty"_a,
           "vectors"_a = nb::none(), "segment"_a = -1, "first"_a = 0);
  nb::class_<SearchParams>(
      m, "SearchParams",
      "What to look for. In `n_rerank` and `n_neighbors` 0 stands for all; with 0 `n_tables` every row is "
      "a candidate. With a `heavy_fraction` above 0 candidates share heavy features.")
      .def(nb::init<int, int64_t, int64_t, int64_t, double, bool, bool, double>(), "hashes_per_table"_a, "n_tables"_a,
           "n_rerank"_a, "n_neighbors"_a, "min_similarity"_a, "exact"_a, "later_only"_a, "heavy_fraction"_a = 0.0);
  m.def("index_tables", build_tables, "codes"_a, "flags"_a, "hashes_per_table"_a, "bits"_a, "rows"_a, "starts"_a,
        "threads"_a, "Fill the LSH tables of a segment.");
  m.def("index_norms", norms_of, "isa"_a, "rows"_a, "norms"_a, "threads"_a,
        "Fill `norms` with the L1 norms of float32 rows.");
  m.def("index_heavy", heavy_of, "rows"_a, "norms"_a, "heavy_fraction"_a, "heavy"_a, "threads"_a,
        "Fill `heavy` with 1 for each value in the heavy part of its row.");
  m.def("index_search", search, "isa"_a, "queries"_a, "segments"_a, "params"_a, "threads"_a,
        "Return where the neighbours of each query begin, their ids, and their similarities.");
  m.def(
      "graph_bytes", bytes_of, "values"_a, "zero"_a, "scale"_a, "bytes"_a, "norms"_a, "threads"_a,
      "Fill `bytes` with round(x * scale) + zero, cut off to 0 .. 255, and `norms` with the L1 norms of bytes - zero.");
  m.def("graph_build", build_graph, "isa"_a, "bytes"_a, "norms"_a, "order"_a, "done"_a, "links"_a, "threads"_a,
        "Link rows to rows near them, from order[done] on.");
  m.def("graph_search", search_graphs, "isa"_a, "queries"_a, "segments"_a, "n_rerank"_a, "n_neighbors"_a, "threads"_a,
        "Return what index_search returns, for neighbours found by the graphs of segments.");
}

}  // namespace kernelsketch::bindings
