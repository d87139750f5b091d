"""A release is described once: the spec is strict, round-trips, and is enough to run it again."""

from __future__ import annotations

import copy
import csv
import json
import os
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.cli.options import typed
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.mechanisms.catalogue import CATALOGUE
from inkblur.spec import ReleaseSpec, grid, read_spec
from tests.laws.catalogue import variants
from tests.made_strengths import make_strengths

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
SPECS = [
    ReleaseSpec(entry.name, 3.0, parameters=variant)
    for entry in CATALOGUE.values()
    for variant in variants(entry)
] + [
    ReleaseSpec(strength="medium", keep=("numbers", "stop-words"), drop=("addresses",)),
    ReleaseSpec("laplace", level=2.0, radius=0.5, release="bag", length=7),
    ReleaseSpec(epsilon=9.0, release="tf", length=5, morphology="lemma", wordnet=True),
    ReleaseSpec(epsilon=6.0, unit="text", pool="public.pool", keep_meaning=0.0),
    ReleaseSpec("laplace", 1.0, embedding="a.ink", columns=("body",), id_column="n", format="csv"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_spec_survives_json_pickle_and_copy(spec: ReleaseSpec) -> None:
    again = ReleaseSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    assert hash(again) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert copy.deepcopy(spec) == spec


@pytest.mark.parametrize("field", [f.name for f in fields(ReleaseSpec)])
def test_every_field_is_in_the_json(field: str) -> None:
    """A field that the JSON forgets would be lost on the way to a worker or from a report."""
    base = ReleaseSpec("exponential", 3.0, release="tf", length=5)
    other: dict[str, Any] = {
        "mechanism": "laplace",
        "epsilon": 4.0,
        "strength": "light",
        "level": 2.0,
        "radius": 3.0,
        "parameters": {"bigram": 0.3},
        "release": "bag",
        "length": 6,
        "keep": ("numbers",),
        "drop": ("numbers",),
        "names": "blur",
        "accept_weak": True,
        "unit": "text",
        "keep_meaning": 0.0,
        "encoder": "a folder",
        "order": "meaning",
        "morphology": "lemma",
        "weighting": "tf-idf",
        "wordnet": True,
        "columns": ("body",),
        "keep_columns": ("user",),
        "keep_order": True,
        "no_header": True,
        "skip_public": True,
        "encoding": "latin-1",
    }
    changes = {field: other.get(field, "changed")}
    if field in ("strength", "level", "radius"):
        base = ReleaseSpec("laplace", level=1.0, radius=1.0)
        changes |= {"level": None, "radius": None} if field == "strength" else {}
    if field in ("keep", "drop", "mechanism"):
        base = ReleaseSpec("mahalanobis" if field == "mechanism" else "laplace", 3.0)
        changes |= {"parameters": {}}
    if field in ("pool", "pool_sha256", "keep_meaning", "encoder", "order"):
        base = ReleaseSpec(epsilon=3.0, unit="text", pool="a.pool")
    if field == "unit":
        base = ReleaseSpec(epsilon=3.0)
        changes |= {"pool": "a.pool"}
    changed = replace(base, **changes)
    assert changed != base
    assert ReleaseSpec.from_json(changed.to_json()) == changed


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"epsilon": 1.0, "epsillon": 2.0},
            "unknown key 'epsillon' in the spec; known: mechanism, epsilon, strength, level,",
        ),
        ({"mechanism": "laplace"}, "choose how strong"),
        ({"epsilon": 1.0, "strength": "light"}, "only one of `epsilon=` and `strength=`"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"level": 1.0}, "go together"),
        ({"mechanism": "magic", "epsilon": 1.0}, "unknown mechanism"),
        ({"mechanism": "laplace", "epsilon": 1.0, "parameters": {"lam": 1}}, "no parameter lam"),
        ({"mechanism": "mahalanobis", "epsilon": 1.0, "parameters": {"lam": 2}}, "lambda must lie"),
        ({"mechanism": "mahalanobis", "epsilon": 1, "parameters": {"lam": True}}, "lambda must be"),
        ({"epsilon": 1.0, "parameters": [1]}, "JSON object"),
        ({"epsilon": 1.0, "release": "poem"}, "unknown release"),
        ({"epsilon": 1.0, "release": "tf"}, "needs `length=`"),
        ({"epsilon": 1.0, "morphology": "lemma"}, "tf release"),
        ({"epsilon": 1.0, "keep": ["names of cats"]}, "unknown token class"),
        ({"epsilon": 1.0, "keep": "numbers"}, "list of names"),
        ({"epsilon": 1.0, "keep": ["numbers"], "drop": ["numbers"]}, "both kept and dropped"),
        ({"epsilon": 1.0, "columns": []}, "no text column"),
        ({"epsilon": 1.0, "unit": "text"}, "give `pool=`"),
        ({"epsilon": 1.0, "unit": "word", "pool": "a.pool"}, "go with `unit="),
        ({"epsilon": 1.0, "keep_meaning": 0.5}, "go with `unit="),
        ({"strength": "light", "unit": "text", "pool": "a.pool"}, "calibrated on words"),
        ({"epsilon": 1.0, "unit": "text", "pool": "a.pool", "length": 3}, "shows no length"),
        (
            {"epsilon": 1.0, "unit": "text", "pool": "a.pool", "mechanism": "laplace"},
            "by the stair",
        ),
        ({"epsilon": 1.0, "unit": "text", "pool": "a.pool", "keep": ["numbers"]}, "nothing of a"),
        (
            {"epsilon": 1.0, "unit": "text", "pool": "a.pool", "keep_meaning": 2},
            "keep_meaning must",
        ),
        ({"epsilon": 1.0, "accept_weak": "false"}, "accept_weak must be true or false"),
        ({"epsilon": 1.0, "no_header": 0}, "no_header must be true or false"),
        ({"epsilon": 1.0, "columns": [1]}, "columns must be a list of names"),
        ({"epsilon": 1.0, "drop": 5}, "drop must be a list of names"),
        ({"epsilon": 1.0, "id_column": 7}, "id_column must be a text"),
        ({"epsilon": 1.0, "encoding": None}, "encoding must be a text"),
        ({"epsilon": 1.0, "unit": "text", "pool": "a.pool", "names": "blur"}, "nothing of a"),
        (
            {"epsilon": 1.0, "unit": "text", "pool": "a.pool", "parameters": {"near": "label"}},
            "`near=` is for words",
        ),
        ({"epsilon": 1.0, "parameters": {"base": "lm"}}, "base='lm' names something that left"),
        ({"epsilon": 1.0, "names_tagger": True}, "names_tagger=True names something that left"),
        ({"epsilon": 1.0, "consistent": True}, "consistent=True names something that left"),
        ({"epsilon": 1.0, "keep": ["capitals"]}, "'capitals'"),
        ({"epsilon": 1.0, "quoting": "all"}, "quoting='all' names something that left"),
        ({"epsilon": 1.0, "unit": "sentence", "pool": "a.pool"}, "unknown unit 'sentence'"),
        ([], "a spec is a JSON object"),
    ],
)
def test_what_describes_no_release_is_refused(body: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ReleaseSpec.from_json(body)


@pytest.mark.parametrize(
    "text",
    [
        '{"mechanism": "laplace", "epsilon": 1, "epsilon": 60}',
        '{"spec": {"epsilon": 1, "columns": ["a"], "epsilon": 60}}',
    ],
)
def test_a_key_that_is_given_twice_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^the spec has the key 'epsilon' twice"):
        read_spec(text)


def test_what_is_nested_without_end_is_no_spec() -> None:
    with pytest.raises(ParameterError, match="the spec is not JSON"):
        read_spec("[" * 100_000)


def test_a_spec_of_an_earlier_version_is_read_where_it_used_nothing_that_left() -> None:
    fields = {"epsilon": 1.0, "names_tagger": False, "consistent": False, "quoting": "minimal"}
    parameters = {"base": "frequency", "language_model": "", "tau": 0.1}
    found = ReleaseSpec.from_json({**fields, "parameters": parameters})
    assert found == ReleaseSpec.of(epsilon=1.0, tau=0.1)


def test_defaults_and_order_make_no_difference() -> None:
    assert ReleaseSpec(epsilon=1.0) == ReleaseSpec("staircase", 1, parameters={"near": "vector"})
    assert ReleaseSpec("mahalanobis", 1.0) == ReleaseSpec.of(
        mechanism="mahalanobis", epsilon=1, lam=0.5
    )
    assert ReleaseSpec("laplace", 1.0, keep=("unknown", "numbers")) == ReleaseSpec(
        "laplace", 1.0, keep=("numbers", "unknown")
    )
    assert ReleaseSpec(epsilon=1.0, release="tf", length=3).mechanism == "exponential"


def test_what_stands_beside_parameters_is_not_lost() -> None:
    both = ReleaseSpec.of(epsilon=1.0, parameters={"frequency_power": 0.5}, tau=0.1)
    assert both == ReleaseSpec.of(epsilon=1.0, frequency_power=0.5, tau=0.1)
    assert both.varied(parameters={"tau": 0.2}) == ReleaseSpec.of(epsilon=1.0, tau=0.2)
    with pytest.raises(ParameterError, match="staircase has no parameter lam; it takes epsilon"):
        ReleaseSpec.of(epsilon=1.0, parameters={"tau": 0.1}, lam=0.5)
    with pytest.raises(ParameterError, match="`tau=` is given twice"):
        ReleaseSpec.of(epsilon=1.0, parameters={"tau": 0.1}, tau=0.2)
    with pytest.raises(ParameterError, match="must be a mapping"):
        ReleaseSpec.of(epsilon=1.0, parameters="tau")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("strenght", "strength"), ("column", "columns"), ("frequencypower", "frequency_power")],
)
def test_a_misspelled_name_is_told_the_one_that_was_meant(written: str, meant: str) -> None:
    with pytest.raises(ParameterError, match=f"^`{written}=` is unknown; did you mean `{meant}=`"):
        ReleaseSpec.of(epsilon=1.0, **{written: 1})


