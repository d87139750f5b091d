"""Public word vectors: the table, and how to get one."""

from __future__ import annotations

from inkblur.embeddings.loading import EmbeddingFormat, Imported, import_embedding, load_embedding
from inkblur.embeddings.summary import Listed, available, summarize, verify
from inkblur.embeddings.table import Embedding

__all__ = [
    "Embedding",
    "EmbeddingFormat",
    "Imported",
    "Listed",
    "available",
    "import_embedding",
    "load_embedding",
    "summarize",
    "verify",
]
