// The vocabulary as the scan reads it: words rounded to bytes, panel by panel, with what bounds the
// rounding. `_scan.cpp` has the mathematics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <numeric>
#include <vector>

#include "paths.h"

namespace {

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
float up(double x) { return static_cast<float>(x * (1.0 + 2e-6) + 1e-30); }

// The nearest integer of a small number, in plain additions that any compiler vectorizes.
double whole(double x) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + magic) - magic;
}

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

}  // namespace
