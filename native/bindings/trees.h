// Trees as Python hands them over.
#pragma once

#include "kernelsketch/trees.h"

#include "arrays.h"

namespace kernelsketch::bindings {

// The arrays of an ensemble; see Trees in trees.h for each.
class PyTrees {
 public:
  PyTrees(Vector<int32_t> feature, Vector<double> threshold, Vector<int32_t> left, Vector<int32_t> right,
          Vector<uint8_t> missing_left, Vector<double> value, Vector<int32_t> roots, Vector<double> baseline)
      : feature_(std::move(feature)), threshold_(std::move(threshold)), left_(std::move(left)),
        right_(std::move(right)), missing_left_(std::move(missing_left)), value_(std::move(value)),
        roots_(std::move(roots)), baseline_(std::move(baseline)) {
    const int64_t n = rows(feature_);
    require(
        rows(threshold_) == n && rows(left_) == n && rows(right_) == n && rows(missing_left_) == n && rows(value_) == n,
        "feature, threshold, left, right, missing_left, value: one per node");
    require(rows(baseline_) > 0, "baseline: no outputs");
  }

  Trees view() const {
    return {feature_.data(), threshold_.data(), left_.data(), right_.data(),    missing_left_.data(), value_.data(),
            rows(feature_),  roots_.data(),     rows(roots_), baseline_.data(), rows(baseline_)};
  }

 private:
  Vector<int32_t> feature_;
  Vector<double> threshold_;
  Vector<int32_t> left_, right_;
  Vector<uint8_t> missing_left_;
  Vector<double> value_;
  Vector<int32_t> roots_;
  Vector<double> baseline_;
};

}  // namespace kernelsketch::bindings
