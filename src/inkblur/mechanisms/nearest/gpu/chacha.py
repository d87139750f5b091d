"""ChaCha20 as a Triton kernel; `steps` launches it, `plain.uniforms` is its definition.

A lane makes one block of 64 bytes in registers: it reads a key and a counter, and writes eight
uniforms. Nothing is shared between lanes.
"""
# ruff: noqa: N803 - capitals: known when a kernel is compiled
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def quarter(a, b, c, d):
    """ChaCha20's quarter round on unsigned 32-bit numbers, whose sums wrap."""
    a += b
    d ^= a
    d = (d << 16) | (d >> 16)
    c += d
    b ^= c
    b = (b << 12) | (b >> 20)
    a += b
    d ^= a
    d = (d << 8) | (d >> 24)
    c += d
    b ^= c
    b = (b << 7) | (b >> 25)
    return a, b, c, d


@triton.jit
def put(out, low, high, column, width, live):
    """One uniform a lane from 64 random bits: (k + 1/2) / 2^52, k the upper 52 of them."""
    k = (high.to(tl.int64) << 20) | (low >> 12).to(tl.int64)
    uniform = (k.to(tl.float64) + 0.5) * 2.220446049250313e-16
    tl.store(out + column, uniform, live & (column >= 0) & (column < width))


@triton.jit
def uniforms(
    plan, halves, out, count, width,
    PLAN: tl.constexpr, BLOCKS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """A block of ChaCha20's keystream a lane, as uniforms; `BLOCKS` blocks hold a token's row."""
    place = tl.program_id(0) * LANES + tl.arange(0, LANES)
    live = place < count
    row = (place // BLOCKS).to(tl.int64)
    first = tl.load(plan + row * PLAN + 1, live, 0)
    block = (first >> 3) + place % BLOCKS
    key = halves + row * (2 * PLAN) + 4  # the plan in halves: two of the id, two of the place
    k0 = tl.load(key, live, 0).to(tl.uint32, bitcast=True)
    k1 = tl.load(key + 1, live, 0).to(tl.uint32, bitcast=True)
    k2 = tl.load(key + 2, live, 0).to(tl.uint32, bitcast=True)
    k3 = tl.load(key + 3, live, 0).to(tl.uint32, bitcast=True)
    k4 = tl.load(key + 4, live, 0).to(tl.uint32, bitcast=True)
    k5 = tl.load(key + 5, live, 0).to(tl.uint32, bitcast=True)
    k6 = tl.load(key + 6, live, 0).to(tl.uint32, bitcast=True)
    k7 = tl.load(key + 7, live, 0).to(tl.uint32, bitcast=True)
    low, high = block.to(tl.uint32), (block >> 32).to(tl.uint32)
    n0 = tl.full((LANES,), 0x61707865, tl.uint32)
    n1 = tl.full((LANES,), 0x3320646E, tl.uint32)
    n2 = tl.full((LANES,), 0x79622D32, tl.uint32)
    n3 = tl.full((LANES,), 0x6B206574, tl.uint32)
    a0, a1, a2, a3 = n0, n1, n2, n3
    b0, b1, b2, b3, c0, c1, c2, c3 = k0, k1, k2, k3, k4, k5, k6, k7
    d0, d1 = low, high
    d2 = tl.zeros((LANES,), tl.uint32)
    d3 = tl.zeros((LANES,), tl.uint32)
    for _ in range(10):
        a0, b0, c0, d0 = quarter(a0, b0, c0, d0)
        a1, b1, c1, d1 = quarter(a1, b1, c1, d1)
        a2, b2, c2, d2 = quarter(a2, b2, c2, d2)
        a3, b3, c3, d3 = quarter(a3, b3, c3, d3)
        a0, b1, c2, d3 = quarter(a0, b1, c2, d3)
        a1, b2, c3, d0 = quarter(a1, b2, c3, d0)
        a2, b3, c0, d1 = quarter(a2, b3, c0, d1)
        a3, b0, c1, d2 = quarter(a3, b0, c1, d2)
    column = (place % BLOCKS) * 8 - (first & 7)
    out += row * width
    put(out, a0 + n0, a1 + n1, column, width, live)
    put(out, a2 + n2, a3 + n3, column + 1, width, live)
    put(out, b0 + k0, b1 + k1, column + 2, width, live)
    put(out, b2 + k2, b3 + k3, column + 3, width, live)
    put(out, c0 + k4, c1 + k5, column + 4, width, live)
    put(out, c2 + k6, c3 + k7, column + 5, width, live)
    put(out, d0 + low, d1 + high, column + 6, width, live)
    put(out, d2, d3, column + 7, width, live)
