// Random Fourier features of the RBF kernel (RFF), and their normalized form (NRFF).
//
// Definition (reference/fourier.py is the specification). Feature j of a row is cos(2 pi y_j) with
//   y_j = w_j + sum_f x_f r_fj,
// where x is the row divided by its l2 norm, times sqrt(gamma) / 2 pi; w_j is a phase in turns; r_fj is a standard
// normal number. RFF multiplies the feature by sqrt(2 / k), NRFF by one over the l2 norm of the row of features.
//
// Accuracy. The sum is a chain of fused multiply-adds over the nonzeros of the row, features ascending, in the type T
// of the rows. Vector lanes run along j, so neither their number nor skipped zeros change a bit. Between blocks of
// features y is kept in the output, which loses nothing. The error of a chain over d features is about sqrt(d) / 2
// units in the last place of y: 3e-6 turns for 784 features in float32 and gamma = 1, against a standard error of the
// features of 1 / sqrt(k).
//
// Weights [panel][feature][64] are float32 for both types: they are the random numbers themselves, not an approximation
// of them. A tile of rows and 64 hashes stays in registers over the features of a block, and its cosines are taken
// there.
#pragma once

#include <cstdint>

#include "kernelsketch/by_type.h"
#include "kernelsketch/interrupt.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

struct Isa;

inline constexpr int64_t kPanel = 64;     // hashes per panel of weights
inline constexpr int64_t kSumLanes = 32;  // running sums of squares
inline constexpr int64_t kSquares = 64;   // squares that a lane sums before they go to a double

// x becomes T((x * shift) * factor); shift is a power of two, factor is 0 for a row of zeros. A row with NaN or
// infinity passes for a row of zeros whose shift is 0.
struct RowScale {
  double shift, factor;
};
inline constexpr RowScale kNotFinite{0, 0};

// What is left in the output after the features of a block: y, cos(2 pi y), or that times a factor.
enum class PanelEnd { sums, cosines, scaled_cosines };

// Where the sums of a panel start, and what is made of them after the features of a block.
template <class T>
struct PanelStage {
  const float* phases;  // where sums start; null: they go on from what the output holds
  PanelEnd end;
  T scale;
};

// The arithmetic of one instruction set; src/isa/fourier.cpp fills it in.
template <class T>
struct FourierOps {
  int rows;  // rows per register tile; blocks of rows should be multiples of it
  RowScale (*measure)(const T* x, int64_t d, double scale);
  void (*scale)(const T* x, int64_t count, RowScale row, T* out);
  // n rows (stride apart) by the weights [d][64] of a panel, into out[n][64] (out_stride apart)
  void (*panel)(const T* x, int64_t stride, int64_t n, const float* weights, int64_t d, T* out, int64_t out_stride,
                const PanelStage<T>& stage);
  // One row given by entries: value x[q] at feature `slot[q]` of the panel.
  void (*entries)(const int32_t* slot, const T* x, int64_t count, const float* weights, T* out,
                  const PanelStage<T>& stage);
  // One over the norm of row[k], 0 if that is 0; and row[k] times a factor.
  T (*inverse_norm)(const T* row, int64_t k);
  void (*multiply)(T* row, int64_t k, T factor);
};

struct WeightOps {
  // Weights of a panel, [feature][64]. `features` null: numbers from `first` on.
  void (*weights)(uint64_t seed, const int64_t* features, int64_t first, int64_t count, int64_t panel, float* out);
  void (*phases)(uint64_t seed, int64_t panel, float* out);
};

// What features depend on besides the row.
struct FourierParams {
  double scale;  // sqrt(gamma) / 2 pi
  uint64_t seed;
  int64_t hashes;
  bool normalize;       // NRFF
  int64_t table_bytes;  // weights up to here are made once; beyond, block after block
};

// AnyRows is DenseRows<T> or CsrRows<T, Index>. Returns false if a value is NaN or infinite: the norms show it, so
// callers need not check before.
template <class AnyRows, class T>
bool fourier(const Isa& isa, const AnyRows& rows, const FourierParams& params, Output<T> out, int threads,
             Interrupted interrupted);

}  // namespace kernelsketch
