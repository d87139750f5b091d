"""The door in, `open_source`, and the door out, `open_sink`.

Rows are written in random order, which says nothing of the order in the file: sorted by a number
that a key gives each, so a run under the same key repeats the order. Up to a million rows are
sorted in memory; more are sorted into files without a name beside the output, which are gone when
the run is.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from inkblur.atomic_file import AtomicFile, standard_output
from inkblur.errors import InputError, OutputError
from inkblur.files.delimited import DelimitedEncoder, DelimitedSource
from inkblur.files.formats import (
    Format,
    InputFile,
    Layout,
    compressor,
    format_of,
    is_stream,
    layout_of,
    listed,
    regular_file,
)
from inkblur.files.jsonlines import JsonlEncoder, JsonlSource, read_object
from inkblur.files.plain import TxtEncoder, TxtSource
from inkblur.files.records import Batch, Encoder, Source
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import choose

_USUAL = Layout()
_DELIMITERS = (",", ";", "\t", "|")
_ROWS, _BYTES = 1_000_000, 1 << 26  # that are held in memory
_FILES = 64  # each is sorted by itself, the rows of the smallest numbers first


def open_described(path: str | Path, spec: ReleaseSpec, most_bytes: int | None = None) -> Source:
    """Open a file of records as a spec describes it: see :func:`open_source`."""
    format = None if spec.format is None else choose(Format, spec.format, "format")
    return open_source(path, layout_of(spec), format=format, most_bytes=most_bytes)


def open_source(
    path: str | Path,
    layout: Layout = _USUAL,
    *,
    format: Format | None = None,
    most_bytes: int | None = None,
) -> Source:
    """Open a file of records, or standard input (`-`), to be read once from front to back.

    The suffix tells the format (.txt .csv .tsv .jsonl .parquet, all but the last also with
    .gz or .zst) unless `format` does. Missing files, columns and headers show here; what is wrong
    with a later line shows when that line is read. Everything wrong is an `InputError` of one line.

    A file without a single byte is an error. A header without records (csv, tsv, parquet) is a file
    of zero records. Empty texts are records like any other. A file that becomes more than
    `most_bytes` when it is unpacked is refused as soon as so many were read. Of the columns beside
    the texts, batches have those that `layout.keep` names.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts = Path(folder.name, "posts.csv")
    >>> _ = posts.write_text("id,text\\n7,hello\\n8,world\\n")
    >>> with open_source(posts, Layout(id_column="id")) as source:
    ...     for batch in source.batches(max_records=1000, max_chars=1_000_000):
    ...         print(batch.records)
    (Record(id='7', text='hello'), Record(id='8', text='world'))
    >>> folder.cleanup()
    """
    # Its name has no suffix, and that is not what is wrong with it. os.path: see `is_folder`.
    if not is_stream(path) and os.path.isdir(path):  # noqa: PTH112
        raise InputError(f"{path} is a folder; give a file in it")
    kind = format_of(path, format, InputError)
    if (not layout.header or layout.delimiter) and kind not in (Format.CSV, Format.TSV):
        raise InputError(
            "`no_header=True` and `delimiter=` are for csv and tsv; "
            f"leave them out for {kind.value}"
        )
    file = InputFile(path, most_bytes)
    with contextlib.ExitStack() as opened:
        opened.callback(file.close)
        source: Source
        match kind:
            case Format.TXT:
                source = TxtSource(file, layout, kind)
            case Format.JSONL:
                source = JsonlSource(file, layout, kind)
            case Format.PARQUET:
                from inkblur.files.parquet import ParquetSource

                source = ParquetSource(file, layout, kind)
            case _:
                source = DelimitedSource(file, layout, kind)
        opened.pop_all()  # it stays open
    return source


def texts_of_file(path: str | Path) -> list[str]:
    """All texts of a file that fits in memory, such as a public corpus."""
    with open_source(path) as source:
        return [text for batch in source.batches(4096, 1 << 20) for text in batch.texts]


def column_names(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> tuple[str, ...]:
    """The names in a header, or the keys of the first record; none of a txt file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "posts.csv").write_text("id,text\\n7,hello\\n")
    ...     column_names(Path(folder, "posts.csv"))
    ('id', 'text')
    """
    match format_of(path, None, InputError):
        case Format.TXT:
            return ()
        case Format.PARQUET:
            import pyarrow as pa
            from pyarrow import parquet

            try:
                return tuple(parquet.read_schema(path).names)
            except (pa.ArrowException, OSError):
                raise InputError(f"{path} is not a parquet file; check it") from None
        case Format.JSONL:
            with contextlib.closing(InputFile(path)) as file:
                lines = filter(None, map(str.strip, file.lines(encoding)))
                return tuple(read_object(next(lines, ""), f"the first line of {path}"))
    layout = Layout(("1",), header=False, delimiter=delimiter, encoding=encoding)
    with open_source(path, layout) as source:
        next(source.batches(1, 1))  # what is wrong with the next row tells that it is another file
        assert isinstance(source, DelimitedSource)
        return tuple(source.first)


def likely_delimiter(path: Path, *, encoding: str = "utf-8") -> str | None:
    """What most likely separates the cells of a csv file; None where a comma does."""
    widths = dict.fromkeys(_DELIMITERS, 0)
    for delimiter in _DELIMITERS:
        with contextlib.suppress(InputError):  # the next row has another number of cells
            widths[delimiter] = len(column_names(path, delimiter=delimiter, encoding=encoding))
    best = max(_DELIMITERS, key=lambda each: widths[each])
    return best if best != "," and widths[best] > 1 else None


@contextmanager
def open_sink(
    path: str | Path,
    source: Source,
    *,
    format: Format | None = None,
    order: Rng | None = None,
    on_show: Callable[[], None] = lambda: None,
) -> Iterator[Sink]:
    """Where the released texts of `source` go: a file, or standard output (`-`).

    The format is `format`, or what the suffix says, or for standard output the source's. The same
    format passes the columns that `source` copies unchanged. Another one is written where nothing
    of them is lost:

    - csv, tsv and txt become anything;
    - jsonl becomes csv or tsv while all records have the same columns of strings, numbers and
      true/false;
    - parquet becomes csv, tsv or jsonl while its types are strings, numbers and true/false (and,
      for the last, lists or objects of them);
    - txt is written from a source that has texts and nothing else.

    Otherwise: `OutputError`. Text is always written as UTF-8.

    The file appears when the `with` block ends well; after any error, Ctrl-C included, a file that
    was there before is untouched. Rows come out in a random order that `order` decides, or in the
    order in which they are given where that is None. `on_show` is called before anybody can see a
    byte of it (:class:`inkblur.atomic_file.AtomicFile`).

    >>> import tempfile
    >>> from inkblur.files import Layout, open_source
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts, out = Path(folder.name, "posts.csv"), Path(folder.name, "out.csv")
    >>> _ = posts.write_text("id,text\\n7,hello\\n8,world\\n")
    >>> layout = Layout(keep=("id",))
    >>> with open_source(posts, layout) as source, open_sink(out, source) as sink:
    ...     for batch in source.batches(max_records=1000, max_chars=1_000_000):
    ...         sink.write(batch, [text.upper() for text in batch.texts])
    >>> out.read_text()
    'id,text\\n7,HELLO\\n8,WORLD\\n'
    >>> folder.cleanup()
    """
    if is_stream(path):
        kind = format or source.format
        file = AtomicFile(None, on_show=on_show)
        same = regular_file(standard_output())
        if kind is Format.PARQUET and standard_output().isatty():
            raise OutputError(
                'parquet is not for a terminal; name a file as the output, or give `format="jsonl"`'
            )
    else:
        kind = format_of(path, format, OutputError)
        file = AtomicFile(Path(path), on_show=on_show)
        same = file.identity()
    if same is not None and same == regular_file(source.file.raw):
        raise OutputError(f"the output is the input itself ({source.name}); choose another output")
    if source.unplain and kind is not Format.PARQUET:
        raise OutputError(
            f"{kind.value} cannot hold the types of the columns {listed(source.unplain)}; "
            "write .parquet"
        )
    beside = None if is_stream(path) else Path(path).resolve().parent
    shuffle = None if order is None else Shuffle(order, beside)
    sink = Sink(path, file, _encoder(source, kind), shuffle)
    with file:
        try:
            yield sink
            sink.end()
        finally:
            if shuffle is not None:
                shuffle.close()


class Sink:
    """Records on their way out. Made by `open_sink`."""

    def __init__(
        self, path: str | Path, file: AtomicFile, encoder: Encoder[Any], shuffle: Shuffle | None
    ) -> None:
        self._file, self._encoder, self._compressor = file, encoder, compressor(path)
        self._shuffle = shuffle

    def write(self, batch: Batch, texts: Sequence[str | None]) -> None:
        """Write the batch with `texts`, one a record, in place of its own."""
        try:
            rows = self._encoder.encode(batch, batch.released(texts))
        except UnicodeEncodeError:
            raise OutputError(
                f"cannot write {self._file.name}: a value has a lone surrogate, "
                "which is not valid Unicode"
            ) from None
        if self._shuffle is None:
            self._put(self._encoder.content(rows))
        else:
            with self._file.named_errors():
                self._shuffle.add(batch, rows)

    def end(self) -> None:
        """What was held back, and what stands after the last row."""
        if self._shuffle is not None:
            with self._file.named_errors():
                for rows in self._shuffle.sorted():
                    self._put(self._encoder.content(rows))
        self._put(self._encoder.end())
        if self._compressor is not None:
            self._file.write(self._compressor.flush())

    def _put(self, data: bytes) -> None:
        self._file.write(data if self._compressor is None else self._compressor.compress(data))


def _encoder(source: Source, format: Format) -> Encoder[Any]:
    match format:
        case Format.PARQUET:
            from inkblur.files.parquet import ParquetEncoder

            return ParquetEncoder(source)
        case Format.TXT:
            return TxtEncoder(source)
        case Format.JSONL:
            return JsonlEncoder()
    return DelimitedEncoder(source, format)


class Shuffle:
    """Collects rows of one format, encoded, and gives them back in order."""

    def __init__(self, rng: Rng, beside: Path | None) -> None:
        self._rng, self._beside = rng.child("order of rows"), beside
        self._numbers: list[bytes] = []
        self._parts: list[Any] = []  # lists of bytes, or Arrow batches
        self._size = 0
        self._files: list[IO[bytes]] = []

    def add(self, batch: Batch, rows: Any) -> None:
        """The rows of a batch."""
        self._numbers += row_numbers(self._rng, [r.id for r in batch.records[:: batch.width]])
        self._parts.append(rows)
        self._size += sum(map(len, rows)) if isinstance(rows, list) else rows.nbytes
        if len(self._numbers) >= _ROWS or self._size >= _BYTES:
            self._put_away()

    def sorted(self) -> Iterator[Any]:
        """All rows, in pieces."""
        if self._files:
            self._put_away()
        elif self._numbers:
            yield _chosen(self._parts, _order(self._numbers))
        for file in self._files:
            with file:
                length = file.tell()
                file.seek(0)
                numbers: list[bytes] = []
                parts = []
                while file.tell() < length:
                    some, rows = pickle.load(file)
                    numbers += some
                    parts.append(rows)
                if numbers:
                    yield _chosen(parts, _order(numbers))

    def close(self) -> None:
        """Nothing of the rows stays."""
        for file in self._files:
            file.close()

    def _put_away(self) -> None:
        if not self._files:
            for _ in range(_FILES):
                self._files.append(tempfile.TemporaryFile(dir=self._beside))  # noqa: SIM115
        places: list[list[int]] = [[] for _ in self._files]
        for place, number in enumerate(self._numbers):
            places[number[0] * _FILES // 256].append(place)
        for file, own in zip(self._files, places, strict=True):
            if own:
                pickle.dump(([self._numbers[i] for i in own], _chosen(self._parts, own)), file)
        self._numbers, self._parts, self._size = [], [], 0


def row_numbers(rng: Rng, ids: Sequence[str]) -> list[bytes]:
    """A number for each row, of its id and the key alone."""
    return [rng.child(name).fingerprint() for name in ids]


def _order(numbers: Sequence[bytes]) -> list[int]:
    return sorted(range(len(numbers)), key=numbers.__getitem__)


def _chosen(parts: list[Any], places: list[int]) -> Any:
    """These of the rows, in this order."""
    if isinstance(parts[0], list):
        rows = list(chain.from_iterable(parts))
        return [rows[place] for place in places]
    import pyarrow as pa

    table = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks()
    [batch] = table.take(pa.array(places)).combine_chunks().to_batches()
    return batch
