"""A webhook can verify its messages as Standard Webhooks says."""

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_services.gateway.webhooks import key_of, signature


def test_the_signature_is_that_of_standard_webhooks_own_example() -> None:
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    told = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')
    assert told == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_any_other_secret_signs_as_it_is_and_one_that_is_cut_off_is_refused() -> None:
    assert key_of("plain words") == b"plain words"
    with pytest.raises(Failure, match="is not base64 after whsec_: copy it again"):
        key_of("whsec_abc")
