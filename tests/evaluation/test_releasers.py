"""What every releaser of a spec offers, whatever it releases."""

from __future__ import annotations

import pytest

from inkblur.evaluation.releasers import VectorReleaser, releaser
from inkblur.spec import ReleaseSpec

from .made import table


@pytest.mark.parametrize(
    "spec",
    [
        ReleaseSpec("laplace", 8.0),
        ReleaseSpec("exponential", 8.0, release="tf", length=5),
    ],
)
def test_a_releaser_names_its_spec_and_its_mechanism(spec: ReleaseSpec) -> None:
    made = releaser(spec, table())
    assert made.spec is spec
    assert made.mechanism.name == spec.mechanism
    assert made.guarantee == made.blur.guarantee
    assert ReleaseSpec.from_json(made.to_json()).mechanism == spec.mechanism


def test_a_releaser_of_vectors_has_what_draws_them() -> None:
    made = releaser(ReleaseSpec("exponential", 8.0, release="tf", length=5), table())
    assert isinstance(made, VectorReleaser)
    assert made.blur.length == 5