def test_a_name_that_is_like_no_other_is_one_the_mechanism_has_not() -> None:
    for name in ("limit", "zugzwang"):
        with pytest.raises(ParameterError, match=f"^staircase has no parameter {name}; it takes"):
            ReleaseSpec.of(epsilon=1.0, **{name: 1})


def test_parameters_cannot_be_changed_in_place() -> None:
    spec = ReleaseSpec("mahalanobis", 1.0)
    with pytest.raises(TypeError):
        spec.parameters["lam"] = 1.0  # type: ignore[index]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_what_is_typed_is_the_spec(spec: ReleaseSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tune` prints a command; it must describe the setting that was measured."""
    seen: list[ReleaseSpec] = []

    def stop(source: str, target: str, described: ReleaseSpec, **_: Any) -> None:
        seen.append(described)
        raise KeyboardInterrupt

    monkeypatch.setattr("inkblur.files.release.privatize_file", stop)
    consent = ["--set", "accept_no_guarantee=true"] if spec.mechanism == "angular-laplace" else []
    command = ["privatize", "in.csv", "-o", "out.csv", *typed(spec), *consent]
    assert CliRunner().invoke(app, command).exit_code == 130
    assert seen == [spec]


def test_a_grid_takes_fields_and_parameters_together() -> None:
    names = [s.name for s in grid("exponential", {"bigram": [0, 0.5], "epsilon": [1, 2]}, length=3)]
    assert names == [
        "exponential, epsilon 1, length 3",
        "exponential, epsilon 2, length 3",
        "exponential, epsilon 1, bigram 0.5, length 3",
        "exponential, epsilon 2, bigram 0.5, length 3",
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    table = Embedding(WORDS, vectors, name="small")
    write_store(tmp_path / "small.ink", table)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    make_strengths(monkeypatch, table)
    rows = [[f"r{i}", " ".join(WORDS[i : i + 5]) + " 47"] for i in range(20)]
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "body"], *rows])
    (tmp_path / "key").write_text(
        "5f1c9ae27b04d8633ee1527fc6a90b18d42b7c05619fe38a0d74b6f2883ac15e"
    )
    return tmp_path


