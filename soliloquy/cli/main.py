"""The `soliloquy` command."""

import re
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click
from click.core import ParameterSource

from soliloquy.cli.lazy import LazyGroup
from soliloquy.cli.terminal import echo, escape_unprintable
from soliloquy.runtime.distribution import NAME

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


# The exit status of a command that Ctrl-C ended.
INTERRUPTED = 130

_BEGINNING = """\
Soliloquy generates tutoring conversations whose numbers are right.

  soliloquy demo    plays a few on this machine and shows one
  soliloquy init    asks for your problems and your model, and writes a run file
  soliloquy up --data console-data --console 127.0.0.1:8080
                    opens a console for the browser

`soliloquy doctor` says what this machine lacks, `soliloquy --help` lists all commands."""

# The commands, by what a person wants.
_SECTIONS: Mapping[str, Sequence[str]] = {
    "Begin": ("demo", "init", "doctor"),
    "Generate and look": (
        *("generate", "show", "report", "compare", "check", "verify", "tail", "curate"),
        *("fork", "export", "import", "push", "pull", "size"),
    ),
    "Problems and recipes": ("problems", "recipes", "prompts"),
    "Ask people": ("annotations",),
    "Train and evaluate": ("freeze", "train", "retrain", "adapters", "evaluate", "replicate"),
    "Models and sandbox": ("model", "sandbox"),
    "Keep datasets": ("backup", "recover", "forget", "compact"),
    "Run a cluster": ("up", "runs", "dlq", "topics", "service", "top", "observe", "asyncapi"),
}
# The modules of commands that have other names.
_MODULES = {
    **{"dlq": "dead_letters", "asyncapi": "topics", "up": "service"},
    **dict.fromkeys(("freeze", "train", "retrain"), "training"),
    **dict.fromkeys(("size", "prompts"), "estimates"),
    **dict.fromkeys(("export", "import"), "exchange"),
    **dict.fromkeys(("push", "pull"), "hub"),
    **dict.fromkeys(("backup", "recover", "forget"), "recovery"),
    **dict.fromkeys(("verify", "report", "compare", "tail"), "datasets"),
}


@click.group(
    cls=LazyGroup,
    sections={
        title: {name: f"soliloquy.cli.{_MODULES.get(name, name)}" for name in names}
        for title, names in _SECTIONS.items()
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    invoke_without_command=True,
)
@click.version_option(package_name=NAME, message="%(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Generate tutoring conversations whose numbers are right."""
    if context.invoked_subcommand is None:
        echo(_BEGINNING)


def main() -> None:
    """Runs a command; an error in its options is one line, like every Failure."""
    escape_unprintable()
    try:
        status = commands(standalone_mode=False, prog_name="soliloquy")
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message())
        status = error.exit_code
    except click.UsageError as error:
        echo(usage_line(error), err=True)
        status = error.exit_code
    except click.Abort:
        status = INTERRUPTED
    except SystemExit as end:
        # Click and rich make a broken pipe a failure without a message.
        if isinstance(end.__context__, BrokenPipeError):
            _end_by_pipe()
        raise
    sys.exit(status)


def _end_by_pipe() -> NoReturn:
    """Ends as other programs do whose reader, such as `head`, has seen enough."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.raise_signal(signal.SIGPIPE)
    raise AssertionError("SIGPIPE ended nothing")
