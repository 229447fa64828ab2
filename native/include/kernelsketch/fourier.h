// Random Fourier features of the RBF kernel as reference/fourier.py specifies them.
//
// Feature j of a row is cos(2 pi y_j), y_j = w_j + sum_f x_f r_fj: x is the row over its l2 norm times sqrt(gamma) / 2 pi,
// w a phase in turns, r a standard normal. RFF multiplies it by sqrt(2 / k), NRFF by one over the norm of the row.
//
// The sum is a chain of fused multiply-adds over the nonzeros of the row, features ascending, in the type T of the rows.
// Vector lanes run along j, so neither their number nor skipped zeros change a bit; between blocks of features y is kept
// in the output, which loses nothing. Errors of a chain over d features are about sqrt(d) / 2 units in the last place of
// y: 3e-6 turns for 784 features in float32 and gamma = 1, against a standard error of features of 1 / sqrt(k).
//
// Weights [panel][feature][64] are float32 for both types: they are what the random numbers are, not an approximation.
// A tile of rows and 64 hashes stays in registers over the features of a block, and its cosines are taken there.
#pragma once

#include <cstdint>

#include "kernelsketch/gmm.h"

namespace kernelsketch {

inline constexpr int64_t kPanel = 64;            // hashes of a panel of weights
inline constexpr int64_t kSumLanes = 32;         // running sums of squares
inline constexpr int64_t kSquares = 64;          // squares that a lane sums before they go to a double
inline constexpr uint64_t kPhaseSlot = uint64_t{1} << 63;  // of no feature

// x becomes T((x * shift) * factor); shift is a power of two, factor is 0 for a row of zeros. A row with NaN or infinity
// passes for a row of zeros whose shift is 0.
struct RowScale {
  double shift, factor;
};
inline constexpr RowScale kNotFinite{0, 0};

// What is left in the output after the features of a block: y, cos(2 pi y), or that times a factor.
enum class End { sums, cosines, scaled_cosines };

// What happens to the sums of a panel before and after its features.
template <class T>
struct Turns {
  const float* phases;  // where sums start; null: they go on from what the output holds
  End end;
  T scale;
};

// The arithmetic of one instruction set; src/isa/fourier.cpp fills it in.
template <class T>
struct FourierOps {
  int rows;  // of a register tile: blocks are best multiples of it
  RowScale (*measure)(const T* x, int64_t d, double scale);
  void (*scale)(const T* x, int64_t count, RowScale row, T* out);
  // n rows (stride apart) by the weights [d][64] of a panel, into out[n][64] (out_stride apart)
  void (*panel)(const T* x, int64_t stride, int64_t n, const float* weights, int64_t d, T* out, int64_t out_stride,
                const Turns<T>& turns);
  // One row given by entries: value x[q] at feature `slot[q]` of the panel.
  void (*entries)(const int32_t* slot, const T* x, int64_t count, const float* weights, T* out, const Turns<T>& turns);
  // One over the norm of row[k], 0 if that is 0; and row[k] times a factor.
  T (*inverse_norm)(const T* row, int64_t k);
  void (*multiply)(T* row, int64_t k, T factor);
};

struct WeightOps {
  // Weights of a panel, [feature][64]. `features` null: numbers from `first` on.
  void (*weights)(uint64_t seed, const int64_t* features, int64_t first, int64_t count, int64_t panel, float* out);
  void (*phases)(uint64_t seed, int64_t panel, float* out);
};

struct FourierTask {
  double scale;         // sqrt(gamma) / 2 pi
  uint64_t seed;
  int64_t hashes;
  bool normalize;       // NRFF
  int64_t table_bytes;  // weights up to here are made once; beyond, block after block
};

// Rows: Dense<T> or Csr<T, Index>. False if some value was not finite: norms tell, so nobody has to look before.
template <class Rows, class T>
bool fourier(const Isa& isa, const Rows& rows, const FourierTask& task, Output<T> out, int threads,
             Interrupted interrupted);

}  // namespace kernelsketch
