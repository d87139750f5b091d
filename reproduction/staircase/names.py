"""Common names: the commonest given names and surnames of the United States that the bundled
vocabulary holds, 50 of each, by the Social Security Administration's and the Census Bureau's lists.
"""

from __future__ import annotations

_GIVEN = """
james john robert michael david william richard joseph thomas charles christopher daniel matthew
anthony donald steven paul andrew joshua kenneth kevin brian george edward ronald mary patricia
jennifer linda elizabeth barbara susan jessica sarah karen nancy lisa betty margaret sandra ashley
kimberly emily donna michelle carol amanda melissa deborah stephanie
"""
_FAMILY = """
smith johnson williams jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson
anderson taylor moore jackson martin lee perez thompson harris sanchez clark ramirez lewis robinson
walker allen wright scott torres nguyen hill flores adams nelson campbell mitchell roberts carter
phillips evans turner diaz parker cruz edwards collins reyes
"""
COMMON_NAMES = (*_GIVEN.split(), *_FAMILY.split())
