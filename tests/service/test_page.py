"""The page in Debian's Chromium against a real server: every flow, wrong files, restarts, axe."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import stat
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import inkblur
from inkblur.embeddings.store import write_store
from inkblur.pools import build_pool
from inkblur.pools.pool import write_pool
from tests import packaged_strengths
from tests.packaged_strengths import EPSILON
from tests.service.server import Server

pytest.importorskip("fastapi")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or ""
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed"),
]

ROWS = [
    ["ada@example.org", "5", "the waiting room was cold and the doctor came late"],
    ["bob@example.org", "3", "the nurse was kind and the medicine helped"],
] * 3  # user, stars, text; `write_rows` numbers them
PLACES, TIMES = (
    ("home", "work", "school", "lunch", "dinner"),
    ("today", "soon", "later", "first", "again"),
)
THINGS = ("phone", "car", "prize", "ticket", "holiday")
Page = Any  # playwright's types are not there where it is not installed
BUDGET = 2000  # of a record, on the page's server
SLOW = 120_000  # milliseconds: near words are made when they are first needed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    key = tmp_path_factory.mktemp("key") / "key"
    from inkblur.rng import write_key

    write_key(key)
    server = Server(
        tmp_path_factory.mktemp("page"), "--key-file", str(key), "--budget", str(BUDGET)
    )
    yield server
    if server.process.poll() is None:
        server.stop()


POOL = {
    "ham": [f"see you at {place} {time} then" for place in PLACES for time in TIMES],
    "spam": [f"win a free {thing} call {time} now" for thing in THINGS for time in TIMES],
}


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that can replace whole texts."""
    folder = tmp_path_factory.mktemp("pooled")
    pairs = [(text, label) for label, texts in POOL.items() for text in texts]
    texts, labels = zip(*pairs, strict=True)
    pool = build_pool(
        texts, inkblur.load_embedding(), labels=labels, name="messages", license="CC0"
    )
    write_pool(folder / "messages.pool", pool)
    server = Server(folder, "--pool", str(folder / "messages.pool"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, server: Server) -> Iterator[Page]:
    with opened(browser, server) as page:
        yield page


@pytest.fixture
def pool_page(browser: Any, pooled: Server) -> Iterator[Page]:
    with opened(browser, pooled) as page:
        yield page


@contextmanager
def opened(browser: Any, server: Server) -> Iterator[Page]:
    """A page that must not complain: neither scripts nor the content policy."""
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_default_timeout(SLOW)
    page.goto(server.url)
    page.wait_for_selector("#released span")
    yield page
    context.close()
    # The browser itself reports refused requests, which some tests provoke.
    assert [line for line in said if "Failed to load resource" not in line] == []


def write_rows(path: Path, rows: list[list[str]] = ROWS, first: int = 1) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        numbered = [[str(number), *row] for number, row in enumerate(rows, first)]
        csv.writer(file).writerows([["id", "user", "stars", "text"], *numbered])
    return path


def upload(page: Page, path: Path) -> None:
    page.click("#tab-publish")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#rows-box:not([hidden])")


def released(page: Page) -> None:
    page.click("#release")
    page.wait_for_selector("#results:not([hidden]), #error:not([hidden])")
    assert page.is_hidden("#error"), page.inner_text("#error")


def download(page: Page, part: str, folder: Path) -> Path:
    with page.expect_download() as found:
        page.click(f"#get-{part}")
    path = folder / str(found.value.suggested_filename)
    found.value.save_as(path)
    return path


def says(page: Page, place: str, text: str) -> None:
    """Wait for it; the content policy forbids Playwright's own way of waiting for an expression."""
    playwright.expect(page.locator(place)).to_contain_text(text, timeout=SLOW)


def releases(server: Server) -> int:
    with urllib.request.urlopen(f"{server.url}/v1/ledger") as answer:
        return int(json.load(answer)["total"])


def ledger_rows(page: Page) -> list[list[str]]:
    page.click("#tab-ledger")
    page.wait_for_selector("#releases tbody tr")
    cells = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    found: list[list[str]] = page.locator("#releases tbody tr").evaluate_all(cells)
    return found


@pytest.mark.quick
def test_try_shows_text_and_draw_side_by_side(page: Page) -> None:
    page.fill("#text", "Maria paid 7 dollars for the medicine.")
    playwright.expect(page.locator("#released span")).to_have_count(7, timeout=SLOW)
    classes = page.locator("#released span").evaluate_all("all => all.map(b => b.className)")
    assert (classes[0], classes[2]) == ("null", "null")
    assert set(classes) <= {"null", "near", "filling", "kept"}
    assert "8 words" in page.inner_text("#count")  # one fills
    assert packaged_strengths.times("medium") in page.inner_text("#loss-word")
    assert packaged_strengths.loss("medium", 8) in page.inner_text("#loss-text")
    assert "not measured" in page.inner_text("#risk")  # of so few words
    page.fill("#text", "The waiter was friendly and the soup was hot. " * 12)
    playwright.expect(page.locator("#risk li")).to_have_count(4, timeout=SLOW)
    assert "original found" in page.inner_text("#risk li >> nth=1")
    assert page.inner_text("#figures tr.chosen th").startswith("medium")


def test_the_slider_moves_here_and_what_is_promised(page: Page) -> None:
    page.focus("#slider")
    page.keyboard.press("End")
    says(page, "#loss-word", "exp(10)")
    assert "weaker than light" in page.inner_text("#stop")
    assert "not measured" in page.inner_text("#risk")
    assert "not measured" in page.inner_text("#figures tr.chosen")
    page.keyboard.press("Home")
    says(page, "#loss-word", packaged_strengths.times("strong"))
    shown = f"strong, epsilon {EPSILON['strong']:g} per word"
    assert page.get_attribute("#slider", "aria-valuetext") == shown


def test_nothing_is_promised_of_a_text_that_is_no_longer_there(page: Page) -> None:
    """What was proved at another strength stayed there."""
    says(page, "#loss-word", packaged_strengths.times("medium"))
    page.fill("#text", "")
    says(page, "#released", "Nothing to draw yet")
    for place in ("#count", "#loss-word", "#loss-text", "#risk"):
        assert page.inner_text(place) == ""
    page.fill("#text", "doctor")
    says(page, "#loss-word", packaged_strengths.times("medium"))


def test_a_setting_that_was_not_attacked_has_no_risk(page: Page) -> None:
    """An empty cell would read as: nothing was found."""
    page.wait_for_selector("#figures tbody tr")
    cells = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    rows = page.locator("#figures tbody tr").evaluate_all(cells)
    assert len(rows) == 6  # the strengths, and three that are weaker
    for place, (_, *risks, meaning) in enumerate(rows):
        assert 0 < float(meaning) < 1
        assert [risk == "not measured" for risk in risks] == [place > 2] * 3
        if place < 3:
            shares = [float(risk.rstrip("%")) for risk in risks]
            assert shares == sorted(shares, reverse=True)


def test_the_topic_only_comes_sorted(page: Page) -> None:
    page.check("[name=stay][value=topic]")
    playwright.expect(page.locator("#released span")).to_have_count(0, timeout=SLOW)
    words = page.inner_text("#released").split()
    assert words == sorted(words)
    assert page.is_disabled("#stay-label")  # the server has no pool


def test_a_label_stays_where_the_server_has_a_pool(pool_page: Page) -> None:
    pool_page.check("#stay-label")
    playwright.expect(pool_page.locator("#released span")).to_have_count(0, timeout=SLOW)
    assert "one of 50 public texts (messages)" in pool_page.inner_text("#stay-hint")
    assert pool_page.inner_text("#released") in [*POOL["ham"], *POOL["spam"]]
    assert pool_page.inner_text("#stop") == "epsilon 4 for the whole text"
    assert "54.6 times as likely" in pool_page.inner_text("#loss-text")
    assert "the label stays in" in pool_page.inner_text("#risk")
    assert "you are here" in pool_page.inner_text("#figures tr.chosen")
    pool_page.focus("#slider")
    pool_page.keyboard.press("Home")
    says(pool_page, "#loss-text", "7.39 times as likely")
    pool_page.check("#stay-words")
    pool_page.wait_for_selector("#released span")
    assert pool_page.inner_text("#stop") == f"medium, epsilon {EPSILON['medium']:g} per word"


def few_words(folder: Path) -> str:
    """A table whose near sets are made at once."""
    table = inkblur.load_embedding()
    assert table.counts is not None
    few = inkblur.Embedding(
        table.words[:3000], table.vectors[:3000], name="few", counts=table.counts[:3000]
    )
    write_store(folder / "few.ink", few)
    return str(folder / "few.ink")


def test_word_vectors_that_nobody_attacked(browser: Any, tmp_path: Path) -> None:
    """There is no strength to choose: epsilons are offered, and the page says what is missing."""
    server = Server(tmp_path, "--embedding", few_words(tmp_path))
    try:
        with opened(browser, server) as page:
            assert "No attack was measured" in page.inner_text("#stop-hint")
            assert "No attack was measured" in page.inner_text("#figures-caption")
            upload(page, write_rows(tmp_path / "reviews.csv"))
            assert page.inner_text("#strengths label >> nth=0").startswith("epsilon 6")
            released(page)
    finally:
        server.stop()


def test_tabs_by_keyboard(page: Page) -> None:
    page.focus("#tab-try")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#publish")
    page.keyboard.press("End")
    assert page.is_visible("#ledger")
    assert page.get_attribute("#tab-ledger", "aria-selected") == "true"


def test_publish_a_file(page: Page, server: Server, tmp_path: Path) -> None:
    upload(page, write_rows(tmp_path / "reviews.csv"))
    [folder] = [each for each in (server.folder / "uploads").iterdir() if each.is_dir()]
    [kept] = list(folder.iterdir())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert page.input_value("#column-0") == "id"  # the server has a budget
    assert page.input_value("#column-1") == "drop"  # nothing is copied unless the reader says so
    assert page.input_value("#column-2") == "drop"
    page.select_option("#column-2", "copy")
    page.click("#look")
    page.wait_for_selector("#rows-box:not([hidden])")
    assert page.locator("#rows tbody tr").count() == 5
    assert "original found" in page.inner_text("#strengths")
    assert "not measured" in page.inner_text("#file-risk")
    before = releases(server)
    released(page)
    assert not kept.exists()
    output = download(page, "output", tmp_path)
    with output.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["stars", "text"]
    assert [row[0] for row in rows[1:]] == [row[1] for row in ROWS]
    assert all(row[1] != text[2] for row, text in zip(rows[1:], ROWS, strict=True))
    report = json.loads(download(page, "report", tmp_path).read_text())
    assert report["documents"]["total"] == len(ROWS)
    assert page.is_disabled("#get-output")
    assert "privacy" in download(page, "statement", tmp_path).read_text().lower()
    page.wait_for_timeout(300)
    assert not folder.exists()  # everything was downloaded
    assert releases(server) == before + 1
    newest = ledger_rows(page)[0]
    setting = f"staircase, epsilon {EPSILON['medium']:g} for a word"
    assert newest[1:4] == ["this machine", setting, str(len(ROWS))]
    assert newest[-1] == "released"


@pytest.mark.parametrize(
    ("keep", "what"),
    [("label", "epsilon 4 for a text"), ("topic", f"epsilon {EPSILON['medium']:g} for a word")],
)
def test_publish_what_else_may_stay(pool_page: Page, tmp_path: Path, keep: str, what: str) -> None:
    upload(pool_page, write_rows(tmp_path / "reviews.csv"))
    pool_page.check(f"#keep-{keep}")
    assert "look again" in pool_page.inner_text("#looking")
    pool_page.click("#look")
    pool_page.wait_for_selector("#rows-box:not([hidden])")
    released(pool_page)
    with download(pool_page, "output", tmp_path / "out").open(newline="") as file:
        texts = [row[-1] for row in csv.reader(file)][1:]
    assert len(texts) == len(ROWS)
    if keep == "label":
        assert set(texts) <= {*POOL["ham"], *POOL["spam"]}
    else:
        assert all(text.split() == sorted(text.split()) for text in texts)
    report = json.loads(download(pool_page, "report", tmp_path).read_text())
    assert report["release"]["kind"] == ("pool" if keep == "label" else "bag")
    assert ledger_rows(pool_page)[0][2] == f"staircase, {what}"


def test_the_risks_of_a_file_are_those_of_texts_as_long(pool_page: Page, tmp_path: Path) -> None:
    page = pool_page
    rows = [[name, name, "the soup was hot and we liked it " * 12] for name in "ab"]
    upload(page, write_rows(tmp_path / "meals.csv", rows, 55))
    assert "original found" in page.inner_text("#file-risk")
    assert "texts of 100 words" in page.inner_text("#file-risk")
    books = [[name, name, "the soup was hot " * 400] for name in "ab"]
    upload(page, write_rows(tmp_path / "books.csv", books, 55))
    assert "not measured" in page.inner_text("#file-risk")
    page.check("#keep-topic")
    assert "with words in their places" in page.inner_text("#strengths label >> nth=0")
    page.click("#forget")
    page.wait_for_selector("#step-release", state="hidden")


def test_another_file_takes_the_place_of_the_first(
    page: Page, server: Server, tmp_path: Path
) -> None:
    upload(page, write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]]))
    [before] = [each for each in (server.folder / "uploads").iterdir() if each.is_dir()]
    upload(page, write_rows(tmp_path / "two.csv", [["a", "1", "the second file"]]))
    says(page, "#rows", "the second file")
    assert not before.exists()
    page.click("#forget")
    page.wait_for_selector("#step-release", state="hidden")
    assert [each for each in (server.folder / "uploads").iterdir() if each.is_dir()] == []


