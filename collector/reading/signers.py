"""Who signed what is read. A host's name is in clear and anyone can write it; what proves an origin is the instance."""

from __future__ import annotations


class Signers:
    """The instances that objects of each host were signed by."""

    def __init__(self) -> None:
        self._instances: dict[str, list[str]] = {}

    def note(self, host: str, instance: str) -> str | None:
        """A line for the first object of each further instance of a host; None for all others."""
        known = self._instances.setdefault(host, [])
        if instance in known:
            return None
        known.append(instance)
        if len(known) == 1:
            return None
        return (
            f"more than one instance has signed as host {host}: {', '.join(known)}; a host that was set up anew"
            " has a new one, and so has whoever takes its name: see --instance"
        )
