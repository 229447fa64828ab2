"""A predictor as one C header: the hash, the scaling and the weights, for programs without Python.

The code follows ``reference/gcws.py`` and ``reference/rng.py`` operation by operation, so that codes are equal bit for
bit. It needs C99 and the function ``fmaf`` of ``math.h``; contraction of other products and sums is switched off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import HashView, ReadyModel
from ..exceptions import InputError, Setting
from ..hashing import absent_codes
from ._model import LinearModel
from ._model_file import stored_versions

Array = NDArray[Any]

MOST_WEIGHTS = 1 << 26  # as text they take about 15 bytes each
TABLE_ENTRIES = 1 << 22  # parameters that a program keeps: 12 bytes each

_TEMPLATE = Template(r"""/* $title
 *
 * Made by kernelsketch $version. Do not edit.
 *
 *   $returns $name_predict(const double x[$d]);       $what
 *   int $name_decision(const double x[$d], double values[$problems]);
 *   int $name_codes(const double x[$d], uint32_t codes[$k]);
 *
 * The first call makes tables of parameters; if several threads predict, call $name_prepare() before they start.
 * Compile as C99 or later, and link with -lm. Codes equal those of kernelsketch, decision values up to rounding.
 *
 * A row with NaN or infinity has no prediction: $name_predict returns $nothing, and the other functions return -1, with
 * values that are NaN. Otherwise $name_decision returns 0, and $name_codes 1 for a row of zeros and 0 for others.
 */
#ifndef ${guard}_H
#define ${guard}_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

#if defined(__GNUC__)
#define ${guard}_UNUSED __attribute__((unused))
#else
#define ${guard}_UNUSED
#endif

