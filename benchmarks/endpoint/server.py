"""An endpoint for tests and benchmarks, with the dialect, batches, caches and manners of a real one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from benchmarks.endpoint import dialects as spoken
from benchmarks.endpoint.arrivals import Arrivals
from benchmarks.endpoint.batches import FakeBatches
from benchmarks.endpoint.file_batches import FileRoutes
from benchmarks.endpoint.invoice import Invoice, PrefixCache
from benchmarks.endpoint.message_batches import MessageRoutes, as_chat_request, as_message
from benchmarks.endpoint.settings import EndpointSettings, Manners
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.dialects import BATCH_FORMS, UNKNOWN, dialects
from soliloquy.runtime.seeds import draw
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from soliloquy_services.model.fake import FILTERED, FakeServer, RefusedRequest


class FakeEndpoint(FakeServer):
    def __init__(
        self, model: Model, settings: EndpointSettings, noisy: Model | None = None, *, needs_record: bool = True
    ) -> None:
        """`noisy` gives answers that no schema constrains; with it, answers have manners."""
        super().__init__(model, settings, needs_record=needs_record)
        self._noisy = noisy
        self._checks = bool(settings.dialect)
        self._dialect = dialects()[settings.dialect or UNKNOWN]
        self.path, self.query = spoken.address(self._dialect)
        self.owner = self._dialect.owner or "stand-in"
        self.manners = Manners(self._dialect)
        self._form = BATCH_FORMS.get(self._dialect.batches)
        takes_messages = self._dialect.batches == "messages"
        self._cache = (
            None if settings.prefix_cache is None else PrefixCache(settings.prefix_cache, by_marks=takes_messages)
        )
        self._routes = MessageRoutes if takes_messages else FileRoutes
        works = self._message_line if takes_messages else self._line
        self.batches = FakeBatches(works, settings.batch_faults, seconds=settings.batch_latency, seed=settings.seed)
        self.invoice = Invoice()
        self._arrivals = Arrivals()
        # Counts the requests of a form that the dialect refuses.
        self.refused = 0

    @asynccontextmanager
    async def serving(self, address: str) -> AsyncIterator[str]:
        async with super().serving(address) as url:
            try:
                yield url
            finally:
                await self.batches.close()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        super().add_routes(router)
        router.add_get(f"{self.path}/invoice", self._bill)
        router.add_get(f"{self.path}/arrivals", self._count)
        if self._form:
            self._routes(self.batches, self._form).add_to(router, self.path)

    def key_of(self, request: web.Request) -> str:
        form = self._form if "/batches" in request.path else None
        header = (form and form.key_header) or self._dialect.key_header
        return request.headers.get(header, "").removeprefix("Bearer ")

    def error(self, refused: RefusedRequest) -> Any:
        return spoken.error(self._dialect, refused, super().error(refused)["error"])

    def message(self, completion: Completion) -> dict[str, Any]:
        return spoken.message(self._dialect, super().message(completion))

    def usage(self, completion: Completion) -> dict[str, Any]:
        return spoken.usage(self._dialect, completion, super().usage(completion))

    def check(self, params: dict[str, Any]) -> None:
        if self._checks:
            spoken.check(self._dialect, params)
        if "n" in self._dialect.without:
            params.pop("n", None)

    async def completion(self, params: dict[str, Any], headers: Mapping[str, str], *, arrives: bool) -> Completion:
        """Bills each request that it works on."""
        try:
            completion = await super().completion(params, headers, arrives=arrives)
        except RefusedRequest as refused:
            self.refused += refused.code not in (FILTERED, "invalid_request")
            raise
        if self._cache:
            held, written = self._cache.use(params)
            completion.cached_tokens = min(held, completion.prompt_tokens)
            completion.cache_write_tokens = min(written, completion.prompt_tokens - completion.cached_tokens)
        self.invoice.add(params, headers, completion, arrives=arrives)
        return completion

    async def sample(self, request: GenerateRequest, params: Mapping[str, Any]) -> Completion:
        schema = spoken.asked_schema(params) if self._checks and self._dialect.enforces else None
        model = self._model if schema else self._noisy or self._model
        completion = await model.generate(request)
        if self._noisy:
            completion = self.manners.dress(completion, draw("manners", request.seed, request.prompt))
        if schema and completion.finish == Finish.FINISH_STOP:
            completion.text = spoken.shaped(completion.text, schema)
        return completion

    async def _bill(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(self.invoice.lines)

    async def _count(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(self._arrivals.summary())

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if self.query and self.query.removeprefix("?").partition("=")[0] not in request.query:
            raise RefusedRequest(404, "Resource not found", code="404")
        self._arrivals.arrive(await request.read())
        answer = await super()._complete(request)
        self._arrivals.answer()
        return answer

    async def _line(self, params: dict[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        """Works on a request of a batch; returns the status and the body of its answer."""
        try:
            completion = await self.completion(params, headers, arrives=True)
        except RefusedRequest as refused:
            return refused.status, self.error(refused)
        return 200, self.whole(params, completion)

    async def _message_line(self, params: dict[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        """Works on a request of a batch of messages."""
        try:
            completion = await self.completion(as_chat_request(params), headers, arrives=True)
        except RefusedRequest as refused:
            return refused.status, {"error": {"message": refused.message}}
        return 200, as_message(params["model"], completion)
