"""
The merger alone.
"""

from __future__ import annotations

import pytest

from headway import Artifact, Merger
from headway.builtins._policies import Full, Guarded
from headway.contracts import Card, content_digest
from headway.errors import ContractError


def card(number, base=0, diff=None, **more):
    diff = {"k": number} if diff is None else diff
    more = {"keys": tuple(sorted(diff))} | more
    return Card(
        number=number,
        tickets=(number,),
        task="t",
        base=base,
        diff=diff,
        digest=content_digest(diff),
        **more,
    )


def numbers(sweep):
    return {
        name: [c.number for c in getattr(sweep, name)]
        for name in ("accepted", "rebased", "stale", "duplicates")
        if getattr(sweep, name)
    }


def guarded(alpha=2):
    return Merger(decide=Guarded().decide, alpha=alpha)


def test_every_card_goes_on_one_pile():
    """
    By how far its base is behind the head.
    """
    cards = [card(0, base=7), card(1, base=6), card(2, base=5), card(3, base=4)]
    sweep = guarded().sweep(cards, head=7)

    assert {"accepted": [0], "rebased": [1, 2], "stale": [3]} == numbers(sweep)
    assert [0] == [c.eta for c in sweep.accepted]
    assert [1, 2] == [c.eta for c in sweep.rebased]
    assert [3] == [c.eta for c in sweep.stale]


def test_the_policy_is_asked_with_all_it_needs():
    """
    Eta, alpha, and whether a contract is broken; once a card.
    """
    asked = []

    def decide(*question):
        asked.append(question)
        return "accept"

    merger = Merger(decide=decide, alpha=3)
    merger.sweep([card(0, base=1), card(1, base=4, contract_breaking=True)], head=4)

    assert [(3, 3, False), (0, 3, True)] == asked


def test_a_second_card_that_says_the_same_is_a_duplicate():
    """
    The older one stays, whatever their bases.
    """
    same = {"k": 1}
    sweep = guarded().sweep([card(0, 6, same), card(1, 7, same), card(2, 7)], head=7)

    assert {"rebased": [0], "accepted": [2], "duplicates": [1]} == numbers(sweep)


def test_a_stale_card_makes_no_duplicate():
    """
    It is no card that could stand for another one.
    """
    same = {"k": 1}
    sweep = guarded().sweep([card(0, 0, same), card(1, 7, same)], head=7)

    assert {"stale": [0], "accepted": [1]} == numbers(sweep)


def test_one_change_to_two_parents_is_two_things():
    """
    A duplicate has the parent in common too.
    """
    same, parent = {"k": 1}, Artifact([1])
    cards = [
        card(0, 7, same),
        card(1, 7, same, parent=parent),
        card(2, 7, same, parent=Artifact([1])),
    ]
    sweep = guarded().sweep(cards, head=7)

    assert {"accepted": [0, 1], "duplicates": [2]} == numbers(sweep)


def test_a_card_with_a_parent_of_its_own_is_not_rebased():
    """
    Its parent is still what it was; too old is too old all the same.
    """
    parent = Artifact([1])
    cards = [card(0, 6, parent=parent), card(1, 1, parent=parent)]

    assert {"accepted": [0], "stale": [1]} == numbers(guarded().sweep(cards, head=7))


@pytest.mark.parametrize("answer", ["maybe", None, True])
def test_an_answer_that_is_none_breaks_the_contract(answer):
    """
    The message says what was answered and what may be.
    """
    merger = Merger(decide=lambda *question: answer, alpha=2)
    with pytest.raises(ContractError, match=f"{answer!r} for eta=1") as raised:
        merger.sweep([card(0)], head=1)

    assert "'accept', 'rebase' or 'discard'" in str(raised.value)


def test_a_sweep_changes_nothing():
    """
    The same cards at the same head are judged the same again.
    """
    merger = guarded()
    cards = [card(0, 6), card(1, 7)]

    assert merger.sweep(cards, head=7) == merger.sweep(cards, head=7)
    assert {} == numbers(merger.sweep([], head=7))


def test_a_card_is_untouched_while_nobody_changes_its_keys():
    """
    Commits of other keys, and those that it has seen, do not count.
    """
    merger = Merger(decide=Full().decide, alpha=1)
    merger.committed(1, ["a"])
    merger.committed(2, ["b"])
    of_a = card(0, base=1, diff={"a": 1})
    of_both = card(1, base=1, diff={"a": 1, "b": 1})

    assert merger.untouched(of_a)
    assert not merger.untouched(of_both)
    merger.committed(3, ["a"])
    assert not merger.untouched(of_a)


def test_nobody_knows_what_a_stranger_changed():
    """
    A head that somebody else moved, or a change of everything, touches every card behind it.
    """
    for change in (lambda m: m.moved(4), lambda m: m.committed(4, ["*"])):
        merger = Merger(decide=Full().decide, alpha=1)
        change(merger)

        assert not merger.untouched(card(0, base=3))
        assert merger.untouched(card(0, base=4))


def test_a_card_that_touches_everything_is_never_untouched():
    """
    Not even when there was no commit.
    """
    assert not guarded().untouched(card(0, keys=("*",)))
