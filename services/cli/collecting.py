"""Opens what a collector writes; it loads Arrow, which other services do without."""

from contextlib import AsyncExitStack

from services.cli.failure import Failure
from services.collector.live_datasets import LiveDatasets, OtherVersion
from services.collector.settings import LiveSettings
from services.dataset.lock import Locked
from services.dataset.place import Unavailable


async def opened_datasets(settings: LiveSettings, at_hand: AsyncExitStack) -> LiveDatasets:
    try:
        return await at_hand.enter_async_context(LiveDatasets(settings))
    except (Locked, OtherVersion) as error:
        raise Failure(f"{error}: choose another --data") from None
    except Unavailable as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(f"{settings.data} cannot be written ({error.strerror}): choose another --data") from error
