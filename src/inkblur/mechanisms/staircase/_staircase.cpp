// Near sets and draws from them, as sets.py and packed.py define them in NumPy. Whole numbers throughout, so
// both give the same answers; the tests compare them.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../lowest_bit.h"

namespace py = pybind11;

namespace {

constexpr std::int64_t kStride = 64;  // sets.STRIDE
constexpr int kBins = 4096;
constexpr const char* kNoUnit = "a unit that its set does not have";

template <class T>
using Dense = py::array_t<T, py::array::c_style>;

template <class T>
Dense<T> moved(const std::vector<T>& from) {
  Dense<T> out(static_cast<py::ssize_t>(from.size()));
  std::copy(from.begin(), from.end(), out.mutable_data());
  return out;
}

// The bit of word y is bit y % 64 of block y / 64.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kMark = 32;  // packed.STRIDE: blocks between two marks

// One word's set from its row of products, as bits: a histogram of units by nearness finds the bin
// in which T is reached; nearer bins are full, and only that bin is sorted.
class Selector {
 public:
  Selector(const std::int32_t* handicaps, const std::int64_t* units, std::int64_t words,
           std::int64_t near)
      : handicaps_(handicaps), units_(units), words_(words), near_(near), keys_(words) {}

  // Writes every block of `bits` and returns the word that lies in the set in part.
  std::int32_t operator()(const float* products, std::int64_t word, std::uint64_t* bits) {
    if (units_[word] >= near_) {
      std::fill(bits, bits + (words_ + kBlock - 1) / kBlock, 0);
      return static_cast<std::int32_t>(word);
    }
    for (std::int64_t y = 0; y < words_; ++y)
      keys_[y] = 2 * static_cast<std::int32_t>(products[y]) - handicaps_[y];
    keys_[word] = std::numeric_limits<std::int32_t>::min();  // itself comes first: handled apart
    const std::int32_t high = *std::max_element(keys_.begin(), keys_.end());
    // Bins of one width from the nearest word down; what is farther shares the last one.
    for (int shift = start_shift_;; ++shift) {
      if (fits(high, shift, word)) return take(high, shift, word, bits);
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

  std::int32_t take(std::int32_t high, int shift, std::int64_t word, std::uint64_t* bits) {
    edge_words_.clear();
    // Keys above `inner` lie in nearer bins, those above `outer` in these or the edge.
    const std::int32_t inner = high - (edge_ << shift), outer = inner - (1 << shift);
    for (std::int64_t first = 0; first < words_; first += kBlock) {
      const std::int64_t end = std::min(first + kBlock, words_);
      std::uint64_t nearer = 0, level = 0;
      std::int32_t any = 0;  // most blocks of a small set have none
      for (std::int64_t y = first; y < end; ++y) any |= keys_[y] > outer;
      for (std::int64_t y = first; any && y < end; ++y) {
        nearer |= static_cast<std::uint64_t>(keys_[y] > inner) << (y - first);
        level |= static_cast<std::uint64_t>(keys_[y] > outer) << (y - first);
      }
      bits[first / kBlock] = nearer;
      for (level &= ~nearer; level; level &= level - 1)
        edge_words_.push_back(static_cast<std::uint32_t>(first + lowest_bit(level)));
    }
    add(bits, static_cast<std::uint32_t>(word));
    std::sort(edge_words_.begin(), edge_words_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return keys_[a] != keys_[b] ? keys_[a] > keys_[b] : a < b;
    });
    std::int64_t reached = before_;
    for (const std::uint32_t y : edge_words_) {
      reached += units_[y];
      if (reached >= near_) return static_cast<std::int32_t>(y);
      add(bits, y);
    }
    throw std::logic_error("the bin holds less than was counted");
  }

  static void add(std::uint64_t* bits, std::uint32_t y) {
    bits[y / kBlock] |= std::uint64_t{1} << (y % kBlock);
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

void check_rows(const Dense<float>& products, const Dense<std::int32_t>& handicaps,
                const Dense<std::int64_t>& ids, std::int64_t words) {
  const std::int64_t rows = ids.size();
  if (products.ndim() != 2 || products.shape(0) != rows || products.shape(1) != words ||
      handicaps.size() != words)
    throw std::invalid_argument("expected a row of products with all words for each word");
  for (std::int64_t i = 0; i < rows; ++i)
    if (ids.data()[i] < 0 || ids.data()[i] >= words) throw std::invalid_argument("no such word");
}

py::tuple near_sets(const Dense<float>& products, const Dense<std::int32_t>& handicaps,
                    const Dense<std::int64_t>& ids, const Dense<std::int64_t>& units,
                    std::int64_t near) {
  const std::int64_t rows = ids.size(), words = units.size();
  check_rows(products, handicaps, ids, words);
  std::vector<std::int64_t> lengths(rows);
  std::vector<std::int32_t> last(rows);
  std::vector<std::uint32_t> members;
  {
    py::gil_scoped_release unlocked;
    Selector choose(handicaps.data(), units.data(), words, near);
    std::vector<std::uint64_t> bits((words + kBlock - 1) / kBlock);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::size_t before = members.size();
      last[i] = choose(products.data() + i * words, ids.data()[i], bits.data());
      for (std::size_t block = 0; block < bits.size(); ++block)
        for (std::uint64_t left = bits[block]; left; left &= left - 1)
          members.push_back(static_cast<std::uint32_t>(block * kBlock + lowest_bit(left)));
      lengths[i] = static_cast<std::int64_t>(members.size() - before);
    }
  }
  return py::make_tuple(moved(lengths), moved(members), moved(last));
}

// Writes the sets of `ids` into rows of bits, and returns their last words.
Dense<std::int32_t> near_bits(const Dense<float>& products, const Dense<std::int32_t>& handicaps,
                              const Dense<std::int64_t>& ids, const Dense<std::int64_t>& units,
                              std::int64_t near, Dense<std::uint64_t>& rows) {
  const std::int64_t count = ids.size(), words = units.size();
  const std::int64_t blocks = (words + kBlock - 1) / kBlock;
  check_rows(products, handicaps, ids, words);
  if (rows.ndim() != 2 || rows.shape(0) != count || rows.shape(1) != blocks)
    throw std::invalid_argument("expected a row of bits for each word");
  Dense<std::int32_t> last(count);
  std::uint64_t* bits = rows.mutable_data();
  std::int32_t* to = last.mutable_data();
  {
    py::gil_scoped_release unlocked;
    Selector choose(handicaps.data(), units.data(), words, near);
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = choose(products.data() + i * words, ids.data()[i], bits + i * blocks);
  }
  return last;
}

// Units before every 32nd block of each row, and in the whole row at the end.
Dense<std::int64_t> bit_marks(const Dense<std::uint64_t>& rows, const Dense<std::int64_t>& units) {
  const std::int64_t words = units.size(), blocks = (words + kBlock - 1) / kBlock;
  if (rows.ndim() != 2 || rows.shape(1) != blocks)
    throw std::invalid_argument("expected a row of bits for each word");
  const std::int64_t count = rows.shape(0), marks = (blocks + kMark - 1) / kMark + 1;
  const std::uint64_t spare = words % kBlock ? ~std::uint64_t{0} << (words % kBlock) : 0;
  for (std::int64_t i = 0; i < count; ++i)
    if (blocks && rows.data()[(i + 1) * blocks - 1] & spare)
      throw std::invalid_argument("a word that is not in the vocabulary");
  Dense<std::int64_t> out({count, marks});
  std::int64_t* to = out.mutable_data();
  {
    py::gil_scoped_release unlocked;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t* row = rows.data() + i * blocks;
      std::int64_t sum = 0;
      for (std::int64_t block = 0; block < blocks; ++block) {
        if (block % kMark == 0) *to++ = sum;
        for (std::uint64_t left = row[block]; left; left &= left - 1)
          sum += units.data()[block * kBlock + lowest_bit(left)];
      }
      *to++ = sum;
    }
  }
  return out;
}

Dense<std::int64_t> at_bits(const Dense<std::int64_t>& ids, const Dense<std::int64_t>& places,
                            const Dense<std::int64_t>& row_of, const Dense<std::uint64_t>& rows,
                            const Dense<std::int64_t>& marks, const Dense<std::int32_t>& last,
                            const Dense<std::int64_t>& units) {
  const std::int64_t count = ids.size(), words = units.size();
  const std::int64_t blocks = (words + kBlock - 1) / kBlock, many = (blocks + kMark - 1) / kMark + 1;
  if (places.size() != count || row_of.size() != words || last.size() != words)
    throw std::invalid_argument("expected a place for each word");
  if (rows.ndim() != 2 || rows.shape(1) != blocks || marks.ndim() != 2 ||
      marks.shape(1) != many || marks.shape(0) != rows.shape(0))
    throw std::invalid_argument("expected a row of bits and of marks for each word");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t x = ids.data()[i];
    if (x < 0 || x >= words || row_of.data()[x] < 0 || row_of.data()[x] >= rows.shape(0))
      throw std::invalid_argument("a word without its set");
  }
  Dense<std::int64_t> out(count);
  std::int64_t* to = out.mutable_data();
  {
    py::gil_scoped_release unlocked;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t x = ids.data()[i], place = places.data()[i], row = row_of.data()[x];
      const std::int64_t* own = marks.data() + row * many;
      if (place >= own[many - 1]) {
        to[i] = last.data()[x];
        continue;
      }
      const std::int64_t mark = std::upper_bound(own, own + many, place) - own - 1;
      if (mark < 0) throw std::invalid_argument(kNoUnit);
      std::int64_t left = place - own[mark], block = mark * kMark;
      const std::uint64_t* bits = rows.data() + row * blocks;
      for (std::uint64_t in = block < blocks ? bits[block] : 0;; in &= in - 1) {
        while (!in) {
          if (++block >= blocks) throw std::invalid_argument(kNoUnit);
          in = bits[block];
        }
        const std::int64_t y = block * kBlock + lowest_bit(in);
        if (y >= words) throw std::invalid_argument(kNoUnit);
        if (left < units.data()[y]) {
          to[i] = y;
          break;
        }
        left -= units.data()[y];
      }
    }
  }
  return out;
}

