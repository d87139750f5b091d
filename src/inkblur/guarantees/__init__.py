"""What is promised, as data and in words."""

from inkblur.guarantees.guarantee import (
    ADD_UP,
    NOBODY_COUNTS,
    ONE_ID,
    PUBLIC_EMBEDDING,
    REAL_NUMBERS,
    SECRET_KEY,
    SEEDED,
    Guarantee,
    compose,
)
from inkblur.guarantees.wording import exp_up, factor, rounded_down, rounded_up

# fmt: off
__all__ = [  # noqa: RUF022 (sorted, several a line)
    "ADD_UP", "Guarantee", "NOBODY_COUNTS", "ONE_ID", "PUBLIC_EMBEDDING", "REAL_NUMBERS",
    "SECRET_KEY", "SEEDED", "compose", "exp_up", "factor", "rounded_down", "rounded_up",
]
# fmt: on
