"""The optional C++ parts. Everything else about the package is in pyproject.toml.

Where there is no compiler, or no pybind11, they are left out, the installation succeeds, and NumPy
and SciPy serve.
"""

from pathlib import Path

from setuptools import Extension, setup


def extensions() -> list[Extension]:
    """The nearest-word scan, the noise and the near sets; nothing where they cannot be made."""
    try:
        import pybind11
    except ImportError:
        return []

    def optional(name: str, *flags: str, link: tuple[str, ...] = ()) -> Extension:
        source = Path(f"src/inkblur/{name.replace('.', '/')}.cpp")
        headers = [*Path("src/inkblur/mechanisms").glob("*.h"), *source.parent.glob("*.h")]
        return Extension(
            f"inkblur.{name}",
            [str(source)],
            depends=sorted(map(str, headers)),
            include_dirs=[pybind11.get_include()],
            language="c++",
            # No -march: each file picks its instructions at run time, so a wheel runs anywhere.
            extra_compile_args=["-std=c++17", "-O3", "-fvisibility=hidden", "-g0", *flags],
            extra_link_args=list(link),
            optional=True,
        )

    return [
        optional("mechanisms.nearest.cpu._scan", "-pthread", link=("-pthread",)),
        # Each product and sum rounded by itself, as in SciPy and NumPy; no error codes, no traps.
        optional(
            "mechanisms.noise._sphere", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"
        ),
        optional("mechanisms.staircase._staircase"),
    ]


setup(ext_modules=extensions())
