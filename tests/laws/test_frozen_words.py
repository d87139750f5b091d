"""The texts that draws are bound to, letter for letter: they are hashed with the key.

An option may leave or be renamed; what it wrote here stays (`names_tagger=False`, `length=None`),
or every key would draw other words than it did, and pay for them again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import inkblur
from tests.laws import test_draws as draws
from tests.laws.test_draws import (
    CASES,
    IDS,
    KEY,
    SETTINGS,
    TEXTS,
    adapted,
    place,
    pool,
    spec_of,
    toy,
)

__all__ = ["place"]
Bound = list[tuple[str | bytes, ...]]

TOY = "f630701367285ea214d626dddb2d958d4b7611105fbc0e2d01c38ea1deb89190"
ADAPTED = "1b5a1b451e1a2df6cced17ec2763501d5fa1a6f5b979ae54607b0c3243eb513f"
BUNDLED = "3665cc012012ee85a25cb2a1ae1306fefcaae0e666dee75bc5ecf7a5ca1da961"
PLAIN_POOL = "46e0b58b6e501f606a7a6c234dde00933bbc592b752a9382e2f78a201d4a4864"
LABELS_POOL = "08d4d511f7ae77db9aa1ccf3428f8b7d595af035d9d93b9a827e9ed5740ba8c3"
STOP_WORDS = "6335427e50e802bbab06a3d335e84865fe86728a8c95a8849da3eea3f1a107e5"
LOWER = "1d2f0a0ae2dc638888af641d9318fc9c5304b5e376a3530edf38533361253182"
LEMMAS = "b80df310534141298ace368220b468db1d778af65a7348403e4512241bfcf72c"
IDF = "7236cb931ad59227d6cdfef81513d0c9493b3a5ba0386811107d345d05aea79a"


def tokens(
    words: str = "blur",
    *,
    unknown: str = "",
    layout: str = "drop drop blur blur",
    names: str = "null",
) -> str:
    punctuation, ends, spaces, capitals = layout.split()
    return (
        f"stop_words={words} unknown={unknown or words} numbers={words} addresses={words} "
        f"punctuation={punctuation} sentence_ends={ends} spaces={spaces} capitals={capitals} "
        f"names={names} names_tagger=False"
    )


UNITS = "units=a1710e9c267ca7bea92b14802dce3fca54a479449874f0511ede7699f302244a"
SETS = f"cosine a=1789072 b=32768 T=8011833278464 {UNITS} draw=1"
STAIRCASE = f"staircase epsilon=4.0 frequency_power=0.5 tau=0.06 embedding={TOY} {SETS}"
LAPLACE = f"laplace epsilon=2.0 embedding={TOY} draw=far tails"
TF_UNITS = "units=570770b8d66632048a29aa4a0df980eaa8574a71de6fd74e8119cdf330622b8f"
TF_SETS = f"cosine a=1789072 b=32768 T=8011833278464 {TF_UNITS} draw=1"
TF_STAIRCASE = f"staircase epsilon=4.0 frequency_power=0.5 tau=0.06 embedding={LOWER} {TF_SETS}"
SEQUENCE = f"sequence length=None {tokens()}"
BOUND = {
    "staircase": f"{STAIRCASE} {SEQUENCE}",
    "staircase, packed sets": f"staircase epsilon=4.0 frequency_power=0.5 tau=0.4 embedding={TOY} cosine a=1789072 b=32768 T=10035090423808 units=430933862db5f76fba113b4d00fad52d59f5ea91e3e479a96b83afb6490b79f4 draw=1 {SEQUENCE}",
    "staircase, no frequencies": f"staircase epsilon=4.0 frequency_power=0.0 tau=0.1 embedding={TOY} cosine a=1789072 b=32768 T=8851672596480 units=d5b775d2076eb5e45518c50994e197135cb443e7c5db3f34636650a9f47663e7 draw=1 {SEQUENCE}",
    "staircase, weak": f"staircase epsilon=14.0 frequency_power=0.5 tau=0.003 embedding={TOY} cosine a=2405208 b=2 T=7667381706974 units=166761abe246814262b9d6a3bdac6c239539baded94c115acf511f88624a4abe draw=1 {SEQUENCE}",
    "staircase, adapted": f"staircase epsilon=4.0 frequency_power=0.5 tau=0.06 embedding={ADAPTED} euclidean a=1789072 b=32768 T=8011833278464 {UNITS} draw=1 {SEQUENCE}",
    "staircase, by label": f"staircase epsilon=3.0 frequency_power=0.5 near='label' embedding={ADAPTED} a=1316325 b=65536 T=12744771436544 classes=93c3ef5c7fdfdad1dac888c2d70aade301e4af165043386a0d609c4f8b5c775a draw=1 {SEQUENCE}",
    "staircase, bundled, as light": f"staircase epsilon=3.0 frequency_power=1.0 tau=0.1 embedding={BUNDLED} cosine a=1316325 b=65536 T=9677493239808 units=188d18231aa1029a2a735a38d58e82f822c99aa1720ce087b973e231883bbda4 draw=1 {SEQUENCE}",
    "staircase, bundled, as medium": f"staircase epsilon=2.0 frequency_power=1.0 tau=0.15 embedding={BUNDLED} cosine a=1936996 b=262144 T=5389878558720 units=0a60460f6cc5562ddffa0de3aa659a731c69b2b7621a414c50a6ec40566b3db6 draw=1 {SEQUENCE}",
    "staircase, bundled, as strong": f"staircase epsilon=1.0 frequency_power=1.0 tau=0.3 embedding={BUNDLED} cosine a=1425162 b=524288 T=6964976287744 units=66c6f4ba729c61f901889bdf0aa804a44890f1a34a1bc0189922f9bf40899f6f draw=1 {SEQUENCE}",
    "staircase, bundled, sets as ids": f"staircase epsilon=8.0 frequency_power=0.0 tau=0.0004 embedding={BUNDLED} cosine a=1526250 b=512 T=6574649548288 units=08af4d0125137cda5de171cdd37434bde54a87bc8b8f6fe62f90dfd870646abe draw=1 {SEQUENCE}",
    "mahalanobis, half": f"mahalanobis epsilon=2.0 lam=0.5 embedding={TOY} draw=far tails {SEQUENCE}",
    "mahalanobis, adapted": f"mahalanobis epsilon=2.0 lam=0.5 embedding={ADAPTED} draw=far tails {SEQUENCE}",
    "laplace": f"{LAPLACE} {SEQUENCE}",
    "laplace, far out": f"laplace epsilon=0.01 embedding={TOY} draw=far tails {SEQUENCE}",
    "component-laplace": f"component-laplace epsilon=1.5 embedding={TOY} draw=far tails {SEQUENCE}",
    "angular-laplace": f"angular-laplace epsilon=3.0 embedding={TOY} {SEQUENCE}",
    "exponential": f"exponential bigram=0.0 bounding='clip' epsilon=6.0 embedding={TOY} draw=blocks of 64 {SEQUENCE}",
    "exponential, rescaled": f"exponential bigram=0.0 bounding='rescale' epsilon=6.0 embedding={TOY} draw=blocks of 64 {SEQUENCE}",
    "staircase, bag": f"{STAIRCASE} bag length=None {tokens()}",
    "staircase, bag of 6": f"{STAIRCASE} bag length=6 {tokens()}",
    "staircase, length 5": f"{STAIRCASE} sequence length=5 {tokens()}",
    "staircase, grid": f"{STAIRCASE} sequence length=grid {tokens()}",
    "staircase, grid, bag": f"{STAIRCASE} bag length=grid {tokens()}",
    "laplace, bag of 6": f"{LAPLACE} bag length=6 {tokens()}",
    "laplace, length 30": f"{LAPLACE} sequence length=30 {tokens()}",
    "staircase, names replaced": f"{STAIRCASE} sequence length=None {tokens(names='blur')}",
    "staircase, names kept": f"{STAIRCASE} sequence length=None {tokens(names='keep')}",
    "staircase, sentence ends": f"{STAIRCASE} sequence length=None {tokens(layout='drop keep blur blur')}",
    "staircase, punctuation": f"{STAIRCASE} sequence length=None {tokens(layout='keep keep blur blur')}",
    "staircase, rest kept": f"{STAIRCASE} sequence length=None {tokens('keep')}",
    "staircase, rest dropped": f"{STAIRCASE} sequence length=None {tokens('drop')}",
    "staircase, kept in length 5": f"{STAIRCASE} sequence length=5 {tokens(unknown='keep', layout='keep drop blur blur')}",
    "pool": f"pool-staircase epsilon=5.0 tau=0.05 a=1215800 b=8192 T=13450560339968 pool={PLAIN_POOL} encoder=words 1 {TOY} order=label draw=1 text length=None",
    "pool, labels": f"pool-staircase epsilon=5.0 tau=0.05 a=1215800 b=8192 T=13450560339968 pool={LABELS_POOL} encoder=words 1 {TOY} order=label draw=1 text length=None",
    "tf exponential": f"exponential bigram=0.0 bounding='clip' epsilon=5.0 embedding={LOWER} draw=blocks of 64 tf length=8 tf lower names=null stop_words={STOP_WORDS} idf= vocabulary={LOWER}",
    "tf staircase": f"{TF_STAIRCASE} tf length=8 tf lower names=null stop_words={STOP_WORDS} idf= vocabulary={LOWER}",
    "tf names count": f"{TF_STAIRCASE} tf length=8 tf lower names=blur stop_words={STOP_WORDS} idf= vocabulary={LOWER}",
    "tf lemmas": f"staircase epsilon=4.0 frequency_power=0.5 tau=0.06 embedding={LEMMAS} cosine a=1789072 b=32768 T=8011833278464 units=b341a897719fd383bc72ce5cfe70e771cc6f3d55f54f16dbe6d5f0a3dc0689b6 draw=1 tf length=8 tf lemma names=null stop_words={STOP_WORDS} idf= vocabulary={LEMMAS}",
    "tf-idf": f"staircase epsilon=4.0 frequency_power=0.5 tau=0.1 embedding={LOWER} cosine a=1789072 b=32768 T=8851672596480 units=d4885686bd48852948068dd020fbd25d1a3753b3bd6e668b3e5cb198cb5e6880 draw=1 tf length=8 tf-idf lower names=null stop_words={STOP_WORDS} idf={IDF} vocabulary={LOWER}",
}


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Bound:
    """What every stream that is derived is bound to, in order."""
    seen: Bound = []
    child = inkblur.Rng.child

    def spied(self: inkblur.Rng, *parts: str | bytes) -> inkblur.Rng:
        seen.append(parts)
        return child(self, *parts)

    monkeypatch.setattr(inkblur.Rng, "child", spied)
    return seen


@pytest.mark.parametrize("name", BOUND)
def test_a_draw_is_bound_to_its_law_letter_for_letter(
    name: str, place: Path, tmp_path: Path, streams: Bound
) -> None:
    CASES[name](place, tmp_path)
    records = [parts for parts in streams if len(parts) > 2]  # law, id, text and what enters
    assert len(records) == len(TEXTS)
    assert {parts[0] for parts in records} == {BOUND[name]}
    assert [parts[2] for parts in records] == TEXTS


def test_tables_and_pools_have_the_fingerprints_that_they_had() -> None:
    assert [toy().sha256, adapted().sha256] == [TOY, ADAPTED]
    assert [pool(1).sha256, pool(2).sha256] == [PLAIN_POOL, LABELS_POOL]
    assert inkblur.load_embedding().sha256 == BUNDLED


def names_of(streams: Bound) -> list[str | bytes]:
    return [parts[1] for parts in streams if len(parts) > 2]


def test_what_names_a_record(place: Path, tmp_path: Path, streams: Bound) -> None:
    """Its id; or its text's hash and the number of its occurrence; and its column, of several."""

    def hashed(text: str) -> str:
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    CASES["staircase; ids"](place, tmp_path)
    assert names_of(streams) == IDS
    streams.clear()
    CASES["staircase"](place, tmp_path)
    assert names_of(streams) == [
        *(f"{hashed(text)}.1" for text in TEXTS[:-1]),
        f"{hashed(TEXTS[0])}.2",
    ]
    assert TEXTS[0] == TEXTS[-1]
    streams.clear()
    CASES["two columns; ids"](place, tmp_path)
    assert names_of(streams) == [f"{column}:{id}" for id in IDS for column in ("5:title", "4:text")]
    streams.clear()
    CASES["two columns"](place, tmp_path)
    pairs = zip(TEXTS[::-1], TEXTS, strict=True)
    both = [f"{c}{t}" for pair in pairs for c, t in zip(("5:title", "4:text"), pair, strict=True)]
    assert {str(name).partition(".")[0] for name in names_of(streams)} == {*map(hashed, both)}


