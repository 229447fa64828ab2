// Python's view of index.h.
#include "kernelsketch/index.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "arrays.h"
#include "kernelsketch/dispatch.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

using Parts = nb::typed<nb::tuple, nb::object, nb::ellipsis>;
using Owned = std::vector<nb::object>;  // arrays that a struct of pointers needs alive

// Vectors of n rows: (norms, bytes), (norms, floats), (norms, floats, bytes) or (norms, indptr, indices, data, d).
struct Vectors {
  IndexVectors x;
  Owned owned;

  Vectors(const Parts& parts, int64_t n) {
    if (parts.size() == 0) return;
    x.norms = take<Vector<double>>(parts[0], n).data();
    if (parts.size() == 5) {
      x.indptr = take<Vector<int64_t>>(parts[1], n + 1).data();
      const auto data = nb::cast<Vector<float>>(parts[3]);
      keep(parts[3]);
      x.data = data.data();
      x.stored = rows(data);
      x.d = nb::cast<int64_t>(parts[4]);
      if (Vector<int32_t> narrow; nb::try_cast(parts[2], narrow, false))
        x.narrow = take<Vector<int32_t>>(parts[2], x.stored).data();
      else
        x.wide = take<Vector<int64_t>>(parts[2], x.stored).data();
      return;
    }
    for (std::size_t p = 1; p < parts.size(); ++p) {
      if (Matrix<uint8_t> bytes; nb::try_cast(parts[p], bytes, false)) {
        x.bytes = take<Matrix<uint8_t>>(parts[p], n).data();
        set_width(columns(bytes));
      } else {
        const auto floats = take<Matrix<float>>(parts[p], n);
        x.dense = floats.data();
        set_width(columns(floats));
      }
    }
  }

 private:
  template <class A>
  A take(const nb::handle& part, int64_t length) {
    const A array = nb::cast<A>(part);
    require(rows(array) == length, "vectors: wrong length");
    keep(part);
    return array;
  }
  void keep(const nb::handle& part) { owned.push_back(nb::borrow(part)); }
  void set_width(int64_t d) {
    require(x.d == 0 || x.d == d, "vectors: different numbers of features");
    x.d = d;
  }
};

// Postings: () or (shift, directory, keys, starts, entries).
struct Postings {
  IndexPostings p;
  Owned owned;

  explicit Postings(const Parts& parts) {
    if (parts.size() == 0) return;
    require(parts.size() == 5, "postings: wrong number of parts");
    const int shift = nb::cast<int>(parts[0]);
    const auto directory = nb::cast<Vector<uint32_t>>(parts[1]);
    const auto keys = nb::cast<Vector<int64_t>>(parts[2]), starts = nb::cast<Vector<int64_t>>(parts[3]);
    const auto entries = nb::cast<Matrix<uint32_t>>(parts[4]);
    require(shift >= 0 && shift < 64 && rows(directory) >= 1 && rows(starts) == rows(keys) + 1 && columns(entries) == 2,
            "postings: wrong shape");
    static_assert(sizeof(IndexPostings::Entry) == 8 && std::numeric_limits<float>::is_iec559);
    p = {rows(directory) - 1, shift,         directory.data(), rows(keys),
         keys.data(),         starts.data(), rows(entries),    reinterpret_cast<const IndexPostings::Entry*>(entries.data())};
    for (const auto& part : parts) owned.push_back(nb::borrow(part));
  }
};

bool go_together(const IndexVectors& q, const IndexVectors& x) {
  if (!q.norms || !x.norms) return false;
  if (x.indptr || q.indptr) return x.indptr && q.indptr && x.d == q.d;
  return x.d == q.d && (q.dense || (q.bytes && x.bytes));
}

