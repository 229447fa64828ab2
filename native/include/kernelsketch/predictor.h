// Models that are ready to predict. Everything that does not depend on a row is made once: the parameters of the hash
// of all slots (if they take at most kReadyBytes), the codes of views that are all zero, and the tables of weights.
//
// The decision values are those of hashing, numbering and linear_decide one after the other, to the last bit. A
// predictor is not changed by a prediction, so any number of threads may share it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernelsketch/gcws.h"
#include "kernelsketch/interrupt.h"
#include "kernelsketch/linear.h"

namespace kernelsketch {

inline constexpr int64_t kReadyBytes = int64_t{64} << 20;  // of parameters that a predictor holds, at most

// A group of adjacent columns with a hash of its own. A plain hash has one of them.
struct HashView {
  uint64_t seed;
  int64_t width;  // columns
  int64_t hashes;
  std::vector<int64_t> counts;  // samples that each hash joins, for the exponential kernels; otherwise none
};

struct PredictorHash {
  std::vector<HashView> views;
  std::vector<double> center;  // or none
  double p;
  int bits, t_bits;
};

// The number of each code, and the weights of each number. The arrays outlive the predictor.
template <class Number, class Real>
struct PredictorWeights {
  const Number* number_of;  // [1 << (bits + t_bits)], each below tables.stride
  FixedWeightTables<Real> tables;
};

class ReadyHash;  // the tables of a view

template <class Number, class Real>
class Predictor {
 public:
  Predictor(const Isa& isa, PredictorHash hash, const PredictorWeights<Number, Real>& weights);
  ~Predictor();
  // out[i][problem] = decision value. False if a value is not finite; then nothing is known about `out`.
  template <class AnyRows>
  bool decide(const AnyRows& rows, double* out, int threads, Interrupted interrupted) const;

 private:
  // Codes [n][hashes], and flags of empty rows.
  template <class AnyRows>
  void codes(const AnyRows& rows, uint32_t* codes, uint8_t* empty, int threads, Interrupted interrupted) const;

  template <class T>
  void decide_few(const DenseRows<T>& rows, double* out) const;

  const Isa& isa_;
  PredictorHash hash_;
  PredictorWeights<Number, Real> weights_;
  std::vector<std::unique_ptr<ReadyHash>> views_;
  std::vector<std::vector<int32_t>> labels_;  // of the keys of each view: codes, or their numbers if codes have no t
  bool walks_ = true;                         // whether rows can walk the tables of all views
  int64_t hashes_ = 0, samples_ = 1;          // of all views, and of the view that has most
};

}  // namespace kernelsketch
