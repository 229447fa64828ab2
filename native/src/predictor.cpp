// Hashing with tables that are ready, and decision values.
#include "kernelsketch/predictor.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/codes.h"
#include "gcws_table.h"
#include "kernelsketch/dispatch.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRowsTogether = 1024;                 // whose codes are held at a time
constexpr int64_t kSamplesTogether = int64_t{1} << 22;  // of the exponential kernels that are held at a time
constexpr int64_t kFewRows = 4;                         // rows up to which one after the other walks the table

// Rows `first` .. `last` - 1, and of each of them the columns from `column` on. CSR rows are always whole.
template <class T>
DenseRows<T> part_of(const DenseRows<T>& x, int64_t first, int64_t last, int64_t column, int64_t width) {
  return {x.data + first * x.stride + column, last - first, width, x.stride};
}
template <class T, class Index>
struct CsrPart {  // CSR rows whose starts begin at 0
  std::vector<int64_t> starts;
  CsrRows<T, Index> rows;
};
template <class T, class Index>
CsrPart<T, Index> csr_part_of(const CsrRows<T, Index>& x, int64_t first, int64_t last) {
  CsrPart<T, Index> part;
  const int64_t begin = x.indptr[first];
  part.starts.reserve((last - first + 1));
  for (int64_t i = first; i <= last; ++i) part.starts.push_back(x.indptr[i] - begin);
  part.rows = {part.starts.data(), x.indices + begin, x.data + begin, last - first, x.d};
  return part;
}

// By the bits, which compilers compare several at a time.
template <class T>
bool all_finite(const T* x, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const auto infinite = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  bool special = false;
  for (int64_t i = 0; i < n; ++i) special |= (std::bit_cast<Bits>(x[i]) & infinite) == infinite;
  return !special;
}
template <class AnyRows>
bool all_finite(const AnyRows& x, const std::vector<double>& center) {
  bool finite = true;
  if constexpr (requires { x.stride; }) {
    if (center.empty()) {
      for (int64_t i = 0; i < x.n; ++i) finite &= all_finite(x.data + i * x.stride, x.d);
      return finite;
    }
  }
  for (int64_t i = 0; i < x.n; ++i)
    x.visit(i, [&](int64_t f, auto value) {
      const double v = static_cast<double>(value) - (center.empty() ? 0 : center[f]);
      finite &= v - v == 0;
    });
  return finite;
}

}  // namespace

class ReadyHash {
 public:
  ReadyHash(const Isa& isa, const PredictorHash& hash, const HashView& view, const double* center)
      : isa_(isa), view_(view), params_{center, hash.p, view.seed, view.hashes, hash.bits, hash.t_bits} {
    for (const int64_t count : view_.counts) samples_ += count;
    if (!view_.counts.empty()) params_.hashes = std::max<int64_t>(samples_, 1);
    const int64_t groups = (params_.hashes + kLanes - 1) / kLanes;
    const int64_t row_bytes = 2 * groups * kParameterFloats * int64_t{sizeof(float)};
    if (view_.width <= kReadyBytes / row_bytes) {
      table_.emplace(isa.gcws, view_.seed, view_.width, 0, groups, 1, nullptr);
      label_of_.resize(2 * view_.width);
      for (int64_t key = 0; key < 2 * view_.width; ++key)
        label_of_[key] = static_cast<int32_t>(ks_slot_code(ParameterTable::slot_of(key, view_.width), params_.bits));
    }
    // What stands for rows that are zero in this view only: a feature that no row has.
    absent_.resize(view_.hashes);
    const int64_t starts[] = {0, 1}, feature = view_.width;
    const double one = 1;
    uint8_t empty;
    GcwsParams plain = params_;
    plain.center = nullptr;
    codes_of(CsrRows<double, int64_t>{starts, &feature, &one, 1, view_.width + 1}, plain, nullptr, absent_.data(),
             &empty, 1, nullptr);
  }

  template <class AnyRows>
  void codes(const AnyRows& rows, uint32_t* codes, uint8_t* empty, int threads, Interrupted interrupted) const {
    codes_of(rows, params_, table_ ? &*table_ : nullptr, codes, empty, threads, interrupted);
  }
  const HashView& view() const { return view_; }
  // Whether rows can walk the table one by one.
  bool walks() const { return table_ && view_.counts.empty(); }
  const std::vector<int32_t>& label_of() const { return label_of_; }

