// Exact nearest words: an int8 scan with a proved margin, then float64 for what survives it.
//
// With c the vocabulary's mean, a = v - c and p = q - c, the nearest word maximizes
//
//     T = a.p - |a|^2/2                              (|v - q|^2 = |p|^2 - 2 T).
//
// Words and queries are rounded to integers k, l times a scale of their own:
// a = s k + (a - s k), p = t l + (p - t l). In units of t, with kappa = 1/t,
//
//     F = s (k.l) - kappa |a|^2/2
//     |F - kappa T| <= |s k| kappa |p - t l|  +  |a - s k| kappa |p|              (Cauchy-Schwarz)
//                      + 12 u (|s k| |l| + kappa |a|^2/2)                         (float32, u = 2^-24)
//                      + kappa (n + 4) 2^-53 (|p| + max |a|)^2                    (see canonical.py)
//
// The right-hand side, with the panel's largest |s k|, |a - s k| and |a|^2/2, is the margin M of a
// query and a panel of words. L = max (F - M) over the words seen so far is a lower bound of the
// answer's score, so a word with F + M < L is not the answer. The others are few: they get float64
// distances, and those that float64 cannot separate go to the canonical judge in Python.
//
// Lengths are in a unit, a power of two, in which the largest |a_j| lies in [1, 2).

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../../survives.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define INKBLUR_X86 1
#include <immintrin.h>
#endif

namespace py = pybind11;

namespace {

constexpr int kPanel = 64;  // words scanned together: four registers of 16 32-bit sums
constexpr int kBlock = 6;   // queries scanned together: 6 x 4 sums fill 24 of 32 registers
constexpr int kSlots = 8;   // kBlock rounded up, for arrays that plain vector code walks
constexpr int kTile = 96;   // queries a thread takes at a time: a panel stays in L1 for all of them
constexpr int kMostDimensions = 30000;  // 32-bit sums of int8 products do not overflow below this
constexpr double kUnit32 = 1.0 / (1 << 24);
constexpr double kUnit64 = 1.0 / 9007199254740992.0;
constexpr double kFar = 68719476736.0;  // 2^36, FAR in canonical.py
constexpr double kTiny = 1e-30;

// ---------------------------------------------------------------- memory and rounding

template <class T>
struct CacheAligned {
  using value_type = T;
  CacheAligned() = default;
  template <class U>
  CacheAligned(const CacheAligned<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
  template <class U>
  bool operator==(const CacheAligned<U>&) const { return true; }
  template <class U>
  bool operator!=(const CacheAligned<U>&) const { return false; }
};
template <class T>
using Aligned = std::vector<T, CacheAligned<T>>;

// A float not below x, with room for the few float32 roundings of sums and products made with it.
float up(double x) { return static_cast<float>(x * (1.0 + 2e-6) + kTiny); }

// The nearest integer of a small number, in plain additions that any compiler vectorizes.
double whole(double x) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + magic) - magic;
}

int lowest_bit(std::uint64_t bits) {
#ifdef __GNUC__
  return __builtin_ctzll(bits);
#else
  int place = 0;
  while (!(bits >> place & 1)) ++place;
  return place;
#endif
}

// ---------------------------------------------------------------- what a kernel sees

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

// ---------------------------------------------------------------- the vocabulary

struct Bounds {  // the largest of a panel
  float norm = 0, residual = 0, half = 0;
};

struct Vocabulary {
  const float* vectors;  // borrowed
  std::int64_t words, dimension;
  int groups;  // of four dimensions
  std::vector<double> center;
  double unit = 1, radius = 0;  // radius in units
  Aligned<std::uint8_t> codes;
  Aligned<float> scale, half;
  std::vector<std::int32_t> ids;  // of each place in the panels; -1 fills the last panel
  std::vector<Bounds> bounds;

  Vocabulary(const float* table, std::int64_t count, std::int64_t n);

  Panel panel(std::size_t index) const {
    return {codes.data() + index * groups * kPanel * 4, scale.data() + index * kPanel,
            half.data() + index * kPanel};
  }

