"""What a run of the gateway's is to become, as `generate` would plan it: the same settings make the same dataset."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from services.gateway.planning import BadRequest, Offered
from soliloquy.problems.bank.bank import bank_names
from soliloquy.problems.commission_source import CommissionSource
from soliloquy.problems.sources import BadProblemFile, ProblemSource, problem_source
from soliloquy.recipes.recipe import find
from soliloquy.runs.plan import Plan
from soliloquy.runtime.ask import BrokenPrompt
from soliloquy.runtime.model.settings import Models
from soliloquy.v1.runs_pb2 import Run, RunRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class Plans:
    models: Models
    noise: str
    # The folder of problem files that a run may name.
    files: Path | None

    def run(self, request: RunRequest, growing: str) -> Run:
        recipe = find(request.recipe)
        try:
            prompts = recipe.fingerprints()
        except BrokenPrompt as error:
            raise BadRequest(f"recipe {request.recipe!r} has a prompt that cannot be used ({error})") from error
        plan = Plan(
            recipe=request.recipe,
            problems=request.problems,
            problems_sha256=self.problems(request).digest,
            models=self.models,
            prompts_sha256=prompts,
            conversations=request.conversations,
            seed=request.seed,
            noise=self.noise,
            max_turns=request.max_turns,
            max_attempts=request.max_attempts,
            enrich=request.enrich or recipe.always_enriched,
            workers=1,
            in_flight=request.in_flight,
            latency=0.0,
        )
        return plan.run(growing)

    def problems(self, request: RunRequest) -> ProblemSource:
        names = {one.name: one.kind for one in self.offered()}
        if request.problems not in names:
            raise BadRequest(f"problems cannot be {request.problems[:80]!r}: there are {', '.join(names)}")
        spec = request.problems
        if names[spec] == "file":
            assert self.files
            spec = str(self.files / spec)
        try:
            given = problem_source(spec)
        except (BadProblemFile, OSError) as error:
            # Where the folder lies is nobody's business.
            told = str(error).replace(f"{self.files}/", "")
            raise BadRequest(f"problems {request.problems!r} cannot be read ({told}): mend the file") from error
        topics = find(request.recipe).topics
        return CommissionSource(examples=given, topics=topics) if topics else given

    def offered(self) -> Sequence[Offered]:
        banks = [Offered(name=name, kind="bank") for name in bank_names()]
        found = sorted(self.files.iterdir()) if self.files else []
        # A file that has the name of a bank could not be told from it.
        files = [file.name for file in found if file.is_file() and not file.name.startswith(".")]
        return banks + [Offered(name=name, kind="file") for name in files if name not in bank_names()]
