"""Seals objects for other recipients: stanzas are written anew, and nothing else is.

Signatures, hashes and names leave the stanzas out (docs/archive-format.md), so the object stays what its host signed.
"""

from __future__ import annotations

from collections.abc import Sequence

from collector.archive.keyfile import identity
from collector.archive.layout import MOST_STANZAS, ObjectError, pack_prefix, pack_stanza
from collector.archive.stanzas import wrap
from collector.reading.objects import SealedObject


def new_start(sealed: SealedObject, add: Sequence[bytes], remove: frozenset[bytes]) -> bytes | None:
    """What is to stand before the frames; None where nothing changes.

    *add* are raw public keys, *remove* the ids of others. Raises ObjectError where nobody, or too many, could open it.
    """
    clear = sealed.clear
    stanzas = [stanza for stanza in clear.stanzas if stanza.recipient not in remove]
    for public in add:
        if identity(public) not in {stanza.recipient for stanza in stanzas}:
            stanzas.append(wrap(sealed.content_key, public, clear.bound))
    if not stanzas:
        raise ObjectError("nobody could open it any more: it was left as it is")
    if len(stanzas) > MOST_STANZAS:
        raise ObjectError(f"it would have {len(stanzas)} recipients, {MOST_STANZAS} are allowed: it was left as it is")
    if tuple(stanzas) == clear.stanzas:
        return None
    packed = b"".join(map(pack_stanza, stanzas))
    return pack_prefix(len(stanzas), len(clear.packed)) + clear.packed + packed + clear.signature
