"""Adapters: the one Arrow function in Spark and Ray, which run it on workers of their own.

Each has one function, `privatize`, and looks before anything runs whether ids are unique, whether
the columns are there, and what those that are copied tell.
"""
