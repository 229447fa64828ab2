// The table of instruction sets. This is the only place that knows which exist and which this machine runs.
#pragma once

#include <string>
#include <vector>

#include "kernelsketch/cholesky.h"
#include "kernelsketch/codes.h"
#include "kernelsketch/fourier.h"
#include "kernelsketch/gcws.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/index.h"
#include "kernelsketch/linear.h"
#include "kernelsketch/measure.h"
#include "kernelsketch/trees.h"

namespace kernelsketch {

struct Isa {
  const char* name;
  GmmOps<float> gmm_float;
  GmmOps<double> gmm_double;
  ByteOps gmm_bytes;
  DifferenceOps gmm_differences;
  GcwsOps gcws;
  BoundOps bounds;
  CodeOps codes;
  FourierOps<float> fourier_float;
  FourierOps<double> fourier_double;
  WeightOps fourier_weights;
  LinearOps<float> linear_float;
  LinearOps<double> linear_double;
  CholeskyOps<float> cholesky_float;
  CholeskyOps<double> cholesky_double;
  MeasureOps<float> measure_float;
  MeasureOps<double> measure_double;
  IndexOps index;
  TreeOps trees;
};

template <class T>
const GmmOps<T>& gmm_ops(const Isa& isa);

// Names that this build has and this machine runs, best first.
std::vector<std::string> supported_isas();

// Throws std::invalid_argument for a name that is not supported.
const Isa& find_isa(const std::string& name);

}  // namespace kernelsketch
