"""What is promised of statement ids that are inferred: a text is the statement's own, or it is not there."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.one_way import Sent, captured, heard, joined, talks

SLOW = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(talks(in_a_row=True), st.booleans())
def test_where_all_is_prepared_first_each_execution_has_its_text_from_the_first_statements_on(
    sent: Sent, answers: bool
) -> None:
    played = heard(captured(sent), answers=answers)
    known = False
    for truth, record in joined(played, sent):
        known = known or record.statement_id == 1  # the number that can be no other's
        if known or record.text is not None:
            assert (record.text, record.parameters) == (truth.text, truth.values)
            assert record.flags == {"inferred_id"}
    assert played.unread_parameters == 0


@SLOW
@given(talks(), st.booleans())
def test_no_execution_has_a_text_that_is_not_its_own_whatever_numbers_the_server_takes(
    sent: Sent, answers: bool
) -> None:
    for truth, record in joined(heard(captured(sent), answers=answers), sent):
        if record.text is not None:
            assert (record.text, record.parameters) == (truth.text, truth.values)
            assert "inferred_id" in record.flags


@SLOW
@given(talks(), st.booleans(), st.data())
def test_behind_a_gap_there_is_no_text_and_before_it_the_right_one(
    sent: Sent, answers: bool, data: st.DataObject
) -> None:
    lost = {data.draw(st.integers(0, len(sent.commands) - 1))}
    for truth, record in joined(heard(captured(sent, lost), answers=answers), sent, lost):
        assert record.text in {truth.text, None}
        assert record.text is None or "inferred_id" in record.flags


@SLOW
@given(talks(), st.booleans(), st.data())
def test_of_a_connection_joined_late_no_id_is_inferred(sent: Sent, answers: bool, data: st.DataObject) -> None:
    begin = data.draw(st.integers(1, len(sent.commands)))
    played = heard(captured(sent)[begin:], answers=answers, from_start=False)
    for record in played.said:
        assert "inferred_id" not in record.flags
        assert record.text is None or not record.command.endswith("execute")


@SLOW
@given(talks(faults=True), st.booleans())
def test_where_a_prepare_took_no_number_a_text_is_right_or_absent_as_far_as_its_values_tell_and_flagged(
    sent: Sent, answers: bool
) -> None:
    for truth, record in joined(heard(captured(sent), answers=answers), sent):
        if record.text is not None:
            assert "inferred_id" in record.flags
            assert record.parameters == truth.values
            assert record.text.count(b", ?") == truth.text.count(b", ?")