class Segment {
 public:
  Segment(Matrix<uint8_t> codes, Vector<uint8_t> flags, Vector<int64_t> ids, Matrix<uint32_t> table_rows,
          Matrix<uint32_t> starts, const Parts& vectors, const Parts& postings)
      : codes_(codes), flags_(flags), ids_(ids), rows_(table_rows), starts_(starts), vectors_(vectors, rows(codes)),
        postings_(postings) {
    const int64_t n = rows(codes);
    require(rows(flags) == n && rows(ids) == n && n < int64_t{1} << 32, "flags, ids: wrong length");
    require(rows(table_rows) == rows(starts) && columns(table_rows) <= n, "rows, starts: wrong shape");
    int bits = 0;
    while (bits < 31 && (int64_t{1} << bits) + 1 < columns(starts)) ++bits;
    require(rows(starts) == 0 || (int64_t{1} << bits) + 1 == columns(starts), "starts: wrong shape");
    segment_ = {n,      codes.data(), flags.data(), ids.data(), table_rows.data(), starts.data(), columns(table_rows),
                bits, vectors_.x, postings_.p};
  }
  const IndexSegment& get() const { return segment_; }
  int64_t k() const { return columns(codes_); }
  int64_t tables() const { return rows(starts_); }

 private:
  Matrix<uint8_t> codes_;
  Vector<uint8_t> flags_;
  Vector<int64_t> ids_;
  Matrix<uint32_t> rows_, starts_;
  Vectors vectors_;
  Postings postings_;
  IndexSegment segment_;
};

template <class T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Result<T> owned_array(std::size_t size, T*& data) {
  data = new T[size];
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Result<T>(data, {size}, owner);
}

// (where the neighbours of each query begin, their ids, their similarities)
using Answer = std::tuple<Result<int64_t>, Result<int64_t>, Result<double>>;

Answer search(const std::string& isa, Matrix<uint8_t> codes, Vector<uint8_t> empty, const Parts& vectors,
              int64_t own_segment, int64_t own_first, const std::vector<const Segment*>& segments, int band,
              int64_t tables, int64_t depth, int64_t most, double least, bool exact, bool later, double mass,
              int threads) {
  const bool by_codes = mass == 0 && !(tables == 0 && depth == 0 && exact);
  const int64_t n = rows(codes), k = segments.empty() || !segments[0] ? columns(codes) : segments[0]->k();
  require(!by_codes || columns(codes) == k, "codes: not those of the segments");
  require(mass >= 0 && mass <= 1, "mass: out of range");
  require(k >= 1 && k <= kMostCodes, "codes: too many");
  require(band >= 1 && band <= kMostBand && tables >= 0 && tables * band <= k, "band, tables: out of range");
  require(rows(empty) == n && depth >= 0 && most >= 0, "empty, depth, most: out of range");
  const Vectors held(vectors, n);
  std::vector<IndexSegment> parts;
  for (const Segment* segment : segments) {
    require(segment && segment->k() == k && segment->tables() >= tables, "segments: other codes or too few tables");
    require(!exact || go_together(held.x, segment->get().vectors), "segments: vectors do not go together");
    const IndexSegment& part = segment->get();
    require(mass == 0 || (part.postings.starts && part.vectors.indptr && held.x.indptr), "segments: no postings");
    parts.push_back(part);
  }
  const auto count = static_cast<int64_t>(parts.size());
  const int64_t own_rows = own_segment >= 0 && own_segment < count ? parts[static_cast<std::size_t>(own_segment)].n : 0;
  require(own_segment < 0 || (own_first >= 0 && own_first + n <= own_rows), "own rows: out of range");
  require(!later || own_segment >= 0, "later: without own rows");
  const Isa& set = find_isa(isa);
  const IndexQueries queries{n, codes.data(), empty.data(), held.x, own_segment, own_first};
  const IndexTask task{k, band, tables, depth, most, least, exact, later, mass};
  std::vector<std::vector<Neighbor>> found(static_cast<std::size_t>(n));
  without_gil([&] { index_search(set, queries, parts.data(), count, task, found.data(), threads, interrupted); });
  std::size_t total = 0;
  for (const auto& list : found) total += list.size();
  int64_t *ends = nullptr, *ids = nullptr;
  double* similarity = nullptr;
  auto ends_array = owned_array<int64_t>(found.size() + 1, ends);
  auto ids_array = owned_array<int64_t>(total, ids);
  auto similarity_array = owned_array<double>(total, similarity);
  std::size_t at = 0;
  ends[0] = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Neighbor& neighbor : found[i]) {
      ids[at] = neighbor.id;
      similarity[at++] = neighbor.similarity;
    }
    ends[i + 1] = static_cast<int64_t>(at);
  }
  return {ends_array, ids_array, similarity_array};
}

