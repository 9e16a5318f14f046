"""Counts finished conversations for dashboards."""

from collections.abc import Iterable

from soliloquy.dataset.answer_fates import SENT_BACK, STANDS, TAKEN_BACK, is_read_at_once, tries
from soliloquy.recipes.check_report import CheckedConversation
from soliloquy.runtime.metrics import counter, gauge, series
from soliloquy.runtime.model.costs import disjoint, use_of
from soliloquy.v1.conversation_pb2 import Conversation, ParseOutcome, Turn

FINISHED = counter("soliloquy_conversations_finished_total")
REASONS = counter("soliloquy_rejection_reasons_total")
TURNS = counter("soliloquy_conversation_turns_total")
TOKENS = counter("soliloquy_conversation_tokens_total")
VERDICTS = counter("soliloquy_verdicts_total")
ANSWERS_SENT_BACK = counter("soliloquy_answers_sent_back_total")
REWINDS = counter("soliloquy_rewinds_total")
FIRST_TRIES = counter("soliloquy_first_tries_total")
BLOCKED = gauge("soliloquy_shards_blocked")


def count(conversation: Conversation, checked: CheckedConversation) -> None:
    recipe, outcome = conversation.run.recipe, "rejected" if checked.faults else "accepted"
    FINISHED.labels(recipe, outcome).inc()
    for reason in {fault.partition(":")[0] for fault in checked.faults}:
        REASONS.labels(recipe, reason).inc()
    for told in checked.turns:
        if told.verdict_true is not None:
            series(VERDICTS, recipe, "true" if told.verdict_true else "untrue").inc()
    for turn in conversation.turns:
        calculates, mended = turn.HasField("calculation"), bool(turn.rejected)
        series(TURNS, recipe, outcome, *("yes" if so else "no" for so in (calculates, mended))).inc()
    _count_answers(conversation.turns, recipe, outcome, STANDS)
    for rewind in conversation.rewinds:
        REWINDS.labels(recipe, rewind.rule).inc()
        _count_answers(rewind.turns, recipe, outcome, TAKEN_BACK)


def _count_answers(turns: Iterable[Turn], recipe: str, outcome: str, fate: str) -> None:
    for turn in turns:
        for one in turn.rejected:
            ANSWERS_SENT_BACK.labels(recipe, one.role, one.rule).inc()
        answers = [(call.role, is_read_at_once(ParseOutcome.Name(call.outcome))) for call in turn.calls]
        back = {place for one in turn.rejected for place in one.calls}
        stood = tries(answers, back, {one.role for one in turn.rejected})
        for place, call in enumerate(turn.calls):
            if place in stood:
                series(FIRST_TRIES, recipe, call.role, call.model, "stood" if stood[place] else "mended").inc()
            came_to = SENT_BACK if place in back and fate == STANDS else fate
            for kind, tokens in disjoint(use_of(call)).items():
                series(TOKENS, recipe, outcome, kind, came_to).inc(tokens)
