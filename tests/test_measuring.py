"""
Measurements alone: how often one that fails is tried, and the means of what is known.
"""

from __future__ import annotations

import pytest

from headway import Artifact, Measure
from headway.machine._measuring import MAX_TRIES, MOST_TRIES, Measuring


class Played:
    """
    Measures one thing after the other.
    """

    def __init__(self):
        self.measuring, self.calls = Measuring(), 0

    def want(self, value, *tasks):
        self.measuring.want(("step", self.calls), Measure((Artifact(value),), tasks))

    def begin(self):
        item = self.measuring.next()
        self.calls += 1
        self.measuring.started(item, self.calls)
        return item

    def scored(self, value, *tasks):
        self.want(value, *tasks)
        for _ in tasks:
            self.begin()
            self.measuring.done(self.calls, 0.5)

    def fails(self, **how):
        """
        Whether the next one is given up.
        """
        item = self.begin()
        given_up = self.measuring.failed(self.calls, **how)
        assert given_up in (None, item)
        return given_up is not None

    def tries(self, **how):
        """
        How often the next one is tried, which fails always.
        """
        return next(n for n in range(1, 100) if self.fails(**how))

    def backend(self, share):
        """
        What a backend has shown that fails so many times in ten measurements, each of them scored at last.
        """
        for n in range(100):
            self.want(f"old {n}", "y")
            if n % 10 < share:
                self.fails()
            self.begin()
            self.measuring.done(self.calls, 0.5)


@pytest.mark.parametrize("known", [(), ("x",)])
@pytest.mark.parametrize(("share", "expected"), [(0, 3), (1, 5), (3, 8), (7, 13)])
def test_the_more_others_fail_the_more_often_one_is_tried(share, expected, known):
    """
    As many failures in a row are borne as come by chance once in 100,000 times, of a candidate that
    has been scored on another task as of one that has not.
    """
    played = Played()
    if known:
        played.scored("new", *known)
    played.backend(share)
    played.want("new", "t")

    assert expected == played.tries()


def test_all_failures_of_an_unscored_candidate_count():
    """
    Once it has failed as often as that on all its tasks together, no task is tried more than thrice.
    """
    played = Played()
    played.backend(3)
    for task in "abc":
        played.want("new", task)

    assert [8, 3, 3] == [played.tries(), played.tries(), played.tries()]


def test_candidates_that_were_never_scored_say_nothing_of_the_backend():
    """
    However many of them fail, the next one is tried three times.
    """
    played = Played()
    played.scored("head", *"abcd")
    for n in range(10):
        played.want(f"broken {n}", "a")

    assert [MAX_TRIES] * 10 == [played.tries() for _ in range(10)]


@pytest.mark.parametrize("known", [(), ("x",)])
def test_a_failure_in_an_outage_is_nobodys(known):
    """
    Not the candidate's, and it makes no other one's failures more bearable; yet there is an end.
    """
    played = Played()
    played.scored("head", *"abcd")
    played.scored("new", *known)
    played.want("new", "t")
    borne = [played.fails(outage=True) for _ in range(20)]

    assert [False] * 20 == borne
    assert MAX_TRIES == played.tries()
    played.want("new", "u")
    assert MOST_TRIES == played.tries(outage=True)


@pytest.mark.parametrize(
    ("failing", "known", "expected"),
    [(False, "abcd", "tttu"), (True, "abcd", "tuvt"), (True, "", "tttu")],
)
def test_while_the_backend_is_taken_for_down_another_score_tries_it(failing, known, expected):
    """
    Else what failed is tried again first, until it is given up: so is a candidate that has no score
    yet, since it may fail whatever the task is.
    """
    played = Played()
    played.scored("head", *"abcd")
    played.scored("new", *known)
    played.want("new", *"tuv")
    tried = [played.begin().key[1]]
    for _ in range(3):
        played.measuring.failed(played.calls, failing=failing)
        tried.append(played.begin().key[1])

    assert [*expected] == tried


def test_a_mean_is_that_of_all_draws_known_by_now():
    """
    A mean that was told is told again until a score comes in, and is of the tasks that are asked about.
    """
    measuring, artifact = Measuring(), Artifact("new")
    tasks, found = ("x", "y"), []
    for task, draw, score in (("x", 0, 0.25), ("y", 0, 0.75), ("y", 1, 0.25)):
        measuring.remember((artifact.digest, task, draw), score)
        found += [measuring.mean(artifact, tasks), measuring.mean(artifact, tasks)]

    assert [None, None, 0.5, 0.5, 0.375, 0.375] == found
    assert 0.25 == measuring.mean(artifact, ("x",))
    assert 0.375 == measuring.mean(artifact, tasks)


def test_an_artifact_that_was_forgotten_has_no_mean():
    """
    Its scores are gone, so a mean that was told before is neither told nor kept any more.
    """
    measuring, first = Measuring(), Artifact("first")
    measuring.remember((first.digest, "x", 0), 0.5)
    before = measuring.mean(first, ("x",))
    for number in range(1000):
        measuring.remember((Artifact(number).digest, "x", 0), 0.5)
    after = measuring.mean(first, ("x",))
    measuring.validate()
    measuring.remember((first.digest, "x", 0), 1.0)

    assert (0.5, None, 1.0) == (before, after, measuring.mean(first, ("x",)))
