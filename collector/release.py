"""Which release this is."""

from __future__ import annotations


def version() -> str | None:
    """The version that is installed, None where none is."""
    from importlib import metadata  # slow to import, and seldom needed

    try:
        return metadata.version("querytap")
    except metadata.PackageNotFoundError:
        return None