def test_a_file_chosen_while_another_is_sent_is_the_one_that_is_shown(
    page: Page, tmp_path: Path
) -> None:
    waiting: list[Any] = []  # the first request; the next goes through at once
    page.route("**/v1/uploads?*", lambda r: r.continue_() if waiting else waiting.append(r))
    page.click("#tab-publish")
    first = write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]])
    page.set_input_files("#file", str(first))
    page.wait_for_timeout(300)
    upload(page, write_rows(tmp_path / "two.csv", [["a", "1", "the second file"]]))
    with suppress(playwright.Error):  # it was given up
        waiting[0].continue_()
    page.wait_for_timeout(1000)
    says(page, "#rows", "the second file")
    page.click("#forget")
    page.wait_for_selector("#step-release", state="hidden")


def test_a_dropped_file_is_read_anew_in_another_encoding(page: Page, tmp_path: Path) -> None:
    upload(page, write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]]))
    dropped = page.evaluate_handle(
        """() => {
            const [data, letters] = [new DataTransfer(), new TextEncoder().encode("text\\ncaf_")];
            letters[letters.length - 1] = 0xe9;
            data.items.add(new File([letters], "two.csv"));
            return data;
        }"""
    )
    page.dispatch_event("#drop-file", "drop", {"dataTransfer": dropped})
    says(page, "#error", "save it as UTF-8 or choose another “Text encoding”")
    page.select_option("#encoding", "cp1252")
    page.wait_for_selector("#rows-box:not([hidden])")
    says(page, "#rows", "café")
    assert page.input_value("#file") == ""  # it named the first file
    page.click("#forget")
    page.wait_for_selector("#step-release", state="hidden")


