"""Blur words from Python: the guarantee travels with the output."""

import inkblur

table = inkblur.load_embedding()  # bundled; or a path
mechanism = inkblur.make_mechanism("staircase", table, epsilon=8.0)
out = mechanism.release(["doctor", "angry"], rng=inkblur.secure_rng())
print(out.words)
print(out.guarantee.sentence())
