"""A spec as it stands in a JSON file: by itself, or within a report."""

from __future__ import annotations

import json
from typing import Any

from inkblur.errors import ParameterError
from inkblur.spec import ReleaseSpec


def read_spec(text: str) -> ReleaseSpec:
    """The spec in a JSON text: its own, or that of a report which holds it under "spec".

    >>> read_spec('{"spec": {"mechanism": "laplace", "epsilon": 2.0}}').name
    'laplace, epsilon 2'
    """
    try:
        body = json.loads(text, object_pairs_hook=each_key_once)
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"the spec is not JSON ({error}); give the report of a run, or its spec"
        ) from None
    if isinstance(body, dict) and "spec" in body:
        body = body["spec"]
    return ReleaseSpec.from_json(body)


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that is there twice, Python would take the last without a word."""
    body = dict(pairs)
    if len(body) != len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ParameterError(f"the spec has the key {twice!r} twice; remove one")
    return body
