// Points on spheres from random bits: uniforms as rng.py makes them, then the inverse of the normal
// distribution function, x(u) with Phi(x) = u, then each row of normals scaled to its radius.
//
// The function is ndtri of the Cephes library (S. L. Moshier, "Methods and Programs for Mathematical
// Functions", 1989), which is SciPy's too: with e = exp(-2),
//
//     e < u <= 1 - e:  w = u - 1/2,              x = sqrt(2 pi) (w + w (w^2 P0(w^2) / Q0(w^2)))
//     otherwise:       t = min(u, 1 - u), z = sqrt(-2 log t),
//                      |x| = (z - log(z) / z) - (1/z) P(1/z) / Q(1/z), P1/Q1 for z < 8, else P2/Q2
//
// Every number is rounded in the order in which SciPy and NumPy round it (no fused multiply-add:
// setup.py says -ffp-contract=off), so the results are theirs bit for bit; sphere.py tries before it
// believes. The gain is in the order of work. A row stays in the first cache from its bits to its
// last product. The middle, 73% of the numbers, runs in vector registers for all of them; tails are
// gathered, and only their two logarithms are taken one by one.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../survives.h"

#if defined(__GNUC__)
#define INLINE inline __attribute__((always_inline))  // so that each path compiles all of it anew
#else
#define INLINE inline
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define INKBLUR_X86 1
#endif

namespace py = pybind11;

