// Decision values of linear models on codes.
#include <algorithm>
#include <optional>
#include <vector>

#include "block_products.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/linear.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kFewestTogether = 3, kFewestRows = 128;  // problems and rows that are evaluated side by side
constexpr int64_t kSmallTable = 32;  // codes of tables that are faster one problem after the other
constexpr int64_t kTogetherRows = 4096, kTogetherBytes = 1 << 18;  // rows, and size of the turned table, at a time

// Decision values of many problems, whose weights are turned so that those of a code stand side by side.
template <class Code, class Real>
class Together {
 public:
  Together(const SumOps<Code, Real>& ops, int64_t k, const FixedWeightTables<Real>& tables, int64_t rows)
      : ops_(ops), tables_(tables), k_(k),
        step_(
            std::max<int64_t>(1, kTogetherBytes / static_cast<int64_t>(sizeof(Real)) / kProblemLanes / tables.stride)),
        turned_(step_ * tables.stride * kProblemLanes), part_(rows * kProblemLanes), sums_(rows * kProblemLanes) {}

  // Adds the sums of the rows' weights to out[index[r]].
  void add(const std::vector<const Code*>& rows, const std::vector<int64_t>& index, Real* out) {
    const int64_t size = static_cast<int64_t>(rows.size()) * kProblemLanes;
    const HashRange range = all_hashes(k_);
    for (int64_t p = 0; p < tables_.count; p += kProblemLanes) {
      const int64_t problems = std::min(kProblemLanes, tables_.count - p);
      std::fill_n(sums_.get(), size, Real{0});
      std::fill_n(turned_.get(), step_ * tables_.stride * kProblemLanes, Real{0});
      for (int64_t begin = 0; begin < k_; begin += range.part) {
        const int64_t end = std::min(k_, begin + range.part);
        std::fill_n(part_.get(), size, Real{0});
        for (int64_t first = begin; first < end; first += step_) {
          const int64_t last = std::min(end, first + step_);
          turn(p, problems, first, last);
          ops_.lanes(rows.data(), static_cast<int64_t>(rows.size()), first, last, turned_.get(), tables_.stride,
                     part_.get());
        }
        for (int64_t i = 0; i < size; ++i) sums_[i] += part_[i];
      }
      for (std::size_t r = 0; r < rows.size(); ++r)
        for (int64_t q = 0; q < problems; ++q)
          out[index[r] * tables_.count + p + q] += sums_[static_cast<int64_t>(r) * kProblemLanes + q];
    }
  }

 private:
  void turn(int64_t p, int64_t problems, int64_t first, int64_t last) {
    const int64_t size = (last - first) * tables_.stride;
    for (int64_t q = 0; q < problems; ++q) {
      const Real* from = tables_.w + ((p + q) * k_ + first) * tables_.stride;
      for (int64_t i = 0; i < size; ++i) turned_[i * kProblemLanes + q] = from[i];
    }
  }

  const SumOps<Code, Real>& ops_;
  const FixedWeightTables<Real>& tables_;
  int64_t k_, step_;
  Buffer<Real> turned_;       // [hash][code][kProblemLanes]
  Buffer<Real> part_, sums_;  // [row][kProblemLanes]
};

}  // namespace

template <class Code, class Real>
void linear_decide(const Isa& isa, const CodeRows<Code>& x, double scale, const FixedWeightTables<Real>& tables,
                   Real* out, int threads, Interrupted interrupted) {
  const SumOps<Code, Real>& ops = isa.linear.of<Real>().template of<Code>();
  const bool together = tables.count >= kFewestTogether && tables.stride > kSmallTable && x.n >= kFewestRows;
  const int64_t share = (x.n + threads - 1) / threads;
  const int64_t rows = together ? std::clamp(share, kBlockRows, kTogetherRows) : 4 * kBlockRows;
  parallel((x.n + rows - 1) / rows, threads, interrupted, [&](const auto& next) {
    std::vector<const Code*> full;
    std::vector<int64_t> index;
    std::vector<Real> sums(rows);
    std::optional<Together<Code, Real>> side_by_side;
    if (together) side_by_side.emplace(ops, x.k, tables, rows);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * rows, last = std::min(x.n, first + rows);
      full.clear();
      index.clear();
      for (int64_t i = first; i < last; ++i)
        if (!x.empty[i]) {
          full.push_back(x.row(i));
          index.push_back(i);
        }
      for (int64_t p = 0; p < tables.count; ++p) {
        const Real intercept = static_cast<Real>(scale * tables.bias[p]);
        for (int64_t i = first; i < last; ++i) out[i * tables.count + p] = intercept;
      }
      if (together) {
        side_by_side->add(full, index, out);
        continue;
      }
      for (int64_t p = 0; p < tables.count; ++p) {
        std::fill(sums.begin(), sums.end(), Real{0});
        ops.sums(full.data(), static_cast<int64_t>(full.size()), all_hashes(x.k), tables.w + p * x.k * tables.stride,
                 tables.stride, sums.data());
        for (std::size_t r = 0; r < index.size(); ++r) out[index[r] * tables.count + p] += sums[r];
      }
    }
  });
}

#define KS_INSTANTIATE(Code, Real)                                                                                   \
  template void linear_decide(const Isa&, const CodeRows<Code>&, double, const FixedWeightTables<Real>&, Real*, int, \
                              Interrupted);
KS_EACH_CODE_AND_REAL(KS_INSTANTIATE)

}  // namespace kernelsketch