void build(Matrix<uint8_t> codes, Vector<uint8_t> flags, int band, int bits, Target<uint32_t> table_rows,
           Target<uint32_t> starts, int threads) {
  const int64_t tables = rows(table_rows), live = columns(table_rows);
  require(band >= 1 && band <= kMostBand && tables * band <= columns(codes), "band, rows: out of range");
  require(bits >= 0 && bits < 31 && rows(starts) == tables && columns(starts) == (int64_t{1} << bits) + 1 &&
              in_order(starts, columns(starts)) && in_order(table_rows, live),
          "starts: wrong shape or strides");
  int64_t counted = 0;
  require(rows(flags) == rows(codes), "flags: wrong length");
  for (int64_t i = 0; i < rows(flags); ++i) counted += flags.data()[i] == 0;
  require(counted == live, "rows: wrong shape");
  without_gil([&] {
    index_tables(codes.data(), flags.data(), rows(codes), columns(codes), band, tables, bits, live, table_rows.data(),
                 starts.data(), threads, interrupted);
  });
}

}  // namespace

void define_index(nb::module_& m) {
  nb::class_<Segment>(m, "IndexSegment")
      .def(nb::init<Matrix<uint8_t>, Vector<uint8_t>, Vector<int64_t>, Matrix<uint32_t>, Matrix<uint32_t>,
                    const Parts&, const Parts&>(),
           "codes"_a.noconvert(), "flags"_a.noconvert(), "ids"_a.noconvert(), "rows"_a.noconvert(),
           "starts"_a.noconvert(), "vectors"_a, "postings"_a);
  m.def("index_tables", build, "codes"_a.noconvert(), "flags"_a.noconvert(), "band"_a, "bits"_a, "rows"_a.noconvert(),
        "starts"_a.noconvert(), "threads"_a);
  m.def(
      "index_norms",
      [](const std::string& isa, Matrix<float> x, Target<double> norms, int threads) {
        require(rows(norms) == rows(x) && columns(norms) == 1 && in_order(norms, 1), "norms: wrong shape");
        const Isa& set = find_isa(isa);
        without_gil([&] { index_norms(set, x.data(), rows(x), columns(x), norms.data(), threads); });
      },
      "isa"_a, "x"_a.noconvert(), "norms"_a.noconvert(), "threads"_a);
  m.def(
      "index_norms",
      [](const std::string& isa, Vector<int64_t> indptr, Vector<float> data, Target<double> norms, int threads) {
        const int64_t n = rows(indptr) - 1;
        require(n >= 0 && rows(norms) == n && columns(norms) == 1 && in_order(norms, 1), "norms: wrong shape");
        require(n < 0 || (indptr.data()[0] == 0 && indptr.data()[n] == rows(data)), "CSR: indptr does not span the data");
        const Isa& set = find_isa(isa);
        without_gil([&] { index_norms(set, indptr.data(), data.data(), n, norms.data(), threads); });
      },
      "isa"_a, "indptr"_a.noconvert(), "data"_a.noconvert(), "norms"_a.noconvert(), "threads"_a);
  m.def(
      "index_heavy",
      [](Vector<int64_t> indptr, Vector<float> data, Vector<double> norms, double mass, Target<uint8_t> heavy,
         int threads) {
        const int64_t n = rows(indptr) - 1;
        require(n >= 0 && rows(norms) == n && indptr.data()[0] == 0 && indptr.data()[n] == rows(data) &&
                    std::is_sorted(indptr.data(), indptr.data() + n + 1),
                "CSR: indptr does not span the data");
        require(rows(heavy) == rows(data) && columns(heavy) == 1 && in_order(heavy, 1), "heavy: wrong shape");
        require(mass > 0 && mass <= 1, "mass: out of range");
        without_gil([&] { index_heavy(indptr.data(), data.data(), norms.data(), n, mass, heavy.data(), threads); });
      },
      "indptr"_a.noconvert(), "data"_a.noconvert(), "norms"_a.noconvert(), "mass"_a, "heavy"_a.noconvert(), "threads"_a);
  m.def("index_search", search, "isa"_a, "codes"_a.noconvert(), "empty"_a.noconvert(), "vectors"_a, "own_segment"_a,
        "own_first"_a, "segments"_a, "band"_a, "tables"_a, "depth"_a, "most"_a, "least"_a, "exact"_a, "later"_a,
        "mass"_a, "threads"_a);
}

}  // namespace kernelsketch::bindings
