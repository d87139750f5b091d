"""Public word vectors: the table, its file, and readers of other programs' files."""
