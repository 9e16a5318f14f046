"""What a FastStream broker is given to be let in."""

from faststream.security import BaseSecurity, SASLPlaintext, SASLScram256, SASLScram512

from soliloquy.runtime.transports.kafka.connection import ssl_context
from soliloquy.runtime.transports.kafka.settings import KafkaSettings

_SASL = {"PLAIN": SASLPlaintext, "SCRAM-SHA-256": SASLScram256, "SCRAM-SHA-512": SASLScram512}


def faststream_security(settings: KafkaSettings) -> BaseSecurity:
    context = ssl_context(settings)
    if not settings.sasl:
        return BaseSecurity(ssl_context=context)
    return _SASL[settings.mechanism](settings.username, settings.password, ssl_context=context)
