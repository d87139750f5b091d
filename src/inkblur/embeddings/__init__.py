"""Public word vectors: the table, and how to get one."""

from __future__ import annotations

from inkblur.embeddings.formats import Format
from inkblur.embeddings.loading import Imported, import_embedding, load_embedding
from inkblur.embeddings.summary import Listed, Summary, available, summarise, verify
from inkblur.embeddings.table import Embedding

__all__ = [
    "Embedding",
    "Format",
    "Imported",
    "Listed",
    "Summary",
    "available",
    "import_embedding",
    "load_embedding",
    "summarise",
    "verify",
]
