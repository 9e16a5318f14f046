"""What a call to a model may come to, beside an answer."""

from soliloquy.runtime.retry import CannotServe


class Passing(Exception):
    """The call may succeed when it is made again."""

    # Its name in the metrics.
    kind: str
    # Whether fewer calls at once would help.
    throttles = False
    # Whether it speaks against the endpoint, which is given up for a while after enough of them.
    against_endpoint = True
    # Whether the call itself may be what the endpoint cannot stand: then it is not made for ever.
    against_call = False

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        # Seconds for which the endpoint wants to be left alone.
        self.after = after


class Throttled(Passing):
    """429, RESOURCE_EXHAUSTED: the endpoint is there and wants fewer calls."""

    kind = "throttled"
    throttles = True
    against_endpoint = False


class Overloaded(Passing):
    """503 and the like."""

    kind = "overloaded"
    throttles = True


class Unreachable(Passing):
    """No connection, UNAVAILABLE: nobody there took the call."""

    kind = "unreachable"


class TimedOut(Passing):
    """No answer within the deadline."""

    kind = "timed_out"
    throttles = True
    against_call = True


class Broken(Passing):
    """An answer that is none: a 500, a body that stops short or is no JSON."""

    kind = "broken"
    against_call = True


class ModelFailed(Exception):
    """A call failed again and again while others were answered: its event is set aside and comes back later."""


class EndpointRefuses(CannotServe):
    """No call would be answered until a person mends something: a wrong key, address or model name."""