def test_a_file_that_is_being_looked_at_is_not_released_yet(page: Page, tmp_path: Path) -> None:
    upload(page, write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]]))
    waiting: list[Any] = []
    page.route("**/preview", lambda request: waiting.append(request))
    page.click("#look")
    page.wait_for_timeout(300)
    assert page.is_disabled("#release")
    assert page.is_disabled("#forget")
    waiting[0].continue_()
    page.unroute("**/preview")
    page.click("#forget")  # waits until it can be clicked


def test_a_look_at_settings_that_were_changed_meanwhile_is_not_shown(
    page: Page, tmp_path: Path
) -> None:
    upload(page, write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]]))
    waiting: list[Any] = []
    page.route("**/preview", lambda request: waiting.append(request))
    page.click("#look")
    page.wait_for_timeout(300)
    page.check("[name=strength] >> nth=0")
    with page.expect_response("**/preview"):
        waiting[0].continue_()
    page.wait_for_timeout(300)
    assert "look again" in page.inner_text("#looking")
    assert page.is_hidden("#rows-box")
    page.unroute("**/preview")
    page.click("#forget")


def test_what_the_server_says_of_one_file_is_not_shown_of_the_next(
    page: Page, tmp_path: Path
) -> None:
    """It was taken for the next one's state, and that was called released."""
    upload(page, write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]], 111))
    states = re.compile(r"/v1/uploads/upload-[^/]+$")
    waiting: list[Any] = []
    page.route(
        states, lambda r: r.continue_() if r.request.method == "DELETE" else waiting.append(r)
    )
    page.click("#release")
    page.wait_for_selector("#running:not([hidden])")
    page.wait_for_timeout(1500)
    assert len(waiting) == 1
    upload(page, write_rows(tmp_path / "two.csv", [["a", "1", "the second file"]], 222))
    running = {"state": "running", "share": 0.5, "seconds_left": 1, "lines": [], "error": None}
    waiting[0].fulfill(json=running)
    page.unroute(states)
    page.wait_for_timeout(1500)
    assert page.is_hidden("#results")
    assert page.is_hidden("#running")
    assert page.is_hidden("#error")
    page.click("#forget")


