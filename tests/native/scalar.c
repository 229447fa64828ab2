/* The scalar functions of native/core on arrays, for test_scalar.py: as C99, as C++20 and as nvcc's host code sees them. */
#include "core/codes.h"
#include "core/fourier.h"
#include "core/gcws.h"

#if defined(__cplusplus)
#include "core/pair.h"
extern "C" {
#endif

void log2f_of(const float* x, ks_i64 n, float* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks_log2f(x[i]);
}

void log2_of(const double* x, ks_i64 n, double* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks_log2(x[i]);
}

void log_weights(const double* x, double p, ks_i64 n, float* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks_log_weight(x[i], p);
}

void mixes(const ks_u64* x, ks_i64 n, ks_u64* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks_mix64(x[i]);
}

/* r, 1/r, 1 + beta and A of [slot][hash]. */
void parameters(ks_u64 seed, const ks_u64* slots, ks_i64 n, ks_i64 hashes, float* out) {
  for (ks_i64 i = 0; i < n * hashes; ++i) {
    const ks_u64 state = ks_slot_state(ks_seed_key(seed), slots[i / hashes]);
    const ks_parameters of = ks_unpack_parameters(ks_pack_parameters(state, (ks_u32)(i % hashes)));
    out[4 * i] = of.r;
    out[4 * i + 1] = of.reciprocal;
    out[4 * i + 2] = of.above_beta;
    out[4 * i + 3] = of.A;
  }
}

/* Slots and t of the samples of one row, whose slots ascend. */
void samples(ks_u64 seed, const ks_i64* slots, const double* x, double p, ks_i64 n, ks_i64 hashes, ks_i64* winner,
             ks_i64* t) {
  for (ks_i64 j = 0; j < hashes; ++j) {
    float best = 0;
    for (ks_i64 i = 0; i < n; ++i) {
      const ks_u64 state = ks_slot_state(ks_seed_key(seed), (ks_u64)slots[i]);
      const ks_parameters of = ks_unpack_parameters(ks_pack_parameters(state, (ks_u32)j));
      const float above = ks_above(ks_log_weight(x[i], p), of), a = ks_a(above, of);
      if (i == 0 || a < best) {
        best = a;
        winner[j] = slots[i];
        t[j] = (ks_i64)above - 1;
      }
    }
  }
}

/* Codes, and fingerprints of hash i % hashes. */
void codes_of(const ks_i64* slots, const ks_i64* t, ks_i64 n, ks_i64 hashes, ks_i64 bits, ks_i64 t_bits, ks_u32* codes,
              ks_u8* fingerprints) {
  for (ks_i64 i = 0; i < n; ++i) {
    codes[i] = ks_code(ks_slot_code((ks_u64)slots[i], (int)bits), t[i], (int)bits, (int)t_bits);
    fingerprints[i] = ks_fingerprint((ks_u64)slots[i], t[i], (ks_u64)(i % hashes));
  }
}

/* Signatures of the samples of [row][counts]. */
void signatures(const ks_i64* slots, const ks_i64* t, ks_i64 n, const ks_i64* counts, ks_i64 hashes, ks_i64* out) {
  for (ks_i64 i = 0; i < n * hashes; ++i) {
    ks_u64 joined = 0;
    for (ks_i64 q = 0; q < counts[i % hashes]; ++q) joined = ks_join(joined, (ks_u64)*slots++, *t++);
    out[i] = (ks_i64)ks_signature(joined);
  }
}

void buckets(const ks_u8* bands, ks_i64 n, ks_i64 size, ks_i64 table, ks_i64 bits, ks_i64* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = (ks_i64)ks_bucket(bands + i * size, (int)size, (ks_u64)table, (int)bits);
}

void cosines32(const float* x, ks_i64 n, float* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks_cos_turnsf(x[i]);
}

void cosines64(const double* x, ks_i64 n, double* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks_cos_turns(x[i]);
}

void normals(ks_u64 seed, const ks_u64* features, ks_i64 n, ks_i64 hashes, float* out) {
  for (ks_i64 i = 0; i < n * hashes; ++i)
    out[i] = ks_normal(ks_slot_state(ks_seed_key(seed), features[i / hashes]), (ks_u32)(i % hashes));
}

void phases(ks_u64 seed, ks_i64 hashes, float* out) {
  for (ks_i64 j = 0; j < hashes; ++j) out[j] = ks_phase(ks_seed_key(seed), (ks_u32)j);
}

#if defined(__cplusplus)
#define KS_PAIRS(name, T)                                                                             \
  void of_distance##name(const T* total, const T* distance, ks_i64 ratio, ks_i64 n, T* out) {         \
    for (ks_i64 i = 0; i < n; ++i) out[i] = ks::of_distance(total[i], distance[i], (ks::Ratio)ratio); \
  }                                                                                                   \
  void shared##name(const T* a, const T* b, ks_i64 n, T* out) {                                       \
    for (ks_i64 i = 0; i < n; ++i) {                                                                  \
      out[2 * i] = ks::shared(a[i], b[i]);                                                            \
      out[2 * i + 1] = ks::shared_size(a[i] < 0 ? -a[i] : a[i], a[i] > 0 ? b[i] : -b[i]);             \
    }                                                                                                 \
  }
KS_PAIRS(32, float)
KS_PAIRS(64, double)

void of_minima(const double* minima, const double* total, ks_i64 ratio, ks_i64 n, double* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks::of_minima(minima[i], total[i], (ks::Ratio)ratio);
}

void levels(const float* shared, const float* total, ks_i64 n, ks_i64* out) {
  for (ks_i64 i = 0; i < n; ++i) out[i] = ks::level_of(ks::of_minima(shared[i], total[i]));
}
}  // extern "C"
#endif
