// Which bit of a number that is not 0 is the lowest that is set.
#pragma once

#include <cstdint>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace {

inline int lowest_bit(std::uint64_t bits) {
#if defined(_MSC_VER)
  unsigned long place;
  _BitScanForward64(&place, bits);
  return static_cast<int>(place);
#else
  return __builtin_ctzll(bits);
#endif
}

}  // namespace
