// The search: tiles of queries against the whole vocabulary, each tile on one thread. `_scan.cpp` has
// the mathematics.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../../lowest_bit.h"
#include "paths.h"
#include "vocabulary.h"

namespace {

constexpr int kTile = 96;  // queries a thread takes at a time: a panel stays in L1 for all of them
constexpr double kUnit32 = 1.0 / (1 << 24);
constexpr double kUnit64 = 1.0 / 9007199254740992.0;
constexpr double kFar = 68719476736.0;  // 2^36, FAR in canonical.py

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

}  // namespace
