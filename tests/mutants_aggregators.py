"""
Faulty aggregators: each must fail the contract's test that is named beside it.

All of them are ``Sound`` with one thing wrong, so that nothing but that can fail.
"""

import datetime as dt
import random
import threading
import time
from pathlib import Path

from headway.contracts import Artifact, Carry, Commit, Consume, Measure, Work


class Sound:
    """
    Measures each child and commits it when it is better; remembers how often, and starts from there.
    """

    batch = 1

    def select(self, ticket, head, memory, rng):
        """
        Now and then the state that was committed last.
        """
        if not memory or rng.random() < 0.5:
            return Work(payload=rng.randrange(100))
        return Work(parent=Artifact(memory["state"]))

    def step(self, cards, context):
        """
        One card after the other, in ticket order.
        """
        memory = dict(context.memory or {"count": 0, "state": context.head.artifact.value})
        for card in sorted(cards, key=lambda card: card.tickets):
            child = context.apply(card.diff, onto=card.parent)
            before, after = yield Measure((context.head, child), context.held_out)
            if sum(after) <= sum(before):
                yield Consume([card])
                continue
            memory = {"count": memory["count"] + 1, "state": child.value}
            yield Commit(child, [card], memory=memory)
            return None
        return memory


class ChangesCards(Sound):
    """Marks the cards that it has seen."""

    def step(self, cards, context):
        for card in cards:
            card.diff["!"] = True
        return (yield from super().step(cards, context))


class ChangesMemory(Sound):
    """Counts in the memory that it is given."""

    def step(self, cards, context):
        if context.memory:
            context.memory["count"] += 1
        return (yield from super().step(cards, context))


class ChangesTheHead(Sound):
    """Applies diffs to the head's own state."""

    def step(self, cards, context):
        for card in cards:
            context.head.artifact.value.update(card.diff)
        return (yield from super().step(cards, context))


class DecidesTwice(Sound):
    """Consumes all of its cards again at the end."""

    def step(self, cards, context):
        memory = yield from super().step(cards, context)
        yield Consume(cards)
        return memory


class HoardsCards(Sound):
    """Commits a card that an earlier step was given."""

    def __init__(self):
        self.earlier = []

    def step(self, cards, context):
        if self.earlier:
            yield Consume([self.earlier.pop()])
        self.earlier += cards
        return (yield from super().step(cards, context))


class CountsGlobally(Sound):
    """Consumes every third batch, counted in its class."""

    steps = 0

    def step(self, cards, context):
        CountsGlobally.steps += 1
        if CountsGlobally.steps % 3 == 0:
            yield Consume(cards, "vetoed")
            return None
        return (yield from super().step(cards, context))


class CountsOnItself(Sound):
    """Consumes every second batch, counted on the object."""

    def __init__(self):
        self.steps = 0

    def step(self, cards, context):
        self.steps += 1
        if self.steps % 2 == 0:
            yield Consume(cards, "vetoed")
            return None
        return (yield from super().step(cards, context))


class RemembersOnItself(Sound):
    """Counts on the object what it measures, before it knows whether that will count."""

    def __init__(self):
        self.count = 0

    def step(self, cards, context):
        for card in cards:
            self.count += 1
            child = context.apply(card.diff, onto=card.parent)
            yield Measure((child,), context.held_out)
            yield Commit(child, [card], memory={"count": self.count, "state": child.value})


class TakesCardsAsTheyCome(Sound):
    """Commits the first card that arrived."""

    batch = 3

    def step(self, cards, context):
        yield Commit(context.apply(*(card.diff for card in cards[:1])), cards[:1])


class Sleeps(Sound):
    """Waits a little for further cards."""

    def step(self, cards, context):
        time.sleep(0.0001)
        return (yield from super().step(cards, context))


class ReadsTheClock(Sound):
    """Looks at the date."""

    def step(self, cards, context):
        dt.datetime.now(tz=dt.UTC)
        return (yield from super().step(cards, context))


class UsesGlobalRandomness(Sound):
    """Tosses everybody's coin."""

    def step(self, cards, context):
        if random.random() < 0.5:
            yield Consume(cards)
            return None
        return (yield from super().step(cards, context))


class ForgetsWhenSaved(Sound):
    """Keeps the best score on the object and only the rest in memory."""

    best = 0.0

    def step(self, cards, context):
        for card in cards:
            child = context.apply(card.diff, onto=card.parent)
            (after,) = yield Measure((child,), context.held_out)
            if sum(after) <= self.best:
                yield Consume([card])
                continue
            self.best = sum(after)
            yield Commit(child, [card], memory={"count": 1, "state": child.value})
            return