  // The nonzeros of a row of this view: their number. Keys and values have room for 8 more.
  template <class T>
  int64_t nonzeros(const T* x, double* values, int32_t* keys) const {
    const auto width = static_cast<int32_t>(view_.width);
    return isa_.gcws.nonzeros.template of<T>().find(x, params_.center, width, 1, width, values, keys);
  }
  // What the winners of a row leave, which has `count` nonzeros: at most 63 more labels than hashes, and t + 1.
  void walk(const int32_t* keys, const float* logs, int64_t count, const int32_t* label_of, int32_t* labels,
            float* above) const {
    const int64_t starts[] = {0, count}, groups = (params_.hashes + kLanes - 1) / kLanes;
    const RowEntries entries{starts, keys, logs, label_of, 1};
    for (int64_t group = 0; group < groups; group += kTileGroups) {
      const int64_t hash = group * kLanes;
      isa_.gcws.rows(entries, table_->tile(group / kTileGroups), std::min(kTileGroups, groups - group),
                     Winners{labels + hash, above ? above + hash : nullptr});
    }
  }
  int64_t samples() const { return params_.hashes; }
  const std::vector<uint32_t>& absent() const { return absent_; }

 private:
  template <class AnyRows>
  void codes_of(const AnyRows& rows, const GcwsParams& params, const ParameterTable* table, uint32_t* codes,
                uint8_t* empty, int threads, Interrupted interrupted) const {
    if (view_.counts.empty())
      return gcws(isa_, rows, params, CodeOutput<uint32_t>{codes, empty}, threads, interrupted, table);
    const auto all = static_cast<std::size_t>(rows.n * params.hashes);
    std::vector<int64_t> slots(all), t(all), joined(static_cast<std::size_t>(rows.n * view_.hashes));
    gcws(isa_, rows, params, SampleOutput{slots.data(), t.data(), empty}, threads, interrupted, table);
    concatenate(slots.data(), t.data(), rows.n, view_.counts.data(), view_.hashes, joined.data(), threads);
    const int64_t mask = (int64_t{1} << params.bits) - 1;
    for (std::size_t i = 0; i < joined.size(); ++i) codes[i] = static_cast<uint32_t>(joined[i] & mask);
    for (int64_t i = 0; i < rows.n; ++i)
      if (empty[i]) std::fill_n(codes + i * view_.hashes, view_.hashes, 0u);
  }

  const Isa& isa_;
  HashView view_;
  GcwsParams params_;
  std::vector<int32_t> label_of_;  // of the keys of a table
  int64_t samples_ = 0;
  std::optional<ParameterTable> table_;
  std::vector<uint32_t> absent_;
};

template <class Number, class Real>
Predictor<Number, Real>::Predictor(const Isa& isa, PredictorHash hash, const PredictorWeights<Number, Real>& weights)
    : isa_(isa), hash_(std::move(hash)), weights_(weights) {
  int64_t column = 0;
  for (const HashView& view : hash_.views) {
    views_.push_back(
        std::make_unique<ReadyHash>(isa_, hash_, view, hash_.center.empty() ? nullptr : hash_.center.data() + column));
    column += view.width;
    hashes_ += view.hashes;
    samples_ = std::max(samples_, views_.back()->samples());
    walks_ &= views_.back()->walks();
  }
  walks_ &= hashes_ * weights_.tables.stride <= std::numeric_limits<int32_t>::max();
  for (const auto& view : views_) {
    std::vector<int32_t>& labels = labels_.emplace_back(view->label_of());
    for (int32_t& label : labels) label = hash_.t_bits > 0 ? label : weights_.number_of[label];
  }
}

// Decision values of a few dense rows, one row after the other, without what is prepared for many.
template <class Number, class Real>
template <class T>
void Predictor<Number, Real>::decide_few(const DenseRows<T>& x, double* out) const {
  const LinearOps<Real>& ops = isa_.linear.template of<Real>();
  const FixedWeightTables<Real>& tables = weights_.tables;
  const bool with_t = hash_.t_bits > 0;
  std::vector<double> values(x.d + 8);
  std::vector<int32_t> keys(x.d + 8), places(hashes_ + kTileGroups * kLanes);  // of weights in a table
  std::vector<float> logs(x.d), above(with_t ? places.size() : 0);
  std::vector<int64_t> starts(views_.size() + 1);
  for (int64_t i = 0; i < x.n; ++i) {
    const T* row = x.data + i * x.stride;
    for (std::size_t v = 0; v < views_.size(); row += views_[v]->view().width, ++v)
      starts[v + 1] = starts[v] + views_[v]->nonzeros(row, values.data() + starts[v], keys.data() + starts[v]);
    isa_.gcws.logs(values.data(), starts.back(), hash_.p, logs.data());
    int64_t hash = 0;
    for (std::size_t v = 0; v < views_.size(); hash += views_[v]->view().hashes, ++v) {
      const ReadyHash& view = *views_[v];
      const int64_t first = starts[v], count = starts[v + 1] - first, hashes = view.view().hashes;
      int32_t* const own = places.data() + hash;
      float* const t = with_t ? above.data() + hash : nullptr;
      if (count > 0) view.walk(keys.data() + first, logs.data() + first, count, labels_[v].data(), own, t);
      if (count == 0)
        for (int64_t j = 0; j < hashes; ++j) own[j] = weights_.number_of[view.absent()[j]];
      else if (with_t)
        for (int64_t j = 0; j < hashes; ++j)
          own[j] = weights_.number_of[ks_code(static_cast<uint32_t>(own[j]), static_cast<int64_t>(t[j]) - 1, hash_.bits,
                                              hash_.t_bits)];
      for (int64_t j = 0; j < hashes; ++j) own[j] += static_cast<int32_t>((hash + j) * tables.stride);
    }
    for (int64_t p = 0; p < tables.count; ++p) {
      Real value = static_cast<Real>(tables.bias[p]);
      if (starts.back() > 0) value += ops.sum_row(places.data(), hashes_, tables.w + p * hashes_ * tables.stride);
      out[i * tables.count + p] = static_cast<double>(value);
    }
  }
}

