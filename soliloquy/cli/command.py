"""The commands' class: parameters declare its options, its help lists them by topic, and it refuses empty values."""

import functools
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import click

# The topics of options; whoever adds an option adds it there, or sees it among the first.
_TOPICS = Path(__file__).with_name("topics.toml")
ALL = "soliloquy.cli.help_all"
_FIRST = "Options"


class Setting:
    """An option, as the default of a parameter.

    It takes its flag from the parameter's name unless it is given. It is a flag for bool, repeatable for a tuple, and
    required unless the parameter can be None or the option has a default, which the help then shows.
    """

    def __init__(self, help: str, *flags: str, environment: bool = False, **how: Any) -> None:
        self._flags = flags
        self._environment = environment
        self._how = {"help": help, "show_default": how.get("default", "") != "", **how}

    def option(self, parameter: str, kind: object) -> click.Option:
        flags = [flag for flag in self._flags if flag.startswith("-")] or [f"--{parameter.replace('_', '-')}"]
        how: dict[str, Any] = {"multiple": str(kind).startswith("tuple["), **self._how}
        if kind is bool:
            how.setdefault("is_flag", True)
        optional = "is_flag" in how or how["multiple"] or str(kind).endswith("None")
        how.setdefault("required", not optional and "default" not in how)
        return click.Option([*flags, parameter], **self._variable(flags[0]), **how)

    def _variable(self, flag: str) -> dict[str, Any]:
        variable = f"SOLILOQUY_{flag.strip('-').upper().replace('-', '_')}"
        return {"envvar": variable, "show_envvar": True} if self._environment else {}


def setting(help: str, *flags: str, **how: Any) -> Any:
    """`max_turns: int = setting("Turns in a conversation.", default=20)` is --max-turns."""
    return Setting(help, *flags, **how)


def option(help: str, *flags: str, **how: Any) -> Any:
    """A setting that the environment can hold too: --max-in-flight, or SOLILOQUY_MAX_IN_FLIGHT."""
    return Setting(help, *flags, environment=True, **how)


class Gathered:
    """Several options that make one value, as the default of a parameter: `build` makes it of its own parameters.

    Its parameters are options, groups of them, or options that the command has anyway.
    """

    def __init__(self, build: Callable[..., Any]) -> None:
        self.build = build


def gathered(build: Callable[..., Any]) -> Any:
    """`kafka: KafkaSettings | None = gathered(kafka_settings)` has the options of kafka_settings."""
    return Gathered(build)


def _parameters(function: Callable[..., Any]) -> Mapping[str, Any]:
    # The list of the commands has no need of it.
    from inspect import signature

    return signature(function).parameters


def _options_of(function: Callable[..., Any]) -> Iterator[click.Option]:
    """Yields the options that the defaults of a function's parameters declare."""
    for name, parameter in _parameters(function).items():
        if isinstance(parameter.default, Setting):
            yield parameter.default.option(name, parameter.annotation)
        elif isinstance(parameter.default, Gathered):
            yield from _options_of(parameter.default.build)


def _values(function: Callable[..., Any], given: Mapping[str, Any], made: dict[Gathered, Any]) -> dict[str, Any]:
    """Returns the values of a function's parameters, as far as they are options; each group is made once."""
    values = {}
    for name, parameter in _parameters(function).items():
        if isinstance(group := parameter.default, Gathered):
            if group not in made:
                made[group] = group.build(**_values(group.build, given, made))
            values[name] = made[group]
        elif name in given:
            values[name] = given[name]
    return values


class Command(click.Command):
    def __init__(self, name: str | None, *, callback: Any, params: list[click.Parameter], **how: Any) -> None:
        # A group may be part of several others.
        declared = {option.name: option for option in _options_of(callback)}
        super().__init__(name, callback=callback, params=[*params, *declared.values()], **how)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            _refuse_empty(args)
            given = list(args)
            rest = super().parse_args(ctx, args)
            self._refuse_repeated(ctx, given)
            return rest
        except click.UsageError as error:
            # The parser leaves it out of some errors.
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> None:
        """Ends with the exit status that the command returns, if it returns one."""
        callback = self.callback
        assert callback
        status = ctx.invoke(lambda: callback(**_values(callback, ctx.params, {})))
        if status is not None:
            ctx.exit(status)

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """Click would take the last value and say nothing of the others."""
        _, _, given = self.make_parser(ctx).parse_args(args)
        for option, times in Counter(one for one in given if isinstance(one, click.Option)).items():
            if times > 1 and not (option.multiple or option.is_flag or option.count):
                raise click.UsageError(f"{max(option.opts, key=len)} is given {times} times: give it once")

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        parameters = super().get_params(ctx)
        # Help comes last in the list, and so does more help.
        return [*parameters, _HELP_ALL] if any(map(_has_more, parameters)) else parameters

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in (_FIRST, *_topics())}
        topic_of = {flag: topic for topic, options in _topics().items() for flag in options}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Argument) or not (ctx.meta.get(ALL) or not _is_rare(parameter)):
                continue
            if record := _shown(parameter, variables=ALL in ctx.meta).get_help_record(ctx):
                topic = next((topic_of[flag] for flag in parameter.opts if flag in topic_of), _FIRST)
                sections[topic].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class Group(click.Group):
    command_class = Command
    group_class = type


def _show_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Also show rare options, and the environment variables that set options.",
)


@functools.cache
def _topics() -> Mapping[str, Mapping[str, str]]:
    """Maps topics to their options, and these to `usual` or `rare`."""
    topics: Mapping[str, Mapping[str, str]] = tomllib.loads(_TOPICS.read_text("utf-8"))
    return topics


def _is_rare(parameter: click.Parameter) -> bool:
    return any(options.get(flag) == "rare" for options in _topics().values() for flag in parameter.opts)


def _has_more(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and (parameter.show_envvar or _is_rare(parameter))


def _shown(parameter: click.Parameter, *, variables: bool) -> click.Parameter:
    if variables or not isinstance(parameter, click.Option):
        return parameter
    option = copy(parameter)
    option.show_envvar = False
    return option


def _refuse_empty(arguments: Sequence[str]) -> None:
    """An empty value is a variable of a script that was never set."""
    for before, argument in zip(("", *arguments), arguments, strict=False):
        if argument == "" or (argument.startswith("--") and argument.endswith("=")):
            name = argument.rstrip("=") or (before if before.startswith("-") else "an argument")
            raise click.UsageError(f"{name} is empty: give a value, or leave it out")