class KeysByNumber(Sound):
    """Keeps a dict whose keys are numbers, which a file gives back as texts."""

    def step(self, cards, context):
        yield Consume(cards)
        return {len(cards): "cards"}


class RemembersAnObject(Sound):
    """Keeps the artifact itself."""

    def step(self, cards, context):
        yield Commit(context.apply(cards[0].diff), cards[:1], memory={"head": context.head})


class WritesAFile(Sound):
    """Keeps a log beside the run."""

    def step(self, cards, context):
        Path("/dev/null").write_text(str(len(cards)), encoding="utf-8")
        return (yield from super().step(cards, context))


class StartsAThread(Sound):
    """Has its work done elsewhere."""

    def step(self, cards, context):
        thread = threading.Thread(target=len, args=(cards,))
        thread.start()
        thread.join()
        return (yield from super().step(cards, context))


class Prints(Sound):
    """Tells the user what it does."""

    def step(self, cards, context):
        print(len(cards), end="")
        return (yield from super().step(cards, context))


class CatchesAroundYield(Sound):
    """Takes being abandoned for a measurement that failed."""

    def step(self, cards, context):
        try:
            yield Measure((context.head,), context.held_out)
        except BaseException:  # noqa: BLE001 - this is what is wrong with it
            yield Consume(cards, "unmeasured")
        return (yield from super().step(cards, context))


class EndsWhenAbandoned(Sound):
    """Swallows what closes it."""

    def step(self, cards, context):
        try:
            yield Carry(())
        except GeneratorExit:
            return None
        return (yield from super().step(cards, context))


class SelectsAtRandom(Sound):
    """Has randomness of its own."""

    def select(self, ticket, head, memory, rng):
        return Work(payload=random.SystemRandom().randrange(10**9))


class SelectsByTheClock(Sound):
    """Explores for a while, by the clock."""

    def select(self, ticket, head, memory, rng):
        time.monotonic()
        return Work()


class SelectsSlowly(Sound):
    """Works out in select what step could have."""

    def select(self, ticket, head, memory, rng):
        best = 0
        for number in range(20_000):
            best = max(best, number)
        return Work()


class SelectChangesMemory(Sound):
    """Counts what it hands out."""

    def select(self, ticket, head, memory, rng):
        if memory:
            memory["count"] += 1
        return Work()


class WantsNoCards(Sound):
    """Declares a batch of none."""

    batch = 0


class RacesTooMany(Sound):
    """Declares more racing steps than there may be."""

    max_steps = 4


class WaitsForEver(Sound):
    """Waits for a full batch, also when nothing more will come."""

    batch = 2

    def step(self, cards, context):
        if len(cards) < 2:
            return None
        return (yield from super().step(cards, context))


class FailsOnNoCards(Sound):
    """Looks at the first card, be there one or not."""

    def step(self, cards, context):
        assert cards[0].task
        return (yield from super().step(cards, context))


class RaisesOnDuplicates(Sound):
    """Takes cards that say the same for a mistake."""

    batch = 3

    def step(self, cards, context):
        if len({card.digest for card in cards}) < len(cards):
            message = "twice the same"
            raise ValueError(message)
        return (yield from super().step(cards, context))


class NeedsEveryTicket(Sound):
    """Expects a card of every ticket."""

    batch = 3

    def step(self, cards, context):
        tickets = [number for card in cards for number in card.tickets]
        if tickets and max(tickets) - min(tickets) >= len(tickets):
            message = "the card of a ticket is missing"
            raise ValueError(message)
        return (yield from super().step(cards, context))


class IsNoGenerator(Sound):
    """Returns a list of requests."""

    def step(self, cards, context):
        return [Consume(cards)]


class AsksForAnything(Sound):
    """Yields the candidate itself."""

    def step(self, cards, context):
        yield context.apply(cards[0].diff) if cards else Consume(())


class DecidesByTheThread(Sound):
    """Does something else away from the main thread."""

    def step(self, cards, context):
        if threading.current_thread() is not threading.main_thread():
            yield Consume(cards, "vetoed")
            return None
        return (yield from super().step(cards, context))


class TakesASetAsItComes(Sound):
    """Takes cards in the order that a set of texts has in this process."""

    def step(self, cards, context):
        by_text = {f"card {card.digest}": card for card in cards}
        first = by_text[next(iter(set(by_text)))]
        yield Consume([card for card in cards if card is not first])
        return (yield from super().step([first], context))


def hidden():
    """
    A class that nobody can import.
    """

    class Hidden(Sound):
        """Defined by a function."""

    return Hidden()


