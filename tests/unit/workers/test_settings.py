from __future__ import annotations

import dataclasses

import pytest

from workers.settings import Settings


def test_settings_are_values_that_do_not_change() -> None:
    settings = Settings(ports=(3306,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.max_flows = 1  # type: ignore[misc]  # that it cannot be set is what is tested
    assert settings == Settings(ports=(3306,))
    assert dataclasses.replace(settings, max_flows=1).max_flows == 1


def test_the_ports_have_to_be_named() -> None:
    with pytest.raises(TypeError):
        Settings()  # type: ignore[call-arg]  # that it is missing is what is tested