std::int64_t marks_of(std::int64_t length) { return length / kStride + (length % kStride != 0); }

// Whether `length` entries from `start` on lie in an array of `size`.
bool within(std::int64_t start, std::int64_t length, std::int64_t size) {
  return start >= 0 && start <= size && length <= size - start;
}

template <class Id>
Dense<std::int64_t> at(const Dense<std::int64_t>& ids, const Dense<std::int64_t>& places,
                       const Dense<std::int64_t>& starts, const Dense<std::int64_t>& lengths,
                       const Dense<std::int64_t>& full, const Dense<std::int32_t>& last,
                       const Dense<std::int64_t>& mark_starts, const Dense<Id>& members,
                       const Dense<std::int64_t>& marks, const Dense<std::int64_t>& units) {
  const std::int64_t count = ids.size(), words = units.size();
  if (places.size() != count || starts.size() != words || lengths.size() != words ||
      full.size() != words || last.size() != words || mark_starts.size() != words)
    throw std::invalid_argument("expected a place for each word");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t x = ids.data()[i];
    if (x < 0 || x >= words || starts.data()[x] < 0)
      throw std::invalid_argument("a word without its set");
    const std::int64_t length = lengths.data()[x];
    if (length < 0 || !within(starts.data()[x], length, members.size()) ||
        !within(mark_starts.data()[x], marks_of(length), marks.size()))
      throw std::invalid_argument("a set that ends beyond the members or the marks");
  }
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
      const std::int64_t block = std::upper_bound(own, own + marks_of(length), place) - own - 1;
      if (block < 0) throw std::invalid_argument(kNoUnit);
      const Id* member = members.data() + starts.data()[x] + block * kStride;
      const Id* end = members.data() + starts.data()[x] + length;
      for (std::int64_t left = place - own[block];; left -= units.data()[*member++]) {
        if (member == end || *member >= words) throw std::invalid_argument(kNoUnit);
        if (left < units.data()[*member]) break;
      }
      to[i] = *member;
    }
  }
  return out;
}

}  // namespace

PYBIND11_MODULE(_staircase, m) {
  m.doc() = "Near sets and draws from them; see sets.py";
  m.def("near_sets", &near_sets, "Lengths, members and last words of some words' near sets.");
  m.def("near_bits", &near_bits, "The same as rows of bits; returns the last words.",
        py::arg("products"), py::arg("handicaps"), py::arg("ids"), py::arg("units"),
        py::arg("near"), py::arg("rows").noconvert());
  m.def("bit_marks", &bit_marks, "Units before every 32nd block of rows of bits.");
  m.def("at_bits", &at_bits, "The owners of units of near sets that are rows of bits.");
  m.def("at", &at<std::uint8_t>, "The owners of units of near sets.");
  m.def("at", &at<std::uint16_t>);
  m.def("at", &at<std::uint32_t>);
}
