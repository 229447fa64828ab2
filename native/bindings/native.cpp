// Python's view of the native core: checks layouts, releases the GIL, calls. The Python side has checked
// values, shapes and instruction set; see _backend.py.
#include "arrays.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/fourier.h"
#include "kernelsketch/gcws.h"
#include "kernelsketch/gmm.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace kernelsketch;
using namespace kernelsketch::bindings;

template <class T>
Dense<T> dense(const Matrix<T>& x) {
  return {x.data(), rows(x), columns(x), columns(x)};
}

template <class T>
Output<T> output(const Target<T>& out, int64_t n, int64_t m) {
  require(rows(out) == n && columns(out) == m && (out.stride(1) == 1 || m == 1), "out: wrong shape or strides");
  return {out.data(), out.stride(0)};
}

template <class T>
void dense_kernel(const std::string& isa, Matrix<T> a, Matrix<T> b, Target<T> out, int ratio, bool symmetric,
                  int threads) {
  require(a.shape(1) == b.shape(1) && a.shape(1) > 0, "a and b: different numbers of features");
  require(!symmetric || a.shape(0) == b.shape(0), "symmetric: a and b differ");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, rows(a), rows(b));
  without_gil([&] {
    gmm_dense<T>(set, dense<T>(a), dense<T>(b), target, static_cast<Ratio>(ratio), symmetric, threads, interrupted);
  });
}

template <class T>
void byte_kernel(const std::string& isa, Matrix<uint8_t> a, Matrix<uint8_t> b, Vector<T> a_norms, Vector<T> b_norms,
                 Target<T> out, int ratio, bool symmetric, int threads) {
  require(a.shape(1) == b.shape(1) && a.shape(1) > 0, "a and b: different numbers of features");
  require(columns(a) % kByteGroup == 0, "a and b: rows are not padded");
  require(a_norms.shape(0) == a.shape(0) && b_norms.shape(0) == b.shape(0), "norms: wrong length");
  require(!symmetric || a.shape(0) == b.shape(0), "symmetric: a and b differ");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, rows(a), rows(b));
  without_gil([&] {
    gmm_bytes<T>(set, dense<uint8_t>(a), dense<uint8_t>(b), a_norms.data(), b_norms.data(), target,
                 static_cast<Ratio>(ratio), symmetric, threads, interrupted);
  });
}

template <class T, class Index>
Csr<T, Index> csr(const Vector<int64_t>& indptr, const Vector<Index>& indices, const Vector<T>& data, int64_t d) {
  require(indptr.shape(0) >= 1 && indices.shape(0) == data.shape(0), "CSR: arrays of different lengths");
  const int64_t n = rows(indptr) - 1;
  require(indptr.data()[0] == 0 && indptr.data()[n] == rows(data), "CSR: indptr does not span the data");
  return {indptr.data(), indices.data(), data.data(), n, d};
}

template <class T, class Index>
void sparse_kernel(const std::string& isa, Vector<int64_t> a_indptr, Vector<Index> a_indices, Vector<T> a_data,
                   Vector<int64_t> b_indptr, Vector<Index> b_indices, Vector<T> b_data, int64_t n_features,
                   Target<T> out, int ratio, bool symmetric, int threads) {
  const Csr<T, Index> a = csr<T, Index>(a_indptr, a_indices, a_data, n_features);
  const Csr<T, Index> b = csr<T, Index>(b_indptr, b_indices, b_data, n_features);
  require(!symmetric || a.n == b.n, "symmetric: a and b differ");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, a.n, b.n);
  without_gil([&] {
    gmm_sparse<T, Index>(set, a, b, target, static_cast<Ratio>(ratio), symmetric, threads, interrupted);
  });
}

GcwsTask gcws_task(const std::optional<Vector<double>>& center, double p, uint64_t seed, int64_t hashes, int bits,
                   int t_bits) {
  require(hashes > 0 && bits >= 1 && bits <= 16 && t_bits >= 0 && t_bits <= 8, "hashes or bits: out of range");
  return {center ? center->data() : nullptr, p, seed, hashes, bits, t_bits};
}

