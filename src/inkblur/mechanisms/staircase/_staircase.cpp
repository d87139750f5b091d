// Near sets and draws from them, as sets.py defines them in NumPy. Whole numbers throughout, so
// both give the same answers; the tests compare them.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace py = pybind11;

namespace {

constexpr std::int64_t kStride = 64;  // sets.STRIDE
constexpr int kBins = 4096;

template <class T>
using Dense = py::array_t<T, py::array::c_style>;

template <class T>
Dense<T> moved(const std::vector<T>& from) {
  Dense<T> out(static_cast<py::ssize_t>(from.size()));
  std::copy(from.begin(), from.end(), out.mutable_data());
  return out;
}

// One word's set from its row of products: a histogram of units by nearness finds the bin in which
// T is reached; nearer bins are full, and only that bin is sorted.
class Selector {
 public:
  Selector(const std::int32_t* handicaps, const std::int64_t* units, std::int64_t words,
           std::int64_t near)
      : handicaps_(handicaps), units_(units), words_(words), near_(near), keys_(words) {}

  std::int32_t operator()(const float* products, std::int64_t word,
                          std::vector<std::uint32_t>& members) {
    if (units_[word] >= near_) return static_cast<std::int32_t>(word);
    for (std::int64_t y = 0; y < words_; ++y)
      keys_[y] = 2 * static_cast<std::int32_t>(products[y]) - handicaps_[y];
    keys_[word] = std::numeric_limits<std::int32_t>::min();  // itself comes first: handled apart
    const std::int32_t high = *std::max_element(keys_.begin(), keys_.end());
    // Bins of one width from the nearest word down; what is farther shares the last one.
    for (int shift = start_shift_;; ++shift) {
      if (fits(high, shift, word)) return take(high, shift, word, members);
    }
  }

 private:
  // The distance from the nearest key in bins, the last for all that is farther.
  std::uint32_t bin(std::int32_t high, int shift, std::int32_t key) const {
    const std::uint32_t below =
        (static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(key)) >> shift;
    return std::min<std::uint32_t>(below, kBins);
  }

  // Whether T is reached within the bins of this width; then `edge_` is the bin, `before_` what
  // nearer ones hold.
  bool fits(std::int32_t high, int shift, std::int64_t word) {
    std::fill(mass_, mass_ + kBins + 1, 0);
    for (std::int64_t y = 0; y < words_; ++y) mass_[bin(high, shift, keys_[y])] += units_[y];
    before_ = units_[word];
    for (edge_ = 0; edge_ < kBins; ++edge_) {
      if (before_ + mass_[edge_] >= near_) return true;
      before_ += mass_[edge_];
    }
    if (shift > 15)
      throw std::invalid_argument("the sets are larger than the vocabulary");
    return false;
  }

  std::int32_t take(std::int32_t high, int shift, std::int64_t word,
                    std::vector<std::uint32_t>& members) {
    const std::size_t first = members.size();
    edge_words_.clear();
    const auto edge = static_cast<std::uint32_t>(edge_);
    for (std::int64_t y = 0; y < words_; ++y) {
      if (y == word) {
        members.push_back(static_cast<std::uint32_t>(y));
        continue;
      }
      const std::uint32_t where = bin(high, shift, keys_[y]);
      if (where < edge) members.push_back(static_cast<std::uint32_t>(y));
      else if (where == edge) edge_words_.push_back(static_cast<std::uint32_t>(y));
    }
    std::sort(edge_words_.begin(), edge_words_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return keys_[a] != keys_[b] ? keys_[a] > keys_[b] : a < b;
    });
    const auto middle = static_cast<std::ptrdiff_t>(members.size());
    std::int64_t reached = before_;
    for (const std::uint32_t y : edge_words_) {
      reached += units_[y];
      if (reached >= near_) {
        std::sort(members.begin() + middle, members.end());
        std::inplace_merge(members.begin() + static_cast<std::ptrdiff_t>(first),
                           members.begin() + middle, members.end());
        return static_cast<std::int32_t>(y);
      }
      members.push_back(y);
    }
    throw std::logic_error("the bin holds less than was counted");
  }

