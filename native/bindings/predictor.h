// A predictor as Python holds it, which models of tables use too.
#pragma once

#include "kernelsketch/predictor.h"

#include <memory>
#include <variant>

#include "kernelsketch/dispatch.h"
#include "tables.h"

namespace kernelsketch::bindings {

// CSR rows of a predictor come from users without a check.
template <class T, class Index>
void require_valid(const CsrRows<T, Index>& x) {
  for (int64_t i = 0; i < x.n; ++i) {
    Index last = -1;
    for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; last = x.indices[q], ++q)
      require(x.indices[q] > last && static_cast<int64_t>(x.indices[q]) < x.d,
              "X: the indices of a row do not ascend within its features");
  }
}
template <class T>
void require_valid(const DenseRows<T>&) {}

class PyPredictor {
 public:
  PyPredictor(const std::string& isa, PredictorHash hash, VectorOf<uint8_t, uint16_t> number_of, FixedTablesArray w,
              Vector<double> offset)
      : number_of_(std::move(number_of)), w_(std::move(w)), offset_(std::move(offset)), several_(hash.views.size() > 1),
        centered_(!hash.center.empty()) {
    require(hash.bits >= 1 && hash.bits <= 16 && hash.t_bits >= 0 && hash.t_bits <= 8 && !hash.views.empty(),
            "bits or views: out of range");
    int64_t hashes = 0;
    for (const HashView& view : hash.views) {
      require(view.width > 0 && view.hashes > 0, "views: out of range");
      require(view.counts.empty() || static_cast<int64_t>(view.counts.size()) == view.hashes, "counts: wrong length");
      for (const int64_t count : view.counts) require(count >= 0, "counts: negative");
      width_ += view.width;
      hashes += view.hashes;
    }
    require(!centered_ || static_cast<int64_t>(hash.center.size()) == width_, "center: wrong length");
    require(rows(number_of_) == int64_t{1} << (hash.bits + hash.t_bits), "number_of: wrong length");
    require(static_cast<int64_t>(w_.shape(1)) == hashes && rows(offset_) == static_cast<int64_t>(w_.shape(0)),
            "w: wrong shape");
    const auto stride = static_cast<int64_t>(w_.shape(2));
    problems_ = static_cast<int64_t>(w_.shape(0));
    number_of_.visit([&]<class Number>(const Number* numbers) {
      require_below(numbers, rows(number_of_), stride, "number_of: beyond w");
      w_.visit([&]<class Real>(const Real* data) {
        const PredictorWeights<Number, Real> weights{numbers, {data, offset_.data(), problems_, stride}};
        without_gil(
            [&] { core_ = std::make_unique<Predictor<Number, Real>>(find_isa(isa), std::move(hash), weights); });
      });
    });
  }

  bool decide(const PyRows& x, const Target<double>& out, int threads) const {
    bool finite = true;
    visit_rows(x, [&](const auto& view) {
      require(view.d == width_, "X: wrong number of features");
      require(rows(out) == view.n && columns(out) == problems_ && in_order(out, problems_),
              "out: wrong shape or strides");
      require(x.is_dense() || !(several_ || centered_), "X: sparse rows with views or a center");
      without_gil([&] {
        require_valid(view);
        std::visit([&](const auto& core) { finite = core->decide(view, out.data(), threads, interrupted); }, core_);
      });
    });
    return finite;
  }

  // The same for rows of floats one after the other, without Python.
  bool decide_floats(const float* x, int64_t n, double* out, int threads) const {
    const DenseRows<float> view{x, n, width_, width_};
    return std::visit([&](const auto& core) { return core->decide(view, out, threads, interrupted); }, core_);
  }
  int64_t width() const { return width_; }
  int64_t problems() const { return problems_; }

 private:
  VectorOf<uint8_t, uint16_t> number_of_;
  FixedTablesArray w_;
  Vector<double> offset_;
  bool several_, centered_;
  int64_t width_ = 0, problems_ = 0;
  std::variant<std::unique_ptr<Predictor<uint8_t, float>>, std::unique_ptr<Predictor<uint8_t, double>>,
               std::unique_ptr<Predictor<uint16_t, float>>, std::unique_ptr<Predictor<uint16_t, double>>>
      core_;
};

}  // namespace kernelsketch::bindings
