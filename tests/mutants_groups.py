"""
Faulty aggregators that learn from outcomes: each must fail the contract's test that is named beside it.

All of them are ``Climber`` or ``Gatherer`` with one thing wrong, so that nothing but that can fail.
"""

from climbing import Climber, Gatherer

from headway.contracts import Artifact, Carry, Commit, Consume, Gather, Measure, Work


class LearnsFromRewards(Climber):
    """Declares what nobody can learn from."""

    learns_from = "rewards"


class LearnsFromProposals(Climber):
    """Forgets to say what it learns from."""

    learns_from = "proposals"


class HasNoMembers(Climber):
    """Declares groups of none."""

    group_size = 0


class NeverMoves(Climber):
    """Declares that its steps move nothing."""

    updates_per_step = 0


class GathersByWord(Gatherer):
    """Declares how it gathers."""

    gathers = "early"


class RacesWithItself(Climber):
    """Lets its steps race."""

    max_steps = 2


class CarriesGroups(Climber):
    """Keeps a group for the next update."""

    def step(self, cards, context):
        yield Carry(cards[:1])
        yield from super().step(cards[1:] or cards, context)


class CommitsEarly(Gatherer):
    """Takes the first groups for the batch."""

    def step(self, cards, context):
        yield from Climber.step(self, cards, context)


class ConsumesEarly(Gatherer):
    """Discards groups while others are to come."""

    def step(self, cards, context):
        yield Consume(cards[:1])
        yield from super().step(cards, context)


class EndsEarly(Gatherer):
    """Ends before it has its batch."""

    def step(self, cards, context):
        yield Measure((context.head,), context.held_out)


class GathersForEver(Gatherer):
    """Does not listen to the answer."""

    def step(self, cards, context):
        while True:
            yield Gather()


class AsksForNothing(Climber):
    """Waits for more, which will not come."""

    def step(self, cards, context):
        return {"updates": self._count(context) + 1}
        yield


class GathersAndIsSilent(Gatherer):
    """Has its whole batch, and decides nothing."""

    def step(self, cards, context):
        while (yield Gather()):
            pass


class MovesTwice(Climber):
    """Commits the halves of its batch one after the other."""

    def step(self, cards, context):
        value = context.head.artifact.value
        yield Commit(Artifact(value + 0.1), cards[:1])
        yield Commit(Artifact(value + 0.2), cards[1:])


class GathersProposals:
    """Gathers where there are no groups."""

    batch = 1

    def step(self, cards, context):
        yield Gather()
        yield Consume(cards)


class SelectsATask(Climber):
    """Has members of a group work on tasks of its choice."""

    def select(self, ticket, head, memory, rng):
        return Work(payload=0.0, task="north")


class SelectsAParent(Climber):
    """Has members of a group work on something else than the head."""

    def select(self, ticket, head, memory, rng):
        return Work(payload=0.0, parent=Artifact(1.0))


class SelectsByWorker(Climber):
    """Looks where it runs."""

    def select(self, ticket, head, memory, rng):
        return Work(payload=rng.gauss(0, 1) + ticket.worker)


class TakesTheFirstTicket(Climber):
    """Goes where the rollout looked that began first."""

    def step(self, cards, context):
        members = [member for card in cards for member in card.members]
        first = min(members, key=lambda member: member.ticket)
        yield Commit(Artifact(context.head.artifact.value + first.payload), cards)


class TakesGroupsAsTheyCome(Gatherer):
    """Goes where the group looked that it was given last."""

    def step(self, cards, context):
        held = list(cards)
        while more := (yield Gather()):
            held += more
        moved = context.head.artifact.value + held[-1].members[0].payload
        yield Commit(Artifact(moved), held)


class NeedsAFullBatch(Climber):
    """Expects as many groups as it declares."""

    def step(self, cards, context):
        if len(cards) < self.batch:
            message = "a group is missing"
            raise ValueError(message)
        yield from super().step(cards, context)