template <class Rows, class Code>
void run_codes(const std::string& isa, const Rows& rows, const GcwsTask& task, Target<Code>& codes,
               nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& empty, int threads) {
  require(::rows(codes) == rows.n && columns(codes) == task.hashes && in_order(codes, task.hashes) &&
              static_cast<int64_t>(empty.shape(0)) == rows.n,
          "codes: wrong shape or strides");
  require(task.bits + task.t_bits <= static_cast<int>(8 * sizeof(Code)), "codes: too narrow");
  const Isa& set = find_isa(isa);
  const CodeOutput<Code> out{codes.data(), empty.data()};
  without_gil([&] { gcws(set, rows, task, out, threads, interrupted); });
}

template <class Rows>
void run_samples(const std::string& isa, const Rows& rows, const GcwsTask& task, Target<int64_t>& slots,
                 Target<int64_t>& t, nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& empty,
                 int threads) {
  for (const auto* x : {&slots, &t})
    require(::rows(*x) == rows.n && columns(*x) == task.hashes && in_order(*x, task.hashes),
            "slots or t: wrong shape or strides");
  require(static_cast<int64_t>(empty.shape(0)) == rows.n, "empty: wrong length");
  const Isa& set = find_isa(isa);
  const SampleOutput out{slots.data(), t.data(), empty.data()};
  without_gil([&] { gcws(set, rows, task, out, threads, interrupted); });
}

template <class Rows>
void run_mixes(const std::string& isa, const Rows& rows, const GcwsTask& task, Target<uint8_t>& codes,
               nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& empty, int threads) {
  require(::rows(codes) == rows.n && columns(codes) == task.hashes && in_order(codes, task.hashes) &&
              static_cast<int64_t>(empty.shape(0)) == rows.n,
          "codes: wrong shape or strides");
  const Isa& set = find_isa(isa);
  const MixOutput out{codes.data(), empty.data()};
  without_gil([&] { gcws(set, rows, task, out, threads, interrupted); });
}

using Flags = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class Code>
void define_dense_codes(nb::module_& m) {
  m.def(
      "gcws_codes",
      [](const std::string& isa, Matrix<T> x, std::optional<Vector<double>> center, double p, uint64_t seed, int bits,
         int t_bits, Target<Code> codes, Flags empty, int threads) {
        require(!center || center->shape(0) == x.shape(1), "center: wrong length");
        run_codes(isa, dense<T>(x), gcws_task(center, p, seed, columns(codes), bits, t_bits), codes, empty, threads);
      },
      "isa"_a, "x"_a.noconvert(), "center"_a.noconvert().none(), "p"_a, "seed"_a, "bits"_a, "t_bits"_a,
      "codes"_a.noconvert(), "empty"_a.noconvert(), "threads"_a);
}

template <class T, class Index, class Code>
void define_csr_codes(nb::module_& m) {
  m.def(
      "gcws_codes",
      [](const std::string& isa, Vector<int64_t> indptr, Vector<Index> indices, Vector<T> data, int64_t n_features,
         double p, uint64_t seed, int bits, int t_bits, Target<Code> codes, Flags empty, int threads) {
        run_codes(isa, csr<T, Index>(indptr, indices, data, n_features),
                  gcws_task({}, p, seed, columns(codes), bits, t_bits), codes, empty, threads);
      },
      "isa"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "n_features"_a, "p"_a, "seed"_a,
      "bits"_a, "t_bits"_a, "codes"_a.noconvert(), "empty"_a.noconvert(), "threads"_a);
}