 private:
  void centered(std::int64_t word, double* out) const {
    for (std::int64_t j = 0; j < dimension; ++j)
      out[j] = (static_cast<double>(vectors[word * dimension + j]) - center[j]) / unit;
  }
};

struct Rounded {  // one word as codes
  float scale;
  double norm, residual, half;
};

Rounded round_word(const double* a, std::int64_t n, double* codes) {
  double most = 0, squares = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    most = std::max(most, std::fabs(a[j]));
    squares += a[j] * a[j];
  }
  Rounded word{static_cast<float>(most / 127), 0, 0, squares / 2};
  const double inverse = word.scale > 1e-35f ? 1.0 / word.scale : 0.0;
  double coded = 0, rest = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    codes[j] = whole(a[j] * inverse);
    const double value = codes[j] * word.scale;
    coded += value * value;
    rest += (a[j] - value) * (a[j] - value);
  }
  word.norm = std::sqrt(coded);
  word.residual = std::sqrt(rest) + 1e-15 * std::sqrt(squares);  // a itself was rounded
  return word;
}

Vocabulary::Vocabulary(const float* table, std::int64_t count, std::int64_t n)
    : vectors(table), words(count), dimension(n), groups(static_cast<int>((n + 3) / 4)),
      center(n, 0.0) {
  for (std::int64_t i = 0; i < words; ++i)
    for (std::int64_t j = 0; j < n; ++j) center[j] += vectors[i * n + j];
  for (double& c : center) c /= static_cast<double>(words);
  double most = 0;
  for (std::int64_t i = 0; i < words; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      most = std::max(most, std::fabs(vectors[i * n + j] - center[j]));
  if (most > 0) unit = std::ldexp(1.0, std::ilogb(most));

  // Words of like norm and residual share a panel, so that its largest is near each one's own.
  // Both bounds matter about as much as a code's step: 0.3/127 of the query's length.
  std::vector<double> a(n), code(n);
  std::vector<float> order_key(words);
  for (std::int64_t i = 0; i < words; ++i) {
    centered(i, a.data());
    const Rounded word = round_word(a.data(), n, code.data());
    order_key[i] = static_cast<float>(word.residual + 0.007 * word.norm);
    radius = std::max(radius, std::sqrt(2 * word.half));
  }
  std::vector<std::int32_t> order(words);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
    return order_key[x] != order_key[y] ? order_key[x] < order_key[y] : x < y;
  });

  const std::size_t panels = (words + kPanel - 1) / kPanel;
  codes.assign(panels * groups * kPanel * 4, 128);
  scale.assign(panels * kPanel, 0.0f);
  half.assign(panels * kPanel, 1e30f);
  ids.assign(panels * kPanel, -1);
  bounds.resize(panels);
  for (std::int64_t place = 0; place < words; ++place) {
    centered(order[place], a.data());
    const Rounded word = round_word(a.data(), n, code.data());
    const std::size_t p = place / kPanel, lane = place % kPanel;
    std::uint8_t* out = codes.data() + p * groups * kPanel * 4 + lane * 4;
    for (std::int64_t j = 0; j < n; ++j)
      out[(j / 4) * kPanel * 4 + j % 4] = static_cast<std::uint8_t>(static_cast<int>(code[j]) + 128);
    scale[place] = word.scale;
    half[place] = static_cast<float>(word.half);
    ids[place] = order[place];
    bounds[p].norm = std::max(bounds[p].norm, up(word.norm));
    bounds[p].residual = std::max(bounds[p].residual, up(word.residual));
    bounds[p].half = std::max(bounds[p].half, up(word.half));
  }
}

// ---------------------------------------------------------------- the scan

struct Candidate {
  std::int32_t place;
  float most;  // F + M: its score is not above this
};

struct Found {
  float least = -std::numeric_limits<float>::max();  // L: the best score is not below this
  std::size_t trim_at = 256;
  std::vector<Candidate> list;

  void trim() {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const Candidate& c) { return c.most < least; }),
               list.end());
    trim_at = std::max<std::size_t>(256, 2 * list.size());
  }
};

