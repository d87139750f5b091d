"""Everything wrong with an input is one line: what, where and the next step."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inkblur.errors import InputError, ParameterError
from inkblur.files import Format, open_source
from tests.files.passing import opened, standard_input, through


def complaint(path: Path, **options: Any) -> str:
    """The message of the error that reading raises; no output may be left by it."""
    made = path.parent / f"made-{path.name}"
    with pytest.raises(InputError) as caught:
        through(path, made, **options)
    assert list(path.parent.glob("made-*")) == []
    message = str(caught.value)
    assert "\n" not in message
    return message


def wrong(folder: Path, name: str, content: bytes, **options: Any) -> str:
    (folder / name).write_bytes(content)
    message = complaint(folder / name, **options)
    assert name in message
    return message


def test_missing_file_folder_and_permission(tmp_path: Path) -> None:
    assert "no such file" in complaint(tmp_path / "none.csv")
    for name in ("folder.csv", "folder"):
        (tmp_path / name).mkdir()
        assert complaint(tmp_path / name).endswith("is a folder; give a file in it")


@pytest.mark.parametrize("options", [{}, {"id_column": "nr"}, {"keep_columns": ["x"]}])
def test_a_missing_column_shows_no_more_than_the_beginnings_of_the_first_line(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """A file may lack its header, and its first line be a record."""
    content = f"7,{'Ann Smith was ill for a very long time ' * 9},1"
    message = wrong(
        tmp_path, "a.csv", f"{content}\n".encode(), column="7" if options else "text", **options
    )
    assert "Ann Smith was ill" in message
    assert len(message) < 300 + len(str(tmp_path))
    assert "`no_header=True`" in message


def test_missing_columns(tmp_path: Path) -> None:
    assert "no column 'text' among 'id', 'body'" in wrong(tmp_path, "a.csv", b"id,body\n1,x\n")
    other = wrong(tmp_path, "b.csv", b"id;text\n1;x\n")
    assert "looks separated by ';': say so with `delimiter=` ';', or add `no_header=True`" in other
    assert "`delimiter=` tab," in wrong(tmp_path, "b.csv", b"id\ttext\n1\tx\n")
    numbered = wrong(tmp_path, "d.csv", b"1,x\n", no_header=True)
    assert "without a header its columns are named 1 to 2" in numbered
    assert "no column 'nr'" in wrong(tmp_path, "c.csv", b"id,text\n1,x\n", id_column="nr")
    message = wrong(tmp_path, "a.jsonl", b'{"text": "a"}\n{"id": 1, "body": "x"}\n')
    assert "line 2 of" in message
    assert "no key 'text'; it has 'id', 'body'" in message
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "a.parquet")
    assert "no column 'text'; it has 'body'" in complaint(tmp_path / "a.parquet")


@pytest.mark.parametrize("before", [0, 5, (1 << 20) - 1, 3 * (1 << 20) + 7])
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_not_utf_8_says_the_byte_of_the_file(tmp_path: Path, name: str, before: int) -> None:
    # The two bytes before the wrong one are an é, which a block may cut in half.
    head = {"a.txt": b"", "a.csv": b"text\n", "a.jsonl": b'{"text": "'}[name]
    content = head + b"x" * before + b"\xc3\xa9\xff"
    message = wrong(tmp_path, name, content)
    assert f"(byte {len(content) - 1}:" in message
    assert "`encoding=" in message


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (gzip.compress(b"text\nx\n", mtime=0), "compressed by gzip; unpack it"),
        (pa.compress(b"text\nx\n", "zstd", asbytes=True), "compressed by Zstandard; unpack it"),
        (b"PK\x03\x04\x14\x00", "office document; unpack it, or save it as csv"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
    ],
    ids=["gzip", "zstd", "zip", "pdf"],
)
def test_a_file_that_holds_no_plain_text_is_named(
    tmp_path: Path, name: str, content: bytes, answer: str
) -> None:
    assert answer in wrong(tmp_path, name, content)


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    assert "save it as .csv" in wrong(tmp_path, "a.XLSX", b"PK\x03\x04")


def test_cut_short_inside_a_character(tmp_path: Path) -> None:
    assert "(byte 3:" in wrong(tmp_path, "a.txt", b"abc\xe2\x82")


def test_wrong_bytes_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc\x81")
    assert "(byte 3:" in complaint(tmp_path / "a.txt", encoding="cp1252")
    (tmp_path / "b.txt").write_bytes(rb"abc\ud800")
    assert "not" in complaint(tmp_path / "b.txt", encoding="unicode_escape")


def test_unknown_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-9", "hex"):
        with pytest.raises(ParameterError, match="unknown encoding"):
            opened(tmp_path / "a.txt", encoding=encoding)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    assert "is empty" in wrong(tmp_path, name, b"")


def test_almost_empty_files(tmp_path: Path) -> None:
    assert "is empty" in wrong(tmp_path, "a.txt", b"\xef\xbb\xbf")
    assert "has no records" in wrong(tmp_path, "a.jsonl", b"\n \n")
    assert "first line must name the columns" in wrong(tmp_path, "a.csv", b"\ntext\nx\n")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_nul_says_the_line(tmp_path: Path, name: str, end: bytes) -> None:
    first = {"a.txt": b"text\n", "a.csv": b"text\n", "a.jsonl": b'{"text": "a"}\n'}[name]
    message = wrong(tmp_path, name, first * 2 + b'{"text": "\0"}' + end)
    assert "line 3 of" in message
    assert "NUL" in message
    assert "utf-16" in message


def test_a_nul_written_as_an_escape_is_fine(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a\\u0000b"}\n')
    assert through(tmp_path / "a.jsonl", tmp_path / "out.jsonl")[0].text == "a\0b"
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "a\\u0000b"}\n'


def test_ragged_csv(tmp_path: Path) -> None:
    head = b'id,text,a,b\n1,"x\ny",3,4\n'
    assert "line 4 of" in (short := wrong(tmp_path, "a.csv", head + b"2,x,3\n"))
    assert "has 3 fields, expected 4" in short
    assert "has 5 fields, expected 4" in wrong(tmp_path, "b.csv", head + b"2,x,3,4,5\n")


def test_bad_quotes_in_csv(tmp_path: Path) -> None:
    never = wrong(tmp_path, "a.csv", b'text\nfine\n"never closed\nmore\n')
    assert "line 3 of" in never
    assert "never closed" in never
    assert "quote out of place" in wrong(tmp_path, "b.csv", b'id,text\n1,"a"b\n')
    assert "carriage return" in wrong(tmp_path, "c.csv", b"id,text\r1,a\r2,b\r")


def test_repeated_columns(tmp_path: Path) -> None:
    assert "columns 1 and 3 of" in wrong(tmp_path, "a.csv", b"a,text,a\n1,2,3\n")
    table = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert "'text' more than once" in complaint(tmp_path / "a.parquet")
    # Were one of the two replaced, the other would pass with the true text.
    message = wrong(tmp_path, "a.jsonl", b'{"text": "x", "te\\u0078t": "y"}\n')
    assert "has the key 'text' twice" in message


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"text": "a"', "bad JSON on line 2"),
        ('{"text": "a"} x', "extra data"),
        ('{"text": "a",}', "name enclosed in double quotes"),
        ('{"text" "a"}', "expecting ':'"),
        ('{"text": tru}', "column 10: expecting value"),
        ("{'text': 1}", "name enclosed in double quotes"),
        ('{"text": "x", "a": {"b": 1, "b": 2}}', "has the key 'b' twice"),
        ('{"text": "x", "a": [' + "0," * 1_000_001 + "0]}", "more than 1,000,000 values"),
        ("hello", "bad JSON on line 2"),
        ('["text"]', "is not a JSON object"),
        ('"text"', "is not a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ("{}", "it has no keys"),
        ('{"text": 3}', "'text' is a number, expected a string or null; give the text a key"),
        ('{"text": ["a"]}', "'text' is a list"),
        ('{"text": {}}', "'text' is an object"),
        ('{"text": true}', "'text' is true or false"),
        ('{"text": "\\ud83d"}', "lone surrogate"),
    ],
)
def test_bad_json(tmp_path: Path, line: str, part: str) -> None:
    message = wrong(tmp_path, "a.jsonl", f'{{"text": "fine"}}\n{line}\n'.encode())
    assert part in message
    assert "line 2 of" in message
    assert len(message) < 300 + len(str(tmp_path))


@pytest.mark.parametrize("value", ["null", "1.5", "[1]", "true", '"\\ud83d"'])
def test_bad_ids(tmp_path: Path, value: str) -> None:
    content = f'{{"text": "a", "id": {value}}}\n'.encode()
    assert "expected a string or a whole number" in wrong(
        tmp_path, "a.jsonl", content, id_column="id"
    )


def test_bad_ids_in_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, None], "text": ["a", "b"]}), tmp_path / "a.parquet")
    assert "row 2 of" in (message := complaint(tmp_path / "a.parquet", id_column="id"))
    assert "null id" in message
    pq.write_table(pa.table({"id": [1.5], "text": ["a"]}), tmp_path / "b.parquet")
    assert "has type double" in complaint(tmp_path / "b.parquet", id_column="id")


@pytest.mark.parametrize("again", [1, 2, 3, 7, 30])
def test_repeated_ids_within_and_across_batches(tmp_path: Path, again: int) -> None:
    rows = "".join(f"n{i},x\n" for i in range(again)) + "n0,x\n"
    message = wrong(tmp_path, "a.csv", f"id,text\n{rows}".encode(), id_column="id")
    assert f"line {again + 2} of" in message
    assert "repeats an id of column 'id'" in message


def test_id_and_text_in_one_column(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="choose two"):
        opened(tmp_path / "a.csv", column="x", id_column="x")
    (tmp_path / "a.txt").write_text("a\n")
    assert "leave out `id_column=`" in complaint(tmp_path / "a.txt", id_column="id")


def test_parquet_of_another_type_or_damaged(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "a.parquet")
    assert "has type int64, expected a string" in complaint(tmp_path / "a.parquet")
    assert "damaged" in wrong(tmp_path, "b.parquet", b"PAR1 this is no parquet file PAR1")
    assert "damaged" in wrong(tmp_path, "c.parquet", b"id,text\n1,2\n")
    pq.write_table(
        pa.table({"text": [f"{i}" * 50 for i in range(2000)]}),
        tmp_path / "d.parquet",
        use_dictionary=False,
        write_page_checksum=True,
    )
    content = bytearray((tmp_path / "d.parquet").read_bytes())
    content[100:4000] = b"\xff" * 3900
    assert "damaged" in wrong(tmp_path, "d.parquet", bytes(content))


def test_parquet_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    raw = pa.array([b"fine", b"\xff\xfe"], pa.binary())
    strings = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    pq.write_table(pa.table({"text": strings}), tmp_path / "a.parquet")
    assert "not utf-8 in rows 1 to 2" in complaint(tmp_path / "a.parquet")


def test_unknown_suffix_offers_format(tmp_path: Path) -> None:
    for name in ("a.docx", "a", "a.bz2", "a.gz"):
        (tmp_path / name).write_text("x")
        with pytest.raises(InputError, match=r"`format=`.*txt\|csv"):
            open_source(tmp_path / name)
    with pytest.raises(InputError, match=r"drop the \.gz"):
        open_source(tmp_path / "a.parquet.gz")
    with pytest.raises(InputError, match="standard input has no suffix"):
        open_source("-")


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(1 << 12).hex().encode())
    for name, content in {
        "a": b"no gzip",
        "b": packed[:-400],
        "c": packed[:400] + packed[500:],
    }.items():
        assert "damaged or cut short" in wrong(tmp_path, f"{name}.txt.gz", content)


@pytest.mark.parametrize("format", list(Format))
def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch, format: Format) -> None:
    standard_input(monkeypatch, b"")
    with pytest.raises(InputError, match="standard input is empty"):
        open_source("-", format=format)


def test_batches_are_read_once_and_have_a_size(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with open_source(tmp_path / "a.txt") as source:
        for sizes in ((0, 1), (1, 0)):
            with pytest.raises(ParameterError):
                source.batches(*sizes)
        assert len(list(source.batches(1, 1))) == 1
        with pytest.raises(ParameterError, match="only once"):
            source.batches(1, 1)