template <class T>
void define_gcws(nb::module_& m) {
  define_dense_codes<T, uint8_t>(m);
  define_dense_codes<T, uint16_t>(m);
  define_dense_codes<T, uint32_t>(m);
  m.def(
      "gcws_samples",
      [](const std::string& isa, Matrix<T> x, std::optional<Vector<double>> center, double p, uint64_t seed,
         Target<int64_t> slots, Target<int64_t> t, Flags empty, int threads) {
        require(!center || center->shape(0) == x.shape(1), "center: wrong length");
        run_samples(isa, dense<T>(x), gcws_task(center, p, seed, columns(slots), 1, 0), slots, t, empty, threads);
      },
      "isa"_a, "x"_a.noconvert(), "center"_a.noconvert().none(), "p"_a, "seed"_a, "slots"_a.noconvert(),
      "t"_a.noconvert(), "empty"_a.noconvert(), "threads"_a);
  m.def(
      "gcws_mixes",
      [](const std::string& isa, Matrix<T> x, std::optional<Vector<double>> center, double p, uint64_t seed,
         Target<uint8_t> codes, Flags empty, int threads) {
        require(!center || center->shape(0) == x.shape(1), "center: wrong length");
        run_mixes(isa, dense<T>(x), gcws_task(center, p, seed, columns(codes), 1, 0), codes, empty, threads);
      },
      "isa"_a, "x"_a.noconvert(), "center"_a.noconvert().none(), "p"_a, "seed"_a, "codes"_a.noconvert(),
      "empty"_a.noconvert(), "threads"_a);
  const auto define_csr = [&]<class Index>(Index) {
    define_csr_codes<T, Index, uint8_t>(m);
    define_csr_codes<T, Index, uint16_t>(m);
    define_csr_codes<T, Index, uint32_t>(m);
    m.def(
        "gcws_samples",
        [](const std::string& isa, Vector<int64_t> indptr, Vector<Index> indices, Vector<T> data, int64_t n_features,
           double p, uint64_t seed, Target<int64_t> slots, Target<int64_t> t, Flags empty, int threads) {
          run_samples(isa, csr<T, Index>(indptr, indices, data, n_features),
                      gcws_task({}, p, seed, columns(slots), 1, 0), slots, t, empty, threads);
        },
        "isa"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "n_features"_a, "p"_a,
        "seed"_a, "slots"_a.noconvert(), "t"_a.noconvert(), "empty"_a.noconvert(), "threads"_a);
    m.def(
        "gcws_mixes",
        [](const std::string& isa, Vector<int64_t> indptr, Vector<Index> indices, Vector<T> data, int64_t n_features,
           double p, uint64_t seed, Target<uint8_t> codes, Flags empty, int threads) {
          run_mixes(isa, csr<T, Index>(indptr, indices, data, n_features),
                    gcws_task({}, p, seed, columns(codes), 1, 0), codes, empty, threads);
        },
        "isa"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "n_features"_a, "p"_a,
        "seed"_a, "codes"_a.noconvert(), "empty"_a.noconvert(), "threads"_a);
  };
  define_csr(int32_t{});
  define_csr(int64_t{});
}

template <class Code>
void define_codes(nb::module_& m) {
  m.def(
      "pack",
      [](Matrix<Code> codes, int width, Target<uint8_t> packed, int threads) {
        require(width >= 1 && width <= 24, "width: out of range");
        const int64_t bytes = (columns(codes) * width + 7) / 8;
        require(rows(packed) == rows(codes) && columns(packed) == bytes && in_order(packed, bytes),
                "packed: wrong shape or strides");
        without_gil([&] { pack<Code>(codes.data(), rows(codes), columns(codes), width, packed.data(), threads); });
      },
      "codes"_a.noconvert(), "width"_a, "packed"_a.noconvert(), "threads"_a);
  m.def(
      "unpack",
      [](Matrix<uint8_t> packed, int width, Target<Code> codes, int threads) {
        require(width >= 1 && width <= static_cast<int>(8 * sizeof(Code)), "width: out of range");
        require(rows(packed) == rows(codes) && columns(packed) * 8 >= columns(codes) * width &&
                    in_order(codes, columns(codes)),
                "codes: wrong shape or strides");
        without_gil([&] {
          unpack<Code>(packed.data(), rows(codes), columns(codes), width, columns(packed), codes.data(), threads);
        });
      },
      "packed"_a.noconvert(), "width"_a, "codes"_a.noconvert(), "threads"_a);
  m.def(
      "match_counts",
      [](const std::string& isa, Matrix<Code> a, Vector<uint8_t> a_empty, Matrix<Code> b, Vector<uint8_t> b_empty,
         Target<int32_t> counts, int threads) {
        require(columns(a) == columns(b), "a and b: different numbers of codes");
        require(rows(counts) == rows(a) && columns(counts) == rows(b) && in_order(counts, rows(b)) &&
                    rows(a_empty) == rows(a) && rows(b_empty) == rows(b),
                "counts: wrong shape or strides");
        const Isa& set = find_isa(isa);
        without_gil([&] {
          match_counts<Code>(set, a.data(), rows(a), a_empty.data(), b.data(), rows(b), b_empty.data(), columns(a),
                             counts.data(), threads, interrupted);
        });
      },
      "isa"_a, "a"_a.noconvert(), "a_empty"_a.noconvert(), "b"_a.noconvert(), "b_empty"_a.noconvert(),
      "counts"_a.noconvert(), "threads"_a);
}

