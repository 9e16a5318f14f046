"""Who may make which call, and how often: roles, rates, origins and the file of tokens."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.validated_file import CHECK_SECONDS
from soliloquy.v1 import gateway_pb2
from soliloquy_services.gateway.access.access import CALLER, Access, Credentials
from soliloquy_services.gateway.access.hosts import check_closed, names_loopback, same_origin
from soliloquy_services.gateway.access.rates import MOST_CALLERS, RateLimit, TokenBuckets, rate_key
from soliloquy_services.gateway.access.tokens import ROLE_OF, TokenFile
from soliloquy_services.gateway.refusals import Code, Refusal
from tests.unit.gateway.tokens import OPERATOR, READER, entry, written

RPC_ROUTES = gateway_pb2.DESCRIPTOR.services_by_name["RunService"].methods_by_name
STEERING = [name for name, role in ROLE_OF.items() if role == "operator"]
ROOMY = RateLimit(burst=1_000, per_second=1_000)
OIDC = '[oidc]\nissuer = "https://login.example"\naudience = "soliloquy"\n'


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def access(folder: Path, *entries: str, **limits: RateLimit) -> Access:
    chosen = {"calls": ROOMY, "steering": ROOMY, "strangers": ROOMY, "visitors": ROOMY} | limits
    return Access(TokenFile(written(folder, *entries)), limits=chosen, clock=Clock())


def presented(token: str = "", certificate: str = "", address: str = "192.0.2.7") -> Credentials:
    return Credentials(address=address, token=token, certificate=certificate)


@contextmanager
def refused(code: Code) -> Iterator[pytest.ExceptionInfo[Refusal]]:
    with pytest.raises(Refusal) as found:
        yield found
    assert found.value.code == code


@pytest.mark.parametrize("action", STEERING)
def test_a_reader_steers_nothing(tmp_path: Path, action: str) -> None:
    with refused(Code.DENIED) as found, access(tmp_path).admit(presented(READER), action):
        pytest.fail("a reader was let in")
    assert action in found.value.message
    assert "rita has the role reader" in found.value.message


@pytest.mark.parametrize("action", sorted(ROLE_OF))
def test_an_operator_may_call_whatever_there_is(tmp_path: Path, action: str) -> None:
    with access(tmp_path).admit(presented(OPERATOR), action):
        assert CALLER.get() == "olga"


def test_every_rpc_is_somebodys() -> None:
    assert set(RPC_ROUTES) <= set(ROLE_OF)


def test_what_is_in_no_role_is_refused_to_all(tmp_path: Path) -> None:
    with refused(Code.DENIED), access(tmp_path).admit(presented(OPERATOR), "DeleteEverything"):
        pytest.fail("an unknown call was let in")


def test_a_wrong_token_is_none_even_with_a_right_certificate(tmp_path: Path) -> None:
    with refused(Code.UNAUTHENTICATED), access(tmp_path).admit(presented("guess", "olga"), "GetRun"):
        pytest.fail("a wrong token was let in")


def test_a_certificate_is_looked_up_by_its_name(tmp_path: Path) -> None:
    guarded = access(tmp_path, entry("worker-7", "reader"))
    with guarded.admit(presented(certificate="worker-7"), "GetRun") as call:
        assert call.who == "worker-7"
    with refused(Code.UNAUTHENTICATED) as found, guarded.admit(presented(certificate="worker-8"), "GetRun"):
        pytest.fail("an unknown name was let in")
    assert "worker-8" in found.value.message


def test_without_tokens_everybody_may_do_everything() -> None:
    with Access(None).admit(presented(), "StartRun"):
        assert CALLER.get() == ""


def test_a_caller_that_is_too_fast_is_told_how_long_to_wait(tmp_path: Path) -> None:
    guarded = access(tmp_path, calls=RateLimit(burst=2, per_second=0.5))
    for _ in range(2):
        with guarded.admit(presented(READER), "GetRun"):
            pass
    with refused(Code.TOO_MANY) as found, guarded.admit(presented(READER), "GetRun"):
        pytest.fail("a third call was let in")
    assert found.value.retry_after == 2.0
    # It is nobody else's fault.
    with guarded.admit(presented(OPERATOR), "GetRun"):
        pass


def test_steering_is_bounded_more_narrowly_than_looking(tmp_path: Path) -> None:
    guarded = access(tmp_path, steering=RateLimit(burst=1, per_second=1))
    with guarded.admit(presented(OPERATOR), "CancelRun"):
        pass
    with refused(Code.TOO_MANY), guarded.admit(presented(OPERATOR), "CancelRun"):
        pytest.fail("a second call was let in")
    with guarded.admit(presented(OPERATOR), "GetRun"):
        pass


def test_whoever_guesses_tokens_is_slowed_down_and_holds_up_nobody_at_the_same_address(tmp_path: Path) -> None:
    guarded = access(tmp_path, strangers=RateLimit(burst=1, per_second=0.1))
    with refused(Code.UNAUTHENTICATED), guarded.admit(presented("guess"), "GetRun"):
        pytest.fail("a guess was let in")
    with refused(Code.TOO_MANY), guarded.admit(presented("guess"), "GetRun"):
        pytest.fail("a guess was let in")
    with guarded.admit(presented(READER), "GetRun"):
        pass


def test_a_bucket_fills_again_and_never_beyond_its_burst() -> None:
    clock = Clock()
    buckets = TokenBuckets(RateLimit(burst=2, per_second=1), clock)
    clock.now = 1_000.0
    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, 1.0]
    clock.now += 1.0
    assert [buckets.take("a") for _ in range(2)] == [0.0, 1.0]


def test_callers_without_number_take_no_memory_without_end() -> None:
    buckets = TokenBuckets(RateLimit(burst=1, per_second=1), Clock())
    for number in range(MOST_CALLERS + 1):
        buckets.take(str(number))
    # The first was forgotten for the last.
    assert buckets.take("0") == 0.0
    assert buckets.take(str(MOST_CALLERS)) == 1.0


def test_the_addresses_of_one_host_are_counted_together() -> None:
    assert rate_key("2001:db8::1") == rate_key("2001:db8::ffff:2")
    assert rate_key("2001:db8::1") != rate_key("2001:db8:0:1::1")
    assert rate_key("::ffff:192.0.2.7") == "192.0.2.7"


def test_the_audit_log_tells_who_did_what_to_what_and_no_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    guarded = access(tmp_path)
    with caplog.at_level(logging.INFO, "soliloquy_services.gateway"):
        with guarded.admit(presented(OPERATOR), "CancelRun") as call:
            call.target = "a-run\nolga cancelled b-run"
        with refused(Code.DENIED), guarded.admit(presented(READER), "CancelRun", "a-run"):
            pytest.fail("a reader was let in")
        with refused(Code.UNAUTHENTICATED), guarded.admit(presented("guess"), "GetRun"):
            pytest.fail("a guess was let in")
        with guarded.admit(presented(READER), "GetRun"):
            pass
    told = [vars(record)["fields"] for record in caplog.records if record.name.endswith("audit")]
    assert told == [
        {"who": "olga", "what": "CancelRun", "target": "a-run\\nolga cancelled b-run", "outcome": "done"},
        {"who": "rita", "what": "CancelRun", "target": "a-run", "outcome": "denied"},
        {"who": "192.0.2.7", "what": "GetRun", "target": "", "outcome": "unauthenticated"},
    ]


@pytest.mark.parametrize("address", ["0.0.0.0:8080", "[::]:8080", "192.0.2.7:8080", ":8080"])
def test_nobody_listens_without_tokens_where_others_can_call(address: str) -> None:
    with pytest.raises(Failure, match="--tokens FILE"):
        check_closed(["127.0.0.1:8080", address])


def test_this_machine_needs_no_tokens() -> None:
    check_closed(["127.0.0.1:8080", "[::1]:8080", "localhost:8080"])


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "127.8.8.8"])
def test_this_machine_is_known_by_its_names(host: str) -> None:
    assert names_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example:8080", "127.0.0.1.evil.example", "[::1", "0.0.0.0"]
)
def test_a_name_that_was_made_to_point_here_is_no_name_of_this_machine(host: str) -> None:
    assert not names_loopback(host)


def test_a_page_of_another_host_or_port_is_another_origin() -> None:
    assert same_origin("127.0.0.1:8080", "http://127.0.0.1:8080")
    assert not same_origin("127.0.0.1:8080", "http://127.0.0.1:9090")
    assert not same_origin("127.0.0.1:8080", "https://evil.example")
    assert not same_origin("127.0.0.1:8080", "null")


def test_a_token_is_known_by_its_digest_alone(tmp_path: Path) -> None:
    tokens = TokenFile(written(tmp_path))
    found = tokens.with_token(OPERATOR)
    assert found is not None
    assert (found.name, found.role) == ("olga", "operator")
    assert tokens.with_token(found.sha256) is None
    assert tokens.with_token("") is None


def test_a_stream_goes_on_only_while_its_caller_may_make_the_call_for_the_same_tenant(tmp_path: Path) -> None:
    def of(role: str, tenant: str) -> str:
        return f'{entry("olga", role, OPERATOR)}tenant = "{tenant}"\n'

    access = Access(TokenFile(written(tmp_path, of("operator", "physics")), Clock()))
    with access.admit(presented(OPERATOR), "Say") as call:
        access.recheck(presented(OPERATOR), call)
        for entries, told in ((of("reader", "physics"), "requires the role"), (of("operator", "a"), "another tenant")):
            now = Access(TokenFile(written(tmp_path, entries)))
            with pytest.raises(Refusal, match=f"the stream ends: .*{told}"):
                now.recheck(presented(OPERATOR), call)


@pytest.mark.parametrize("action", ["GetPipeline", "WatchPipeline"])
def test_what_tells_of_all_tenants_is_refused_to_each(tmp_path: Path, action: str) -> None:
    guarded = access(tmp_path, f'{entry("olga", "operator", OPERATOR)}tenant = "physics"\n')
    with refused(Code.DENIED) as found, guarded.admit(presented(OPERATOR), action):
        pytest.fail("a tenant was let in")
    assert found.value.message == f"{action} tells of all tenants' work: ask an operator of the installation"


def test_a_name_without_a_digest_is_for_a_certificate_only(tmp_path: Path) -> None:
    tokens = TokenFile(written(tmp_path, entry("worker-7", "operator")))
    named = tokens.with_name("worker-7")
    assert named is not None
    assert named.role == "operator"
    # Nothing that can be typed has an empty digest.
    assert tokens.with_token("") is None


def test_a_token_that_is_taken_out_of_the_file_is_refused_without_a_restart(tmp_path: Path) -> None:
    clock, file = Clock(), written(tmp_path)
    tokens = TokenFile(file, clock)
    assert tokens.with_token(READER)
    written(tmp_path, entry("olga", "operator", OPERATOR))
    clock.now += CHECK_SECONDS
    assert tokens.with_token(READER) is None
    assert tokens.with_token(OPERATOR)


def test_an_entry_admits_nobody_once_it_has_expired(tmp_path: Path) -> None:
    past, future = (f"{entry('olga', 'operator', OPERATOR)}expires = {year}-01-31T00:00:00Z\n" for year in (2020, 9020))
    assert TokenFile(written(tmp_path, future)).with_token(OPERATOR)
    expired = TokenFile(written(tmp_path, past))
    assert expired.with_token(OPERATOR) is None
    assert expired.with_name("olga") is None


@pytest.mark.parametrize("value", ["2030-01-31T00:00:00", "2030-01-31", '"soon"'])
def test_an_expiry_without_its_zone_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(Failure, match="token 1: invalid expires: use a time with its zone"):
        TokenFile(written(tmp_path, f"{entry('olga', 'operator', OPERATOR)}expires = {value}\n"))


def test_a_file_that_is_broken_meanwhile_locks_nobody_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock, file = Clock(), written(tmp_path)
    tokens = TokenFile(file, clock)
    file.write_text("[[token]\n", "utf-8")
    clock.now += CHECK_SECONDS
    with caplog.at_level(logging.ERROR, "soliloquy_services.gateway"):
        assert tokens.with_token(READER)
        clock.now += CHECK_SECONDS
        assert tokens.with_token(READER)
    [told] = caplog.messages
    assert "cannot be read" in told
    assert "the previous tokens stay in force" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no [[token]]"),
        ("token = [", "cannot be read (Invalid value"),
        ("tokens = []\n", "unknown entry 'tokens'"),
        (entry("rita", "admin", READER), "token 1: invalid role: use annotator, reader or operator"),
        (entry("rita", "reader", READER) + entry("rita", "operator", OPERATOR), "two tokens are named 'rita'"),
        (entry("rita", "reader", READER) + entry("olga", "operator", READER), "two entries have the same sha256"),
        (entry("", "reader", READER), "token 1: invalid name"),
        (entry("rita", "reader") + 'sha256 = "the-secret-itself"\n', "token 1: invalid sha256"),
        (entry("rita", "reader") + 'token = "the-secret-itself"\n', "token 1: unknown field 'token'"),
        ('token = "the-secret-itself"\n', "token is not written as a table"),
        (entry("rita", "reader", READER) + 'tenant = "A b"\n', "token 1: invalid tenant: use up to 40 lower-case"),
        ('[[group]]\nname = "staff"\nrole = "reader"\n', "has a [[group]] and no [oidc]"),
        (OIDC, "has no [[token]] and no [[group]]"),
        (OIDC + entry("rita", "reader", READER), "has [oidc] and no [[group]]"),
        (OIDC.replace("https", "http"), "oidc: invalid issuer: use the provider's https address"),
        (OIDC + 'secret = "the-secret-itself"\n', "oidc: unknown field 'secret'"),
        (OIDC + 2 * '[[group]]\nname = "staff"\nrole = "reader"\n', "two groups are named 'staff'"),
    ],
)
def test_a_broken_file_is_refused_with_one_line_that_gives_no_secret_away(tmp_path: Path, text: str, told: str) -> None:
    file = written(tmp_path, text or "\n")
    with pytest.raises(Failure) as refused:
        TokenFile(file)
    assert str(refused.value).startswith(str(file))
    assert told in str(refused.value)
    assert "the-secret-itself" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"none\.toml cannot be read"):
        TokenFile(tmp_path / "none.toml")
