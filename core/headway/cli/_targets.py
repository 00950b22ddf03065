"""
Domains and parts that are named by where they are written: ``FILE.py:ATTRIBUTE`` and, for a domain,
``MODULE:ATTRIBUTE``.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import attrs

from headway._checks import BOOLEANS
from headway.contracts import Domain
from headway.errors import HeadwayError, OptionError, UsageError, suggestion
from headway.options import PARTS, RunOptions
from headway.registry import Registry
from headway.registry._parts import check_options, is_factory, refuse_options
from headway.registry._values import in_words, normalized


def in_a_file(spec: str) -> bool:
    """
    Whether a text names a file and something in it.

    >>> in_a_file("study/prompt.py:program"), in_a_file("headway-domains:inflect")
    (True, False)
    """
    return spec.rpartition(":")[0].endswith(".py")


def in_a_module(spec: str, registry: Registry) -> bool:
    """
    Whether a text names a module and something in it, and no distribution and a part of it.
    """
    left, _, _ = spec.rpartition(":")
    dotted = bool(left) and all(part.isidentifier() for part in left.split("."))
    return dotted and normalized(left) not in registry.distributions()


def make_domain(spec: str, options: Mapping[str, Any], registry: Registry) -> Domain:
    """
    The domain that a name stands for, or the one that is written where the text says.

    Raises:
        UsageError: there is none, or an option cannot be used.
        PluginError: a plug-in that was asked for can't be loaded.
    """
    if registered(spec, registry) is None:
        return load_domain(spec, options)
    domain: Domain = registry.create("domain", spec, **options)
    return domain


def registered(spec: str, registry: Registry) -> str | None:
    """
    The text itself, when it is a name that the registry knows about; else None.

    Raises:
        UsageError: it names a file, and nothing in it.
    """
    return None if _written(spec) or in_a_module(spec, registry) else spec


def _written(spec: object) -> TypeGuard[str]:
    """
    Whether what was given says where something is written, as ``FILE.py:ATTRIBUTE``.

    Raises:
        UsageError: it names a file, and nothing in it.
    """
    if not isinstance(spec, str):
        return False
    place = spec.removesuffix(":")
    if place.endswith(".py"):
        raise UsageError(f"{place}: say what in it is meant, as {place}:NAME.")
    return in_a_file(spec)


def load(spec: str) -> Any:
    """
    What ``FILE.py:ATTRIBUTE`` or ``MODULE:ATTRIBUTE`` names.

    The file's folder, or for a module the current one, becomes part of the import path.

    Raises:
        UsageError: there is no such file, module or attribute, or importing it raised.
    """
    place, _, attribute = spec.rpartition(":")
    module = _module_of_file(Path(place)) if in_a_file(spec) else _module(place)
    found: Any = module
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise UsageError(f"{spec}: {place} has no {name!r}.{_hint(found, name)}")
        found = getattr(found, name)
    return found


def load_domain(spec: str, options: Mapping[str, Any]) -> Domain:
    """
    The domain that a text names, or that the function that it names makes.

    Args:
        spec: ``FILE.py:ATTRIBUTE`` or ``MODULE:ATTRIBUTE``.
        options: Options of the domain: those that the function takes, then those of the domain.

    Raises:
        UsageError: it names no domain and nothing that makes one, or an option cannot be used.
    """
    found = made_by = load(spec)
    left = dict(options)
    if is_factory(found):
        own = {name: left.pop(name) for name in _parameters(found) if name in left}
        if not _has_options(found) and left:
            own, left = {**own, **left}, {}
        found = _made(spec, found, own)
    if not isinstance(found, Domain):
        remedy = "Name a domain, such as a Program, or a function that makes one."
        raise UsageError(f"{spec}: this is {_kind(found)}, which is no domain. {remedy}")
    if not left:
        return found
    changed: Callable[..., Domain] | None = getattr(found, "with_options", None)
    known = () if changed is None else (*describe_own(made_by), *found.options)
    refuse_options(spec, {o: v for o, v in left.items() if o not in known}, known)
    return found if changed is None else changed(**left)


def describe_own(found: Any) -> tuple[str, ...]:
    """
    The options that a function that makes a domain takes itself.
    """
    return tuple(_parameters(found)) if is_factory(found) else ()


def describe_options(spec: str) -> Mapping[str, str]:
    """
    The options of the domain that a text names, with a line on each.

    Raises:
        UsageError: it names nothing that can be loaded.
    """
    found = load(spec)
    own = dict.fromkeys(describe_own(found), "")
    known: Mapping[str, str] = getattr(found, "options", {})
    if _has_options(found):
        from headway.evolve import Program

        known = Program.options
    return {**own, **known}


def load_part(spec: str) -> Any:
    """
    What ``FILE.py:ATTRIBUTE`` names; a class or a function that takes no argument is called.

    Raises:
        UsageError: there is no such thing, or it raised.
    """
    found = load(spec)
    if not is_factory(found) or not _takes_nothing(found):
        return found
    return _made(spec, found, {})


def with_parts(options: RunOptions, registry: Registry) -> RunOptions:
    """
    The options with the parts that ``FILE.py:ATTRIBUTE`` stands for.

    An aggregator may also be named by a factory as ``evolve`` takes it.

    Raises:
        UsageError: one of them cannot be had.
    """
    given = {name: getattr(options, name) for name in PARTS}
    specs = {name: spec for name, spec in given.items() if _written(spec)}
    if not specs:
        return options
    made = {name: load_part(spec) for name, spec in specs.items()}
    if "aggregator" in made:
        from headway.evolve import old_style
        from headway.evolve._old_style import is_aggregator

        if not is_aggregator(made["aggregator"]):  # only a factory is handed the policy itself
            asked = made.get("policy", options.policy)
            made["policy"] = registry.create("staleness policy", asked)
        made["aggregator"] = old_style(made["aggregator"], options, made.get("policy"))
    return attrs.evolve(options, **made)


def defaults_of(spec: object, registry: Registry) -> Mapping[str, Any]:
    """
    The options of a run that an aggregator brings, also one that is named by where it is written.

    A function there is called, since only what it makes can say.

    Raises:
        UsageError: it cannot be had.
        PluginError: it can't be loaded, or what it brings is no mapping.
    """
    return registry.defaults_of(load_part(spec) if _written(spec) else spec)


def observer(spec: str) -> Any:
    """
    An observer's name, or what ``FILE.py:ATTRIBUTE`` stands for; a function is one already.

    Raises:
        UsageError: it cannot be had.
    """
    if not _written(spec):
        return spec
    found = load(spec)
    return _made(spec, found, {}) if inspect.isclass(found) else found


def _takes_nothing(factory: Callable[..., Any]) -> bool:
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError):
        return False
    return True


def _has_options(found: Any) -> bool:
    """
    Whether what a function makes may take options of its own, which nobody knows before it is made.
    """
    return is_factory(found) and not inspect.isclass(found)


def _module(name: str) -> ModuleType:
    _importable("")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _raised(name, error) from error
        remedy = "Give a module that can be imported from here, or a file, as FILE.py:ATTRIBUTE."
        raise UsageError(f"{name}: there is no module named {error.name!r}. {remedy}") from None
    except (Exception, SystemExit) as error:  # an import can do anything; it is named
        raise _raised(name, error) from error


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        remedy = "Give a file that exists, as FILE.py:ATTRIBUTE."
        raise UsageError(f"{path}: there is no such file. {remedy}")
    _importable(str(path.parent.resolve()))
    name = f"_headway_file_{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path.resolve()):
        return loaded  # a domain and a part of one file share what that file keeps
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: this is no file of Python code. Give one that ends in .py.")
    module = sys.modules[name] = module_from_spec(spec)  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # an import can do anything; it is named
        del sys.modules[name]
        raise _raised(str(path), error) from error
    return module


def _importable(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _raised(place: str, error: BaseException) -> UsageError:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return UsageError(f"{place}: importing it raised {in_words(error)}{where}. Mend that first.")


def _hint(found: Any, name: str) -> str:
    held = {known: getattr(found, known) for known in dir(found) if not known.startswith("_")}
    domains = [known for known, value in held.items() if isinstance(value, Domain)]
    close = suggestion(name, [known for known, value in held.items() if _own(found, value)])
    return close or (f" Its domains: {', '.join(domains)}." if domains else "")


def _own(place: Any, value: object) -> bool:
    """
    Whether something that stands in a module may be meant: a domain, or what the module defines.
    """
    if isinstance(value, Domain):
        return True
    of = value if inspect.isclass(value) or inspect.isfunction(value) else type(value)
    return of.__module__ == getattr(place, "__name__", "")


def _kind(found: object) -> str:
    return f"of type {type(found).__name__}"


def _parameters(factory: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(factory).parameters
    except ValueError:  # some built-in callables have no signature
        return {}
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    return {name: p for name, p in parameters.items() if p.kind in kinds}


def _made(spec: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    check_options(spec, factory, options)
    known = _parameters(factory)
    typed = {o: _typed(o, v, known[o]) if o in known else v for o, v in options.items()}
    try:
        return factory(**typed)
    except HeadwayError:
        raise
    except (Exception, SystemExit) as error:  # a function can do anything; it is named
        raise UsageError(
            f"{spec}: calling it raised {in_words(error)}. Mend that first."
        ) from error


def _typed(option: str, given: Any, parameter: inspect.Parameter) -> Any:
    """
    A text as a number or a boolean, where the parameter's annotation or default says so.
    """
    if not isinstance(given, str):
        return given
    hint = parameter.annotation
    word = hint if isinstance(hint, str) else getattr(hint, "__name__", "")
    if hint is parameter.empty and parameter.default is not parameter.empty:
        word = type(parameter.default).__name__
    readers: Mapping[str, Callable[[str], Any]] = {
        "bool": lambda text: BOOLEANS[text.lower()],
        "int": int,
        "float": float,
    }
    try:
        return readers.get(word, str)(given)
    except (ValueError, KeyError):
        wanted = {"bool": "true or false", "int": "a whole number", "float": "a number"}[word]
        raise OptionError(option, given, f"Give {wanted}.") from None
