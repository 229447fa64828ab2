// Generalized consistent weighted sampling (Algorithm 1 of the paper) as reference/gcws.py specifies it.
//
// For hash j a nonzero value has t + 1 = floor(L / r + (1 + beta)) and a = A - r (t + 1); the sample of a row is the
// slot of least a, the lowest of equals. L = p log2|value| is float32 from a float64 logarithm; r, beta and A are
// functions of (seed, slot, j) alone. All float32, with fused multiply-adds where the reference has them.
//
// The work is 9 vector operations for each nonzero and hash; what decides the speed is where the parameters
// come from. Two strategies, equal bit for bit, chosen by cost:
//   rows    a table of the parameters of all slots, made once a call; rows walk it nonzero by nonzero.
//   columns blocks of rows turned feature by feature: the parameters of a slot are generated on the spot, for
//           vocabularies of any size, and stay in registers while the running minima of its rows stream by.
#pragma once

#include <cstdint>

#include "kernelsketch/gmm.h"

namespace kernelsketch {

inline constexpr int64_t kLanes = 16;        // hashes of a group: the unit of parameters and of running minima
inline constexpr int64_t kTileGroups = 4;    // groups that a row walks at once
inline constexpr int64_t kSetFloats = 48;    // floats of a slot and group: 1/r, A, r and beta in one word; 16 each

// The nonzeros of a block of rows, row by row, features ascending.
struct Entries {
  const int64_t* starts;     // of each row, n + 1
  const int32_t* key;        // number of the slot's parameters
  const float* log;          // L
  const int32_t* label_of;   // what a winner leaves in the output, by key
  int64_t n;
};

// The same nonzeros slot by slot, slots ascending.
struct ColumnEntry {
  int32_t row;
  float log;
};
struct Columns {
  const int64_t* starts;     // of each slot, count + 1
  const uint64_t* slots;     // count
  const int32_t* label;      // count
  const ColumnEntry* entries;
  int64_t count;
  int64_t n;                 // rows
};

// Labels and t + 1 of the winners, [row][group][16]; the latter only where asked for.
struct Winners {
  int32_t* label;
  float* above;              // or null
};

// The arithmetic of one instruction set; src/isa/gcws.cpp fills it in.
struct GcwsOps {
  // logs[i] = p log2|x[i]|, x nonzero and finite
  void (*logs)(const double* x, int64_t n, double p, float* logs);
  // Parameters of `groups` groups from number `group` on, for `count` slots: out[slot][group][kSetFloats].
  void (*parameters)(uint64_t seed, const uint64_t* slots, int64_t count, int64_t group, int64_t groups, float* out);
  // Rows against parameters [key][groups][kSetFloats].
  void (*rows)(const Entries& entries, const float* parameters, int64_t groups, const Winners& winners);
  // The same by columns, for the hashes of one group; `best` is room for 16 floats a row.
  void (*columns)(const Columns& columns, uint64_t seed, int64_t group, float* best, const Winners& winners);
  // Nonzeros of x[d] (minus the center, if any), features ascending: their number. The key of a feature is
  // feature * scale, plus `negative` for a negative value. There is room for 8 more at the end of each output.
  int64_t (*nonzeros_float)(const float* x, const double* center, int64_t d, int32_t scale, int32_t negative,
                            double* values, int32_t* keys);
  int64_t (*nonzeros_double)(const double* x, const double* center, int64_t d, int32_t scale, int32_t negative,
                             double* values, int32_t* keys);
};

struct GcwsTask {
  const double* center;   // or null; dense rows only
  double p;
  uint64_t seed;
  int64_t hashes;
  int bits, t_bits;       // of a code
};

// b-bit codes of the slots and t_bits of t above them, as uint8, uint16 or uint32.
template <class Code>
struct CodeOutput {
  Code* codes;            // [n][hashes]
  uint8_t* empty;         // [n], 1 for a row without a nonzero
};

// The full samples (i*, t*).
struct SampleOutput {
  int64_t* slots;         // [n][hashes], -1 for an empty row
  int64_t* t;
  uint8_t* empty;
};

// A byte mixed from each full sample and its hash number, as the index compares them: see index.h.
struct MixOutput {
  uint8_t* codes;         // [n][hashes], 0 for an empty row
  uint8_t* empty;
};

// Rows: Dense<T> or Csr<T, Index>. Out: CodeOutput, SampleOutput or MixOutput.
template <class Rows, class Out>
void gcws(const Isa& isa, const Rows& rows, const GcwsTask& task, const Out& out, int threads,
          Interrupted interrupted);

// Signatures of eGMM, [n][count]: hash j is a 63-bit mix of counts[j] successive samples.
void concatenate(const int64_t* slots, const int64_t* t, int64_t n, const int64_t* counts, int64_t count, int64_t* out,
                 int threads);

}  // namespace kernelsketch
