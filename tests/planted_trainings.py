"""
Bugs in trainings to plant; see ``planted``.
"""

import attrs

from headway.machine._answers import Answers
from headway.machine._budget import Budget
from headway.machine._requests import Requests
from headway.machine._state import State
from headway.machine._training import Training


def two_trainings_at_once(patch):
    """A training begins beside another one."""
    plain = Training.next

    def following(self, now):
        running, self.running = self.running, None
        wish = plain(self, now)
        self.running = running
        return wish

    patch.setattr(Training, "next", following)


def training_outlives_its_step(patch):
    """A step that is closed leaves its training running."""
    patch.setattr(State, "leave_training", lambda self, step: None)


def late_training_is_taken(patch):
    """Whatever a training gives after its step was closed goes to the step that waits now."""
    plain = Answers.outstanding

    def outstanding(self, call):
        training = self.state.training
        if call in training.untold and training.running is not None:
            return training.running
        return plain(self, call)

    patch.setattr(Answers, "outstanding", outstanding)


def failed_trainings_go_on(patch):
    """Trainings may fail for ever."""
    plain = Requests.train_failed

    def train_failed(self, call, fault, usage, retry_after):
        self.state.training.errors = 0
        plain(self, call, fault, usage, retry_after)

    patch.setattr(Requests, "train_failed", train_failed)


def trained_on_the_first_head(patch):
    """A step that has committed trains on the head that it began with."""
    plain = State.train
    heads = {}

    def train(self, call):
        artifact = heads.setdefault((id(self), call.step), call.artifact)
        plain(self, attrs.evolve(call, artifact=artifact))

    patch.setattr(State, "train", train)


def training_has_no_deadline(patch):
    """A training that hangs is waited for."""
    patch.setattr(Training, "overdue", lambda self, now: None)


def training_needs_no_pause(patch):
    """A training that failed is tried again at once."""
    plain = Training.failed

    def failed(self, now, retry_after):
        plain(self, now, retry_after)
        self.until = now

    patch.setattr(Training, "failed", failed)


def trainings_charge_nothing(patch):
    """What a training charges is lost."""
    patch.setattr(Budget, "charge_training", lambda self, usage: None)


BUGS = (
    two_trainings_at_once,
    training_outlives_its_step,
    late_training_is_taken,
    failed_trainings_go_on,
    trained_on_the_first_head,
    training_has_no_deadline,
    training_needs_no_pause,
    trainings_charge_nothing,
)
