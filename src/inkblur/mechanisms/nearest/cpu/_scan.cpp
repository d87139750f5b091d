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
//
// The kernels are in paths.h, the rounded words in vocabulary.h, the scan itself in search.h.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "paths.h"
#include "search.h"
#include "vocabulary.h"

namespace py = pybind11;

namespace {

constexpr int kMostDimensions = 30000;  // 32-bit sums of int8 products do not overflow below this

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

bool illegal_instruction() {
#if defined(INKBLUR_SIGNALS) && defined(__GNUC__)
  __builtin_trap();
#endif
  return false;
}

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