enum { ${name}_n_features = $d, ${name}_n_classes = $classes };
$labels
typedef struct { uint64_t seed; int column, width, hash, hashes, samples; } ${name}_view;
static const ${name}_view ${name}_views[] = {$views};
$arrays
static uint64_t ${name}_mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static uint32_t ${name}_bits(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static float ${name}_float(uint32_t b) { float x; memcpy(&x, &b, 4); return x; }

static float ${name}_log2f(float x) {
  const int32_t bits = (int32_t)${name}_bits(x);
  const int32_t above = bits - 0x3F3504F3;
  const int32_t exponent = above >= 0 ? above >> 23 : -(int32_t)(((uint32_t)-above + 0x7FFFFFu) >> 23);
  const float f = ${name}_float((uint32_t)bits - ((uint32_t)exponent << 23)) - 1.0f;
  float p = -0.2061910480260849f;
  p = fmaf(p, f, 0.31819990277290344f);
  p = fmaf(p, f, -0.3664917051792145f);
  p = fmaf(p, f, 0.4798118472099304f);
  p = fmaf(p, f, -0.7212063670158386f);
  p = fmaf(p, f, 1.4427015781402588f);
  return fmaf(f, p, (float)exponent);
}

static uint32_t ${name}_word(uint32_t j, uint64_t key) {
  uint32_t x = j ^ (uint32_t)key;
  x ^= x >> 16;
  x *= 0x21F0AAADu;
  x = x ^ (x >> 15) ^ (uint32_t)(key >> 32);
  x *= 0x735A2D97u;
  return x ^ (x >> 15);
}

typedef struct { float r, beta, A; } ${name}_parameters;

static ${name}_parameters ${name}_make(uint64_t seed, uint64_t slot, uint32_t hash) {
  const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
  const uint64_t state = ${name}_mix64(slot + ${name}_mix64(seed + golden));
  const uint32_t j = hash * 0x9E3779B1u;
  const uint32_t w0 = ${name}_word(j, ${name}_mix64(state + golden));
  const uint32_t w1 = ${name}_word(j, ${name}_mix64(state + 2 * golden));
  const uint32_t w2 = ${name}_word(j, ${name}_mix64(state + 3 * golden));
  const float s16 = 1.0f / 65536.0f, s23 = 1.0f / 8388608.0f;
  const float u1 = fmaf((float)(w0 >> 16), s16, s16 / 2), u2 = fmaf((float)(w0 & 0xFFFF), s16, s16 / 2);
  const float u3 = fmaf((float)(w1 >> 9), s23, s23 / 2), u4 = fmaf((float)(w2 >> 9), s23, s23 / 2);
  const float beta = fmaf((float)(((w1 & 0xFF) << 8) | (w2 & 0xFF)), s16, s16 / 2);
  const float r = ${name}_float((${name}_bits(-${name}_log2f(u1 * u2)) + 0x8000u) & 0xFFFF0000u);
  const float c = -${name}_log2f(u3 * u4);
  const ${name}_parameters made = {r, beta, fmaf(r, beta, ${name}_log2f(c))};
  return made;
}

#if $has_table
static ${name}_parameters ${name}_table[$entries];
static int ${name}_ready = 0;
static ${guard}_UNUSED void ${name}_prepare(void) {
  size_t at = 0;
  for (size_t v = 0; v < sizeof ${name}_views / sizeof *${name}_views; ++v)
    for (int slot = 0; slot < 2 * ${name}_views[v].width; ++slot)
      for (int j = 0; j < ${name}_views[v].samples; ++j)
        ${name}_table[at++] = ${name}_make(${name}_views[v].seed, (uint64_t)slot, (uint32_t)j);
  ${name}_ready = 1;
}
#else
static ${guard}_UNUSED void ${name}_prepare(void) {}
#endif

/* p log2|x|, the mantissa of x rounded to 24 bits */
static float ${name}_log(double x) {
  int exponent;
  double m = (double)(float)frexp(fabs(x), &exponent);
  if (m < 0.70710678118654752440) { m = m + m; exponent -= 1; }
  const double s = (m - 1) / (m + 1), z = s * s;
  double q = 2 / (15 * 0.69314718055994530942);
  for (int k = 6; k >= 0; --k) {
    const double product = q * z;
    q = product + 2 / ((2 * k + 1) * 0.69314718055994530942);
  }
  const double tail = s * q;
  return (float)($p * (tail + (double)exponent));
}

/* The sample of hash j: its slot, or -1 for an empty row, and t. */
static int64_t ${name}_sample(const ${name}_view* view, size_t first, const double* x, const float* logs, int j,
                              int64_t* t) {
  int64_t winner = -1;
  float best = INFINITY;
  *t = 0;
  for (int f = 0; f < view->width; ++f) {
    if (x[f] == 0) continue;
    const int slot = 2 * f + (x[f] < 0);
#if $has_table
    const ${name}_parameters q = ${name}_table[first + (size_t)slot * (size_t)view->samples + (size_t)j];
#else
    const ${name}_parameters q = ${name}_make(view->seed, (uint64_t)slot, (uint32_t)j);
    (void)first;
#endif
    const float above = floorf(fmaf(logs[f], 1.0f / q.r, 1.0f + q.beta));
    const float a = fmaf(-q.r, above, q.A);
    if (winner < 0 || a < best) { best = a; winner = slot; *t = (int64_t)above - 1; }
  }
  return winner;
}

static double ${name}_scaled(double x, int f) {
  (void)f;
$scale
  return x;
}

/* By the bits, because -ffast-math lets compilers assume that all values are finite. */
static int ${name}_finite(double x) {
  uint64_t b;
  memcpy(&b, &x, 8);
  return ((b >> 52) & 0x7FF) != 0x7FF;
}

static ${guard}_UNUSED int ${name}_codes(const double* row, uint32_t* codes) {
  double x[$d];
  float logs[$d];
  int empty = 1;
  size_t first = 0;
#if $has_table
  if (!${name}_ready) ${name}_prepare();
#endif
  for (int f = 0; f < $d; ++f) {
    x[f] = ${name}_scaled(row[f], f)$center;
    if (!${name}_finite(row[f]) || !${name}_finite(x[f])) {
      memset(codes, 0, sizeof *codes * $k);
      return -1;
    }
    logs[f] = x[f] == 0 ? 0 : ${name}_log(x[f]);
    if (x[f] != 0) empty = 0;
  }
  for (size_t v = 0; v < sizeof ${name}_views / sizeof *${name}_views; ++v) {
    const ${name}_view* view = &${name}_views[v];
    const double* own = x + view->column;
    int zero = 1;
    for (int f = 0; f < view->width; ++f) if (own[f] != 0) zero = 0;
    if (zero) {
      memcpy(codes + view->hash, ${name}_absent + view->hash, sizeof *codes * (size_t)view->hashes);
    } else {
#if $has_gamma
      int q = 0;
      for (int j = 0; j < view->hashes; ++j) {
        uint64_t h = 0;
        for (int end = q + ${name}_counts[view->hash + j]; q < end; ++q) {
          int64_t t;
          const int64_t slot = ${name}_sample(view, first, own, logs + view->column, q, &t);
          h = ${name}_mix64(h + (uint64_t)slot + UINT64_C(0x9E3779B97F4A7C15));
          h = ${name}_mix64(h + (uint64_t)t + UINT64_C(0x9E3779B97F4A7C15));
        }
        codes[view->hash + j] = (uint32_t)((h >> 1) & ${mask}u);
      }
#else
      for (int j = 0; j < view->hashes; ++j) {
        int64_t t;
        const uint64_t slot = (uint64_t)${name}_sample(view, first, own, logs + view->column, j, &t);
        const uint32_t kept = (uint32_t)(((slot >> 1) ^ ((slot & 1) << ($bits - 1))) & ${mask}u);
        codes[view->hash + j] = kept | (uint32_t)(((uint64_t)t & ${t_mask}u) << $bits);
      }
#endif
    }
    first += 2 * (size_t)view->width * (size_t)view->samples;
  }
  return empty;
}

static ${guard}_UNUSED int ${name}_decision(const double* x, double* values) {
  uint32_t codes[$k];
  double sums[$problems];
  const int empty = ${name}_codes(x, codes);
  if (empty < 0) {
    for (int p = 0; p < $problems; ++p) values[p] = NAN;
    return -1;
  }
  for (int p = 0; p < $problems; ++p) {
    double sum = 0;
    for (int j = 0; j < $k && !empty; ++j) {
      const int number = ${name}_number[codes[j]];
      if (number < $used) sum += (double)${name}_w[((size_t)p * $k + (size_t)j) * $used + (size_t)number];
    }
    sums[p] = sum + ${name}_offset[p];
  }
$finish
  return 0;
}

$predict
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
""")


def c_header(model: LinearModel, ready: ReadyModel, name: str) -> str:
    """Return a model as a C header, whose functions and arrays begin with ``name``."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise InputError(Setting("name", name), " cannot begin names in C: use letters, digits and underscores.")
    used, w = len(model.used_codes), model.weights[:, :, : len(model.used_codes)]
    if w.size > MOST_WEIGHTS or model.n_features > 1 << 16:
        raise InputError(
            f"the model has {w.size} weights and {model.n_features} features, which are too many for a C header: use "
            "kernelsketch.serving.Predictor."
        )
    samples = [_samples_of(view) for view in ready.views]
    entries = sum(2 * view.width * count for view, count in zip(ready.views, samples, strict=True))
    problems, is_class = len(w), model.classes is not None
    counts: Any = [] if ready.views[0].counts is None else np.concatenate([np.asarray(v.counts) for v in ready.views])
    arrays = [
        _array(f"uint16_t {name}_number", ready.number_of),
        _array(f"uint32_t {name}_absent", absent_codes(model.hasher)),
        _array(f"{'float' if w.dtype == np.float32 else 'double'} {name}_w", w.ravel(), w.dtype),
        _array(f"double {name}_offset", ready.offset, np.float64),
    ]
    if len(counts):
        arrays.append(_array(f"int {name}_counts", counts))
    if ready.center is not None:
        arrays.append(_array(f"double {name}_center", ready.center, np.float64))
    scale, scale_arrays = _scale(model, name)
    finish, finish_arrays = _finish(model, name, problems)
    return _TEMPLATE.substitute(
        title=f"A {model.estimator} of kernelsketch: {model.n_features} features, {model.hasher.n_components} hashes.",
        version=stored_versions()["kernelsketch"],
        name=name,
        name_predict=f"{name}_predict",
        name_decision=f"{name}_decision",
        name_codes=f"{name}_codes",
        name_prepare=f"{name}_prepare",
        guard=name.upper(),
        returns="int" if is_class else "double",
        what=f"the number of the class in {name}_classes" if is_class else "the predicted number",
        nothing="-1" if is_class else "NaN",
        d=model.n_features,
        k=model.hasher.n_components,
        problems=problems,
        classes=len(model.classes) if model.classes is not None else 0,
        labels=_labels(model, name),
        views=_views(ready.views, samples),
        arrays="\n".join([*arrays, *scale_arrays, *finish_arrays]),
        has_table=int(entries <= TABLE_ENTRIES),
        entries=entries,
        has_gamma=int(bool(len(counts))),
        p=float(ready.p).hex(),
        bits=ready.bits,
        mask=(1 << ready.bits) - 1,
        t_mask=(1 << ready.t_bits) - 1,
        center="" if ready.center is None else f" - {name}_center[f]",
        used=used,
        scale=scale,
        finish=finish,
        predict=_predict(model, name, problems),
    )


def _samples_of(view: HashView) -> int:
    return view.hashes if view.counts is None else max(1, int(view.counts.sum()))


def _views(views: list[HashView], samples: list[int]) -> str:
    lines, column, first = [], 0, 0
    for view, count in zip(views, samples, strict=True):
        lines.append(f"{{UINT64_C({view.seed}), {column}, {view.width}, {first}, {view.hashes}, {count}}}")
        column, first = column + view.width, first + view.hashes
    return ", ".join(lines)


def _array(declaration: str, values: Any, dtype: Any = None) -> str:
    values = np.asarray(values).ravel()
    if dtype is None:
        texts: Iterable[str] = (str(int(value)) for value in values)
    else:
        suffix = "f" if dtype == np.float32 else ""
        texts = (f"{float(value).hex()}{suffix}" if value else "0" for value in values.tolist())
    return f"static const {declaration}[{len(values)}] = {{{','.join(texts)}}};"


def _labels(model: LinearModel, name: str) -> str:
    if model.classes is None:
        return ""
    texts = []
    for label in model.whole_labels.tolist():
        encoded = str(label).encode("utf-8", "surrogatepass")
        texts.append(
            '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in encoded) + '"'
        )
    return f"static {name.upper()}_UNUSED const char* const {name}_classes[{len(texts)}] = {{{', '.join(texts)}}};"


def _scale(model: LinearModel, name: str) -> tuple[str, list[str]]:
    """Return the statements that scale a value, as serving/_scaling.py does, and their arrays."""
    scaling = model.scaling
    if scaling is None:
        return "", []
    clipped = "x = x > 1e30 ? 1e30 : x < -1e30 ? -1e30 : x;"
    if scaling.spread is not None:
        arrays = [_array(f"double {name}_spread", scaling.spread, np.float64)]
        divided = f"  x = {name}_spread[f] > 0 ? x / {name}_spread[f] : 0;\n  {clipped}"
        if scaling.center is None:
            return divided, arrays
        arrays.append(_array(f"double {name}_middle", scaling.center, np.float64))
        return f"  x = x / 2 - {name}_middle[f] / 2;\n{divided}\n  x = x * 2;", arrays
    assert scaling.quantiles is not None
    q = scaling.quantiles
    levels = np.linspace(-1, 1, len(q))
    arrays = [
        _array(f"double {name}_quantiles", q.T, np.float64),
        _array(f"double {name}_levels", levels, np.float64),
    ]
    # A tie gets the mean of its first and its last level; between quantiles the level is interpolated.
    return (
        f"""  const double* q = {name}_quantiles + (size_t)f * {len(q)};
  const double* level = {name}_levels;
  const int last = {len(q) - 1};
  int low = 0, high = last;
  if (!(q[0] < q[last])) return 0;
  if (x <= q[0]) {{ high = 0; while (high < last && q[high + 1] == q[0] && x == q[0]) ++high;
    return (level[0] + level[x == q[0] ? high : 0]) / 2; }}
  if (x >= q[last]) {{ low = last; while (low > 0 && q[low - 1] == q[last] && x == q[last]) --low;
    return (level[last] + level[x == q[last] ? low : last]) / 2; }}
  while (high - low > 1) {{ const int mid = (low + high) / 2; if (q[mid] <= x) low = mid; else high = mid; }}
  if (q[low] == x) {{ high = low; while (low > 0 && q[low - 1] == x) --low; return (level[low] + level[high]) / 2; }}
  {{ const double slope = (level[high] - level[low]) / (q[high] - q[low]);
    const double up = slope * (x - q[low]) + level[low];
    const double down = -slope * (q[high] - x) + level[high];
    return (up + down) / 2; }}""",
        arrays,
    )


def _finish(model: LinearModel, name: str, problems: int) -> tuple[str, list[str]]:
    """Return the statements that turn sums into decision values, with the calibration if there is one."""
    if model.calibration is None:
        return f"  for (int p = 0; p < {problems}; ++p) values[p] = sums[p];", []
    slopes = model.calibration.coefficients
    arrays = [
        _array(f"double {name}_slopes", slopes, np.float64),
        _array(f"double {name}_intercepts", model.calibration.intercepts, np.float64),
    ]
    if len(slopes) == 1:
        line = f"values[p] = sums[p] * {name}_slopes[p] + {name}_intercepts[p];"
        return f"  for (int p = 0; p < {problems}; ++p) {line}", arrays
    return (
        f"  for (int p = 0; p < {problems}; ++p) {{\n    values[p] = {name}_intercepts[p];\n"
        f"    for (int i = 0; i < {problems}; ++i) values[p] += sums[i] * {name}_slopes[i * {problems} + p];\n  }}",
        arrays,
    )


def _predict(model: LinearModel, name: str, problems: int) -> str:
    kind = "int" if model.classes is not None else "double"
    lines = [
        f"static {name.upper()}_UNUSED {kind} {name}_predict(const double* x) {{",
        f"  double values[{problems}];",
        f"  if ({name}_decision(x, values) < 0) return {'-1' if model.classes is not None else 'NAN'};",
    ]
    if model.classes is None:
        lines.append(f"  return {float(model.mean).hex()} + {float(model.spread).hex()} * values[0];")
    elif problems == 1:
        lines.append("  return values[0] > 0;")
    else:
        lines.append("  int best = 0;")
        lines.append(f"  for (int p = 1; p < {problems}; ++p) if (values[p] > values[best]) best = p;")
        lines.append("  return best;")
    return "\n".join([*lines, "}", ""])
