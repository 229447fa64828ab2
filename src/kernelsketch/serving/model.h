// The functions of a model in C. _c_header.py writes the arithmetic of native/core and the constants and arrays of the
// model before it, and gives all names the name of the model instead of ks_. An array ks_x has ks_n_x numbers, none if
// the model does not need it.

static inline ks_packed_parameters ks_make(const ks_view* view, int slot, int j) {
  return ks_pack_parameters(ks_slot_state(ks_seed_key(view->seed), (uint64_t)slot), (uint32_t)j);
}

static ks_packed_parameters ks_table[ks_entries > 0 ? ks_entries : 1];
static int ks_ready = 0;
static inline void ks_prepare(void) {
  size_t at = 0;
  for (int v = 0; v < ks_n_views && ks_entries > 0; ++v)
    for (int slot = 0; slot < 2 * ks_views[v].width; ++slot)
      for (int j = 0; j < ks_views[v].samples; ++j) ks_table[at++] = ks_make(&ks_views[v], slot, j);
  ks_ready = 1;
}

// The sample of hash j of a row that is not zero: its slot, and t.
static inline uint64_t ks_sample(const ks_view* view, const double* x, const float* logs, int j, int64_t* t) {
  int winner = -1;
  float best = 0;
  for (int f = 0; f < view->width; ++f) {
    if (x[f] == 0) continue;
    const int slot = 2 * f + (x[f] < 0);
    const size_t at = view->first + (size_t)slot * (size_t)view->samples + (size_t)j;
    const ks_parameters of = ks_unpack_parameters(ks_entries > 0 ? ks_table[at] : ks_make(view, slot, j));
    const float above = ks_above(logs[f], of), a = ks_a(above, of);
    if (winner < 0 || a < best) {
      best = a;
      winner = slot;
      *t = (int64_t)above - 1;
    }
  }
  return (uint64_t)winner;
}

// A tie gets the mean of its first and its last level; between quantiles the level is interpolated.
static inline double ks_level(double x, const double* q) {
  const int last = ks_n_levels - 1;
  int low = 0, high = last;
  if (!(q[0] < q[last])) return 0;
  if (x < q[0] || x > q[last]) return ks_levels[x < q[0] ? 0 : last];
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (q[middle] < x)
      low = middle;
    else
      high = middle;
  }
  if (q[low] != x && q[high] != x) {
    const double slope = (ks_levels[high] - ks_levels[low]) / (q[high] - q[low]);
    const double up = slope * (x - q[low]) + ks_levels[low];
    const double down = -slope * (q[high] - x) + ks_levels[high];
    return (up + down) / 2;
  }
  if (q[low] != x) low = high;
  for (high = low; high < last && q[high + 1] == x;) ++high;
  return (ks_levels[low] + ks_levels[high]) / 2;
}

static inline double ks_scaled(double x, int f) {
  if (ks_n_levels > 0) return ks_level(x, ks_quantiles + (size_t)f * ks_n_levels);
  if (ks_n_spread == 0) return x;
  if (ks_n_middle > 0) x = x / 2 - ks_middle[f] / 2;
  x = ks_spread[f] > 0 ? x / ks_spread[f] : 0;
  x = x > 1e30 ? 1e30 : x < -1e30 ? -1e30 : x;
  return ks_n_middle > 0 ? x * 2 : x;
}

// By the bits, because -ffast-math lets compilers assume that all values are finite.
static inline int ks_finite(double x) { return ((ks_bits64(x) >> 52) & 0x7FF) != 0x7FF; }

static inline int ks_codes(const double* row, uint32_t* codes) {
  double x[ks_n_features];
  float logs[ks_n_features];
  int empty = 1;
  if (!ks_ready) ks_prepare();
  for (int f = 0; f < ks_n_features; ++f) {
    x[f] = ks_scaled(row[f], f) - (ks_n_center > 0 ? ks_center[f] : 0);
    if (!ks_finite(row[f]) || !ks_finite(x[f])) {
      memset(codes, 0, sizeof *codes * ks_n_hashes);
      return -1;
    }
    logs[f] = x[f] == 0 ? 0 : ks_log_weight(x[f], ks_p);
  }
  for (const ks_view* view = ks_views; view < ks_views + ks_n_views; ++view) {
    const double* own = x + view->column;
    const float* own_logs = logs + view->column;
    int64_t t = 0;
    int zero = 1, q = 0;
    for (int f = 0; f < view->width; ++f) zero &= own[f] == 0;
    empty &= zero;
    for (int j = view->hash; j < view->hash + view->hashes; ++j) {
      if (zero) {
        codes[j] = ks_absent[j];
      } else if (ks_n_counts > 0) {  // a hash joins several samples
        uint64_t joined = 0;
        for (const int end = q + ks_counts[j]; q < end; ++q) {
          const uint64_t slot = ks_sample(view, own, own_logs, q, &t);
          joined = ks_join(joined, slot, t);
        }
        codes[j] = (uint32_t)(ks_signature(joined) & ((1u << ks_bits) - 1));
      } else {
        const uint64_t slot = ks_sample(view, own, own_logs, q++, &t);
        codes[j] = ks_code(ks_slot_code(slot, ks_bits), t, ks_bits, ks_t_bits);
      }
    }
  }
  return empty;
}

static inline int ks_decision(const double* x, double* values) {
  uint32_t codes[ks_n_hashes];
  double sums[ks_n_problems];
  const int empty = ks_codes(x, codes);
  if (empty < 0) {  // at once: with -ffast-math, a sum with NaN may be any number
    for (int p = 0; p < ks_n_problems; ++p) values[p] = NAN;
    return -1;
  }
  for (int p = 0; p < ks_n_problems; ++p) {
    double sum = 0;
    for (size_t j = 0; j < ks_n_hashes && !empty; ++j) {
      const size_t number = ks_number[codes[j]];
      if (number < ks_n_used) sum += (double)ks_w[((size_t)p * ks_n_hashes + j) * ks_n_used + number];
    }
    sums[p] = sum + ks_offset[p];
  }
  for (int p = 0; p < ks_n_problems; ++p) {
    values[p] = ks_n_slopes > 0 ? ks_intercepts[p] : sums[p];
    for (int i = 0; i < ks_n_problems && ks_n_slopes > 0; ++i) values[p] += sums[i] * ks_slopes[i * ks_n_problems + p];
  }
  return 0;
}

static inline ks_answer ks_predict(const double* x) {
  double values[ks_n_problems];
  int best = 0;
  if (ks_decision(x, values) < 0) return ks_nothing;
  if (ks_n_classes == 0) return (ks_answer)(ks_mean + ks_deviation * values[0]);
  if (ks_n_problems == 1) return values[0] > 0;
  for (int p = 1; p < ks_n_problems; ++p)
    if (values[p] > values[best]) best = p;
  return best;
}
