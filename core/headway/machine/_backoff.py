"""
Back-off: when the backend fails call after call, no paid call begins for a while.

It follows the backend as a whole, not one worker.  Failures in a row begin a pause once there were
more of them than calls ran at once at any time of the streak, so that failures which come now and then
cost nothing: neither where many calls run, nor at the end of a round, where few are left.  The next
pause is twice as long, up to a bound.  After a pause one call alone tries the backend; a success of
any call ends the streak.

Guarantee: a wave of calls that began together and fail together is one step, and an outage of any
length costs one call a pause.

Source: truncated exponential back-off as in IEEE 802.3, with the single trial call of a circuit
breaker that is half open (Nygard, Release It!, 2007).
"""

from __future__ import annotations

import attrs

FIRST_PAUSE = 0.25
"""Seconds of a streak's first pause."""

LONGEST_PAUSE = 8.0
"""Seconds that a pause takes at most."""

LONGEST_COLD_PAUSE = 0.1
"""The same while no call of the kind has ever succeeded: what is dead is found out in seconds."""

LONGEST_ASKED = 3600.0
"""Seconds for which a backend is believed that asks to be left alone."""

BEARABLE = 3
"""Failures in a row that never begin a pause."""

_DOUBLINGS = 16


@attrs.define(eq=False)
class Backoff:
    """
    The backend's failures in a row, and until when it is left alone.

    Args:
        proven: The kinds of calls of which one has ever succeeded.
        until: When the backend may be called again; 0.0 when it was never left alone.
        trial: The call that tries the backend alone; None while none was begun.
    """

    proven: set[str] = attrs.field(factory=set[str], init=False)
    until: float = attrs.field(default=0.0, init=False)
    trial: int | None = attrs.field(default=None, init=False)
    _failures: int = attrs.field(default=0, init=False)
    _pauses: int = attrs.field(default=0, init=False)
    _wave: int = attrs.field(default=BEARABLE, init=False)
    _asked_until: float = attrs.field(default=0.0, init=False)
    _known: int = attrs.field(default=0, init=False)
    _rollouts: bool = attrs.field(default=False, init=False)

    @property
    def failing(self) -> bool:
        """
        Whether the backend is taken for down: the streak has begun a pause and is not over.
        """
        return self._pauses > 0

    def started(self, call: int) -> None:
        """
        A paid call begins; in a streak it is the one that tries the backend.
        """
        if self._pauses:
            self.trial = call

    def worked(self, kind: str) -> None:
        """
        A paid call succeeded: the streak is over; what the backend asked for still holds.
        """
        if kind not in self.proven:
            self.proven.add(kind)
        if self._failures:
            self.answered()

    def answered(self) -> None:
        """
        A paid call was answered, if only with something invalid: the backend is not down.
        """
        self._failures = self._pauses = 0
        self._wave = BEARABLE
        self.until = self._asked_until
        self.trial = None
        self._rollouts = False

    def asked(self, retry_after: float | None, now: float) -> None:
        """
        The backend asks to be left alone for so many seconds from now; None when it does not.
        """
        if retry_after is not None:
            self._asked_until = max(self._asked_until, now + min(retry_after, LONGEST_ASKED))
            self.until = max(self.until, self._asked_until)

    @property
    def outage(self) -> bool:
        """
        Whether the backend worked and is down, rollouts included: measurements alone may fail because
        of what they measure.
        """
        return bool(self.proven) and self._pauses > 0 and self._rollouts

    def failed(
        self,
        call: int,
        *,
        kind: str,
        now: float,
        next_call: int,
        at_once: int,
        retry_after: float | None,
    ) -> bool:
        """
        A paid call failed; True when that begins the first pause of a streak after any success.

        Args:
            call: Its id.
            kind: Its kind; a measurement may fail because of what it measures, the others don't.
            now: The time, in seconds since the run began.
            next_call: The id of the next call.
            at_once: How many calls ran when it failed, itself included.
            retry_after: For how many seconds the backend asks to be left alone, if it does.
        """
        self.asked(retry_after, now)
        if call < self._known:
            return False
        self._failures += 1
        self._rollouts |= kind != "measure"
        self._wave = max(self._wave, at_once)
        if self._failures <= self._wave and not self._pauses:
            return False
        longest = LONGEST_PAUSE if kind in self.proven else LONGEST_COLD_PAUSE
        pause = min(longest, FIRST_PAUSE * 2 ** min(self._pauses, _DOUBLINGS))
        self.until = max(self._asked_until, now + pause)
        self._pauses += 1
        self._known = next_call
        self.trial = None
        return self._pauses == 1 and bool(self.proven)