def test_a_file_that_is_chosen_before_the_server_said_what_it_offers(
    browser: Any, server: Server, tmp_path: Path
) -> None:
    with opened(browser, server) as page:
        waiting: list[Any] = []
        page.route("**/v1/choices", lambda request: waiting.append(request))
        page.reload()
        page.click("#tab-publish")
        page.set_input_files("#file", str(write_rows(tmp_path / "reviews.csv")))
        page.wait_for_timeout(300)
        assert waiting
        page.unroute("**/v1/choices")  # which sends on what waits
        page.wait_for_selector("#rows-box:not([hidden]), #error:not([hidden])")
        assert page.is_hidden("#error"), page.inner_text("#error")
        page.click("#forget")
        page.wait_for_selector("#step-release", state="hidden")


def test_a_flagged_column_can_be_copied_knowingly(page: Page, tmp_path: Path) -> None:
    rows = [[f"u{number}", *ROWS[0][1:]] for number in range(20)]
    upload(page, write_rows(tmp_path / "reviews.csv", rows))
    page.select_option("#column-1", "copy")
    assert "look again" in page.inner_text("#looking")
    page.click("#look")
    page.wait_for_selector("#rows-box:not([hidden])")
    assert page.input_value("#column-1") == "copy"
    assert "nearly every value differs" in page.inner_text("#columns tr >> nth=2")
    released(page)
    assert download(page, "output", tmp_path / "out").read_text().startswith("user,text")