struct Margins {  // M = norm * by_norm + residual * by_residual + half * by_half + fixed
  alignas(32) float by_norm[kSlots] = {}, by_residual[kSlots] = {}, by_half[kSlots] = {},
                    fixed[kSlots] = {};
  float of(const Bounds& b, int j) const {
    return b.norm * by_norm[j] + b.residual * by_residual[j] + b.half * by_half[j] + fixed[j];
  }
};

constexpr std::int64_t kUndecided = -1;
constexpr std::int64_t kFarAway = -2;  // not searched: too far for the margin to prune, or no number

struct Answer {  // of one batch
  std::vector<std::int64_t> ids;  // or kUndecided: look at its list; or kFarAway
  std::vector<std::vector<std::int32_t>> lists;
};

class Tile {  // some queries against the whole vocabulary, on one thread
 public:
  Tile(const Vocabulary& vocabulary, const Path& path, const double* queries, int count)
      : v_(vocabulary), path_(path), queries_(queries), count_(count),
        blocks_((count + kBlock - 1) / kBlock), margins_(blocks_.size()), found_(count),
        norms_(count), steps_(count), codes_(blocks_.size() * v_.groups * kBlock, 0) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      Block& block = blocks_[b];
      block = Block{};
      block.codes = codes_.data() + b * v_.groups * kBlock;
      std::fill(block.least, block.least + kSlots, std::numeric_limits<float>::infinity());
    }
    for (int i = 0; i < count; ++i) round_query(i);
  }

  void scan() {
    Scores scores;
    for (std::size_t p = 0; p < v_.bounds.size(); ++p) {
      const Panel panel = v_.panel(p);
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        thresholds(b, v_.bounds[p]);
        unsigned reached = path_.kernel(panel, blocks_[b], v_.groups, scores);
        for (int j = 0; reached; ++j, reached >>= 1)
          if (reached & 1)
            collect(p, static_cast<int>(b), j, scores.values[j], scores.reached[j]);
      }
    }
  }

  void finish(Answer& answer, std::int64_t first);

 private:
  void round_query(int i);

  void thresholds(std::size_t b, const Bounds& bounds) {
    const Margins& m = margins_[b];
    const int real = std::min(kBlock, count_ - static_cast<int>(b) * kBlock);
    const Found* found = found_.data() + b * kBlock;
    for (int j = 0; j < real; ++j) blocks_[b].least[j] = found[j].least - m.of(bounds, j);
  }

  void collect(std::size_t p, int b, int j, const float* scores, std::uint64_t reached) {
    Found& found = found_[b * kBlock + j];
    const float margin = margins_[b].of(v_.bounds[p], j);
    for (std::uint64_t bits = reached; bits; bits &= bits - 1)
      found.least = std::max(found.least, scores[lowest_bit(bits)] - margin);
    for (std::uint64_t bits = reached; bits; bits &= bits - 1) {
      const int w = lowest_bit(bits);
      const float most = scores[w] + margin;
      if (most >= found.least && v_.ids[p * kPanel + w] >= 0)
        found.list.push_back({static_cast<std::int32_t>(p * kPanel + w), most});
    }
    if (found.list.size() > found.trim_at) found.trim();
  }

  const Vocabulary& v_;
  const Path& path_;
  const double* queries_;
  int count_;
  Aligned<Block> blocks_;
  Aligned<Margins> margins_;
  std::vector<Found> found_;
  std::vector<double> norms_, steps_;  // |p| and t, in units
  Aligned<std::int32_t> codes_;
};