  const std::int32_t* handicaps_;
  const std::int64_t* units_;
  std::int64_t words_, near_;
  std::vector<std::int32_t> keys_;
  std::vector<std::uint32_t> edge_words_;
  std::int64_t mass_[kBins + 1];
  std::int64_t before_ = 0;
  int edge_ = 0;
  static constexpr int start_shift_ = 13;  // half of the range of cosines; 15 is more than every range
};

py::tuple near_sets(const Dense<float>& products, const Dense<std::int32_t>& handicaps,
                 const Dense<std::int64_t>& ids, const Dense<std::int64_t>& units,
                 std::int64_t near) {
  const std::int64_t rows = ids.size(), words = units.size();
  if (products.ndim() != 2 || products.shape(0) != rows || products.shape(1) != words ||
      handicaps.size() != words)
    throw std::invalid_argument("expected a row of products with all words for each word");
  for (std::int64_t i = 0; i < rows; ++i)
    if (ids.data()[i] < 0 || ids.data()[i] >= words) throw std::invalid_argument("no such word");
  std::vector<std::int64_t> lengths(rows);
  std::vector<std::int32_t> last(rows);
  std::vector<std::uint32_t> members;
  {
    py::gil_scoped_release unlocked;
    Selector choose(handicaps.data(), units.data(), words, near);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::size_t before = members.size();
      last[i] = choose(products.data() + i * words, ids.data()[i], members);
      lengths[i] = static_cast<std::int64_t>(members.size() - before);
    }
  }
  return py::make_tuple(moved(lengths), moved(members), moved(last));
}

template <class Id>
Dense<std::int64_t> at(const Dense<std::int64_t>& ids, const Dense<std::int64_t>& places,
                       const Dense<std::int64_t>& starts, const Dense<std::int64_t>& lengths,
                       const Dense<std::int64_t>& full, const Dense<std::int32_t>& last,
                       const Dense<std::int64_t>& mark_starts, const Dense<Id>& members,
                       const Dense<std::int64_t>& marks, const Dense<std::int64_t>& units) {
  const std::int64_t count = ids.size(), words = units.size();
  if (places.size() != count) throw std::invalid_argument("expected a place for each word");
  for (std::int64_t i = 0; i < count; ++i)
    if (ids.data()[i] < 0 || ids.data()[i] >= words || starts.data()[ids.data()[i]] < 0)
      throw std::invalid_argument("a word without its set");
  Dense<std::int64_t> out(count);
  std::int64_t* to = out.mutable_data();
  {
    py::gil_scoped_release unlocked;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t x = ids.data()[i], place = places.data()[i];
      if (place >= full.data()[x]) {
        to[i] = last.data()[x];
        continue;
      }
      const std::int64_t length = lengths.data()[x];
      const std::int64_t* own = marks.data() + mark_starts.data()[x];
      const std::int64_t* after = own + (length + kStride - 1) / kStride;
      const std::int64_t block = std::upper_bound(own, after, place) - own - 1;
      const Id* member = members.data() + starts.data()[x] + block * kStride;
      std::int64_t left = place - own[block];
      while (left >= units.data()[*member]) left -= units.data()[*member++];
      to[i] = *member;
    }
  }
  return out;
}

}  // namespace

PYBIND11_MODULE(_staircase, m) {
  m.doc() = "Near sets and draws from them; see sets.py";
  m.def("near_sets", &near_sets, "Lengths, members and last words of some words' near sets.");
  m.def("at", &at<std::uint8_t>, "The owners of units of near sets.");
  m.def("at", &at<std::uint16_t>);
  m.def("at", &at<std::uint32_t>);
}
