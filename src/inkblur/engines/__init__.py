"""Adapters: the one Arrow function in Spark, Ray, Dask, Hugging Face datasets, Polars and DuckDB.

Each has one function, `privatize`, and looks before anything runs whether ids are unique, whether
the columns are there, and what those that are copied tell.
"""
