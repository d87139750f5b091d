"""What is sent and answered as JSON, with an example of each for /openapi.json.

Only what is safe to choose from outside is here: no paths, so a caller cannot make the server read
its files, and no `accept_weak`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from inkblur.documents.marking import MarkedPiece
from inkblur.errors import ParameterError
from inkblur.mechanisms import CATALOGUE
from inkblur.spec import ReleaseSpec

MOST_TEXTS = 10_000
TokenKind = Literal[
    "stop-words",
    "unknown",
    "numbers",
    "addresses",
    "punctuation",
    "sentence-ends",
]
Name = Annotated[str, Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class PublicTables:
    """Paths that whoever starts the server chose; None is the bundled embedding, and no pool."""

    embedding: str | None = None
    pool: str | None = None


def _known(name: str) -> str:
    if name not in CATALOGUE:
        raise ValueError(f"must be one of {', '.join(CATALOGUE)}")
    return name


MechanismName = Annotated[
    str, AfterValidator(_known), Field(json_schema_extra={"enum": list(CATALOGUE)})
]


class ReleaseSettings(
    BaseModel, extra="forbid", json_schema_extra={"examples": [{"strength": "medium"}]}
):
    """How to release: the fields of `inkblur.ReleaseSpec` that a caller may choose."""

    mechanism: MechanismName | None = Field(None, description="A name from /v1/mechanisms.")
    strength: Literal["light", "medium", "strong"] | None = Field(
        None, description="A measured strength; give this or `epsilon`."
    )
    epsilon: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)
    unit: Literal["word", "text"] = Field(
        "word", description="`text` replaces whole texts by those of the server's pool."
    )
    release: Literal["sequence", "bag"] = "sequence"
    length: int | None = Field(None, ge=1, le=10_000, description="Words of every released text.")
    keep: list[TokenKind] = Field(default=[], max_length=8)
    drop: list[TokenKind] = Field(default=[], max_length=8)
    names: Literal["null", "blur", "keep"] = "null"
    parameters: dict[Name, float] = Field(
        default={}, max_length=8, description="Numbers that the mechanism takes, such as `tau`."
    )

    def spec(self, tables: PublicTables, **layout: Any) -> ReleaseSpec:
        """The spec that these fields describe, over the server's own tables; and its `layout`,
        where that is not among them.
        """
        if self.unit == "text" and tables.pool is None:
            raise ParameterError(
                "this server has no pool, so it releases words: leave out `unit=`, or start it "
                "with --pool"
            )
        known = {field.name for field in fields(ReleaseSpec)}
        chosen = {n: getattr(self, n) for n in type(self).model_fields if n in known}
        chosen["mechanism"] = self.mechanism or ""
        pool = tables.pool if self.unit == "text" else None
        return ReleaseSpec(**chosen, embedding=tables.embedding, pool=pool, **layout)


class ReleaseTexts(
    ReleaseSettings,
    json_schema_extra={
        "examples": [
            {"texts": ["The doctor was angry.", None], "ids": ["7", "8"], "strength": "medium"}
        ]
    },
):
    """Texts to release."""

    texts: list[str | None] = Field(min_length=1, max_length=MOST_TEXTS)
    ids: list[Name] | None = Field(
        None, max_length=MOST_TEXTS, description="One for each text, all different."
    )
    people: list[Name] | None = Field(
        None, max_length=MOST_TEXTS, description="Whom each text belongs to, for person budgets."
    )

    @model_validator(mode="after")
    def _one_for_each(self) -> ReleaseTexts:
        for name in ("ids", "people"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.texts):
                raise ValueError(f"{name} must be as many as the texts")
        return self


class FileSettings(ReleaseSettings):
    """How to release an uploaded file."""

    columns: list[Name] = Field(default=["text"], min_length=1, max_length=20)
    id_column: Name | None = None
    person_column: Name | None = None
    keep_columns: list[Name] = Field(
        default=[], max_length=500, description="Copied unchanged; no other column comes out."
    )
    delimiter: str | None = Field(None, min_length=1, max_length=3, description="For csv.")
    no_header: bool = Field(False, description="For csv and tsv: the first line is a record.")


class Promise(BaseModel):
    """What is proved about a release."""

    sentence: str
    lines: list[str]
    epsilon: float


class ReleaseCounts(BaseModel):
    """What was drawn."""

    texts: int
    words: int
    replayed: int = Field(description="Texts that repeat an earlier draw and cost nothing.")


class ReleasedTexts(BaseModel):
    """Texts that may leave the house."""

    texts: list[str | None]
    release: str = Field(description="Its name in the ledger.")
    guarantee: Promise
    counts: ReleaseCounts
    largest_loss: float = Field(description="Of one text, over all its releases so far.")


class PreviewText(
    ReleaseSettings,
    json_schema_extra={"examples": [{"text": "The doctor was angry.", "strength": "medium"}]},
):
    """A text to look at before anything is released."""

    text: str = Field(min_length=1, max_length=20_000)


class PreviewedText(BaseModel):
    """One draw beside the true text. No release: do not publish it."""

    released: str
    pieces: list[MarkedPiece] | None = Field(description="Where words stand in their places.")
    words: int
    epsilon: float
    loss_word: str
    loss_text: str
    words_left: float | None = Field(description="Expected share of its words that stay.")
    meaning: float | None = Field(description="Mean cosine of true and released words.")
    risks: list[str] = Field(description="What attacks made of public texts like this one.")
    kept: str | None = Field(description="What a pool keeps of a text, measured on the pool.")
    guarantee: Promise
    note: str


class Person(
    BaseModel, extra="forbid", json_schema_extra={"examples": [{"person": "ada@example.org"}]}
):
    """Whose account to look up."""

    person: Name
    caller: Name = Field("", description="Whose records, where there are tokens.")


class Anchor(BaseModel, extra="forbid", json_schema_extra={"examples": [{"anchor": None}]}):
    """What `anchor` was earlier, kept elsewhere."""

    anchor: Annotated[str, Field(max_length=200)] | None = None
