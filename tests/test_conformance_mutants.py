"""
The kit finds planted faults in parts of every kind but aggregators, and says what to do about them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kit import verdict
from mutants_decisions import (
    AcceptsTies,
    ByDelta,
    CountsDouble,
    DropsAll,
    DueOnce,
    Flips,
    ForgetsTheRest,
    KeepsAll,
    KnowsNoStar,
    LooksAhead,
    LosesOne,
    MakesCards,
    MergesParents,
    NeedsScores,
    NeverDue,
    NeverSure,
    OneTrialForAll,
    OnlyTheBest,
    Peeks,
    Repeats,
    Reversed,
    TossesCoins,
    UnionFirst,
)
from mutants_domains import (
    ClaimsTooMuch,
    Counts,
    DescribesSome,
    DrawsTasks,
    Generous,
    GlobalChance,
    Grows,
    Infinite,
    Misspells,
    Mutates,
    NamesHalf,
    NeverProposes,
    OtherTwin,
    OwnChance,
    RebasesToNothing,
    RemovesNothing,
    Speechless,
    Strays,
    TwiceTheSame,
    TwoMinds,
)
from mutants_ledgers import (
    AnswersBare,
    ComparesValues,
    FileAtTheEnd,
    ForgivesKeys,
    IgnoresExpected,
    LendsItsLog,
    LooksThenLeaps,
    LosesKeys,
    NeverClosed,
    PromotesToDev,
    ReusesNumbers,
    SharesItsState,
    StripsTexts,
    TakesAnyName,
)
from mutants_parts import (
    Answers,
    ClosesOnce,
    Copies,
    CountsCalls,
    DividesByAlpha,
    DropsEverySecond,
    ExpectsAReward,
    FindsNothingLeft,
    ForgetsTheWindow,
    FragilePool,
    GoesBelowZero,
    GuessesAtFirst,
    HurriesGroups,
    IsAsync,
    KnowsNoSeed,
    KnowsThemAll,
    LearnsFromQuestions,
    LeavesOutTheLast,
    LendsItsMemory,
    LikesBreaking,
    LooksThroughNoWindow,
    LovesTruth,
    NeverLearns,
    OnALoop,
    OneAtATime,
    OpensTheWindow,
    PicksHeldOut,
    Pool,
    PrefersTheOld,
    QuantilesFall,
    RebasesTheFresh,
    RemembersPicks,
    RollsDice,
    SaysNothing,
    SaysNothingOfGroups,
    SharesItsSums,
    SkipsRetries,
    Swallows,
    TakesTwo,
    TidiesTheHead,
    WaitsForTheStart,
    Wraps,
)

from headway.builtins.sqlite import SqliteLedger
from headway.testing.conformance import (
    AcceptanceContract,
    ConflictContract,
    DomainContract,
    DurationEstimatorContract,
    ExecutorContract,
    FusionContract,
    LedgerContract,
    ObserverContract,
    PromotionContract,
    SamplerContract,
    StalenessPolicyContract,
)

FOUND = {
    StalenessPolicyContract: [
        (SaysNothing, "every_answer_is_one_of_the_three", "gave None", "on every path"),
        (DividesByAlpha, "every_answer_is_one_of_the_three", "ZeroDivision", "answer every eta"),
        (CountsCalls, "equal_arguments_give_equal_answers", "'discard' later", "count nothing"),
        (
            PrefersTheOld,
            "a_staler_card_is_judged_no_more_kindly",
            "'accept' at eta 5",
            "monotone =",
        ),
        (
            RebasesTheFresh,
            "a_card_that_is_not_behind_is_accepted",
            "gave 'rebase'",
            "accept whatever",
        ),
        (LikesBreaking, "breaking_a_contract_is_judged_no_more_kindly", "without", "discard what"),
        (CountsCalls, "equal_runs_come_out_equal", "digests", "keep nothing"),
        (HurriesGroups, "its_rule_can_be_used", "rule is 'hurry'", "declare 'wait'"),
        (LooksThroughNoWindow, "its_rule_can_be_used", "window is 0", "from 1 on"),
        (OpensTheWindow, "its_rule_can_be_used", "window is 4", "and with no other"),
        (SaysNothingOfGroups, "runs_of_groups_end_well_with_it", "None", "discard of groups"),
        (DropsEverySecond, "groups_are_no_older_than_it_says", "versions old", "answer alike"),
    ],
    DurationEstimatorContract: [
        (GoesBelowZero, "predictions_are_durations", "gave -", "cut what falls below 0"),
        (QuantilesFall, "a_higher_level_is_no_shorter_time", "only", "sort what was seen"),
        (ForgetsTheWindow, "its_memory_brings_everything_along", "put back", "give in memory all"),
        (GuessesAtFirst, "it_knows_nothing_before_it_has_seen_something", "60.0", "return None"),
        (LearnsFromQuestions, "equal_observations_give_equal_answers", "asked", "change nothing"),
        (SharesItsSums, "estimators_share_nothing", "another one was taught", "in the object"),
        (LendsItsMemory, "its_memory_is_a_value", "became", "give a copy"),
        (NeverLearns, "it_learns", "1.0", "let observe change"),
    ],
    SamplerContract: [
        (PicksHeldOut, "it_picks_training_tasks", "held-out", "one of book.train"),
        (RemembersPicks, "equal_books_give_equal_tasks", "later", "by the book alone"),
        (RollsDice, "equal_runs_come_out_equal", "digests", "that the book does not say"),
        (SkipsRetries, "a_task_to_be_retried_is_served", "did not come", "the oldest first"),
        (LeavesOutTheLast, "every_task_has_its_turn", "none was of", "go through all"),
        (FindsNothingLeft, "it_picks_training_tasks", "ZeroDivisionError", "for every book"),
        (KnowsNoSeed, "the_seed_has_a_say", "all give", "seeded = False"),
    ],
    ExecutorContract: [
        (Swallows, "it_raises_what_the_function_raises", "run returned", "catch none"),
        (Wraps, "it_raises_what_the_function_raises", "RuntimeError", "wrap none"),
        (OneAtATime, "calls_run_at_once", "BrokenBarrierError", "hold no lock"),
        (TakesTwo, "it_hands_all_arguments_on", "was given", "pass *arguments on"),
        (Copies, "the_very_objects_come_through", "a copy", "elsewhere = True"),
        (LovesTruth, "it_returns_what_the_function_returns", "gave None", "whatever its truth"),
        (ClosesOnce, "closing_twice_is_harmless", "second close", "do nothing"),
        (OnALoop, "no_exception_is_special", "StopIteration", "no difference"),
        (FragilePool, "an_exception_that_cannot_be_sent_is_told", "Stubborn", "can't be pickled"),
        (Pool, "work_runs_where_it_says", "elsewhere = False", "set elsewhere"),
    ],
    ObserverContract: [
        (ExpectsAReward, "it_takes_every_notice", "raised TypeError", "may be None"),
        (TidiesTheHead, "it_changes_no_notice", "changed", "copy.deepcopy"),
        (TidiesTheHead, "a_run_comes_to_the_same_with_it", "digest", "change nothing"),
        (WaitsForTheStart, "it_takes_any_notice_first", "AttributeError", "pass over"),
        (KnowsThemAll, "it_passes_over_what_it_does_not_know", "Unheard", "pass over"),
        (Answers, "it_takes_every_notice", "it returned", "return nothing"),
        (IsAsync, "it_is_an_observer", "async", "write def"),
    ],
    DomainContract: [
        (Mutates, "apply_is_pure", "left it as", "return a new value"),
        (GlobalChance, "only_its_own_random_numbers_count", "global", "name rng"),
        (OwnChance, "only_its_own_random_numbers_count", "later", "keep nothing between calls"),
        (
            Grows,
            "only_its_own_random_numbers_count",
            "opposite order",
            "keep nothing between calls",
        ),
        (GlobalChance, "equal_runs_come_out_equal", "digests", "rng alone"),
        (ClaimsTooMuch, "deterministic_means_that_one_look_is_enough", "True", "= False"),
        (TwoMinds, "measuring_agrees_with_rolling_out", "measure gave", "agrees = False"),
        (TwiceTheSame, "tasks_are_tasks", "train-0", "an id of its own"),
        (DrawsTasks, "tasks_and_initial_state_are_the_same_again", "later", "fixed seed"),
        (Generous, "rollouts_and_proposals_can_be_used", "not within [0, 1]", "reward_range"),
        (Infinite, "rollouts_and_proposals_can_be_used", "inf", "finite number"),
        (Speechless, "rollouts_and_proposals_can_be_used", "no JSON", "make it of numbers"),
        (NeverProposes, "rollouts_and_proposals_can_be_used", "no proposal", "let propose return"),
        (NamesHalf, "keys_say_what_commutes", "share none", "name every part"),
        (Strays, "files_can_be_written", "../state.txt", "relative paths"),
        (RebasesToNothing, "what_is_said_of_a_change_can_be_used", "apply(", "every diff"),
        (RemovesNothing, "removals_apply", "leaves the state", "what there is to take out"),
        (Counts, "states_are_described_by_numbers", "'size': ", "numbers from 0 to 1"),
        (DescribesSome, "states_are_described_by_numbers", "of the first state", "the same names"),
        (Misspells, "options_and_defaults_are_known", "max_rolouts", "options of headway.run"),
        (OtherTwin, "its_twin_under_a_virtual_clock_answers_alike", "virtual", "keep nothing"),
        (Mutates, "it_can_be_run", "apply of the domain 'toy' changed", "mend the first one"),
    ],
    ConflictContract: [
        (DropsAll, "something_stays", "none stays", "keep the best"),
        (KeepsAll, "what_stays_does_not_contradict", "both", "touch_common"),
        (KnowsNoStar, "what_stays_does_not_contradict", "both", "what '*' means"),
        (LosesOne, "every_card_stays_or_goes", "there stay", "exactly one of the two"),
        (ByDelta, "every_card_stays_or_goes", "there stay", "the oldest first"),
        (OnlyTheBest, "only_what_contradicts_goes", "contradicts none", "acceptance's to refuse"),
        (TossesCoins, "equal_cards_are_resolved_alike", "there stayed", "its arguments alone"),
        (LooksAhead, "it_measures_on_no_held_out_task", "held-out-0", "training tasks"),
    ],
    FusionContract: [
        (MakesCards, "groups_are_made_of_the_cards", "makes a group", "none of your own"),
        (ForgetsTheRest, "every_card_is_tried", "are in none", "at least one group"),
        (UnionFirst, "no_group_comes_twice", "it makes", "of one card first"),
        (Repeats, "no_group_comes_twice", "it makes", "each group once"),
        (MergesParents, "cards_with_a_parent_stay_alone", "have a parent", "of their own"),
    ],
    AcceptanceContract: [
        (Peeks, "it_rarely_accepts_what_is_useless", "runs accepted", "may be looked at"),
        (AcceptsTies, "without_noise_a_gain_counts", "difference of 0.0", "decide by the mean"),
        (OneTrialForAll, "equal_trials_end_alike", "equal differences", "in the trial itself"),
        (NeverSure, "it_finds_what_helps_a_lot", "0 of 20", "let cycles be enough"),
        (CountsDouble, "it_counts_what_it_is_given", "(2, ", "for each add"),
    ],
    PromotionContract: [
        (Flips, "equal_scores_give_equal_answers", "confirms gave", "counts the confirmations"),
        (DueOnce, "it_is_due_after_some_confirmations", "False at 4", ">= some number"),
        (NeverDue, "it_is_due_after_some_confirmations", "1,000", "enough be enough"),
        (Reversed, "a_better_head_is_confirmed_and_a_worse_one_is_not", "False", "held its own"),
        (Reversed, "a_better_score_never_hurts", "confirms gave", "in that order"),
        (NeedsScores, "a_better_head_is_confirmed_and_a_worse_one_is_not", "ZeroDiv", "no scores"),
    ],
    LedgerContract: [
        (LooksThenLeaps, "of_many_writers_on_one_version_one_wins", "Committed", "within one lock"),
        (LooksThenLeaps, "no_update_is_lost", "150", "within one lock"),
        (
            IgnoresExpected,
            "a_commit_on_anything_else_changes_nothing",
            "HeadMoved",
            "compare expected",
        ),
        (LosesKeys, "the_same_key_commits_once", "Committed", "keep each commit's key"),
        (
            ForgivesKeys,
            "a_key_with_another_state_is_an_error",
            "DID NOT RAISE",
            "compare the digest",
        ),
        (SharesItsState, "what_was_given_stays_as_it_was", "later 3", "give copies"),
        (LendsItsLog, "what_was_given_stays_as_it_was", "tuple", "give copies"),
        (PromotesToDev, "promoting_moves_the_other_branch", "Snapshot", "leave the source alone"),
        (ReusesNumbers, "promoting_an_older_version_goes_back", "Committed", "number the next"),
        (ComparesValues, "values_that_are_alike_are_told_apart", "1.0", "compare spellings"),
        (StripsTexts, "hostile_keys_and_messages_come_back", "\\r", "store keys and messages"),
        (TakesAnyName, "hostile_branch_names_are_refused", "DID NOT RAISE", "check_id"),
        (NeverClosed, "a_closed_ledger_refuses_every_call", "DID NOT RAISE", "LedgerClosedError"),
        (AnswersBare, "it_answers_as_the_ledger_in_memory_does", "commit", "that is shown"),
    ],
}
"""By contract: the mutant, the test that finds it, and words of what is said of it and of the remedy."""

MORE = {
    OneAtATime: {"patience": 0.3},
    FragilePool: {"elsewhere": True},
    Peeks: {"runs": 40},
}
"""Class attributes of the tests of a mutant."""


def flat():
    return [
        pytest.param(contract, *row, id=f"{row[0].__name__}-{row[1]}")
        for contract, rows in FOUND.items()
        for row in rows
    ]


@pytest.mark.parametrize(("contract", "mutant", "test", "wrong", "do"), flat())
def test_a_fault_is_found_and_its_remedy_named(contract, mutant, test, wrong, do):
    """
    By the test that is meant for it, with the values that show it; the healthy twin passes that test.
    """
    told = verdict(contract, mutant, f"test_{test}", **MORE.get(mutant, {}))
    twin = next((base for base in mutant.__bases__ if base is not object), None)

    assert wrong in told.rpartition("\n-> ")[0]
    assert do in told.rpartition("\n-> ")[2]
    if twin is not None:
        assert "" == verdict(contract, twin, f"test_{test}", **MORE.get(mutant, {}))


def in_files(kind, folder):
    """
    The fixtures of a ledger that keeps its versions in a file.
    """
    paths = {}

    def make(initial=None):
        ledger = kind(folder / f"{len(paths)}.file", initial=initial)
        paths[ledger] = folder / f"{len(paths)}.file"
        return ledger

    def reopen(ledger):
        ledger.close()
        again = kind(paths[ledger])
        paths[again] = paths[ledger]
        return again

    return make, {"reopen": reopen, "elsewhere": lambda ledger: (kind, paths[ledger])}


@pytest.mark.parametrize(
    ("test", "do"),
    [
        ("test_two_processes_lose_no_update", "a lock that other processes see"),
        ("test_what_was_acknowledged_survives_kill", "there whole or not at all"),
    ],
)
def test_faults_between_processes_are_found(test, do, tmp_path):
    """
    A file that is read at the beginning and written at the end; one in SQLite passes.
    """
    few = {"adds": 5, "kills": (2,)}
    found = {}
    for kind in (FileAtTheEnd, SqliteLedger):
        folder = tmp_path / kind.__name__
        folder.mkdir()
        make, fixtures = in_files(kind, folder)
        found[kind] = verdict(LedgerContract, make, test, **few, **fixtures)

    assert do in found[FileAtTheEnd].rpartition("\n-> ")[2]
    assert "" == found[SqliteLedger]


def test_the_pool_of_processes_is_healthy():
    """
    It keeps the contract as one whose work runs elsewhere.
    """
    names = [name for name in vars(ExecutorContract) if name.startswith("test_")]
    found = {name: verdict(ExecutorContract, Pool, name, elsewhere=True) for name in names}

    assert {} == {n: told for n, told in found.items() if told and not told.startswith("skipped")}


AUTHORS = """
import pytest

from headway.testing.conformance import LedgerContract, SamplerContract
from mutants_ledgers import LosesKeys


class TestMine(LedgerContract):
    @pytest.fixture
    def make(self):
        return LosesKeys


class TestNobody(SamplerContract):
    pass
"""


def test_an_author_sees_values_and_remedy(tmp_path):
    """
    In pytest's own output, where plain assertions show both sides; and what is missing in a test class.
    """
    (tmp_path / "test_mine.py").write_text(AUTHORS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k"]
    done = subprocess.run(
        [*command, "same_key_commits_once or is_a_sampler", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "assert Committed(version=1) == HeadMoved(head=Snapshot(version=2" in done.stdout
    assert "-> keep each commit's key with its version" in done.stdout
    assert "-> give it a fixture 'make'" in done.stdout
    assert "1 failed, " in done.stdout