void Tile::round_query(int i) {
  const std::int64_t n = v_.dimension;
  const double* q = queries_ + i * n;
  std::vector<double> p(n);
  double most = 0, squares = 0;
  for (std::int64_t d = 0; d < n; ++d) {
    p[d] = (q[d] - v_.center[d]) / v_.unit;
    most = std::max(most, std::fabs(p[d]));
    squares += p[d] * p[d];
  }
  norms_[i] = std::sqrt(squares);
  if (!(norms_[i] <= kFar * std::max(1.0, v_.radius))) {  // so written, it is true of a NaN as well
    found_[i].least = std::numeric_limits<float>::infinity();
    norms_[i] = std::numeric_limits<double>::infinity();
    return;
  }
  // Close to the mean a finer step would only overflow kappa: the residual stays below |p|.
  const double step = std::max(most / path_.most, 1e-12);
  const double kappa = 1.0 / step;
  steps_[i] = step;
  const int b = i / kBlock, j = i % kBlock;
  double rest = 0, coded = 0, sum = 0;
  auto* bytes = reinterpret_cast<std::int8_t*>(codes_.data() + b * v_.groups * kBlock) + 4 * j;
  for (std::int64_t d = 0; d < n; ++d) {
    const double code = whole(p[d] * kappa);
    const double error = p[d] - code * step;
    rest += error * error;
    coded += code * code;
    sum += code;
    bytes[(d / 4) * kBlock * 4 + d % 4] = static_cast<std::int8_t>(code);
  }
  Block& block = blocks_[b];
  block.start[j] = static_cast<std::int32_t>(-128.0 * sum);
  block.kappa[j] = static_cast<float>(kappa);
  const double residual = std::sqrt(rest) + 1e-15 * norms_[i];
  const double slack = (n + 4) * kUnit64 * (norms_[i] + v_.radius) * (norms_[i] + v_.radius);
  Margins& m = margins_[b];
  m.by_norm[j] = up(residual * kappa + 12 * kUnit32 * std::sqrt(coded));
  m.by_residual[j] = up(norms_[i] * kappa);
  m.by_half[j] = up(12 * kUnit32 * kappa);
  m.fixed[j] = up(slack * kappa);
}

// Float64 distances, best bound first: after the first one the rivals must beat a score that is
// known and not only bounded. Two computed distances, each within g of the true one (canonical.py),
// leave 4 g between a winner and a rival that the canonical value could still prefer.
void Tile::finish(Answer& answer, std::int64_t first) {
  const std::int64_t n = v_.dimension;
  const double tie = 1 + 8 * (n + 4) * kUnit64;
  std::vector<std::pair<double, std::int32_t>> near;
  for (int i = 0; i < count_; ++i) {
    if (std::isinf(norms_[i])) {
      answer.ids[first + i] = kFarAway;
      continue;
    }
    std::vector<Candidate>& list = found_[i].list;
    found_[i].trim();
    std::sort(list.begin(), list.end(),
              [](const Candidate& x, const Candidate& y) { return x.most > y.most; });
    const double* q = queries_ + i * n;
    const double squared = norms_[i] * norms_[i];
    const double slack = 4 * (n + 4) * kUnit64 * (norms_[i] + v_.radius) * (norms_[i] + v_.radius);
    double best = std::numeric_limits<double>::infinity();
    double least = -std::numeric_limits<double>::infinity();
    near.clear();
    for (const Candidate& c : list) {
      if (c.most < least) break;
      const std::int32_t id = v_.ids[c.place];
      const double d = path_.distance(v_.vectors + id * n, q, n);
      near.emplace_back(d, id);
      if (d < best) {
        best = d;
        const double score = (squared - d / (v_.unit * v_.unit)) / 2 - slack;
        least = score / steps_[i] * (score > 0 ? 1 - 1e-9 : 1 + 1e-9);
      }
    }
    const double limit = best * tie + n * 1e-300;
    std::vector<std::int32_t> tied;
    for (const auto& [d, id] : near)
      if (d <= limit) tied.push_back(id);
    answer.ids[first + i] = tied.size() == 1 ? tied[0] : kUndecided;
    if (tied.size() > 1) answer.lists[first + i] = std::move(tied);
  }
}