namespace {

constexpr int kBlock = 512;  // numbers worked on together: their steps stay in the first cache
constexpr double kEdge = 0.13533528323661269189;  // exp(-2)
constexpr double kRoot2Pi = 2.50662827463100050242;
constexpr double kHalfStep = 1.0 / 9007199254740992.0;  // 2^-53

// From the highest power down. A Q begins with a 1 that is not written.
constexpr double kP0[] = {-5.99633501014107895267e1, 9.80010754185999661536e1,
                          -5.66762857469070293439e1, 1.39312609387279679503e1,
                          -1.23916583867381258016e0};
constexpr double kQ0[] = {1.95448858338141759834e0,  4.67627912898881538453e0,
                          8.63602421390890590575e1,  -2.25462687854119370527e2,
                          2.00260212380060660359e2,  -8.20372256168333339912e1,
                          1.59056225126211695515e1,  -1.18331621121330003142e0};
constexpr double kP1[] = {4.05544892305962419923e0,  3.15251094599893866154e1,
                          5.71628192246421288162e1,  4.40805073893200834700e1,
                          1.46849561928858024014e1,  2.18663306850790267539e0,
                          -1.40256079171354495875e-1, -3.50424626827848203418e-2,
                          -8.57456785154685413611e-4};
constexpr double kQ1[] = {1.57799883256466749731e1,  4.53907635128879210584e1,
                          4.13172038254672030440e1,  1.50425385692907503408e1,
                          2.50464946208309415979e0,  -1.42182922854787788574e-1,
                          -3.80806407691578277194e-2, -9.33259480895457427372e-4};
constexpr double kP2[] = {3.23774891776946035970e0, 6.91522889068984211695e0,
                          3.93881025292474443415e0, 1.33303460815807542389e0,
                          2.01485389549179081538e-1, 1.23716634817820021358e-2,
                          3.01581553508235416007e-4, 2.65806974686737550832e-6,
                          6.23974539184983293730e-9};
constexpr double kQ2[] = {6.02427039364742014255e0,  3.67983563856160859403e0,
                          1.37702099489081330271e0,  2.16236993594496635890e-1,
                          1.34204006088543189037e-2, 3.28014464682127739104e-4,
                          2.89247864745380683936e-6, 6.79019408009981274425e-9};

template <int P, int Q>
INLINE double ratio(double factor, double x, const double (&p)[P], const double (&q)[Q]) {
  double above = p[0], below = x + q[0];
  for (int k = 1; k < P; ++k) above = above * x + p[k];
  for (int k = 1; k < Q; ++k) below = below * x + q[k];
  return factor * above / below;  // (factor * above) / below, as Cephes has it
}

// (k + 1/2) / 2^52, k the upper 52 bits: as the digits of a number in [1, 2), nothing is rounded.
INLINE double uniform(std::uint64_t bits) {
  const std::uint64_t digits = bits >> 12 | std::uint64_t{1023} << 52;
  double shifted;
  std::memcpy(&shifted, &digits, sizeof shifted);
  return shifted - (1.0 - kHalfStep);
}

INLINE void block(const std::uint64_t* bits, double* out, int count) {
  double outside[kBlock];  // the probability beyond the number, on its side, where it is in a tail
  for (int i = 0; i < count; ++i) {
    const double u = uniform(bits[i]), w = u - 0.5, square = w * w;
    out[i] = (w + w * ratio(square, square, kP0, kQ0)) * kRoot2Pi;
    outside[i] = u > 1.0 - kEdge ? 1.0 - u : u;
  }
  int place[kBlock];
  int tails = 0;
  for (int i = 0; i < count; ++i) {
    place[tails] = i;
    tails += outside[i] <= kEdge;
  }
  double z[kBlock], logs[kBlock], x[kBlock];
  for (int i = 0; i < tails; ++i) logs[i] = std::log(outside[place[i]]);
  for (int i = 0; i < tails; ++i) z[i] = std::sqrt(-2.0 * logs[i]);
  for (int i = 0; i < tails; ++i) logs[i] = std::log(z[i]);
  int far = 0;
  for (int i = 0; i < tails; ++i) {
    const double inverse = 1.0 / z[i];
    x[i] = (z[i] - logs[i] / z[i]) - ratio(inverse, inverse, kP1, kQ1);
    far += z[i] >= 8.0;
  }
  if (far) {  // one number in 4e13
    for (int i = 0; i < tails; ++i) {
      const double inverse = 1.0 / z[i];
      if (z[i] >= 8.0) x[i] = (z[i] - logs[i] / z[i]) - ratio(inverse, inverse, kP2, kQ2);
    }
  }
  for (int i = 0; i < tails; ++i)  // no branch: the side is a coin toss
    out[place[i]] = std::copysign(x[i], uniform(bits[place[i]]) - 0.5);
}

// In the order in which NumPy sums: halves of halves, then eight sums side by side.
double sum_of_squares(const double* x, std::ptrdiff_t count) {
  if (count > 128) {
    const std::ptrdiff_t half = count / 2 - count / 2 % 8;
    return sum_of_squares(x, half) + sum_of_squares(x + half, count - half);
  }
  double sum = 0;
  std::ptrdiff_t i = 0;
  if (count >= 8) {
    double s[8] = {};
    for (; i + 8 <= count; i += 8)
      for (int k = 0; k < 8; ++k) s[k] += x[i + k] * x[i + k];
    sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }
  for (; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

struct Work {
  const std::uint64_t* bits;
  std::ptrdiff_t stride;  // from one row of bits to the next
  const double* radius;   // of each row; none: leave the normals as they are
  double* out;            // without gaps
  std::ptrdiff_t count, width;
};

INLINE void rows(const Work& work) {
  for (std::ptrdiff_t row = 0; row < work.count; ++row) {
    const std::uint64_t* bits = work.bits + row * work.stride;
    double* out = work.out + row * work.width;
    for (std::ptrdiff_t j = 0; j < work.width; j += kBlock)
      block(bits + j, out + j,
            static_cast<int>(work.width - j < kBlock ? work.width - j : kBlock));
    if (!work.radius) continue;
    const double factor = work.radius[row] / std::sqrt(sum_of_squares(out, work.width));
    for (std::ptrdiff_t j = 0; j < work.width; ++j) out[j] *= factor;
  }
}

void portable(const Work& work) { rows(work); }

#ifdef INKBLUR_X86
// Registers of 512 bits gain nothing over these: the divisions take as long.
__attribute__((target("avx2"))) void avx2(const Work& work) { rows(work); }

bool runs_avx2() {
  static const std::uint64_t bits[kBlock] = {0, 1, ~std::uint64_t{0}};
  static double out[kBlock];
  avx2({bits, kBlock, nullptr, out, 1, kBlock});
  return true;
}

bool has_avx2() {
  static const bool found = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && survives(runs_avx2);
  }();
  return found;
}
#endif

void run(const Work& work, const std::string& path) {
  py::gil_scoped_release unlocked;
#ifdef INKBLUR_X86
  if (path == "avx2" && has_avx2()) return avx2(work);
#endif
  if (path == "portable") return portable(work);
  throw std::invalid_argument("no path " + path + " on this machine");
}

using Bits = py::array_t<std::uint64_t>;
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

py::array_t<double> normals(const Bits& bits, const double* radius, const std::string& path) {
  constexpr std::ptrdiff_t word = sizeof(std::uint64_t);
  if (bits.ndim() != 2 || (bits.size() && (bits.strides(1) != word || bits.strides(0) % word)))
    throw std::invalid_argument("expected rows of 64-bit numbers without gaps inside a row");
  py::array_t<double> out({bits.shape(0), bits.shape(1)});
  run({bits.data(), bits.strides(0) / word, radius, out.mutable_data(), bits.shape(0),
       bits.shape(1)},
      path);
  return out;
}

py::array_t<double> on_spheres(const Bits& bits, const Numbers& radius, const std::string& path) {
  if (bits.ndim() != 2 || radius.ndim() != 1 || radius.shape(0) != bits.shape(0))
    throw std::invalid_argument("expected rows of 64-bit numbers and a radius for each");
  return normals(bits, radius.data(), path);
}

}  // namespace

PYBIND11_MODULE(_sphere, m) {
  m.doc() = "Normals and points on spheres from random bits; see sphere.py";
  m.def("paths", [] {
    py::list names;
#ifdef INKBLUR_X86
    if (has_avx2()) names.append("avx2");
#endif
    names.append("portable");
    return names;
  }, "What runs on this machine, fastest first.");
  m.def("normals", [](const Bits& bits, const std::string& path) {
    return normals(bits, nullptr, path);
  }, "A normal for each 64 random bits, (rows, columns).");
  m.def("on_spheres", &on_spheres,
        "The rows of normals, each scaled to the length that `radius` says.");
}