template <class Rows, class T>
bool run_fourier(const std::string& isa, const Rows& rows, double scale, uint64_t seed, bool normalize,
                 int64_t table_bytes, Target<T>& out, int threads) {
  const int64_t hashes = columns(out);
  require(hashes > 0 && rows.d > 0, "out or x: no columns");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, rows.n, hashes);
  const FourierTask task{scale, seed, hashes, normalize, table_bytes};
  bool finite = true;
  without_gil([&] { finite = fourier<Rows, T>(set, rows, task, target, threads, interrupted); });
  return finite;
}

template <class T>
void define_fourier(nb::module_& m) {
  m.def(
      "fourier",
      [](const std::string& isa, Matrix<T> x, double scale, uint64_t seed, bool normalize, int64_t table_bytes,
         Target<T> out, int threads) {
        return run_fourier(isa, dense<T>(x), scale, seed, normalize, table_bytes, out, threads);
      },
      "isa"_a, "x"_a.noconvert(), "scale"_a, "seed"_a, "normalize"_a, "table_bytes"_a, "out"_a.noconvert(),
      "threads"_a);
  const auto define_csr = [&]<class Index>(Index) {
    m.def(
        "fourier",
        [](const std::string& isa, Vector<int64_t> indptr, Vector<Index> indices, Vector<T> data, int64_t n_features,
           double scale, uint64_t seed, bool normalize, int64_t table_bytes, Target<T> out, int threads) {
          return run_fourier(isa, csr<T, Index>(indptr, indices, data, n_features), scale, seed, normalize, table_bytes,
                             out, threads);
        },
        "isa"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "n_features"_a, "scale"_a,
        "seed"_a, "normalize"_a, "table_bytes"_a, "out"_a.noconvert(), "threads"_a);
  };
  define_csr(int32_t{});
  define_csr(int64_t{});
}

template <class T>
void define(nb::module_& m) {
  m.def("gmm_dense", dense_kernel<T>, "isa"_a, "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(), "ratio"_a,
        "symmetric"_a, "threads"_a);
  m.def("gmm_bytes", byte_kernel<T>, "isa"_a, "a"_a.noconvert(), "b"_a.noconvert(), "a_norms"_a.noconvert(),
        "b_norms"_a.noconvert(), "out"_a.noconvert(), "ratio"_a, "symmetric"_a, "threads"_a);
  const auto define_sparse = [&](auto kernel) {
    m.def("gmm_sparse", kernel, "isa"_a, "a_indptr"_a.noconvert(), "a_indices"_a.noconvert(), "a_data"_a.noconvert(),
          "b_indptr"_a.noconvert(), "b_indices"_a.noconvert(), "b_data"_a.noconvert(), "n_features"_a,
          "out"_a.noconvert(), "ratio"_a, "symmetric"_a, "threads"_a);
  };
  define_sparse(sparse_kernel<T, int32_t>);
  define_sparse(sparse_kernel<T, int64_t>);
}

}  // namespace

NB_MODULE(_native, m) {
  m.def("supported_isas", supported_isas, "Instruction sets of this build that this machine runs, best first.");
  define<float>(m);
  define<double>(m);
  define_codes<uint8_t>(m);
  define_codes<uint16_t>(m);
  define_codes<uint32_t>(m);
  define_gcws<float>(m);
  define_gcws<double>(m);
  define_csv(m);
  define_index(m);
  define_libsvm(m);
  define_linear(m);
  define_text(m);
  define_fourier<float>(m);
  define_fourier<double>(m);
  m.def(
      "concatenate",
      [](Matrix<int64_t> slots, Matrix<int64_t> t, Vector<int64_t> counts, Target<int64_t> out, int threads) {
        int64_t total = 0;
        for (std::size_t j = 0; j < counts.shape(0); ++j) {
          require(counts.data()[j] >= 0, "counts: negative");
          total += counts.data()[j];
        }
        require(columns(slots) == total && columns(t) == total && rows(slots) == rows(t), "slots or t: wrong shape");
        require(rows(out) == rows(t) && columns(out) == rows(counts) && in_order(out, rows(counts)),
                "out: wrong shape or strides");
        without_gil([&] {
          concatenate(slots.data(), t.data(), rows(slots), counts.data(), rows(counts), out.data(), threads);
        });
      },
      "slots"_a.noconvert(), "t"_a.noconvert(), "counts"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}
