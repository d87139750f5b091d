// The inner loops of the scan: scores of a few queries against a panel of words, written out for each
// set of instructions, and which of these run here. `_scan.cpp` has the mathematics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../../survives.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define INKBLUR_X86 1
#include <immintrin.h>
#endif

namespace {

constexpr int kPanel = 64;  // words scanned together: four registers of 16 32-bit sums
constexpr int kBlock = 6;   // queries scanned together: 6 x 4 sums fill 24 of 32 registers
constexpr int kSlots = 8;   // kBlock rounded up, for arrays that plain vector code walks

struct Block {  // kBlock queries, their codes interleaved: four dimensions of each in turn
  const std::int32_t* codes;  // groups x kBlock, each four int8
  alignas(32) std::int32_t start[kSlots];  // -128 * sum of codes: words are stored plus 128
  alignas(32) float kappa[kSlots];
  alignas(32) float least[kSlots];  // a score from here on is worth reporting
};

struct Panel {  // kPanel words
  const std::uint8_t* codes;  // groups x kPanel x 4, each a code plus 128
  const float* scale;
  const float* half;  // |a|^2/2
};

// Scores a block against a panel. For each query with a score that reaches `least`, sets its bit in
// the result, writes its scores, and one bit for each word that reaches it.
struct Scores {
  alignas(64) float values[kBlock][kPanel];
  std::uint64_t reached[kBlock];
};
using Kernel = unsigned (*)(const Panel&, const Block&, int groups, Scores&);
// Squared distance in float64, in any order of summation.
using Distance = double (*)(const float*, const double*, std::int64_t);

unsigned portable_kernel(const Panel& panel, const Block& block, int groups, Scores& scores) {
  unsigned hits = 0;
  for (int j = 0; j < kBlock; ++j) {
    std::int32_t sums[kPanel];
    for (int w = 0; w < kPanel; ++w) sums[w] = block.start[j];
    for (int g = 0; g < groups; ++g) {
      std::int8_t q[4];
      std::memcpy(q, block.codes + g * kBlock + j, 4);
      const std::uint8_t* words = panel.codes + g * kPanel * 4;
      for (int w = 0; w < kPanel; ++w)
        sums[w] += words[4 * w] * q[0] + words[4 * w + 1] * q[1] + words[4 * w + 2] * q[2] +
                   words[4 * w + 3] * q[3];
    }
    scores.reached[j] = 0;
    for (int w = 0; w < kPanel; ++w) {
      const float f =
          static_cast<float>(sums[w]) * panel.scale[w] - panel.half[w] * block.kappa[j];
      scores.values[j][w] = f;
      scores.reached[j] |= static_cast<std::uint64_t>(f >= block.least[j]) << w;
    }
    if (scores.reached[j]) hits |= 1u << j;
  }
  return hits;
}

double portable_distance(const float* v, const double* q, std::int64_t n) {
  double sum[4] = {0, 0, 0, 0};
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4)
    for (int k = 0; k < 4; ++k) {
      const double d = static_cast<double>(v[j + k]) - q[j + k];
      sum[k] += d * d;
    }
  for (; j < n; ++j) {
    const double d = static_cast<double>(v[j]) - q[j];
    sum[0] += d * d;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#ifdef INKBLUR_X86

#define AVX2 __attribute__((target("avx2,fma")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

// The instruction itself: with the intrinsic, GCC 12 copies sums to and from the stack around it
// and loses half the speed.
VNNI inline __attribute__((always_inline)) void add_products(__m512i& sums, __m512i words,
                                                             __m512i query) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(words), "v"(query));
}

VNNI unsigned vnni_kernel(const Panel& panel, const Block& block, int groups, Scores& scores) {
  __m512i sums[kBlock][4];
#pragma GCC unroll 6
  for (int j = 0; j < kBlock; ++j)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) sums[j][k] = _mm512_set1_epi32(block.start[j]);
  const std::uint8_t* words = panel.codes;
  const std::int32_t* codes = block.codes;
  for (int g = 0; g < groups; ++g, words += kPanel * 4, codes += kBlock) {
    const __m512i w0 = _mm512_load_si512(words), w1 = _mm512_load_si512(words + 64);
    const __m512i w2 = _mm512_load_si512(words + 128), w3 = _mm512_load_si512(words + 192);
#pragma GCC unroll 6
    for (int j = 0; j < kBlock; ++j) {
      const __m512i q = _mm512_set1_epi32(codes[j]);
      add_products(sums[j][0], w0, q);
      add_products(sums[j][1], w1, q);
      add_products(sums[j][2], w2, q);
      add_products(sums[j][3], w3, q);
    }
  }
  unsigned hits = 0;
