"""Reports a wrong usage as one line: the option or argument, its value, and the command whose help tells more."""

import re

import click
from click.core import ParameterSource

_UNEXPECTED = re.compile(r"Got unexpected extra arguments? \((.*)\)")


def usage_line(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx else "soliloquy"
    message = _message(error)
    return f"soliloquy: {message}{' See' if message.endswith('?') else '; see'} {command} --help"


def _message(error: click.UsageError) -> str:
    match error:
        case click.NoSuchOption():
            return f"unknown option {error.option_name}{_suggestion(error.possibilities)}"
        case click.NoSuchCommand():
            return f"unknown command {error.command_name!r}{_suggestion(error.possibilities)}"
        case click.MissingParameter() if error.param and error.ctx:
            return f"{error.ctx.command_path.removeprefix('soliloquy ')} requires {_as_typed(error.param, error.ctx)}"
        case click.BadOptionUsage() if (option := _option(error)) and error.ctx:
            if option.is_flag:
                return f"{error.option_name} takes no value"
            return f"{error.option_name} requires a value: {option.make_metavar(error.ctx)}"
        case click.BadParameter() if error.param:
            return f"{_source(error.param, error.ctx)}: {_sentence(error.message)}"
        case _:
            return _sentence(_UNEXPECTED.sub(r"unexpected argument: \1", error.message))


def _option(error: click.BadOptionUsage) -> click.Option | None:
    parameters = error.ctx.command.get_params(error.ctx) if error.ctx else ()
    options = (parameter for parameter in parameters if isinstance(parameter, click.Option))
    return next((option for option in options if error.option_name in option.opts), None)


def _as_typed(parameter: click.Parameter, context: click.Context) -> str:
    metavar = parameter.make_metavar(context)
    return metavar if isinstance(parameter, click.Argument) else f"{_flag(parameter)} {metavar}"


def _source(parameter: click.Parameter, context: click.Context | None) -> str:
    """Returns what a person wrote the value under: an option, an argument, or a variable of the environment."""
    if isinstance(parameter, click.Argument):
        return parameter.human_readable_name.strip("[].")
    if context and parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        return str(parameter.envvar)
    return _flag(parameter)


def _flag(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len)


def _sentence(message: str) -> str:
    """Returns one of click's messages as a part of ours: on one line, without its capital and its full stop."""
    message = " ".join(message.split()).removesuffix(".")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _suggestion(possibilities: list[str] | None) -> str:
    return f": did you mean {possibilities[0]}?" if possibilities else ""