def inkblur(folder: Path, *arguments: str) -> Result:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, ["privatize", "in.csv", "--key-file", "key", *arguments])
    finally:
        os.chdir(before)


DESCRIBED = ["--column", "body", "--id", "id", "--set", "embedding=small.ink"]


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (["--strength", "strong", "--keep", "numbers"], "csv"),
        (["-e", "3", "-m", "mahalanobis", "--set", "lam=0.25", "--length", "4"], "csv"),
        (["-e", "3", "--set", "tau=0.1"], "csv"),
        (["-e", "30", "-m", "exponential", "--set", "bigram=0.5", "--set", "release=bag"], "csv"),
        (["-e", "30", "--set", "release=tf", "--length", "9"], "npz"),
    ],
)
def test_the_report_runs_the_same_release_again(
    folder: Path, options: list[str], output: str
) -> None:
    first = inkblur(folder, *DESCRIBED, *options, "-o", f"a.{output}", "--report", "report.json")
    assert first.exit_code == 0, first.output
    again = inkblur(folder, "--spec", "report.json", "-o", f"b.{output}", "--report", "again.json")
    assert again.exit_code == 0, again.output
    assert (folder / f"a.{output}").read_bytes() == (folder / f"b.{output}").read_bytes()
    reports = [json.loads((folder / name).read_text()) for name in ("report.json", "again.json")]
    assert reports[0]["spec"] == reports[1]["spec"]
    assert "strength" not in reports[0]["spec"]  # the number it stood for, not the word


def test_a_spec_names_its_table_by_content(folder: Path) -> None:
    done = inkblur(folder, *DESCRIBED, "-e", "3", "-o", "a.csv", "--report", "report.json")
    assert done.exit_code == 0, done.output
    vectors = np.random.default_rng(1).normal(size=(len(WORDS), 6))
    write_store(folder / "small.ink", Embedding(WORDS, vectors, name="small"))
    refused = inkblur(folder, "--spec", "report.json", "-o", "b.csv")
    assert refused.exit_code == 1
    assert "is not the table of this spec" in refused.stderr
    assert not (folder / "b.csv").exists()
    spec = read_spec((folder / "report.json").read_text())
    with pytest.raises(InputError, match="is not the table of this spec"):
        replace(spec, embedding=str(folder / "small.ink")).table()


def test_a_spec_and_options_of_a_release_are_wrong_usage(folder: Path) -> None:
    (folder / "spec.json").write_text(json.dumps(ReleaseSpec("laplace", 3.0).to_json()))
    for extra in (["-e", "3"], ["--set", "lam=1"], ["--column", "body"]):
        assert inkblur(folder, "--spec", "spec.json", *extra).exit_code == 2
    (folder / "broken.json").write_text("{")
    for name in ("broken.json", "missing.json"):
        result = inkblur(folder, "--spec", name)
        assert result.exit_code == 1
        assert len(result.stderr.strip().splitlines()) == 1
