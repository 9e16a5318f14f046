"""Builds the tutor that chats with people, by the gateway's own model or by one that a person chooses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError

from soliloquy.client import JobRefused, Sandbox, ServiceUnavailable
from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.files.imported_row import own_row
from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.recipes.words import words
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model, ModelRefused, StreamingModel
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.keys import Key, checked_key, key_of
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.opening import CountedModel, ModelByRole, open_models
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint
from soliloquy.runtime.retry import CannotServe, Refused, Transient
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling
from soliloquy.v1.sandbox_pb2 import Execution, Job

if TYPE_CHECKING:
    from soliloquy_services.gateway.chat.chats import ChatSettings
    from soliloquy_services.gateway.chat.messages import ChosenModel, EndpointRules
    from soliloquy_services.gateway.chat.tutor import ChatTutor, Handlers, TutorModel
    from soliloquy_services.gateway.http.routes import HttpRoute
    from soliloquy_services.gateway.service import Gateway
    from soliloquy_services.gateway.teaching.teaching import Teaching

# The role that writes the tutor's replies.
_TUTORING_ROLE = "composer"


class RemoteSandbox:
    """Runs the jobs of an executor in a `SandboxService`."""

    def __init__(self, client: Sandbox) -> None:
        self._client = client

    async def execute(self, job: Job) -> Execution:
        try:
            return await self._client.submit(job)
        except ServiceUnavailable as error:
            raise Transient(str(error)) from error
        except JobRefused as error:
            raise Refused(str(error)) from error


class ChatProblems:
    def bank_problem(self, bank: str, seed: int) -> Problem:
        if bank not in bank_names():
            raise ValueError(f"there is no bank {bank[:80]!r}; there are: {', '.join(bank_names())}")
        return load_bank(bank).problem(seed, 0)

    def own_problem(self, question: str, solution: str, language: str = "") -> Problem:
        """Returns the bank's problem if the question is one of a bank, because its steps are known."""
        if not (solution or language):
            known = (load_bank(bank).recognise(question) for bank in bank_names())
            if problem := next(filter(None, known), None):
                return problem
        try:
            row = own_row({"question": question, "solution": solution or words(language)["unsolved"]}, language)
            return problem_from_row(row, "a person", language)
        except ValidationError as error:
            raise ValueError(f"the problem cannot be used: {error.errors()[0]['msg']}") from error


@asynccontextmanager
async def tutoring(model: ModelSettings, sandbox: Sandbox, settings: "ChatSettings") -> AsyncIterator["ChatTutors"]:
    """Completions are not cached: they may answer a person's words."""
    async with (
        open_models(model.models, lambda: scripted_model(model), None) as models,
        sandbox,
    ):
        usual = tutor(models, sandbox, settings, by=tutoring_model(model.models))
        tutors = ChatTutors(usual=usual, models=model.models, sandbox=sandbox, settings=settings)
        try:
            yield tutors
        finally:
            await tutors.close()


class ChatTutors:
    """The tutor of the gateway's own model, and those of models that people choose."""

    def __init__(self, *, usual: "ChatTutor", models: Models, sandbox: Sandbox, settings: "ChatSettings") -> None:
        self.usual = usual
        self._models = models
        self._sandbox = sandbox
        self._settings = settings
        self._connected: set[RemoteModel] = set()

    async def open(self, chosen: "ChosenModel", *, listed: bool) -> "ChatTutor":
        """Connects a tutor with the model once that has answered; raises a Refusal if it does not."""
        from soliloquy_services.gateway.chat.tutor import TutorModel

        model, remote = await connect(chosen, self._models, keyed=listed, seconds=self._settings.answer_seconds)
        self._connected.add(remote)
        by = TutorModel(name=chosen.name, scripted=False)
        return tutor(model, self._sandbox, self._settings, by=by, close=partial(self._close, remote))

    async def close(self) -> None:
        """Closes the connections of chats that nobody has finished."""
        while self._connected:
            await self._connected.pop().close()

    async def _close(self, remote: RemoteModel) -> None:
        self._connected.discard(remote)
        await remote.close()


def tutoring_model(models: Models) -> "TutorModel":
    """Returns the model that writes the tutor's replies."""
    from soliloquy_services.gateway.chat.tutor import TutorModel

    found = {}
    for member in models.roles[_TUTORING_ROLE]:
        endpoint = models.endpoints[member.endpoint]
        scripted = endpoint.engine == "scripted"
        found["scripted" if scripted else member.adapter or endpoint.model] = scripted
    return TutorModel(name=" or ".join(found), scripted=all(found.values()))


