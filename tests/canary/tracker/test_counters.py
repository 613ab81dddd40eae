"""The identities of the books, each by the sentence that tells its breach."""

import pytest

from canary.tracker.counters import CONCLUDING, Counters, Flag, Outcome


def closed() -> Counters:
    return Counters(
        expected=30, settled=12, good=5, late=3, overdue=2, lost=1, produce_failed=1, produce_unknown=1,
        warmup=4, skipped=5, abandoned=1, unknown=2, recovered=1, in_flight=5, outstanding=1,
    )  # fmt: skip


def test_closed_books_have_no_discrepancy():
    assert closed().discrepancies() == []
    assert (closed().concluded, closed().delivered) == (11, 8)


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("expected", ["expected 31 is not concluded 11 + others 14 + in flight 5"]),
        ("skipped", ["expected 30 is not concluded 11 + others 15 + in flight 5"]),
        ("in_flight", ["expected 30 is not concluded 11 + others 14 + in flight 6"]),
        ("recovered", ["overdue 2 + inherited 0 is not recovered, confirmed and closed 2 + outstanding 1"]),
        ("confirmed", ["overdue 2 + inherited 0 is not recovered, confirmed and closed 2 + outstanding 1"]),
        ("closed", ["overdue 2 + inherited 0 is not recovered, confirmed and closed 2 + outstanding 1"]),
        ("outstanding", ["overdue 2 + inherited 0 is not recovered, confirmed and closed 1 + outstanding 2"]),
        (
            "inherited",
            ["overdue 2 + inherited 1 is not recovered, confirmed and closed 1 + outstanding 1"],
        ),
        ("returned", []),
        ("duplicated", []),
        ("settled", []),
    ],
)
def test_one_too_many_is_told_where_a_sum_depends_on_it(name, sentences):
    books = closed()
    setattr(books, name, getattr(books, name) + 1)
    assert books.discrepancies() == sentences


@pytest.mark.parametrize("settled", [10, 31])
def test_settled_lies_between_concluded_and_expected(settled):
    books = closed()
    books.settled = settled
    assert books.discrepancies() == [f"settled {settled} is not between concluded 11 and expected 30"]


def test_a_negative_count_of_what_is_open_is_told():
    books = Counters(expected=-1, in_flight=-1)
    assert "in flight or outstanding is negative" in books.discrepancies()


@pytest.mark.parametrize("entry", [*Outcome, *Flag])
def test_each_outcome_and_mark_has_a_counter_of_its_own(entry):
    books = Counters()
    books.count(entry)
    books.count(entry, 4)
    moved = {name for name, number in books.as_dict().items() if number}
    sums = {"concluded"} if entry in CONCLUDING else set()
    sums |= {"delivered"} if entry in (Outcome.GOOD, Outcome.LATE) else set()
    assert moved == {entry.value} | sums
    assert books.as_dict()[entry.value] == 5