class DividesByTheSpread(Climber):
    """Expects that rewards differ."""

    def step(self, cards, context):
        rewards = [member.reward for card in cards for member in card.members]
        scale = 0.1 / (max(rewards) - min(rewards))
        yield Commit(Artifact(context.head.artifact.value + scale), cards)


class ExpectsOneVersion(Climber):
    """Expects that all members ran on the head."""

    def step(self, cards, context):
        bases = {member.base for card in cards for member in card.members}
        if len(bases) > 1:
            message = "mixed ages"
            raise ValueError(message)
        yield from super().step(cards, context)


class GathersOnItself(Gatherer):
    """Keeps on the object what it has gathered."""

    def __init__(self):
        self.held = []

    def step(self, cards, context):
        self.held += cards
        while more := (yield Gather()):
            self.held += more
        held, self.held = self.held, []
        yield from Climber.step(self, sorted(held, key=lambda card: card.number), context)


class MomentumOnItself(Climber):
    """Keeps on the object how it moved last."""

    last = 0.0

    def step(self, cards, context):
        pairs = [card.members for card in cards]
        slope = sum((up.reward - down.reward) * up.payload for up, down in pairs) / len(pairs)
        self.last = 0.5 * self.last + slope
        yield Commit(Artifact(context.head.artifact.value + 0.2 * self.last), cards)


DECLARED = "what_it_declares_can_be_used"
DECIDED = "every_card_is_decided_once"

# What is faulty, the test that finds it, what the message says of it, and what to do.
MUTANTS = [
    (LearnsFromRewards, DECLARED, "learns_from is 'rewards'", '"proposals" or "outcomes"'),
    (LearnsFromProposals, DECLARED, "declares group_size", 'learns_from = "outcomes"'),
    (HasNoMembers, DECLARED, "group_size is 0", "from 1 on"),
    (NeverMoves, DECLARED, "updates_per_step is 0", "from 1 on"),
    (GathersByWord, DECLARED, "gathers is 'early'", "declare True where step yields Gather()"),
    (RacesWithItself, DECLARED, "max_steps is 2", "leave max_steps out"),
    (CarriesGroups, DECIDED, "carries groups over", "gets older"),
    (CommitsEarly, DECIDED, "(committed) before its batch is complete", "while more := (yield"),
    (ConsumesEarly, DECIDED, "before its batch is complete", "have the whole batch first"),
    (EndsEarly, DECIDED, "ended before its batch was complete", "have the whole batch first"),
    (GathersForEver, DECIDED, "does not end within", "let every step end"),
    (AsksForNothing, DECIDED, "asked for nothing", "commit, or Consume(cards)"),
    (GathersAndIsSilent, DECIDED, "asked for nothing", "commit, or Consume(cards)"),
    (MovesTwice, DECIDED, "moves the head 2 times", "declare updates_per_step"),
    (SelectsATask, "select_gives_a_group_its_payload_alone", "chose a task", "a payload alone"),
    (SelectsAParent, "select_gives_a_group_its_payload_alone", "chose a parent", "on the head"),
    (SelectsByWorker, "no_order_shows_in_sync_mode", "different ends", "on rng, never"),
    (TakesTheFirstTicket, "arrival_order_is_indifferent", "in another order", "by their numbers"),
    (TakesGroupsAsTheyCome, "arrival_order_is_indifferent", "in another order", "by their numbers"),
    (NeedsAFullBatch, "one_card_is_enough", "a group is missing", "let it decide whatever"),
    (DividesByTheSpread, "unusual_cards_are_borne", "ZeroDivisionError", "let it decide whatever"),
    (ExpectsOneVersion, "unusual_cards_are_borne", "of mixed ages", "let it decide whatever"),
    (GathersOnItself, "a_step_may_be_abandoned_at_every_request", "twice", "beyond its step"),
    (MomentumOnItself, "nothing_is_kept_on_the_object", "'last': ", "context.memory"),
    (MomentumOnItself, "a_new_object_goes_on_from_the_memory", "new object", "context.memory"),
    (MomentumOnItself, "a_crash_at_any_event_changes_nothing", "after a crash", "context.memory"),
]
