"""A notice in the shapes that others read: JSON of our own, Slack, Teams, DingTalk, PagerDuty, text. Pure.

Slack: api.slack.com/messaging/webhooks. Teams: a message with an adaptive card, as its workflows take it. DingTalk:
open.dingtalk.com, custom robots. PagerDuty: developer.pagerduty.com, Events API v2.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from collector.monitor.alerts.evaluation import Alert
from collector.monitor.alerts.outbox import Notice

_MOST_LISTED: Final = 20

Shape = Callable[[Notice, str, str], list[dict[str, Any]]]
"""Of a notice, the host and a secret: the bodies to be sent, one after the other."""


def subject(notice: Notice, host: str) -> str:
    """One line."""
    parts = []
    if notice.firing:
        worst = "critical" if any(alert.rule.severity == "critical" for alert in notice.firing) else "warning"
        parts.append(f"{len(notice.firing)} {'still ' if notice.again else ''}firing ({worst})")
    if notice.resolved:
        parts.append(f"{len(notice.resolved)} resolved")
    return f"[querytap] {host}: {', '.join(parts)}"


def text(notice: Notice, host: str) -> str:
    """All of it, a line an alert."""
    lines = [f"{alert.rule.severity.upper()} {alert.rule.name}: {alert.text(host)}" for alert in notice.firing]
    lines += [f"RESOLVED {alert.rule.name}: {alert.text(host)}" for alert in notice.resolved]
    more = len(lines) - _MOST_LISTED
    return "\n".join([*lines[:_MOST_LISTED], *([f"and {more} more"] if more > 0 else [])])


def own(notice: Notice, host: str, _: str = "") -> list[dict[str, Any]]:
    """JSON with everything."""
    return [
        {
            "format": 1,
            "host": host,
            "repeated": notice.again,
            "firing": [_as_map(alert, host) for alert in notice.firing],
            "resolved": [_as_map(alert, host) for alert in notice.resolved],
        }
    ]


def slack(notice: Notice, host: str, _: str = "") -> list[dict[str, Any]]:
    """For an incoming webhook of Slack, and of what takes the same."""
    return [{"text": f"*{subject(notice, host)}*\n{text(notice, host)}"}]


def teams(notice: Notice, host: str, _: str = "") -> list[dict[str, Any]]:
    """For a webhook of Teams."""
    blocks = [
        {"type": "TextBlock", "text": subject(notice, host), "weight": "bolder", "wrap": True},
        *({"type": "TextBlock", "text": line, "wrap": True} for line in text(notice, host).splitlines()),
    ]
    card = {"type": "AdaptiveCard", "version": "1.4", "body": blocks}
    kind = "application/vnd.microsoft.card.adaptive"
    return [{"type": "message", "attachments": [{"contentType": kind, "content": card}]}]


def dingtalk(notice: Notice, host: str, _: str = "") -> list[dict[str, Any]]:
    """For a custom robot of DingTalk."""
    return [{"msgtype": "text", "text": {"content": f"{subject(notice, host)}\n{text(notice, host)}"}}]


def pagerduty(notice: Notice, host: str, key: str = "") -> list[dict[str, Any]]:
    """An event an alert, which PagerDuty puts together by their keys; *key* is the integration's."""
    severity = {"critical": "critical", "warning": "warning", "info": "info"}
    events: list[dict[str, Any]] = [
        {
            "routing_key": key,
            "event_action": "trigger",
            "dedup_key": _mark(alert, host),
            "payload": {
                "summary": f"{alert.rule.name}: {alert.text(host)}"[:1024],
                "source": host,
                "severity": severity[alert.rule.severity],
                "custom_details": _as_map(alert, host),
            },
        }
        for alert in notice.firing
    ]
    events += [
        {"routing_key": key, "event_action": "resolve", "dedup_key": _mark(alert, host)} for alert in notice.resolved
    ]
    return events


SHAPES: Final[Mapping[str, Shape]] = {
    "webhook": own, "slack": slack, "teams": teams, "dingtalk": dingtalk, "pagerduty": pagerduty,
}  # fmt: skip


def _as_map(alert: Alert, host: str) -> dict[str, Any]:
    return {
        "rule": alert.rule.name,
        "severity": alert.rule.severity,
        "metric": alert.rule.metric,
        "labels": dict(alert.labels),
        "value": alert.value,
        "since": dt.datetime.fromtimestamp(alert.since, dt.UTC).isoformat(timespec="seconds"),
        "text": alert.text(host),
    }


def _mark(alert: Alert, host: str) -> str:
    return hashlib.sha256(repr((host, alert.key)).encode()).hexdigest()[:32]