# What is faulty, the test that finds it, what the message says of it, and what to do.
MUTANTS = [
    (hidden, "another_process_can_make_one", "Hidden", "top level of a module"),
    (WantsNoCards, "what_it_declares_can_be_used", "batch is 0", "from 1 on"),
    (RacesTooMany, "what_it_declares_can_be_used", "max_steps is 4", "1, 2 or 3"),
    (IsNoGenerator, "every_card_is_decided_once", "no generator", "with a yield in it"),
    (AsksForAnything, "every_card_is_decided_once", "no request", "yield one of Measure"),
    (DecidesTwice, "every_card_is_decided_once", "twice", "at most once"),
    (HoardsCards, "every_card_is_decided_once", "holds only", "keep no card beyond its step"),
    (FailsOnNoCards, "an_empty_sweep_decides_nothing", "IndexError", "consumed with a reason"),
    (WaitsForEver, "one_card_is_enough", "stay undecided", "decide when context.quiet"),
    (WaitsForEver, "a_quiet_step_decides", "stay undecided", "decide when context.quiet"),
    (RaisesOnDuplicates, "unusual_cards_are_borne", "on duplicate cards", "Consume([card]"),
    (ChangesCards, "inputs_are_not_changed", "changed cards", "copy what is to be changed"),
    (ChangesMemory, "inputs_are_not_changed", "changed context.memory", "dict(...)"),
    (ChangesTheHead, "inputs_are_not_changed", "changed context.head", "copy.deepcopy"),
    (CountsGlobally, "equal_arguments_give_equal_requests", "something else", "its class"),
    (CountsGlobally, "equal_seeds_give_equal_runs", "different ends", "Commit(memory=...)"),
    (TakesCardsAsTheyCome, "arrival_order_is_indifferent", "in another order", "sort the cards"),
    (KeysByNumber, "memory_is_json", "comes back from a file", "texts for the keys"),
    (RemembersAnObject, "memory_is_json", "is no JSON value", "keep numbers, texts"),
    (CountsOnItself, "nothing_is_kept_on_the_object", "'steps': ", "context.memory"),
    (CountsOnItself, "a_step_may_be_abandoned_at_every_request", "run again", "context.memory"),
    (CountsOnItself, "interleavings", "with a new object", "context.memory"),
    (RemembersOnItself, "a_new_object_goes_on_from_the_memory", "new object", "context.memory"),
    (RemembersOnItself, "a_crash_at_any_event_changes_nothing", "after a crash", "context.memory"),
    (RemembersOnItself, "a_lost_commit_is_run_again", "ends otherwise", "context.memory"),
    (RemembersOnItself, "a_failed_measurement_is_borne", "ends otherwise", "keep nothing"),
    (ForgetsWhenSaved, "a_new_object_goes_on_from_the_memory", "new object", "context.memory"),
    (ForgetsWhenSaved, "nothing_is_kept_on_the_object", "'best': ", "context.memory"),
    (TakesASetAsItComes, "another_process_comes_to_the_same", "PYTHONHASHSEED=", "sort what"),
    (Sleeps, "it_has_no_effect_but_its_requests", "time.sleep", "and a request"),
    (ReadsTheClock, "it_has_no_effect_but_its_requests", "datetime.now", "the arguments"),
    (UsesGlobalRandomness, "it_has_no_effect_but_its_requests", "random.random", "context.rng"),
    (WritesAFile, "it_has_no_effect_but_its_requests", "a file: open", "context.memory"),
    (StartsAThread, "it_has_no_effect_but_its_requests", "a thread: ", "the arguments"),
    (Prints, "it_has_no_effect_but_its_requests", "print", "the arguments"),
    (CatchesAroundYield, "a_step_may_be_abandoned_at_every_request", "went on", "catch nothing"),
    (EndsWhenAbandoned, "a_step_may_be_abandoned_at_every_request", "and ended", "catch nothing"),
    (SelectsAtRandom, "select_is_pure", "on equal arguments", "the rng that select is given"),
    (SelectsByTheClock, "select_is_pure", "time.monotonic", "but the arguments"),
    (SelectsSlowly, "select_is_quick", "10000 lines", "work out in step"),
    (SelectChangesMemory, "select_is_pure", "changed the head or the memory", "copy what"),
    (RaisesOnDuplicates, "interleavings", "twice the same", "Rehearsal.draw("),
    (NeedsEveryTicket, "hostile_proposals_are_borne", "is missing", "bear whatever"),
    (DecidesByTheThread, "decisions_are_the_same_under", "under threads", "not on the thread"),
]