#pragma GCC unroll 6
  for (int j = 0; j < kBlock; ++j) {
    const __m512 kappa = _mm512_set1_ps(block.kappa[j]);
    __m512 f[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k)
      f[k] = _mm512_fnmadd_ps(
          _mm512_load_ps(panel.half + 16 * k), kappa,
          _mm512_mul_ps(_mm512_cvtepi32_ps(sums[j][k]), _mm512_load_ps(panel.scale + 16 * k)));
    const __m512 best = _mm512_max_ps(_mm512_max_ps(f[0], f[1]), _mm512_max_ps(f[2], f[3]));
    const __m512 least = _mm512_set1_ps(block.least[j]);
    if (_mm512_cmp_ps_mask(best, least, _CMP_GE_OQ)) {
      hits |= 1u << j;
      scores.reached[j] = 0;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        _mm512_store_ps(scores.values[j] + 16 * k, f[k]);
        const std::uint64_t reached = _mm512_cmp_ps_mask(f[k], least, _CMP_GE_OQ);
        scores.reached[j] |= reached << (16 * k);
      }
    }
  }
  return hits;
}

// vpmaddubsw adds two products in 16 bits and saturates: 2 * 255 * 63 is the most that fits, which
// is why queries have 7 bits on this path.
AVX2 unsigned avx2_kernel(const Panel& panel, const Block& block, int groups, Scores& scores) {
  const __m256i ones = _mm256_set1_epi16(1);
  for (int j = 0; j < kBlock; ++j) scores.reached[j] = 0;
  for (int part = 0; part < kPanel; part += 16)
    for (int first = 0; first < kBlock; first += 3) {
      __m256i sums[3][2];
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 2; ++k) sums[j][k] = _mm256_set1_epi32(block.start[first + j]);
      const std::uint8_t* words = panel.codes + part * 4;
      const std::int32_t* codes = block.codes + first;
      for (int g = 0; g < groups; ++g, words += kPanel * 4, codes += kBlock) {
        const __m256i w0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(words));
        const __m256i w1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(words + 32));
#pragma GCC unroll 3
        for (int j = 0; j < 3; ++j) {
          const __m256i q = _mm256_set1_epi32(codes[j]);
          sums[j][0] = _mm256_add_epi32(
              sums[j][0], _mm256_madd_epi16(_mm256_maddubs_epi16(w0, q), ones));
          sums[j][1] = _mm256_add_epi32(
              sums[j][1], _mm256_madd_epi16(_mm256_maddubs_epi16(w1, q), ones));
        }
      }
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 2; ++k) {
          const int w = part + 8 * k;
          const __m256 f = _mm256_fnmadd_ps(
              _mm256_load_ps(panel.half + w), _mm256_set1_ps(block.kappa[first + j]),
              _mm256_mul_ps(_mm256_cvtepi32_ps(sums[j][k]), _mm256_load_ps(panel.scale + w)));
          _mm256_store_ps(scores.values[first + j] + w, f);
          const std::uint64_t reached = _mm256_movemask_ps(
              _mm256_cmp_ps(f, _mm256_set1_ps(block.least[first + j]), _CMP_GE_OQ));
          scores.reached[first + j] |= reached << w;
        }
    }
  unsigned hits = 0;
  for (int j = 0; j < kBlock; ++j)
    if (scores.reached[j]) hits |= 1u << j;
  return hits;
}

