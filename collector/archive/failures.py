"""Says what it means that a remote store did not do as asked, and what helps. Pure: works on what obstore raised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from collector.archive.packing import first_line

Kind = Literal["unreachable", "busy", "full", "denied", "missing", "unsupported", "locked", "refused"]

REMEDIES: Final[dict[Kind, str]] = {
    "unreachable": "see whether this host reaches it, and store.endpoint, store.ca_file, store.timeout_s",
    "busy": "it is tried again; where it lasts, ask who runs the store",
    "full": "make room there (querytap prune), or have its quota raised; then it goes on by itself",
    "denied": "see store.credentials_file, and that they allow to write there",
    "missing": "make the bucket, or see store.url and store.endpoint",
    "unsupported": "it has no create-only writes (If-None-Match: *), which querytap needs: name another in store.url",
    "locked": "its bucket keeps objects (Object Lock) and demands a checksum: set store.object_lock = 'bucket'",
    "refused": "see store.url, store.region and store.endpoint",
}

_STATUS: Final = re.compile(r"non-2xx status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,64})</Code>")
# Of the causes that follow in the error's text, from the outside in.
_CAUSE: Final = re.compile(
    r'InvalidCertificate\(\s*(\w+)|message: "([^"]{1,200})"|"(dns error)"|kind: (Connect)\b|(TimedOut)'
)
_IN_WORDS: Final = {
    "Connect": "no connection",
    "TimedOut": "time is over",
    "dns error": "the name is not known",
    "UnknownIssuer": "its certificate is signed by nobody who is trusted here",
    "NotValidForName": "its certificate is for another name",
    "Expired": "its certificate is expired",
}
_FULL: Final = frozenset({"QuotaExceeded"})  # Ceph's, with 403
_INSUFFICIENT_STORAGE: Final = 507  # RFC 4918, section 11.5
_DEMANDS: Final = re.compile("(?:Content-MD5|x-amz-checksum).{1,200}Object Lock", re.DOTALL)
_BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
# https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
_AZURE_EXISTS: Final = "BlobAlreadyExists"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request failed, without a secret."""

    kind: Kind
    message: str

    @property
    def remedy(self) -> str:
        """What helps."""
        return REMEDIES[self.kind]


def is_there_already(error: Exception) -> bool:
    """Whether a create-only write failed because the object exists.

    obstore says so of every 409 too; S3 answers that when another request is in the way, and has stored nothing then
    (https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
    """
    if type(error).__name__ != "AlreadyExistsError":
        return False
    text = str(error)
    return _status(text) in {None, 412} or _AZURE_EXISTS in text


def failure(error: Exception) -> Failure:
    """What *error*, which obstore raised, means."""
    text = str(error)
    status = _status(text)
    if status is not None:
        found = _CODE.search(text)
        code = found[1] if found else ""
        kind: Kind = "locked" if status == 400 and _DEMANDS.search(text) else _kind(status, code)
        return Failure(kind, f"the store answers {status} {code}".rstrip())
    if "HTTP error" in text:
        causes = [next(filter(None, match.groups())) for match in _CAUSE.finditer(text)]
        cause = causes[-1] if causes else "the connection broke"
        return Failure("unreachable", f"no answer: {_IN_WORDS.get(cause, cause)}")
    return Failure("refused", re.sub(r"\?\S*", "?", first_line(error)))


def _kind(status: int, code: str) -> Kind:
    if status == _INSUFFICIENT_STORAGE or code in _FULL:
        return "full"
    if status in {401, 403}:
        return "denied"
    if status == 404:
        return "missing"
    if status == 501:
        return "unsupported"
    return "busy" if status in _BUSY or status >= 500 else "refused"


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1]) if found else None
