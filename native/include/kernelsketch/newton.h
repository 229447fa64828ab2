// Newton's method for linear models on codes: the steps of problems with a smooth loss.
//
// Model, objective and decision values are those of linear.h. At w, with beta_i = -loss'(f_i), minus the gradient is
// r = X'beta - w, and the duality gap is |r|^2 / 2. A Newton step x solves H x = r with H = 1 + X'DX, where D holds the
// second derivatives. Conjugate gradients need the product of H with a vector for that: one pass over the codes of the
// rows whose second derivative is not 0, on all threads.
//
// Symbols. Codes of neighbouring hashes go together: eight of them take a thousand of the possible combinations, say. Each
// combination that occurs is a symbol. Rows are read as symbols, whose weights are the sums of the weights of their codes,
// so that a row takes an eighth of the look-ups.
//
// Preconditioner. Products are few if a matrix near H is inverted along the way: P = ridge + (share of D) S'S for a sample S
// of the rows. By Woodbury's identity its inverse takes the Cholesky factor of S S' + ridge / share, which has as many
// rows as the sample: numbers of equal codes.
//
// Steps end by a search along x, over a list of lengths.
//
// Sums of rows run over chunks of 1024 rows, and sums of cells over 16 parts of the hashes, each in 8 lanes. A product
// adds the rows to up to 16 tables of symbols, a slice of the rows each, which are added up in order. Nothing depends on threads or
// instruction sets.
//
// Out-of-core. Symbols and codes may be maps of files. Their pages are then released after each block of rows, the tables
// of a few slices at a time are in memory, and the sampled rows are copied.
//
// References: reference/newton.py; S. S. Keerthi and D. DeCoste, "A modified finite Newton method for fast solution of
// large scale linear SVMs", JMLR 6, 2005.
#pragma once

#include <cstdint>

#include "kernelsketch/file_map.h"
#include "kernelsketch/interrupt.h"
#include "kernelsketch/linear.h"

namespace kernelsketch {

inline constexpr int64_t kNewtonStats = 4;

// Rows as symbols.
struct Symbols {
  const uint16_t* rows;   // [n][k]
  const int64_t* counts;  // [k]: symbols in use
  const int32_t* cells;   // [k][stride][together]: where a table of weights has the codes of a symbol
  int64_t k, stride, together;
  FileMap map = {};  // of `rows`
  const uint16_t* row(int64_t i) const { return rows + i * k; }
  const int32_t* cells_of(int64_t g, int64_t symbol) const { return cells + (g * stride + symbol) * together; }
  int64_t members(int64_t g, int64_t hashes) const {  // codes of a symbol: fewer in the last group
    return hashes - g * together < together ? hashes - g * together : together;
  }
};

inline constexpr int64_t kMostTogether = 8;

// Makes symbols of `together` codes each: out[n][groups], and first[group][most], the row in which each symbol came
// first. `together` is 2, 4 or 8, and `most` below 65,536. Combinations get numbers as they come. Codes that the last
// group lacks count as 0; empty rows have symbol 0. Returns false, with the arrays partly filled, if a group has more
// than `most` symbols. `mapped` says that codes and `out` are maps of files.
template <class Code>
bool make_symbols(const CodeRows<Code>& x, int64_t together, int64_t most, uint16_t* out, int64_t* counts,
                  int32_t* first, int threads, Interrupted interrupted, bool mapped = false);

// One step for each problem; arrays as in LinearPass.
template <class Real>
struct NewtonStep {
  LinearTargets targets;
  const uint8_t* running;
  const uint8_t* fresh;  // [problems]: decision values are computed anew
  double tol;            // no step where the gap is at most this share of the objective
  Symbols symbols;
  int64_t sample;       // rows of the preconditioner
  const int64_t* most;  // [problems]: passes, at most; 1 is for the gradient
  Real* beta;           // [problems][ld]
  Real* f;              // [problems][ld]: decision values, kept from step to step
  int64_t ld;
  double* stats;       // [problems][kNewtonStats]: objective and gap before the step, passes, length of the step
  FileMap codes = {};  // of the codes
};

// Throws std::invalid_argument for a loss that is not smooth.
template <class Code, class Real>
void newton_step(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective,
                 const NewtonStep<Real>& step, const WeightTables<Real>& tables, int threads, Interrupted interrupted);

}  // namespace kernelsketch