AVX2 double avx2_distance(const float* v, const double* q, std::int64_t n) {
  __m256d sums[4];
  for (int k = 0; k < 4; ++k) sums[k] = _mm256_setzero_pd();
  std::int64_t j = 0;
  for (; j + 16 <= n; j += 16)
    for (int k = 0; k < 4; ++k) {
      const __m256d d = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(v + j + 4 * k)),
                                      _mm256_loadu_pd(q + j + 4 * k));
      sums[k] = _mm256_fmadd_pd(d, d, sums[k]);
    }
  alignas(32) double lanes[4];
  _mm256_store_pd(lanes, _mm256_add_pd(_mm256_add_pd(sums[0], sums[1]),
                                       _mm256_add_pd(sums[2], sums[3])));
  double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  for (; j < n; ++j) {
    const double d = static_cast<double>(v[j]) - q[j];
    sum += d * d;
  }
  return sum;
}

#endif  // INKBLUR_X86

struct Path {
  const char* name;
  Kernel kernel;
  Distance distance;
  int most;  // largest query code
};

const Path kPaths[] = {  // fastest first
#ifdef INKBLUR_X86
    {"avx512vnni", vnni_kernel, avx2_distance, 127},
    {"avx2", avx2_kernel, avx2_distance, 63},
#endif
    {"portable", portable_kernel, portable_distance, 127},
};

// ---------------------------------------------------------------- which paths run here

// A kernel is trusted when it gives the portable one's scores, on numbers that reach the extremes.
// Static storage only: a fault may leave by siglongjmp, past any destructor.
bool agrees(const Path& path) {
  constexpr int groups = 5;
  alignas(64) static std::uint8_t words[groups * kPanel * 4];
  alignas(64) static float scale[kPanel], half[kPanel];
  alignas(64) static std::int32_t codes[groups * kBlock];
  static Scores expected, got;
  std::uint32_t random = 12345;
  auto draw = [&] { return (random = random * 1664525u + 1013904223u) >> 24; };
  for (auto& w : words) w = static_cast<std::uint8_t>(std::max(1u, draw()));
  for (int w = 0; w < 4; ++w) words[w] = 255;
  for (auto& s : scale) s = 1.0f + draw() / 256.0f;
  for (auto& h : half) h = static_cast<float>(draw());
  auto* bytes = reinterpret_cast<std::int8_t*>(codes);
  for (int k = 0; k < groups * kBlock * 4; ++k)
    bytes[k] = static_cast<std::int8_t>(static_cast<int>(draw()) % (2 * path.most + 1) - path.most);
  for (int k = 0; k < 4 * kBlock; ++k) bytes[k] = static_cast<std::int8_t>(path.most);
  static Block block;
  block.codes = codes;
  for (int j = 0; j < kBlock; ++j) {
    block.start[j] = -1000 * j;
    block.kappa[j] = 0.5f + j;
    block.least[j] = -std::numeric_limits<float>::infinity();
  }
  const Panel panel{words, scale, half};
  const unsigned all = (1u << kBlock) - 1;
  if (portable_kernel(panel, block, groups, expected) != all) return false;
  if (path.kernel(panel, block, groups, got) != all) return false;
  for (int j = 0; j < kBlock; ++j)
    for (int w = 0; w < kPanel; ++w)
      if (!(std::fabs(got.values[j][w] - expected.values[j][w]) <=
            1e-5f * (1000 + std::fabs(expected.values[j][w]))))
        return false;
  static double point[37];
  static float row[37];
  for (int k = 0; k < 37; ++k) point[k] = draw(), row[k] = static_cast<float>(draw());
  const double distance = portable_distance(row, point, 37);
  return std::fabs(path.distance(row, point, 37) - distance) <= 1e-12 * distance;
}

template <int Index>
bool agrees_at() { return agrees(kPaths[Index]); }

bool announced(const char* name) {
#ifdef INKBLUR_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!std::strcmp(name, "avx2")) return avx2;
  if (!std::strcmp(name, "avx512vnni"))
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
#endif
  return !std::strcmp(name, "portable");
}

const std::vector<const Path*>& usable() {
  static const std::vector<const Path*> found = [] {
    std::vector<const Path*> list;
#ifdef INKBLUR_X86
    if (announced(kPaths[0].name) && survives(agrees_at<0>)) list.push_back(&kPaths[0]);
    if (announced(kPaths[1].name) && survives(agrees_at<1>)) list.push_back(&kPaths[1]);
    list.push_back(&kPaths[2]);
#else
    list.push_back(&kPaths[0]);
#endif
    return list;
  }();
  return found;
}

}  // namespace
