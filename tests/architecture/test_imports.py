"""Imports point one way. A new arrow is a line in one of these tables, and is reviewed as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import sources
from tests.support import builds

OURS = ("collector", "workers", "tests", "bench", "packaging")

# What each process on the host starts with.
COMMON = (
    "collector.boot",
    "collector.budget",
    "collector.config",
    "collector.channel",
    "collector.places",
    "collector.child",
    "collector.log",
    "collector.pace",
    "collector.privileges",
    "collector.hangup",
    "collector.notify",
    "collector.outlet",
)

# What a package of ours may import of ours besides itself. The longest name that fits a module applies.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "workers": (),
    "workers.mysql": ("workers.memory", "workers.wire"),
    "workers.mysqlx": ("workers.mysql",),
    "workers.tcp": ("workers.wire",),
    "workers.sql": (),
    "collector.config": (),
    "collector.budget": ("collector.config",),
    "collector.boot": (),
    "collector.release": (),
    "collector.channel": (),
    "collector.places": (),
    "collector.log": (),
    "collector.jsonfile": (),
    "collector.hangup": ("collector.child", "collector.config", "collector.notify"),
    "collector.notify": (),
    "collector.outlet": (),
    "collector.pace": (),
    "collector.privileges": (),
    "collector.identities": ("collector.config", "collector.privileges"),
    "collector.child": ("collector.config", "collector.log", "collector.privileges"),
    "collector.archive": ("collector.channel", "collector.config", "workers"),
    "collector.capture": (*COMMON, "collector.identities", "collector.jsonfile", "workers"),
    "collector.aggregator": (*COMMON, "collector.release", "collector.archive", "workers"),
    "collector.monitor": (*COMMON, "collector.identities", "collector.jsonfile", "workers"),
    "collector.reading": (
        "collector.budget.levels",
        "collector.config",
        "collector.places",
        "collector.archive",
        "workers",
    ),
    "collector.supervisor": (*COMMON, "collector.identities", "collector.jsonfile", "collector.capture"),
    "collector.cli": ("collector", "workers"),
}

# Which modules may import a library that not everybody may.
MAY_BE_IMPORTED_BY: dict[str, tuple[str, ...]] = {
    "zmq": ("workers.process", "collector.aggregator"),
    "cryptography": (
        "collector.aggregator",
        "collector.reading",
        "collector.archive.readerkeys",
        "collector.archive.stanzas",
    ),
    # Clients compress their traffic with these too.
    "lz4": ("workers.mysqlx.compression",),
    "zstandard": (
        "collector.aggregator",
        "collector.reading",
        "workers.mysql.compression",
        "workers.mysqlx.compression",
    ),
    "obstore": ("collector.aggregator", "collector.reading", "collector.archive.remote"),
    "prometheus_client": ("collector.monitor.serving",),
    "pymysql": ("collector.monitor.database",),
}


def all_product_modules() -> list[tuple[str, Path]]:
    return list(sources.modules(*sources.PRODUCT).items())


@pytest.mark.parametrize(
    ("name", "path"), all_product_modules(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_module_imports_only_what_its_package_may(name: str, path: Path) -> None:
    package = max((package for package in MAY_IMPORT if sources.within(name, package)), key=len, default="")
    if name == "collector":
        return
    assert package, f"{name} belongs to no package of the table"
    allowed = (package, *MAY_IMPORT[package])
    wrong = {
        imported
        for imported in sources.imports(name, path)
        if any(sources.within(imported, ours) for ours in OURS)
        and not any(sources.within(imported, each) or sources.within(each, imported) for each in allowed)
    }
    assert not wrong


@pytest.mark.parametrize("library", MAY_BE_IMPORTED_BY)
def test_a_library_is_imported_only_where_it_may_be(library: str) -> None:
    users = {
        name
        for name, path in all_product_modules()
        if any(sources.within(imported, library) for imported in sources.imports(name, path))
    }
    wrong = {name for name in users if not any(sources.within(name, each) for each in MAY_BE_IMPORTED_BY[library])}
    assert not wrong


def test_processes_meet_over_zeromq_in_one_module_a_side() -> None:
    users = [name for name, path in all_product_modules() if "zmq" in sources.imports(name, path)]
    assert len([name for name in users if sources.within(name, "collector")]) <= 1
    assert len([name for name in users if sources.within(name, "workers")]) <= 1


def test_only_modules_that_are_compiled_import_cython() -> None:
    users = {name for name, path in all_product_modules() if "cython" in sources.imports(name, path)}
    assert users == set(builds.listed_modules())


def test_a_compiled_module_keeps_its_annotations_as_types() -> None:
    modules = sources.modules("workers")
    wrong = [name for name in builds.listed_modules() if "__future__" in sources.imports(name, modules[name])]
    assert not wrong, "as text, annotations are lost on Cython"


def test_a_declaration_file_belongs_to_a_compiled_module_or_gives_plain_python_a_twin_in_c() -> None:
    compiled = {sources.ROOT / (name.replace(".", "/") + ".pxd") for name in builds.listed_modules()}
    others = set((sources.ROOT / "workers").rglob("*.pxd")) - compiled
    wrong = [
        path.name
        for path in others
        if not path.with_suffix(".py").exists() or "cdef extern from" not in path.read_text(encoding="utf-8")
    ]
    assert not wrong


def test_no_shared_object_lies_beside_a_source() -> None:
    assert not [path for folder in sources.PRODUCT for path in (sources.ROOT / folder).rglob("*.so")]
