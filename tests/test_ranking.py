"""
Rankings: the answer that complete rows would give, as early as it is certain.
"""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from headway.contracts import Comparison
from headway.machine._ranking import Ranking

SCORES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0])


@st.composite
def tables(draw):
    """
    A reference's row and those of up to three candidates.
    """
    size = draw(st.integers(1, 5))
    row = st.lists(SCORES, min_size=size, max_size=size)
    return draw(st.lists(row, min_size=2, max_size=4))


def complete(table):
    ranking = Ranking(0.0, 1.0)
    for row in table:
        ranking.add(len(row), row)
    return ranking.answer


def by_definition(table):
    bar, *means = [round(sum(row) / len(row), 9) for row in table]
    better = tuple(n for n, mean in enumerate(means) if mean > bar)
    best = max(better, key=lambda n: (means[n], -n), default=None)
    return Comparison(best=best, better=better)


@given(tables())
def test_complete_rows_give_the_answer_by_definition(table):
    """
    The best is the first of the highest means above the reference's; a tie beats nothing.
    """

    assert by_definition(table) == complete(table)


@given(tables(), st.randoms(use_true_random=False))
def test_no_order_of_arrival_changes_the_answer(table, rng):
    """
    Whenever the answer is first given, it is the one that complete rows give.
    """
    places = [(row, place) for row, scores in enumerate(table) for place in range(len(scores))]
    rng.shuffle(places)
    ranking = Ranking(0.0, 1.0)
    for row in table:
        ranking.add(len(row), [])
    answers = []
    for row, place in places:
        ranking.arrived(row, table[row][place])
        answers.append(ranking.answer)
    given_answers = [answer for answer in answers if answer is not None]

    assert given_answers
    assert {by_definition(table)} == set(given_answers)


@given(tables(), st.data())
def test_the_answer_waits_only_while_it_is_open(table, data):
    """
    While no answer is given, two ways to fill in the missing scores disagree.
    """
    known = [data.draw(st.integers(0, len(row))) for row in table]
    ranking = Ranking(0.0, 1.0)
    for row, number in zip(table, known, strict=True):
        ranking.add(len(row), row[:number])
    missing = [len(row) - number for row, number in zip(table, known, strict=True)]
    fills = product(*[[[end] * number for end in (0.0, 1.0)] for number in missing])
    filled = [[r[:n] + f for r, n, f in zip(table, known, fill, strict=True)] for fill in fills]
    outcomes = {by_definition(rows) for rows in filled}

    assert (ranking.answer is None) == (len(outcomes) > 1)


def test_rounding_makes_no_winner():
    """
    Sums that differ by rounding alone are a tie.
    """
    row = [0.1, 0.2, 0.3]

    assert Comparison(best=None, better=()) == complete([row, row[::-1]])


def test_a_range_without_an_end_needs_every_score():
    """
    Nothing is certain about a mean whose missing score may be anything.
    """
    ranking = Ranking(float("-inf"), float("inf"))
    ranking.add(2, [5.0, 5.0])
    ranking.add(2, [900.0])

    assert ranking.answer is None

    ranking.arrived(1, 0.0)

    assert Comparison(best=0, better=(0,)) == ranking.answer
