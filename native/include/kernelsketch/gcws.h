// Generalized consistent weighted sampling (GCWS): hashes of rows whose collision probability is their GMM kernel.
//
// Definition (Algorithm 1 of the paper; reference/gcws.py is the specification). For hash j a nonzero value has
//   t + 1 = floor(L / r + (1 + beta)),    a = A - r (t + 1),    L = p log2|value|,
// and the sample of a row is the slot of least a; among equals the lowest slot wins. A slot is a feature together with
// the sign of its value. L is float32, rounded from a float64 logarithm. The parameters r, beta and A are functions of
// (seed, slot, j) alone. All arithmetic is float32, with fused multiply-adds where the reference has them, so results
// are bit-identical on every instruction set.
//
// Cost. There are 9 vector operations per nonzero and hash. What decides the speed is where the parameters come from.
// There are three strategies with bit-identical results; the cheapest one is chosen:
//   rows     A table holds the parameters of all slots. It is made once per call, and rows walk it nonzero by nonzero.
//   columns  Blocks of rows are transposed. The parameters of a slot are generated on the spot, for vocabularies of any
//            size, and stay in registers while the running minima of its rows stream by.
//   bounds   Most values of a long row cannot win, and are not looked at: src/gcws_bounds.h.
#pragma once

#include <cstdint>

#include "kernelsketch/by_type.h"
#include "kernelsketch/interrupt.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

struct Isa;

inline constexpr int64_t kLanes = 16;            // hashes per group: the unit of parameters and of running minima
inline constexpr int64_t kTileGroups = 4;        // groups that a row walks at once
inline constexpr int64_t kParameterFloats = 48;  // floats per slot and group: 16 each of 1/r, A, and r with beta

// The nonzeros of a block of rows, row by row, features ascending.
struct RowEntries {
  const int64_t* starts;    // of each row, n + 1
  const int32_t* key;       // number of the slot's parameters
  const float* log;         // L
  const int32_t* label_of;  // what a winner leaves in the output, by key
  int64_t n;
};

// The same nonzeros slot by slot, slots ascending: the block transposed.
struct ColumnEntry {
  int32_t row;
  float log;
};
struct ColumnBlock {
  const int64_t* starts;  // of each slot, count + 1
  const uint64_t* slots;  // count
  const int32_t* label;   // count
  const ColumnEntry* entries;
  int64_t count;
  int64_t n;  // rows
};

// Labels and t + 1 of the winners, [row][group][16]; the latter only if requested.
struct Winners {
  int32_t* label;
  float* above;  // or null
};

// The arithmetic of one instruction set; src/isa/gcws.cpp fills it in.
template <class T>
struct NonzeroOps {
  // Nonzeros of x[d] (minus the center, if any), features ascending: their number. The key of a feature is
  // feature * scale, plus `negative` for a negative value. Each output has 8 more elements at its end.
  int64_t (*find)(const T* x, const double* center, int64_t d, int32_t scale, int32_t negative, double* values,
                  int32_t* keys);
};
struct GcwsOps {
  // logs[i] = p log2|x[i]|, x nonzero and finite
  void (*logs)(const double* x, int64_t n, double p, float* logs);
  // Parameters of `groups` groups from number `group` on, for `count` slots: out[slot][group][kParameterFloats].
  void (*parameters)(uint64_t seed, const uint64_t* slots, int64_t count, int64_t group, int64_t groups, float* out);
  // AnyRows against parameters [key][groups][kParameterFloats].
  void (*rows)(const RowEntries& entries, const float* parameters, int64_t groups, const Winners& winners);
  // The same by columns, for the hashes of one group; `best` is scratch memory of 16 floats per row.
  void (*columns)(const ColumnBlock& block, uint64_t seed, int64_t group, float* best, const Winners& winners);
  ByType<NonzeroOps> nonzeros;
};

inline constexpr int64_t kBoundedRows = 128;  // rows of a tile of the strategy `bounds`: a multiple of this

// Slots that can win a hash, by the numbers of their columns, and their parameters; above is 1 + beta.
struct Candidates {
  int32_t* column;
  float *reciprocal, *A, *r, *above;
};

// The winner of a row: its column, and t + 1.
struct Sample {
  int32_t column;
  float above;
};

// The arithmetic of the strategy `bounds`; src/isa/gcws_bounds.cpp fills it in. Keys of columns are in six arrays.
struct BoundOps {
  // Lists the columns with an a below the threshold at the logs `tops`: their number. There is a multiple of 16 columns;
  // the lists have room for 16 more.
  int64_t (*choose)(const int32_t* const* words, const float* tops, int64_t columns, int64_t hash, float threshold,
                    const Candidates& out);
  // Which of the first `count` candidates have an a below the threshold at other tops: their number.
  int64_t (*narrow)(const Candidates& of, int64_t count, const float* tops, float threshold, int32_t* kept);
  // The least a of each row among `kept` candidates, the label of its column and, unless null, t + 1. logs[column][row].
  void (*visit)(const float* logs, int64_t rows, const Candidates& of, const int32_t* kept, int64_t count,
                const int32_t* label_of, float* least, int32_t* label, float* above);
  // to[row][16] = from[16][row]
  void (*turn)(const int32_t* from, int64_t rows, int32_t* to);
  void (*turn_floats)(const float* from, int64_t rows, float* to);
  // The winner among all values of a row.
  Sample (*look)(const int32_t* const* words, int64_t hash, const int32_t* columns, const float* logs, int64_t count);
};

// What a sample depends on besides the row, and what of it a code keeps.
struct GcwsParams {
  const double* center;  // or null; dense rows only
  double p;
  uint64_t seed;
  int64_t hashes;
  int bits, t_bits;  // of a code
};

// b-bit codes of the slots and t_bits of t above them, as uint8, uint16 or uint32.
template <class Code>
struct CodeOutput {
  Code* codes;     // [n][hashes]
  uint8_t* empty;  // [n], 1 for a row without a nonzero
};

// The full samples (i*, t*).
struct SampleOutput {
  int64_t* slots;  // [n][hashes], -1 for an empty row
  int64_t* t;
  uint8_t* empty;
};

// Fingerprints: one byte mixed from each full sample and its hash number. The index compares them (index.h).
struct FingerprintOutput {
  uint8_t* fingerprints;  // [n][hashes], 0 for an empty row
  uint8_t* empty;
};

class ParameterTable;  // src/gcws_table.h

// AnyRows is DenseRows<T> or CsrRows<T, Index>. Out is CodeOutput, SampleOutput or FingerprintOutput. `ready` holds the
// parameters of all slots and hashes, if they have been made before.
template <class AnyRows, class Out>
void gcws(const Isa& isa, const AnyRows& rows, const GcwsParams& params, const Out& out, int threads,
          Interrupted interrupted, const ParameterTable* ready = nullptr);

// Signatures of the eGMM kernel, [n][count]: hash j is a 63-bit mix of counts[j] successive samples.
void concatenate(const int64_t* slots, const int64_t* t, int64_t n, const int64_t* counts, int64_t count, int64_t* out,
                 int threads);

}  // namespace kernelsketch
