"""A gateway with a file of templates: people start runs by name, and schedules start them by themselves."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.gateway_pb2 import (
    ListAuditRequest,
    ListRunsRequest,
    ListTemplatesRequest,
    RunStatus,
    StartRunRequest,
)
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.templates import read_templates
from tests.integration.gateway.contract import FINISHED, last_of
from tests.integration.gateway.support import Collecting, growing, opened
from tests.waiting import until

RUN = 'run = {recipe = "soliloquy", problems = "arithmetic", conversations = 3, in_flight = 2}\n'


def written(folder: Path, *tables: str) -> Path:
    file = folder / "templates.toml"
    file.write_text("".join(tables), "utf-8")
    return file


def table(name: str, *lines: str) -> str:
    return f"[template.{name}]\n" + "".join(f"{line}\n" for line in lines) + RUN


async def listed(gateway: Gateway) -> list[RunStatus]:
    return list((await gateway.list_runs(ListRunsRequest())).runs)


async def test_a_run_of_a_template_has_its_settings_and_those_that_the_request_changes(tmp_path: Path) -> None:
    settings = GatewaySettings(templates=written(tmp_path, table("small")))
    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as transport,
        growing(transport, Collecting()),
        opened(transport, settings) as gateway,
    ):
        asked = StartRunRequest(request_id="one", template="small", request=RunRequest(conversations=2, seed=9))
        run = await gateway.start_run(asked)
        shown = run.request
        assert (shown.recipe, shown.problems, shown.conversations, shown.seed) == ("soliloquy", "arithmetic", 2, 9)
        assert shown.in_flight == 2
        assert (await last_of(gateway, run.id)).state == FINISHED
        [template] = (await gateway.list_templates(ListTemplatesRequest())).templates
        assert (template.name, template.request.conversations, template.schedule) == ("small", 3, "")
        with pytest.raises(Refusal, match="there is no template 'smal': list the templates"):
            await gateway.start_run(StartRunRequest(request_id="two", template="smal"))


async def test_a_template_of_a_tenant_is_not_there_for_others(tmp_path: Path) -> None:
    file = written(tmp_path, table("ours", 'tenant = "physics"'), table("everybodys"))
    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as transport,
        opened(transport, GatewaySettings(templates=file)) as gateway,
    ):
        TENANT.set("chemistry")
        shown = (await gateway.list_templates(ListTemplatesRequest())).templates
        assert [template.name for template in shown] == ["everybodys"]
        with pytest.raises(Refusal, match="there is no template 'ours'"):
            await gateway.start_run(StartRunRequest(request_id="one", template="ours"))


async def test_a_schedule_starts_its_run_once_although_gateways_come_and_go(tmp_path: Path) -> None:
    # Its time was five minutes ago, when no gateway was there.
    due = datetime.fromtimestamp(time.time() - 300, UTC)
    schedule = f'schedule = "{due.minute} {due.hour} * * *"'
    settings = GatewaySettings(
        templates=written(tmp_path, table("nightly", schedule, 'tenant = "physics"')),
        database=f"sqlite:///{tmp_path}/runs.sqlite",
    )
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport, growing(transport, Collecting()):
        async with opened(transport, settings) as gateway:

            async def is_started() -> bool:
                return bool(await listed(gateway))

            await until(is_started)
            [run] = await listed(gateway)
            assert (run.tenant, run.requested_by) == ("physics", "schedule:nightly")
            assert (await last_of(gateway, run.id)).state == FINISHED

            async def is_audited() -> bool:
                calls = (await gateway.list_audit(ListAuditRequest())).calls
                return [(call.who, call.outcome) for call in calls] == [("schedule:nightly", "done")]

            await until(is_audited)
        async with opened(transport, settings) as gateway:
            other = written(tmp_path, table("nightly", schedule, 'tenant = "physics"'), table("marker", schedule))
            assert other == settings.templates

            async def is_read_again() -> bool:
                return len(await listed(gateway)) == 2

            # The other template's run shows that the schedules were looked at.
            await until(is_read_again)
            assert {run.requested_by for run in await listed(gateway)} == {"schedule:nightly", "schedule:marker"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('[template.a]\nschedule = "0 25 * * *"\n' + RUN, "template.a.schedule: '0 25 \\* \\* \\*' is no schedule"),
        ('[template.a]\nschedule = "* * * * * *"\n' + RUN, "five fields"),
        ('[template.a]\nschedule = "0 0 31 2 *"\n' + RUN, "is no schedule"),
        ('[template.a]\nrun = {recipe = "soliloquy", problems = "physics"}\n', "invalid conversations 0"),
        ('[template.a]\nrun = {recipe = "nobodys", problems = "physics", conversations = 1}\n', "invalid recipe"),
        ('[template.a]\nrun = {conversation = 1}\n', "conversation"),
        ('[template.a]\nrun = 3\n', "template.a.run"),
        ('[template."a b"]\n' + RUN, "template"),
        ("[template.a]\n", "template.a.run"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, wrong: str, told: str) -> None:
    with pytest.raises(Failure, match=told) as failed:
        read_templates(written(tmp_path, wrong))
    assert "\n" not in str(failed.value)
