"""The optional C++ engine. Everything else about the package is in pyproject.toml.

Where there is no compiler, or no pybind11, the extension is left out, the installation succeeds,
and the NumPy backend serves.
"""

from setuptools import Extension, setup


def extensions() -> list[Extension]:
    """The nearest-word scan, or nothing where it cannot be described."""
    try:
        import pybind11
    except ImportError:
        return []
    return [
        Extension(
            "inkblur.nearest._scan",
            ["src/inkblur/nearest/_scan.cpp"],
            include_dirs=[pybind11.get_include()],
            language="c++",
            # No -march: the file picks its instruction sets at run time, so a wheel runs anywhere.
            extra_compile_args=["-std=c++17", "-O3", "-fvisibility=hidden", "-g0", "-pthread"],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]


setup(ext_modules=extensions())