def test_what_is_derived_beside_a_records_own_stream(
    place: Path, tmp_path: Path, streams: Bound
) -> None:
    CASES["caller é:1"](place, tmp_path)
    assert streams[0] == ("caller", "é:1")
    streams.clear()
    CASES["calls"](place, tmp_path)
    # A call has a number, and its text no id; words are bound to their mechanism alone.
    first = (1).to_bytes(8, "little")
    assert streams[:2] == [
        (first, BOUND["laplace"]),
        (BOUND["laplace"], "", TEXTS[0], streams[1][3]),
    ]
    words = TEXTS[0].split()
    calls = [parts for parts in streams if parts[1] == LAPLACE]
    assert calls[0][3:] == tuple(words)
    assert [len(parts) for parts in calls] == [3 + len(text.split()) for text in TEXTS]


def test_keys_and_seeds_begin_the_streams_that_they_began() -> None:
    key = inkblur.keyed_rng(bytes(range(100, 132)))
    assert key.fingerprint().hex() == "f89c25334249ba3eb52fae36c51508ba"
    assert key.child("a", b"\x01").bits(1, 2).tolist() == [
        [5893568957527911953, 13763803890271992741]
    ]
    assert key.next_child("a").bits(1, 1).tolist() == [[12004024352660370740]]
    seeded = inkblur.seeded_rng(7).bits(1, 2).tolist()
    assert seeded == [[8636505914272337500, 18022452851470920025]]


