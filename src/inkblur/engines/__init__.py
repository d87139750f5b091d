"""Adapters: the one Arrow function in Spark, Ray, Dask, Hugging Face datasets, Polars and DuckDB.

Each has one function, `privatize`, and looks before anything runs whether ids are unique, whether
the columns are there, and whether one that would be copied says who wrote a text, or what it says.
"""
