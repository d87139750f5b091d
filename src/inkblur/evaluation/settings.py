"""What is evaluated: a release described by plain values, made when it is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectoriser import Vectoriser
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.reverse import reverse_vectorised
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import find, make_mechanism
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.typical import typical_loss
from inkblur.rng import Rng
from inkblur.types import Record, ReleaseKind, choose

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


_OWN_OPTIONS = ("lam", "bigram", "accept_no_guarantee")  # fields of their own in a setting


@dataclass(frozen=True, slots=True)
class Released:
    """Texts as an attacker reads them, and vectors where those are what was released."""

    texts: tuple[str, ...]
    counts: csr_matrix | None = None  # (texts, vocabulary)
    unchanged: float | None = None  # share of the drawn words that came out as they went in


class Releaser(Protocol):
    """Releases texts in one way."""

    @property
    def name(self) -> str:
        """What tables call it; the same name, the same release."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What a release under a secret key promises."""
        ...

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Release texts; the same texts and `rng` give the same."""
        ...

    def true_counts(self, texts: Sequence[str]) -> csr_matrix | None:
        """The unprotected counts, where vectors are released: what an analyst without released
        training texts would train on.
        """
        ...

    def worth(self) -> tuple[str, ...]:
        """What the guarantee is worth at the distances that occur."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Its settings."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """A mechanism and how it is lifted to documents. Options left at None take their defaults."""

    mechanism: str
    epsilon: float
    lam: float | None = None
    bigram: float | None = None
    release: str = "sequence"
    length: int | None = None
    morphology: str | None = None  # tf only
    accept_no_guarantee: bool = False
    others: tuple[tuple[str, float | str], ...] = ()  # further options of the catalogue's entry

    def __post_init__(self) -> None:
        # JSON has lists; order says nothing, and one setting should have one name.
        pairs = sorted((str(key), value) for key, value in self.others)
        object.__setattr__(self, "others", tuple(pairs))
        kind = choose(ReleaseKind, self.release, "release")
        if kind is ReleaseKind.TF and self.length is None:
            raise ParameterError("a tf release needs a length: how many terms every vector holds")
        if kind is not ReleaseKind.TF and self.morphology is not None:
            raise ParameterError("morphology belongs to the tf release; leave it out")

    @property
    def name(self) -> str:
        """A short name of what was set.

        >>> Setting("mahalanobis", 10.0, lam=0.5).name
        'mahalanobis, epsilon 10, lambda 0.5'
        >>> Setting("exponential", 10.0, others=(("bounding", "rescale"),)).name
        'exponential, epsilon 10, bounding rescale'
        """
        return ", ".join([self.mechanism, f"epsilon {self.epsilon:g}", *self._options()])

    @property
    def family(self) -> str:
        """The name without epsilon: what the points of one curve share.

        >>> Setting("mahalanobis", 10.0, lam=0.5).family
        'mahalanobis, lambda 0.5'
        """
        return ", ".join([self.mechanism, *self._options()])

    def _options(self) -> list[str]:
        parts = []
        for field, word in (("lam", "lambda"), ("bigram", "bigram")):
            value = getattr(self, field)
            if value is not None:
                parts.append(f"{word} {value:g}")
        if self.release != "sequence":
            parts.append(self.release)
        if self.length is not None:
            parts.append(f"length {self.length}")
        if self.morphology is not None:
            parts.append(self.morphology)
        for key, option in self.others:
            shown = f"{option:g}" if isinstance(option, (int, float)) else option
            parts.append(f"{key} {shown}")
        return parts

    @classmethod
    def of(cls, mechanism: str, epsilon: float, options: Mapping[str, Any]) -> Setting:
        """A setting from any options that the mechanism's entry in the catalogue has.

        >>> Setting.of("exponential", 10.0, {"bigram": 1.0, "bounding": "rescale"}).name
        'exponential, epsilon 10, bigram 1, bounding rescale'
        """
        own = {key: value for key, value in options.items() if key in _OWN_OPTIONS}
        others = tuple((key, value) for key, value in options.items() if key not in _OWN_OPTIONS)
        return cls(mechanism, epsilon, others=others, **own)

    def mechanism_on(self, embedding: Embedding) -> WordMechanism:
        """The word mechanism; options it does not have are refused."""
        options: dict[str, Any] = {
            key: value
            for key, value in (("lam", self.lam), ("bigram", self.bigram))
            if value is not None
        }
        options.update(self.others)
        if "lam" in find(self.mechanism).options:
            options.setdefault("lam", 0.5)
        if self.accept_no_guarantee and "accept_no_guarantee" in find(self.mechanism).options:
            options["accept_no_guarantee"] = True
        return make_mechanism(self.mechanism, embedding, epsilon=self.epsilon, **options)

    def on(self, embedding: Embedding) -> TextSetting | VectorSetting:
        """The release, ready to run on these public word vectors."""
        if choose(ReleaseKind, self.release, "release") is not ReleaseKind.TF:
            blur = Privatizer(
                self.mechanism_on(embedding),
                release=self.release,
                policies=TokenPolicies(),
                length=self.length,
            )
            return TextSetting(self, blur)
        vectoriser = Vectoriser(embedding, morphology=self.morphology or "lower")
        mechanism = self.mechanism_on(vectoriser.embedding)
        if not isinstance(mechanism, Exponential):
            raise ParameterError(f"a tf release needs the exponential mechanism, not {self.name}")
        return VectorSetting(self, SyntheticVectors(mechanism, vectoriser, self.length or 0))

    def to_json(self) -> dict[str, Any]:
        """What was set; :meth:`from_json` reads it back."""
        return {
            k: v for k, v in asdict(self).items() if v is not None and v is not False and v != ()
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Setting:
        """The setting that :meth:`to_json` wrote."""
        known = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in body.items() if key in known})