template <class Number, class Real>
Predictor<Number, Real>::~Predictor() = default;

template <class Number, class Real>
template <class AnyRows>
void Predictor<Number, Real>::codes(const AnyRows& x, uint32_t* codes, uint8_t* empty, int threads,
                                    Interrupted interrupted) const {
  if (views_.size() == 1) return views_[0]->codes(x, codes, empty, threads, interrupted);
  if constexpr (requires { x.stride; }) {  // several views have dense rows
    const auto n = static_cast<std::size_t>(x.n);
    std::vector<uint8_t> zeros(n * views_.size());
    std::vector<uint32_t> own;
    int64_t column = 0, hash = 0;
    for (std::size_t v = 0; v < views_.size(); ++v) {
      const HashView& view = views_[v]->view();
      own.resize(n * view.hashes);
      views_[v]->codes(part_of(x, 0, x.n, column, view.width), own.data(), zeros.data() + v * n, threads, interrupted);
      for (int64_t i = 0; i < x.n; ++i)
        std::copy_n(own.data() + i * view.hashes, view.hashes, codes + i * hashes_ + hash);
      column += view.width;
      hash += view.hashes;
    }
    for (int64_t i = 0; i < x.n; ++i) {
      const auto zero = [&](std::size_t v) { return zeros[v * n + i] != 0; };
      empty[i] = 1;
      for (std::size_t v = 0; v < views_.size(); ++v) empty[i] &= zero(v);
      hash = 0;
      for (std::size_t v = 0; v < views_.size(); hash += views_[v]->view().hashes, ++v)
        if (zero(v) && !empty[i])
          std::copy(views_[v]->absent().begin(), views_[v]->absent().end(), codes + i * hashes_ + hash);
    }
  }
}

template <class Number, class Real>
template <class AnyRows>
bool Predictor<Number, Real>::decide(const AnyRows& x, double* out, int threads, Interrupted interrupted) const {
  if (!all_finite(x, hash_.center)) return false;
  if constexpr (requires { x.stride; })
    if (walks_ && x.n <= kFewRows) {
      decide_few(x, out);
      return true;
    }
  const int64_t most = std::min({x.n, kRowsTogether, std::max<int64_t>(1, kSamplesTogether / samples_)}),
                problems = weights_.tables.count;
  std::vector<uint32_t> found((most * hashes_));
  std::vector<Number> numbers(found.size());
  std::vector<uint8_t> empty(most);
  std::vector<Real> values((most * problems));
  for (int64_t first = 0; first < x.n; first += most) {
    const int64_t n = std::min(most, x.n - first);
    if constexpr (requires { x.stride; })
      codes(part_of(x, first, first + n, 0, x.d), found.data(), empty.data(), threads, interrupted);
    else
      codes(csr_part_of(x, first, first + n).rows, found.data(), empty.data(), threads, interrupted);
    for (int64_t i = 0; i < n * hashes_; ++i) numbers[i] = weights_.number_of[found[i]];
    linear_decide(isa_, CodeRows<Number>{numbers.data(), empty.data(), n, hashes_}, 1.0, weights_.tables, values.data(),
                  threads, interrupted);
    for (int64_t i = 0; i < n * problems; ++i) out[first * problems + i] = static_cast<double>(values[i]);
  }
  return true;
}

template class Predictor<uint8_t, float>;
template class Predictor<uint8_t, double>;
template class Predictor<uint16_t, float>;
template class Predictor<uint16_t, double>;
#define KS_INSTANTIATE(AnyRows)                                                                      \
  template bool Predictor<uint8_t, float>::decide(const AnyRows&, double*, int, Interrupted) const;  \
  template bool Predictor<uint8_t, double>::decide(const AnyRows&, double*, int, Interrupted) const; \
  template bool Predictor<uint16_t, float>::decide(const AnyRows&, double*, int, Interrupted) const; \
  template bool Predictor<uint16_t, double>::decide(const AnyRows&, double*, int, Interrupted) const;
KS_EACH_ROWS(KS_INSTANTIATE)

}  // namespace kernelsketch
