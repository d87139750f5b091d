"""The steps of the GPU search in plain torch: slow, easy to read, and the same on any device.

`kernel` has the same functions as fused kernels; tests assert that both find the same. `backend`
says what is computed and why it is exact, and sets counters and minima to their start.
"""

from __future__ import annotations

import torch

from inkblur.mechanisms.nearest.gpu.memory import PANEL, DeviceBatch, DeviceVocabulary, Tensor, Work


def prepare(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """Scale, center and round the queries; measure what the rounding lost."""
    n, used = words.dimension, slice(0, batch.count)
    shrink, longest, up, least, radius, coarse, fine = words.constants
    q = batch.raw[used] * shrink
    p = q - words.center
    norm = p.square().sum(dim=1).sqrt() * up
    far = ~(norm <= longest)  # a NaN too
    q = torch.where(far[:, None], words.center, q)
    p.masked_fill_(far[:, None], 0.0)
    norm.masked_fill_(far, 0.0)
    t = torch.maximum(p.abs().amax(dim=1) / 127, least)
    codes = (p / t[:, None] + 0.5).floor()
    batch.codes[used, :n] = codes.to(torch.int8)
    batch.scale[used] = t.float()
    batch.lost[used] = ((p - codes * t[:, None]).square().sum(dim=1).sqrt() * up).float()
    batch.norm[used] = norm.float()
    length = norm + radius
    batch.slack[used] = (coarse * length + fine * length * length).float()
    batch.far[used] = far.int()
    high = q.float()
    batch.points[used], batch.high[used] = q, high
    batch.low[used] = (q - high.double()).float()


def scan(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """maxima[b, p] = largest k.l over the panel's words, exact integers."""
    # float64 holds every sum of int8 products of up to 2**39 columns, in any order of summation.
    points = batch.codes[: batch.count].double()
    step = 64 * PANEL
    for start in range(0, len(words.codes), step):
        scores = points @ words.codes[start : start + step].double().T
        top = scores.reshape(batch.count, -1, PANEL).amax(dim=2).int()
        work.maxima[: batch.count, start // PANEL : start // PANEL + top.shape[1]] = top


def keep(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """The pairs (query, panel) that can hold the answer."""
    used = slice(0, batch.count)
    work.maxima[used, words.panels :] = 0
    score = work.maxima[used].float() * (words.scale * batch.scale[used, None])
    error = words.length * batch.lost[used, None] + words.lost * batch.norm[used, None]
    work.sure[used] = (score - words.longest - error).amax(dim=1)
    least = work.sure[used] - batch.slack[used]
    found = torch.nonzero(score - words.shortest + error >= least[:, None])
    _write(work.pairs, work.rows, work.panels, found[:, 0], found[:, 1])


def sift(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """The words of the pairs that their own k.l and half norm do not rule out."""
    found_rows, found_ids = [batch.codes.new_empty(0).long()], [words.order[:0]]
    count = min(int(work.pairs[0]), len(work.rows))
    for start in range(0, count, 4096):
        part = slice(start, min(start + 4096, count))
        row, panel = work.rows[part].long(), work.panels[part].long()
        ids = panel[:, None] * PANEL + torch.arange(PANEL, device=row.device)
        sums = (words.codes[ids].int() * batch.codes[row].int()[:, None, :]).sum(dim=2)
        error = words.length[panel] * batch.lost[row] + words.lost[panel] * batch.norm[row]
        score = sums.float() * (words.scale[panel] * batch.scale[row])[:, None] - words.half[ids]
        left = score + error[:, None] >= (work.sure[row] - batch.slack[row])[:, None]
        left &= ids < words.words
        found_ids.append(ids[left])
        found_rows.append(row[:, None].expand(-1, PANEL)[left])
    _write(work.kept, work.kept_rows, work.kept_words, torch.cat(found_rows), torch.cat(found_ids))


def _write(counter: Tensor, rows: Tensor, words: Tensor, row: Tensor, ids: Tensor) -> None:
    """Fill a list as far as it goes; the counter says how long it should be."""
    counter[0] = len(row)
    fits = min(len(row), len(rows))
    rows[:fits], words[:fits] = row[:fits].int(), ids[:fits].int()


def _kept(work: Work) -> tuple[Tensor, Tensor]:
    """Queries and positions of the words that are left."""
    count = min(int(work.kept[0]), len(work.kept_rows))
    return work.kept_rows[:count].long(), work.kept_words[:count].long()


def rescore(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """float32 squared distances of the words that are left, and each query's smallest."""
    rows, ids = _kept(work)
    for start in range(0, len(rows), 65536):
        part = slice(start, min(start + 65536, len(rows)))
        rest = words.table[ids[part]] - batch.high[rows[part]]
        rest -= batch.low[rows[part]]
        squares = (rest * rest).sum(dim=1)
        work.kept_squares[part] = squares
        work.least.scatter_reduce_(0, rows[part], squares, "amin")


def choose(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """How many words lie within `limit` of each query, and one of them."""
    row, ids = _kept(work)
    hit = work.kept_squares[: len(row)] <= work.limit[row]
    work.near.index_add_(0, row[hit], torch.ones_like(row[hit]).int())
    work.chosen.scatter_reduce_(0, row[hit], ids[hit].int(), "amin")


def collect(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """List those words where there are several."""
    row, ids = _kept(work)
    hit = (work.kept_squares[: len(row)] <= work.limit[row]) & (work.near[row] > 1)
    _write(work.unsure, work.unsure_rows, work.unsure_words, row[hit], ids[hit])


def refine(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """float64 squared distances of the listed words, and each query's smallest."""
    count = min(int(work.unsure[0]), len(work.unsure_rows))
    for start in range(0, count, 65536):
        part = slice(start, min(start + 65536, count))
        row, ids = work.unsure_rows[part].long(), work.unsure_words[part].long()
        squares = (words.table[ids].double() - batch.points[row]).square().sum(dim=1)
        work.unsure_squares[part] = squares
        work.least64.scatter_reduce_(0, row, squares, "amin")


def settle(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """As `choose`, for the listed words and in float64."""
    count = min(int(work.unsure[0]), len(work.unsure_rows))
    row = work.unsure_rows[:count].long()
    hit = work.unsure_squares[:count] <= work.limit64[row]
    row, ids = row[hit], work.unsure_words[:count][hit]
    work.near64.index_add_(0, row, torch.ones_like(ids))
    work.chosen.scatter_reduce_(0, row, ids, "amin")
