// The table of instruction sets. This is the only place that lists which exist and which this machine runs.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "kernelsketch/cholesky.h"
#include "kernelsketch/codes.h"
#include "kernelsketch/fourier.h"
#include "kernelsketch/gcws.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/graph.h"
#include "kernelsketch/index.h"
#include "kernelsketch/linear.h"
#include "kernelsketch/measure.h"
#include "kernelsketch/trees.h"

namespace kernelsketch {

static_assert(std::endian::native == std::endian::little, "bytes of numbers are read and written as they are");

struct Isa {
  const char* name;
  ByType<GmmOps> gmm;
  ByteOps gmm_bytes;
  DifferenceOps gmm_differences;
  GcwsOps gcws;
  BoundOps bounds;
  CodeOps codes;
  ByType<FourierOps> fourier;
  WeightOps fourier_weights;
  ByType<LinearOps> linear;
  ByType<CholeskyOps> cholesky;
  ByType<MeasureOps> measure;
  IndexOps index;
  TreeOps trees;
  GraphOps graph;
};

// Names that this build has and this machine runs, best first.
std::vector<std::string> supported_isas();

// Throws std::invalid_argument for a name that is not supported.
const Isa& find_isa(const std::string& name);

}  // namespace kernelsketch