class TextSetting:
    """A setting that releases texts."""

    def __init__(self, setting: Setting, blur: Privatizer) -> None:
        self.setting, self.blur = setting, blur
        self.name, self.guarantee = setting.name, blur.guarantee
        self.mechanism: WordMechanism = blur.mechanism

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Blurred texts."""
        batch = self.blur.release_batch(_records(texts), rng)
        drawn = batch.counts["drawn"]
        return Released(batch.texts, None, batch.counts["unchanged"] / drawn if drawn else None)

    def true_counts(self, texts: Sequence[str]) -> csr_matrix | None:
        """None: this release has no vectors."""
        return None

    def worth(self) -> tuple[str, ...]:
        """The bound at typical distances."""
        if not self.guarantee.private:
            return ()
        return tuple(typical_loss(self.mechanism).sentences())

    def to_json(self) -> dict[str, Any]:
        """Its settings, with the mechanism's own parameters."""
        return {**self.setting.to_json(), "parameters": dict(self.mechanism.parameters)}


class VectorSetting:
    """A setting that releases term-frequency vectors; an attacker reads them written out."""

    def __init__(self, setting: Setting, synthetic: SyntheticVectors) -> None:
        self.setting, self.synthetic = setting, synthetic
        self.name = setting.name
        self.mechanism: WordMechanism = synthetic.mechanism

    @property
    def guarantee(self) -> Guarantee:
        """For one document; computed on first use, which takes a pass over the vocabulary."""
        return self.synthetic.guarantee

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Vectors, and their words written out."""
        release = self.synthetic.vectors(_records(texts), rng)
        return Released(
            tuple(reverse_vectorised(release.vectors, release.vocabulary)), release.vectors
        )

    def true_counts(self, texts: Sequence[str]) -> csr_matrix | None:
        """The true term frequencies over the same vocabulary."""
        return self.synthetic.vectoriser.transform(texts)

    def worth(self) -> tuple[str, ...]:
        """The bound between any two documents."""
        loss = rounded_up(self.guarantee.loss(1.0))
        return (f"Between any two documents the log of the likelihood ratio is at most {loss}.",)

    def to_json(self) -> dict[str, Any]:
        """Its settings, with the mechanism's own parameters."""
        return {**self.setting.to_json(), "parameters": dict(self.mechanism.parameters)}


def _records(texts: Sequence[str]) -> list[Record]:
    return [Record(str(row), text) for row, text in enumerate(texts)]
