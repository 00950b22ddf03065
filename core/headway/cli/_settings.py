"""
What ``headway run`` was told, by flags and by a file, and where each of it was said.

An error names an option as the user gave it: ``--workers`` for a flag, ``FILE.toml: n_workers`` for
a line of a file.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

from headway.cli._config_file import ConfigFile, read_config, refuse_hidden
from headway.cli._flags import flag_of, split_pair, values_of
from headway.errors import OptionError, OtherRunError, UnknownNameError, UsageError
from headway.options import PARTS, limits_remedy, option_names

_OPTIONS: Mapping[str, str] = {kind: option for option, kind in PARTS.items()}
"""The option that takes a part, by its kind."""


@attrs.frozen(kw_only=True)
class Settings:
    """
    What the user gave; a flag wins over the file.

    Args:
        name: The domain's name.
        options: Options of the run.
        domain: Options of the domain.
        observers: Names of observers.
        places: Where each option of the run was given, as the user wrote it.
        domain_places: The same for each option of the domain.
    """

    name: str
    options: Mapping[str, Any]
    domain: Mapping[str, Any]
    observers: tuple[str, ...]
    places: Mapping[str, str]
    domain_places: Mapping[str, str]

    @property
    def bare(self) -> bool:
        """
        Whether nothing was given beside the domain's name.
        """
        return not (self.options or self.domain or self.observers)

    @contextmanager
    def naming(self) -> Generator[None, None, None]:
        """
        Let errors about options of the run name the place where the user gave them.
        """
        try:
            yield
        except OptionError as error:
            raise self._placed(error) from error
        except OtherRunError as error:
            what = self._given(error.what)
            raise OtherRunError(error.path, what, error.began, error.now) from error
        except UnknownNameError as error:
            place = self.places.get(_OPTIONS.get(error.kind, error.kind))
            if place is None:
                raise
            raise UsageError(f"{place}: {error}") from error

    @contextmanager
    def naming_domain(self) -> Generator[None, None, None]:
        """
        Let errors about options of the domain name the place where the user gave them.
        """
        try:
            yield
        except OptionError as error:
            place = self.domain_places.get(error.option, f"--set {error.option}")
            raise _at(place, error) from error

    def _given(self, what: str) -> str:
        """
        What the user gives for an option of the run, or for ``domain.KEY`` of the domain.
        """
        if what.startswith("domain."):
            key = what.removeprefix("domain.")
            return self.domain_places.get(key, f"--set {key}")
        return self.places.get(what, flag_of(what) if what in option_names() else what)

    def _placed(self, error: OptionError) -> UsageError:
        if error.option == "limits":
            told = limits_remedy(flag_of)
            return UsageError(f"domain {self.name!r}: nothing would end this run. {told}")
        own = f"domain {self.name!r}: {error.option}"
        place = own if error.option.startswith("tasks") else error.option
        return _at(self.places.get(error.option, place), error)


def gather(args: argparse.Namespace) -> Settings:
    """
    What the command line and the file that it names give.

    Raises:
        UsageError: some of it cannot be read.
    """
    file = ConfigFile(path="", options={}, domain={}, observers=())
    if args.config is not None:
        file = read_config(args.config)
    flags = values_of(args)
    if "durations" in flags:
        flags["durations"] = {**file.options.get("durations", {}), **flags["durations"]}
    pairs = dict(split_pair("--set", text) for text in args.settings)
    domain = {**file.domain, **pairs}
    refuse_hidden(file.path or "--set", domain)
    observers = (*file.observers, *args.observers)
    return Settings(
        name=args.domain,
        options={**file.options, **flags},
        domain=domain,
        observers=observers,
        places={
            "observer": f"{file.path}: observers" if file.observers else "--observer",
            **{name: f"{file.path}: {name}" for name in file.options},
            **{name: flag_of(name) for name in flags},
        },
        domain_places={
            **{key: f"{file.path}: domain.{key}" for key in file.domain},
            **{key: f"--set {key}" for key in pairs},
        },
    )


def _at(place: str, error: OptionError) -> UsageError:
    if error.value is None:
        return UsageError(f"{place}: {error.remedy}")
    return OptionError(place, error.value, error.remedy)
