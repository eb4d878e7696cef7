"""Statement texts of the published workload: SELECT, INSERT, UPDATE and DELETE of 50 to 281 bytes.

The texts look like a web shop's: identifiers repeat, values do not. They are meant to be recorded, not to be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

SHORTEST_BYTES: Final = 50
LONGEST_BYTES: Final = 281

_FIRST_NAMES: Final = ("Anna", "Björn", "Chen", "Dmitri", "Elif", "Fatima", "Giulia", "Hiro", "Łukasz", "Zoë", "Olu")
_LAST_NAMES: Final = ("Schmidt", "O\\'Brien", "García", "Nowak", "Tanaka", "Okafor", "Rossi", "Silva", "Kaya", "Novák")
_MAIL_HOSTS: Final = ("example.com", "example.net", "example.org", "mail.example", "shop.example")
_STATES: Final = ("new", "paid", "packed", "shipped", "returned", "cancelled")
_WORDS: Final = (
    "left at the reception", "ring twice", "fragile", "second floor", "call before delivery", "gift, no invoice",
    "replacement for a broken part", "customer will collect", "address corrected", "behind the house", "express",
    "not before 17:00", "neighbour has the key",
)  # fmt: skip

Template = Callable[[Random], str]


def _identity(random: Random) -> int:
    return int(random.random() ** 3 * 9_000_000) + 1  # a few rows are hot, as in a real table


def _moment(random: Random) -> str:
    minute, second = divmod(random.randrange(86_400), 60)
    day = f"2025-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"
    return f"{day} {minute // 60:02d}:{minute % 60:02d}:{second:02d}"


def _notes(random: Random, most: int) -> str:
    return ", ".join(random.choice(_WORDS) for _ in range(random.randint(1, most)))


def _mail(random: Random) -> str:
    return f"user{_identity(random)}@{random.choice(_MAIL_HOSTS)}"


def _select_order(random: Random) -> str:
    return f"SELECT id, customer_id, state, total_cents, created_at FROM orders WHERE id = {_identity(random)}"


def _select_by_mail(random: Random) -> str:
    return f"SELECT id, first_name, last_name FROM customers WHERE email = '{_mail(random)}' LIMIT 1"


def _select_name(random: Random) -> str:
    return f"SELECT id, title, stock FROM products WHERE id = {_identity(random)}"


def _select_mapped(random: Random) -> str:
    return (
        "select o1_0.id, o1_0.created_at, o1_0.customer_id, o1_0.note, o1_0.rev, o1_0.state, o1_0.total_cents, "
        f"o1_0.updated_at from orders o1_0 where o1_0.customer_id = {_identity(random)} and o1_0.state in "
        f"('{random.choice(_STATES)}', '{random.choice(_STATES)}') order by o1_0.created_at desc, o1_0.id "
        f"limit {random.choice((10, 25))}"
    )


def _select_in(random: Random) -> str:
    numbers = ", ".join(str(_identity(random)) for _ in range(random.randint(2, 24)))
    return f"SELECT sku, title, price_cents, stock FROM products WHERE id IN ({numbers}) AND active = 1"


def _select_join(random: Random) -> str:
    return (
        "SELECT o.id, o.total_cents, c.email, COUNT(i.id) AS items FROM orders o JOIN customers c "
        "ON c.id = o.customer_id LEFT JOIN order_items i ON i.order_id = o.id "
        f"WHERE o.customer_id = {_identity(random)} AND o.created_at > '{_moment(random)}' "
        f"GROUP BY o.id LIMIT {random.choice((10, 20, 50))}"
    )


def _select_range(random: Random) -> str:
    low = _identity(random)
    return f"SELECT SUM(quantity) FROM order_items WHERE product_id BETWEEN {low} AND {low + random.randint(9, 999)}"


def _select_traced(random: Random) -> str:
    trace = f"{random.getrandbits(128):032x}"
    return (
        f"/* app=checkout,trace={trace} */ SELECT session_id, payload, expires_at FROM sessions "
        f"WHERE session_id = '{random.getrandbits(96):024x}' AND expires_at > '{_moment(random)}'"
    )


def _insert_item(random: Random) -> str:
    return (
        "INSERT INTO order_items (order_id, product_id, quantity, price_cents) VALUES "
        f"({_identity(random)}, {_identity(random)}, {random.randint(1, 9)}, {random.randint(99, 99_999)})"
    )


def _insert_customer(random: Random) -> str:
    return (
        "INSERT INTO customers (first_name, last_name, email, created_at, note) VALUES "
        f"('{random.choice(_FIRST_NAMES)}', '{random.choice(_LAST_NAMES)}', '{_mail(random)}', '{_moment(random)}', "
        f"'{_notes(random, 4)}')"
    )


def _insert_event(random: Random) -> str:
    detail = f'{{"ms": {random.randint(1, 900)}, "node": "web-{random.randint(1, 48)}"}}'
    return (
        f"INSERT INTO events (kind, subject_id, at, detail) VALUES ('{random.choice(_STATES)}', {_identity(random)}, "
        f"'{_moment(random)}', '{detail}')"
    )


def _update_state(random: Random) -> str:
    change = f"state = '{random.choice(_STATES)}', updated_at = '{_moment(random)}'"
    return f"UPDATE orders SET {change} WHERE id = {_identity(random)}"


def _update_stock(random: Random) -> str:
    return f"UPDATE products SET stock = stock - {random.randint(1, 5)} WHERE id = {_identity(random)} AND stock >= 5"


def _update_note(random: Random) -> str:
    row = f"id = {_identity(random)} AND rev = {random.randint(0, 40)}"
    return f"UPDATE orders SET note = '{_notes(random, 6)}', rev = rev + 1 WHERE {row}"


def _delete_cart(random: Random) -> str:
    return f"DELETE FROM cart_items WHERE cart_id = {_identity(random)} AND product_id = {_identity(random)}"


def _delete_sessions(random: Random) -> str:
    most = random.choice((100, 500, 1000))
    return f"DELETE FROM sessions WHERE expires_at < '{_moment(random)}' ORDER BY expires_at LIMIT {most}"


# Weights in percent: 70 SELECT, 12 INSERT, 12 UPDATE, 6 DELETE. The published workload names the four kinds and the
# sizes, not the mix; this is the mix of a read-mostly web application, between sysbench's point_select and read_write.
_TEMPLATES: Final[tuple[tuple[Template, int], ...]] = (
    (_select_name, 8),
    (_select_order, 10),
    (_select_by_mail, 9),
    (_select_in, 13),
    (_select_join, 9),
    (_select_mapped, 9),
    (_select_range, 4),
    (_select_traced, 8),
    (_insert_item, 5),
    (_insert_customer, 3),
    (_insert_event, 4),
    (_update_state, 5),
    (_update_stock, 4),
    (_update_note, 3),
    (_delete_cart, 4),
    (_delete_sessions, 2),
)


def statements(random: Random) -> Iterator[bytes]:
    """Endless statement texts in UTF-8, SHORTEST_BYTES to LONGEST_BYTES long, the same for the same *random*."""
    templates = [template for template, _ in _TEMPLATES]
    weights = [weight for _, weight in _TEMPLATES]
    while True:
        for template in random.choices(templates, weights, k=256):
            text = template(random).encode()
            if SHORTEST_BYTES <= len(text) <= LONGEST_BYTES:
                yield text