def test_a_json_key_that_comes_later_is_shown_and_can_be_left_out(
    pool_page: Page, tmp_path: Path
) -> None:
    """It was copied unseen, or refused with nothing on the page to leave it out by."""
    rows = [
        {"said": "the soup was hot", "stars": 3},
        {"said": "the bread was cold", "stars": 4, "answer": "sorry", "contact": "ada@example.org"},
    ]
    file = tmp_path / "reviews.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    upload(pool_page, file)
    names = pool_page.locator("#columns tbody th").all_inner_texts()
    assert names == ["said", "stars", "answer", "contact"]
    roles = [pool_page.input_value(f"#column-{place}") for place in range(4)]
    assert roles == ["text", "drop", "drop", "drop"]
    pool_page.select_option("#column-1", "copy")
    pool_page.click("#look")
    pool_page.wait_for_selector("#rows-box:not([hidden])")
    assert pool_page.locator("#columns tbody tr").count() == 4
    released(pool_page)
    written = download(pool_page, "output", tmp_path / "out").read_text().splitlines()
    assert [sorted(json.loads(row)) for row in written] == [["said", "stars"]] * 2


@pytest.mark.parametrize("guessed", [True, False])
def test_a_file_without_names_of_columns(page: Page, tmp_path: Path, guessed: bool) -> None:
    """Its first record would be published as the names of columns: the page asks, and guesses."""
    end = "." if guessed else ""
    texts = [f"I was in room {number} with my sister{end}" for number in ("two", "three", "four")]
    file = tmp_path / "messages.tsv"
    file.write_text("".join(f"{place}\tham{place}\t{text}\n" for place, text in enumerate(texts)))
    upload(page, file)
    if not guessed:
        assert page.input_value("#column-2") == "text"
        page.check("#no-header")
        says(page, "#columns", "3: I was in room two with my sister")
        page.wait_for_selector("#rows-box:not([hidden])")
    assert page.is_checked("#no-header")
    assert page.input_value("#column-2") == "text"
    page.select_option("#column-0", "id")
    page.select_option("#column-1", "copy")
    page.click("#look")
    page.wait_for_selector("#rows-box:not([hidden])")
    released(page)
    rows = download(page, "output", tmp_path / "out").read_text().splitlines()
    assert [row.split("\t")[0] for row in rows] == ["ham0", "ham1", "ham2"]
    assert "my sister" not in "\n".join(rows)
    # A file that names them is read as before, and others are not asked about.
    upload(page, write_rows(tmp_path / "reviews.csv"))
    assert not page.is_checked("#no-header")
    assert page.is_visible("#header-box")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("photo.png", b"\x89PNG", "This kind of file cannot be read"),
        ("empty.csv", b"", "empty"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1|utf-8|decode|NUL"),
        ("broken.parquet", b"PAR1 no", "not a parquet file"),
        ("broken.jsonl", b"{no", "JSON"),
        ("broken.csv.gz", b"no gzip", "gz|damaged|compress"),
    ],
)
def test_wrong_files_are_refused_in_words(
    page: Page, tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    page.click("#tab-publish")
    page.set_input_files("#file", str(file))
    page.wait_for_selector("#error:not([hidden])")
    told = page.inner_text("#error")
    assert re.search(why, told, re.IGNORECASE), told
    assert str(tmp_path) not in told
    assert "uploads" not in told
    assert page.is_hidden("#step-release")


def test_a_file_from_windows(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    file.write_bytes("id,text\n7,the café was cold\n".encode("cp1252"))
    page.click("#tab-publish")
    page.set_input_files("#file", str(file))
    page.wait_for_selector("#error:not([hidden])")
    told = page.inner_text("#error")
    assert told.endswith("save it as UTF-8 or choose another “Text encoding”")
    page.select_option("#encoding", "cp1252")
    says(page, "#rows", "the café was cold")
    released(page)


def test_a_file_with_two_bytes_a_letter(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    file.write_bytes("id,text\n7,the soup was cold\n".encode("utf-16-le"))
    page.click("#tab-publish")
    page.set_input_files("#file", str(file))
    says(page, "#error", "save it as UTF-8 or choose UTF-16 as “Text encoding”; otherwise")


def test_a_file_whose_end_is_wrong_fails_whole(page: Page, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "long.csv", ROWS * 500)
    with file.open("a") as rows:
        rows.write("one cell\n")
    page.click("#tab-publish")
    page.set_input_files("#file", str(file))
    page.wait_for_selector("#error:not([hidden])")
    assert re.search(r"line 3002 .* 1 field, expected 4", page.inner_text("#error"))


def test_over_budget_is_refused_whole(page: Page, tmp_path: Path) -> None:
    words = int(BUDGET / EPSILON["medium"]) + 1
    upload(page, write_rows(tmp_path / "long.csv", [["a", "1", "word " * words]], 77))
    page.click("#release")
    page.wait_for_selector("#error:not([hidden])")
    assert "would exceed its budget, so nothing was released" in page.inner_text("#error")
    # The button is far below where it is said.
    playwright.expect(page.locator("#error")).to_be_in_viewport(ratio=1)
    playwright.expect(page.locator("#release")).to_be_in_viewport()
    assert "partial" not in page.inner_text("#error")  # a server releases all of a file or nothing
    assert page.is_enabled("#release")


def test_two_tabs_do_not_meet(page: Page, tmp_path: Path) -> None:
    other = page.context.new_page()
    other.set_default_timeout(SLOW)
    other.goto(page.url)
    upload(page, write_rows(tmp_path / "one.csv", [["a", "1", "the first file"]], 88))
    upload(other, write_rows(tmp_path / "two.csv", [["a", "2", "the second file is longer"]], 99))
    page.click("#release")
    other.click("#release")
    for tab, words in ((page, 3), (other, 5)):
        tab.wait_for_selector("#results:not([hidden])")
        rows = download(tab, "output", tmp_path / str(words)).read_text().splitlines()
        assert len(rows[1].split()) == words  # each got its own text, and nobody named the stars


def test_the_ledger_is_verified_looked_up_and_exported(page: Page, tmp_path: Path) -> None:
    page.click("#tab-ledger")
    says(page, "#newest", ":")
    anchor = page.inner_text("#newest")
    page.fill("#anchor", anchor)
    page.click("#verify-form button >> nth=0")
    page.wait_for_selector("#verified.good")
    page.fill("#anchor", f"1:{'0' * 64}")
    page.click("#verify-form button >> nth=0")
    page.wait_for_selector("#verified.bad")
    page.fill("#person", "nobody")
    page.click("#spent-form button")
    says(page, "#spent", "0 spent")
    with page.expect_download() as found:
        page.click("#export")
    found.value.save_as(tmp_path / "ledger.csv")
    assert (tmp_path / "ledger.csv").read_text().startswith("entry,release,space")


def test_a_server_restarted_in_the_middle(page: Page, server: Server, tmp_path: Path) -> None:
    upload(page, write_rows(tmp_path / "reviews.csv"))
    before = releases(server)
    server.stop(signal.SIGKILL)
    left = [each for each in (server.folder / "uploads").iterdir() if each.is_dir()]
    assert left  # it had no time to delete
    page.click("#release")
    page.wait_for_selector("#error:not([hidden])")
    assert "does not answer" in page.inner_text("#error")
    server.start()
    assert [each for each in (server.folder / "uploads").iterdir() if each.is_dir()] == []
    page.click("#release")
    says(page, "#error", "no such upload")
    assert releases(server) == before
    upload(page, write_rows(tmp_path / "reviews.csv"))
    released(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, server: Server, tmp_path: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe is put in by script
    page = context.new_page()
    page.set_default_timeout(SLOW)
    page.goto(server.url)
    page.wait_for_selector("#released span")
    page.wait_for_selector("#released[aria-busy=false]")
    found = []
    found.append(axe.Axe().run(page))
    upload(page, write_rows(tmp_path / "reviews.csv"))
    released(page)
    found.append(axe.Axe().run(page))
    ledger_rows(page)
    found.append(axe.Axe().run(page))
    context.close()
    for results in found:
        assert results.response["passes"]
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("width", [400, 700, 1100, 1600])
def test_nothing_is_wider_than_the_window(
    browser: Any, server: Server, tmp_path: Path, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(SLOW)
    page.goto(server.url)
    page.wait_for_selector("#released span")
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= width
    upload(page, write_rows(tmp_path / "reviews.csv"))
    assert page.evaluate(wide) <= width
    ledger_rows(page)
    assert page.evaluate(wide) <= width
    context.close()


def test_with_tokens_the_page_asks_for_one(browser: Any, tmp_path: Path) -> None:
    token = os.urandom(16).hex()
    tokens = tmp_path / "tokens"
    tokens.write_text(f"alice release {token}\n")
    tokens.chmod(0o600)
    few, own = few_words(tmp_path), tmp_path / "survey.json"
    own.write_text(json.dumps({"mechanism": "staircase", "epsilon": 4, "embedding": few}))
    offered = ("--embedding", few, "--setting", f"survey={own}")
    server = Server(tmp_path, "--token-file", str(tokens), *offered)
    try:
        page = browser.new_page()
        page.set_default_timeout(SLOW)
        page.goto(server.url)
        page.wait_for_selector("#token-form:not([hidden])")
        for wrong, why in (("wrong", "send a token"), ("3f…", "This is not a token")):
            page.fill("#token", wrong)
            page.click("#token-form button")
            says(page, "#error", why)
        page.fill("#token", token)
        page.click("#token-form button")
        page.wait_for_selector("#released span")
        assert page.is_hidden("#token-form")
        assert page.is_checked("#stay-own")
        assert page.inner_text("#stop").startswith("survey")
        page.click("#tab-ledger")
        page.wait_for_selector("#error:not([hidden])")
        assert "does not have the role ledger" in page.inner_text("#error")
        assert token not in server.log.read_text()
        page.close()
    finally:
        server.stop()
