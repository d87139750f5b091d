"""`inkblur pool` and `inkblur privatize --unit text`: from public texts to a release."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import inkblur
from inkblur.cli.app import app
from inkblur.errors import PrivateCalibration
from inkblur.rng import read_key, write_key
from tests.pools.test_building import LABELS, TABLE, TEXTS

EPSILON = ("--epsilon", "4")
MADE = {"p.pool", "o.pool", "out.csv", "r.json", "l.db", "m.db"}  # by the commands, in the folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pools")
    from inkblur.embeddings.store import write_store

    write_store(made / "toy.ink", TABLE)
    _write(made / "public.csv", TEXTS, LABELS)
    _write(made / "mine.csv", ["alpha beta", "", "sigma; kappa 12", TEXTS[0]], ["a", "b", "c", "d"])
    result = run(made, "pool", "build", "public.csv", "-o", "p.pool", "--label", "label",
                 "--license", "CC0", "--encoder", "toy.ink")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "What the pool itself teaches: macro F1 1.000" in result.stderr  # and guessing beside it
    assert "guessing: 0.3" in result.stderr
    return made


def _write(path: Path, texts: list[str], labels: list[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])


def run(folder: Path, *words: str) -> Result:
    named = {path.name for path in folder.iterdir()} | MADE
    return CliRunner().invoke(app, [str(folder / w) if w in named else w for w in words])


def released(folder: Path, *words: str) -> Result:
    return run(folder, "privatize", "mine.csv", "-o", "out.csv", "--pool", "p.pool",
               "--keep-order", "--set", f"embedding={folder / 'toy.ink'}",
               "--ledger", str(folder / f"{os.urandom(4).hex()}.db"), *words)  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["public.csv", "toy.ink"])
def test_a_pool_overwrites_nothing_that_it_is_built_from(folder: Path, name: str) -> None:
    before = (folder / name).read_bytes()
    words = ("pool", "build", "public.csv", "-o", name, "--encoder", "toy.ink")
    result = run(folder, *words)
    assert result.exit_code == 1
    assert "the pool would overwrite" in result.stderr
    assert (folder / name).read_bytes() == before


def test_info_says_what_it_is(folder: Path) -> None:
    shown = run(folder, "pool", "info", "p.pool").stdout
    facts = {line[:20].strip(): line[20:] for line in shown.splitlines()}
    labels = json.loads(facts["labels"])
    assert facts["license"] == "CC0"
    assert labels.keys() == {"even", "odd"}
    assert int(facts["texts"]) == sum(labels.values()) <= 120


def test_a_file_is_released_text_by_text(folder: Path) -> None:
    result = released(folder, *EPSILON, "--report", "r.json", "--keep-column", "label")
    assert result.exit_code == 0, result.output
    assert "expected label accuracy" in result.stderr
    assert result.stderr.index("expected label accuracy") < result.stderr.index("texts drawn")
    assert "For any two texts, whatever their words and length" in result.stderr
    out = rows(folder / "out.csv")
    assert [row["label"] for row in out] == ["a", "b", "c", "d"]
    assert all(row["text"] in TEXTS for row in out)  # the empty one too
    report = json.loads((folder / "r.json").read_text())
    assert report["pool"]["license"] == "CC0"
    assert report["guarantee"]["unit"] == "text"
    assert report["spec"]["pool_sha256"] == report["pool"]["sha256"]
    assert report["ledger"]["largest_loss_of_a_record"] == 4.0  # for a text, however long


def test_texts_of_the_pool_that_come_out_are_counted(folder: Path) -> None:
    """In another file than the pool was built from, so that it is not refused."""
    chosen = [text.upper() for text in TEXTS[:7]]
    chosen += [f"{text} alpha sigma alpha" for text in TEXTS[7:15]]
    _write(folder / "mine.csv", chosen, ["x"] * 15)
    try:
        near = ("--set", "tau=0.008")  # each text but itself is far
        result = released(folder, "--epsilon", "40", *near, "--report", "r.json")
        assert result.exit_code == 0, result.output
        out = [row["text"].split() for row in rows(folder / "out.csv")]
        same = sum(a == b.lower().split() for a, b in zip(out, chosen, strict=True))
        assert same > 0
        told = " ".join(result.stderr.split())
        assert f"{same} texts ({same / 15:.0%}) were released unchanged" in told
        assert ("this does not hide them" in told) == (same > 7)
        assert json.loads((folder / "r.json").read_text())["draws"]["unchanged"] == same
        page = run(folder, "statement", "r.json").stdout
        assert (
            f"and {same} of the 15 texts drawn are unchanged because the pool contains them" in page
        )
        assert "somebody else" not in page
    finally:
        _write(folder / "mine.csv", ["alpha beta", "", "sigma; kappa 12", TEXTS[0]], list("abcd"))


def test_a_report_repeats_a_release_under_its_key(folder: Path) -> None:
    key = folder / "key"
    write_key(key)
    outs = []
    for words in ((*EPSILON, "--report", "r.json"), EPSILON):
        assert released(folder, *words, "--key-file", str(key)).exit_code == 0
        outs.append(rows(folder / "out.csv"))
    again = run(folder, "privatize", "mine.csv", "-o", "out.csv", "--spec", "r.json", "--key-file",
                str(key), "--ledger", "l.db")  # fmt: skip
    assert again.exit_code == 0, again.output
    assert outs[0] == outs[1] == rows(folder / "out.csv")


def test_python_gives_what_the_file_gives(folder: Path) -> None:
    path = folder / "key2"
    write_key(path)
    texts = [row["text"] for row in rows(folder / "mine.csv")]
    assert released(folder, *EPSILON, "--key-file", str(path)).exit_code == 0
    result = inkblur.privatize(
        [*texts[:1], None, *texts[2:]],
        epsilon=4.0,
        unit="text",
        pool=str(folder / "p.pool"),
        embedding=str(folder / "toy.ink"),
        rng=inkblur.keyed_rng(read_key(path)),
    )
    assert result.texts == [row["text"] for row in rows(folder / "out.csv")]
    assert result.guarantee.loss(1.0) == 4.0


def test_a_text_costs_epsilon_of_a_budget(folder: Path) -> None:
    words = ("--budget", "5", "--ledger", "m.db", "--id", "label")
    refused = released(folder, *words, "--epsilon", "6")
    assert refused.exit_code == 1
    assert "this release takes 6" in refused.stderr
    assert released(folder, *words, "--epsilon", "5").exit_code == 0


def test_what_is_refused_in_one_line(folder: Path) -> None:
    (folder / "bad.pool").write_bytes(b"no pool")
    for words, message in (
        (("--strength", "light"), "--strength is calibrated on words"),
        ((*EPSILON, "--set", "keep_meaning=3"), "keep_meaning must lie between 0 and 1"),
        ((*EPSILON, "--pool", str(folder / "bad.pool")), "not a readable pool"),
    ):
        result = released(folder, *words)
        assert result.exit_code == 1, words
        assert message in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    own = run(folder, "privatize", "public.csv", "--pool", "p.pool", *EPSILON,
              "--set", f"embedding={folder / 'toy.ink'}", "--ledger", "none")  # fmt: skip
    assert own.exit_code == 1
    assert "built from the texts being protected" in own.stderr
    _write(folder / "one.csv", TEXTS, ["x"] * len(TEXTS))
    _write(folder / "none.csv", [], [])
    few = LABELS.index("odd")
    rare = ["even"] * len(TEXTS)
    rare[few] = "odd"
    _write(folder / "rare.csv", TEXTS, rare)
    for file, message in (
        ("one.csv", "all texts have the label"),
        ("mine.csv", "1 text is left"),
        ("none.csv", "has no records"),
        ("rare.csv", "the label 'odd' has 1 text"),
    ):
        result = run(folder, "pool", "build", file, "-o", "o.pool", "--label", "label",
                     "--encoder", "toy.ink")  # fmt: skip
        assert result.exit_code == 1
        assert message in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
        assert not (folder / "o.pool").exists()


def test_the_texts_of_a_pool_are_known_in_any_file(folder: Path, tmp_path: Path) -> None:
    """Whoever builds a pool from the texts to protect would publish them word for word."""
    shown = [text.upper().replace(" ", "  ") for text in TEXTS]
    lines = [json.dumps({"text": text, "label": "x"}) for text in (*TEXTS[:8], *shown)]
    for name, body in (("same.jsonl", lines), ("same.txt", shown)):
        (folder / name).write_text("\n".join(body) + "\n")
        result = run(folder, "privatize", name, "--pool", "p.pool", *EPSILON,
                     "--set", f"embedding={folder / 'toy.ink'}", "--ledger", str(tmp_path / "l.db"))  # fmt: skip
        assert result.exit_code == 1, result.output
        assert "built from the texts being protected" in result.stderr
        assert not result.stdout
    spec = inkblur.ReleaseSpec(
        epsilon=4.0, unit="text", pool=str(folder / "p.pool"), embedding=str(folder / "toy.ink")
    )
    with pytest.raises(PrivateCalibration, match="built from the texts being protected"):
        inkblur.privatize(shown, spec=spec, ledger=False)
    others = [f"{text} alpha sigma alpha" for text in TEXTS]
    inkblur.privatize([*others, *TEXTS[:50]], spec=spec, ledger=False)  # some stand there
    with pytest.raises(PrivateCalibration):
        inkblur.privatize(TEXTS[:20], spec=spec, ledger=False)
    inkblur.privatize(TEXTS[:1], spec=spec, ledger=False)  # one alone happens to stand there


def test_a_tampered_pool_is_refused_in_one_line_by_every_command(folder: Path) -> None:
    body = bytearray((folder / "p.pool").read_bytes())
    place = body.index(TEXTS[0].encode())
    body[place : place + 5] = b"sigma" if body[place : place + 5] != b"sigma" else b"alpha"
    (folder / "t.pool").write_bytes(body)
    pooled = ("--pool", "t.pool", "--set", f"embedding={folder / 'toy.ink'}", *EPSILON)
    for words in (
        ("privatize", "mine.csv", *pooled, "--ledger", "none"),
        ("preview", "mine.csv", *pooled),
        ("audit", *pooled),
        ("evaluate", "public.csv", *pooled, "--label", "label"),
        ("pool", "info", "t.pool"),
    ):
        result = run(folder, *words)
        assert result.exit_code == 1, words
        assert "damaged or was changed" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"text\ncaf\xe9\n", "save it as UTF-8"),
        (b"t\0e\0x\0t\0\n\0", "save it as UTF-8"),
        (b"label;text\n1;alpha\n", "separate its cells by ','"),
    ],
)
def test_a_file_of_another_kind_is_told_what_this_command_takes(
    folder: Path, content: bytes, message: str
) -> None:
    (folder / "odd.csv").write_bytes(content)
    result = run(folder, "pool", "build", "odd.csv", "-o", "o.pool")
    assert result.exit_code == 1
    assert message in result.stderr
    assert "delimiter" not in result.stderr