def tutor(
    model: ModelByRole | StreamingModel,
    sandbox: Sandbox,
    settings: "ChatSettings",
    *,
    by: "TutorModel",
    close: Callable[[], Awaitable[None]] | None = None,
) -> "ChatTutor":
    from soliloquy_services.gateway.chat.tutor import ChatTutor

    def handlers(model: Model) -> "Handlers":
        return conversation_handlers(model, RemoteSandbox(sandbox))

    fault = (lambda: model.fault) if isinstance(model, ModelByRole) else (lambda: "")
    return ChatTutor(model, handlers, by=by, seconds=settings.answer_seconds, fault=fault, close=close)


def routes(
    tutors: "ChatTutors", transport: Transport, settings: "ChatSettings", rules: "EndpointRules"
) -> "tuple[HttpRoute, ...]":
    """Returns the routes of the chat. Conversations that people agree to share are published over the transport."""
    from soliloquy_services.gateway.chat.chats import Chats
    from soliloquy_services.gateway.chat.completions import Completions
    from soliloquy_services.gateway.chat.routes import ChatRoutes

    problems = ChatProblems()
    chats = Chats(tutors.usual, problems, transport.publish, settings, rules=rules, open_tutor=tutors.open)
    return ChatRoutes(chats=chats, completions=Completions(tutors.usual, problems, settings)).all()


@asynccontextmanager
async def teaching(
    tutors: "ChatTutors", gateway: "Gateway", transport: Transport, settings: "ChatSettings"
) -> AsyncIterator["Teaching"]:
    """Seats teachers before students of the gateway's own model. Dialogues are published over the transport."""
    from soliloquy_services.gateway.teaching.store import Seats
    from soliloquy_services.gateway.teaching.student import Student
    from soliloquy_services.gateway.teaching.teaching import Teaching

    student = Student(tutors.usual.model, tutors.usual.make_handlers, seconds=settings.answer_seconds)
    teaching = Teaching(Seats(gateway.database), student, ChatProblems(), transport.publish)
    try:
        yield teaching
    finally:
        await teaching.close()


# The endpoint's name in metrics and messages.
_NAME = "chat"
_FIRST_ANSWER_SECONDS = 30.0
_GREETING = GenerateRequest(
    messages=[Message(role="user", text="Say OK.")],
    sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=16),
)


async def connect(
    chosen: "ChosenModel", models: Models, *, keyed: bool, seconds: float
) -> tuple[ModelByRole, RemoteModel]:
    """Returns the model for all roles, and its connection; raises a Refusal if it does not answer.

    `models` has the sampling of each role. Only a `keyed` endpoint may be sent the gateway's own key.
    """
    try:
        table = {"engine": "openai", "base_url": chosen.base_url, "model": chosen.name}
        endpoint = replace(checked_endpoint(table, "endpoint"), timeout=seconds)
        key = key_of(endpoint, _NAME) if keyed and not chosen.key else checked_key(chosen.key, "the key field")
    except Failure as error:
        raise refusal(str(error)) from error
    client = OpenAIClient(_NAME, endpoint, key)
    try:
        await _greet(client, chosen, key)
    except BaseException:
        await client.close()
        raise
    remote = RemoteModel(_NAME, endpoint, client)
    answering: dict[str, StreamingModel] = {endpoint.engine: CountedModel(remote, _NAME, endpoint)}
    return ModelByRole(models.only_at(endpoint), answering, [remote]), remote


async def _greet(client: OpenAIClient, chosen: "ChosenModel", key: Key) -> None:
    """Has the model say a word, so that a wrong address, name or key is known before a chat begins."""
    try:
        async with asyncio.timeout(_FIRST_ANSWER_SECONDS):
            await client.ask(GenerateRequest.FromString(_GREETING.SerializeToString()), _FIRST_ANSWER_SECONDS)
    except TimeoutError:
        waited = f"{chosen.base_url} has not answered within {_FIRST_ANSWER_SECONDS:g} s"
        raise refusal(f"{waited}: try again once the model is loaded", "UNAVAILABLE") from None
    except (RetryableFault, CannotServe, ModelRefused) as error:
        # An endpoint may repeat the key in its answer.
        why = key.without(str(error).encode()).decode()
        raise refusal(f"{chosen.base_url} cannot be asked for {chosen.name!r}: {why}", "UNAVAILABLE") from None


def refusal(message: str, code: str = "INVALID") -> Exception:
    from soliloquy_services.gateway.refusals import Code, Refusal

    return Refusal(Code[code], message)
