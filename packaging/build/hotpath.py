"""The build backend: setuptools, with the listed hot modules compiled by Cython.

pyproject.toml lists the modules once, as `[[tool.setuptools.ext-modules]]`. QUERYTAP_HOTPATH chooses the build:
`compiled` (the default) compiles each of them, and anything that goes wrong fails the build; `interpreted` compiles
none. Every build works in a fresh folder of its own, so that nothing of an earlier one can be left in it, and never in
place: a shared object beside its source would hide the source.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from setuptools import build_meta
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

if TYPE_CHECKING:
    from setuptools import Distribution

__all__ = [
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

BUILDS = ("compiled", "interpreted")
COMPILER_FLAGS = ["-O2", "-Wno-unused-function"]
DIRECTIVES = {"language_level": 3}

build_sdist = build_meta.build_sdist
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel

ConfigSettings = dict[str, "str | list[str] | None"]


def build_wheel(
    wheel_directory: str, config_settings: ConfigSettings | None = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel that QUERYTAP_HOTPATH asks for; the name of the file made in *wheel_directory*."""
    with tempfile.TemporaryDirectory(prefix="querytap-build-") as folder:
        settings = dict(config_settings or {})
        settings["--build-option"] = ["build", "--build-base", folder]
        return build_meta.build_wheel(wheel_directory, settings, metadata_directory)


def chosen_build() -> str:
    """Which build QUERYTAP_HOTPATH asks for."""
    chosen = os.environ.get("QUERYTAP_HOTPATH", "compiled")
    if chosen not in BUILDS:
        raise SystemExit(f"QUERYTAP_HOTPATH={chosen}: must be one of {', '.join(BUILDS)}")
    return chosen


def choose_modules(distribution: Distribution) -> None:
    """Leave no module to compile in an interpreted build; in a compiled one, refuse a listed module that is missing."""
    if chosen_build() == "interpreted":
        distribution.ext_modules = []
    listed = [str(source) for module in distribution.ext_modules or [] for source in module.sources]
    missing = [source for source in listed if not Path(source).exists()]
    if missing:
        raise SystemExit(f"pyproject.toml lists modules to compile that do not exist: {', '.join(missing)}")


class HotPathWheel(bdist_wheel):
    """A wheel, marked for any platform when nothing in it is compiled."""

    def finalize_options(self) -> None:
        """Choose the modules before the wheel asks whether there are any."""
        choose_modules(self.distribution)
        super().finalize_options()


class BuildHotPath(build_ext):
    """Compiles the listed modules from their Python sources, on every processor there is."""

    def finalize_options(self) -> None:
        """Choose the modules before the compiler is set up for them."""
        if self.inplace or self.editable_mode:
            raise SystemExit("querytap is never built in place: a shared object would hide the source beside it")
        choose_modules(self.distribution)
        super().finalize_options()
        self.parallel = os.cpu_count() or 1

    def build_extensions(self) -> None:
        """Translate all of them to C, in the build's own folder, then compile what that gave."""
        from Cython.Build import cythonize

        translated = cythonize(  # type: ignore[no-untyped-call]  # Cython's own code has no annotation here
            self.extensions,
            build_dir=str(Path(self.build_temp) / "c"),
            compiler_directives=DIRECTIVES,
            nthreads=os.cpu_count() or 1,
            quiet=True,
        )
        sources = {module.name: module.sources for module in translated}
        for module in self.extensions:
            module.sources = sources[module.name]
            module.extra_compile_args = [*module.extra_compile_args, *COMPILER_FLAGS]
        super().build_extensions()
