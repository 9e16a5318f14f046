"""The ways in which a call to a model fails."""

from soliloquy.runtime.failure import Broken
from soliloquy.runtime.retry import CannotServe


class RetryableFault(Exception):
    """The call may succeed when it is retried."""

    # The label in metrics.
    kind: str
    # Whether fewer concurrent calls would help.
    throttles = False
    # Whether it counts against the endpoint; enough such faults open the circuit breaker.
    against_endpoint = True
    # Whether this very call may break the endpoint: then the number of retries is limited.
    against_call = False
    # Whether no call can succeed until a person fixes something.
    is_final = False
    # Whether the endpoint may have worked on an answer, which it then counts.
    may_be_billed = False

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        # Seconds that the endpoint asks to wait.
        self.after = after


class Throttled(RetryableFault):
    """429, RESOURCE_EXHAUSTED: the endpoint works but wants fewer calls."""

    kind = "throttled"
    throttles = True
    against_endpoint = False


class Overloaded(RetryableFault):
    """503 and similar."""

    kind = "overloaded"
    throttles = True


class Unreachable(RetryableFault):
    """No connection, UNAVAILABLE."""

    kind = "unreachable"


class TimedOut(RetryableFault):
    """No answer before the deadline."""

    kind = "timed_out"
    throttles = True
    against_call = True
    may_be_billed = True


class InvalidAnswer(RetryableFault):
    """An invalid answer: a 500, a truncated body, a body that is not JSON."""

    kind = "broken"
    against_call = True
    may_be_billed = True


class Failing(InvalidAnswer):
    """A 500: the endpoint says that it has no answer."""

    may_be_billed = False


class Held(RetryableFault):
    """The endpoint refuses every call; a service waits until a person has fixed what is wrong."""

    kind = "refused"
    is_final = True


class ModelFailed(Broken):
    """One call kept failing while others succeeded: its event is parked and retried later."""


class EndpointRefuses(CannotServe):
    """No call can succeed until a person fixes something: a wrong key, address or model name."""

    exit_code = Broken.exit_code


class UnknownModel(EndpointRefuses):
    """The endpoint does not have the model."""
