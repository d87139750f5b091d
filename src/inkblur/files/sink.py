"""The door out: `open_sink`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inkblur.atomic_file import AtomicFile, standard_output
from inkblur.errors import OutputError
from inkblur.files.delimited import DelimitedEncoder
from inkblur.files.formats import Format, format_of, is_stream, listed
from inkblur.files.jsonlines import JsonlEncoder
from inkblur.files.lines import compressor, regular_file
from inkblur.files.order import Shuffle
from inkblur.files.plain import TxtEncoder
from inkblur.files.records import Batch, Encoder, Source
from inkblur.rng import Rng


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
    if same is not None and same == source.file.identity():
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