void search(const Vocabulary& v, const Path& path, const double* queries, std::int64_t batch,
            int threads, Answer& answer) {
  answer.ids.assign(batch, kUndecided);
  answer.lists.resize(batch);
  // Whole blocks, and several tiles for each thread, so that none is left waiting for long.
  const std::int64_t share = (batch + 4 * threads - 1) / (4 * threads);
  const std::int64_t blocks = std::max<std::int64_t>(1, (share + kBlock - 1) / kBlock);
  const std::int64_t tile = std::min<std::int64_t>(kTile, blocks * kBlock);
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  auto work = [&] {
    try {
      for (std::int64_t start; (start = next.fetch_add(tile)) < batch;) {
        Tile part(v, path, queries + start * v.dimension,
                  static_cast<int>(std::min(tile, batch - start)));
        part.scan();
        part.finish(answer, start);
      }
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  };
  std::vector<std::thread> others;
  const std::int64_t tiles = (batch + tile - 1) / tile;
  try {
    for (std::int64_t k = 1; k < std::min<std::int64_t>(threads, tiles); ++k)
      others.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those there are do the work.
  }
  work();
  for (std::thread& t : others) t.join();
  if (failed) throw std::bad_alloc();
}

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

bool illegal_instruction() {
#if defined(INKBLUR_SIGNALS) && defined(__GNUC__)
  __builtin_trap();
#endif
  return false;
}

// ---------------------------------------------------------------- Python

template <class T>
using Array = py::array_t<T, py::array::c_style>;

template <class T>
Array<T> to_array(const std::vector<T>& values) {
  return Array<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

class Index {
 public:
  Index(Array<float> vectors, const std::string& path) : vectors_(std::move(vectors)) {
    if (vectors_.ndim() != 2 || vectors_.size() == 0)
      throw std::invalid_argument("vectors must be a matrix that is not empty");
    if (vectors_.shape(1) > kMostDimensions || vectors_.shape(0) > 2147483583)
      throw std::invalid_argument("too many dimensions or words for 32-bit sums and ids");
    for (const Path* p : usable())
      if (path == p->name) path_ = p;
    if (!path_) throw std::invalid_argument("this machine does not run the path " + path);
    const float* table = vectors_.data();
    const std::int64_t words = vectors_.shape(0), n = vectors_.shape(1);
    py::gil_scoped_release unlocked;
    vocabulary_ = std::make_unique<Vocabulary>(table, words, n);
  }

  // (ids, lists, offsets): an id is -1 where float64 could not decide, and the candidates of these,
  // in order, are in the lists; it is -2 where the query is far away or no number.
  py::tuple nearest(Array<double> queries, int threads) {
    if (queries.ndim() != 2 || queries.shape(1) != vocabulary_->dimension)
      throw std::invalid_argument("queries must be a matrix as wide as the vectors");
    const double* points = queries.data();
    const std::int64_t batch = queries.shape(0);
    Answer answer;
    {
      py::gil_scoped_release unlocked;
      search(*vocabulary_, *path_, points, batch, std::max(1, threads), answer);
    }
    std::vector<std::int64_t> lists, offsets{0};
    for (std::int64_t i = 0; i < batch; ++i)
      if (answer.ids[i] == kUndecided) {
        lists.insert(lists.end(), answer.lists[i].begin(), answer.lists[i].end());
        offsets.push_back(static_cast<std::int64_t>(lists.size()));
      }
    return py::make_tuple(to_array(answer.ids), to_array(lists), to_array(offsets));
  }

 private:
  Array<float> vectors_;
  const Path* path_ = nullptr;
  std::unique_ptr<Vocabulary> vocabulary_;
};

}  // namespace

PYBIND11_MODULE(_scan, m) {
  m.doc() = "int8 scan with a proved margin; see native.py";
  m.def("paths", [] {
    py::list names;
    for (const Path* p : usable()) names.append(p->name);
    return names;
  }, "Instruction-set paths that passed their self-test here, fastest first.");
  m.def("survives_illegal_instruction", [] { return !survives(illegal_instruction); },
        "True, from a process that executed an illegal instruction and lived.");
  py::class_<Index>(m, "Index")
      .def(py::init<Array<float>, std::string>())
      .def("nearest", &Index::nearest);
}
