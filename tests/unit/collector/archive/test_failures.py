from __future__ import annotations

import pytest
from obstore.exceptions import AlreadyExistsError, GenericError, PermissionDeniedError

from collector.archive.failures import REMEDIES, failure, is_there_already

ANSWER = "Error performing PUT {url} in 1s - Server returned non-2xx status code: {status}: <Code>{code}</Code>\n\n"


def answer(status: str, code: str = "Why") -> str:
    return ANSWER.format(url="https://host/bucket/name", status=status, code=code)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PermissionDeniedError(answer("403 Forbidden")), "denied"),
        (GenericError(answer("401 Unauthorized")), "denied"),
        (FileNotFoundError(answer("404 Not Found", "NoSuchBucket")), "missing"),
        (GenericError(answer("501 Not Implemented")), "unsupported"),
        (GenericError(answer("503 Slow Down")), "busy"),
        (GenericError(answer("507 Insufficient Storage")), "full"),
        (PermissionDeniedError(answer("403 Forbidden", "QuotaExceeded")), "full"),
        (GenericError(answer("429 Too Many Requests")), "busy"),
        (AlreadyExistsError(answer("409 Conflict", "OperationAborted")), "busy"),
        (GenericError(answer("400 Bad Request")), "refused"),
        (GenericError("Generic S3 error: Received redirect without LOCATION"), "refused"),
        (GenericError("Generic S3 error: HTTP error: error sending request"), "unreachable"),
    ],
)
def test_each_failure_is_of_one_kind_that_has_a_remedy(error: Exception, kind: str) -> None:
    found = failure(error)
    assert found.kind == kind
    assert found.remedy == REMEDIES[found.kind]


def test_what_the_store_answers_is_told() -> None:
    assert failure(GenericError(answer("503 Slow Down", "SlowDown"))).message == "the store answers 503 SlowDown"


@pytest.mark.parametrize(
    ("debug", "told"),
    [
        ('kind: Connect, message: "Connection refused"', "no answer: Connection refused"),
        ("kind: Request, source: TimedOut", "no answer: time is over"),
        ('kind: Connect, "dns error"', "no answer: the name is not known"),
        ("InvalidCertificate(\n  UnknownIssuer)", "no answer: its certificate is signed by nobody who is trusted here"),
        ("something else", "no answer: the connection broke"),
    ],
)
def test_of_a_broken_connection_the_innermost_cause_is_told(debug: str, told: str) -> None:
    assert failure(GenericError(f"HTTP error: error sending request\n\nDebug source:\n{debug}")).message == told


def test_the_query_of_a_url_which_may_hold_a_signature_is_never_told() -> None:
    found = failure(GenericError("cannot use https://account/container?sv=1&sig=SECRET for this"))
    assert found.message == "cannot use https://account/container? for this"


@pytest.mark.parametrize(
    ("error", "there"),
    [
        (AlreadyExistsError(answer("412 Precondition Failed")), True),
        (AlreadyExistsError(answer("409 Conflict", "BlobAlreadyExists")), True),
        (AlreadyExistsError("Object at location x already exists"), True),
        (AlreadyExistsError(answer("409 Conflict", "ConditionalRequestConflict")), False),
        (GenericError(answer("412 Precondition Failed")), False),
    ],
)
def test_an_object_is_there_already_only_where_the_store_says_so(error: Exception, *, there: bool) -> None:
    assert is_there_already(error) is there