def test_a_ledger_knows_a_draw_again(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it keeps of a record, its text, its person and its draw: hashes under its own secret."""
    monkeypatch.setenv("INKBLUR_LEDGER_SECRET", hashlib.sha256(b"of a ledger").hexdigest())
    rows = []
    for caller in ("", "alice"):
        with inkblur.open_ledger(tmp_path / f"of {caller}.db") as ledger:
            spec = spec_of(SETTINGS["staircase"], place, id_column="id", person_column="who")
            source = draws.write(tmp_path, "csv", {"id": ["7"], "who": ["ann"], "text": TEXTS[:1]})
            inkblur.privatize_file(
                source,
                tmp_path / f"of {caller}.csv",
                spec,
                rng=inkblur.keyed_rng(KEY),
                ledger=ledger,
                caller=caller,
            )
            names, row = ledger.export()
        rows.append(dict(zip(names, row, strict=True)))
    kept = ("space", "words", "amount_micro", "id", "content", "person", "draw")
    assert [[row[name] for name in kept] for row in rows] == ROWS


ROWS = [
    [
        "epsilon between texts of one size",
        "9",
        "36000000",
        "d26fdf2f5c91c446f2998d7d8d5a2889",
        "5d7540a206cb8e373b7252d8200d4b6b",
        "bffa0fd7c0c28b0356d8fd8c110f4e1f",
        "f24909e3bb001ec6e9da4bb3469f97f8",
    ],
    [
        "epsilon between texts of one size",
        "9",
        "36000000",
        "46a1968fe87b8a60a163957d1d915aae",
        "876759c76a0ff49a47165d5e3909b395",
        "0b91208b37fe44ec02468284ee4435db",
        "c4e50d730205c5777be213c534d0bf2f",
    ],
]
