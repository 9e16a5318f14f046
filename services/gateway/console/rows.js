// A conversation of the contract as the report's rows have it.

import { named, number } from "./told.js";

export function rowOf({ conversation, accepted, reasons = [], flags = [] }) {
  const { problem = {}, turns = [] } = conversation;
  const { enrichment = {} } = problem;
  return {
    id: conversation.id,
    attempt: number(conversation.attempt),
    persona: conversation.person ? "a person" : conversation.student_name || conversation.persona,
    ending: named(conversation.ending, "ENDING_"),
    ending_reason: conversation.ending_reason,
    reasons: accepted ? null : reasons,
    topic: problem.topic || "no topic",
    source: problem.source || "",
    question: problem.question || "No question was written.",
    solution: problem.solution || "",
    outline: enrichment.outline || "",
    confusion: enrichment.confusion?.solution,
    plan: enrichment.plan?.questions,
    opinions: (problem.authorship?.opinions || []).map((opinion) => ({ ...opinion, ruling: named(opinion.ruling, "RULING_") })),
    turns: turns.map((turn) => turnOf(turn, flags)),
  };
}

/** Flags name turns by their numbers; without a number they belong to the first. */
export function turnOf(turn, flags = []) {
  const { student, calculation, tutor = {}, calls = [] } = turn;
  return {
    student: student?.text ?? null,
    intent: named(student?.intent, "INTENT_"),
    belief: named(student?.belief, "BELIEF_"),
    shows: named(student?.learner_state, "LEARNER_STATE_"),
    rejected: student?.rejected,
    strategy: named(student?.strategy, "ERROR_STRATEGY_"),
    description: calculation?.description ?? null,
    attempts: (calculation?.attempts || []).map(attemptOf),
    thoughts: tutor.thoughts,
    tutor: tutor.text,
    evaluation: named(tutor.evaluation, "EVALUATION_"),
    action: number(tutor.action),
    step: number(tutor.step),
    state: named(tutor.state, "STEP_STATE_"),
    model: calls.at(-1)?.model,
    sub_question: number(turn.sub_question),
    learner_state: named(tutor.learner_state, "LEARNER_STATE_"),
    move: named(tutor.move, "MOVE_"),
    move_intent: named(tutor.move_intent, "MOVE_INTENT_"),
    calls: calls.map(callOf),
    flags: flags.filter((flag) => number(flag.turn) === number(turn.number)),
  };
}

function attemptOf({ code = "", execution = {} }) {
  return {
    code,
    status: named(execution.status, "STATUS_"),
    lane: named(execution.lane, "LANE_"),
    isolation: execution.isolation || "",
    error: execution.error || "",
    error_line: number(execution.error_line),
    stdout: execution.stdout || "",
    recomputed: execution.recomputed || [],
    values: (execution.values || []).map(({ name, value }) => ({ name, shown: shown(value) })),
  };
}

function callOf({ role, model, raw = [], outcome, prompt, prompt_tokens, completion_tokens, seconds }) {
  const tokens = `${number(prompt_tokens)} + ${number(completion_tokens)} tokens`;
  const told = [model, named(outcome, "PARSE_OUTCOME_"), tokens, number(seconds) ? `${number(seconds).toFixed(2)} s` : ""];
  return { role, raw, prompt, told: told.filter(Boolean).join(" · ") };
}

/** As Python would print it. */
export function shown(value = {}) {
  const [kind, held] = Object.entries(value)[0] || ["none"];
  if (kind === "boolean") return held ? "True" : "False";
  if (kind === "integer") return held;
  if (kind === "real") return real(held);
  if (kind === "complex") return `(${real(held.real ?? 0)}${number(held.imaginary) < 0 ? "" : "+"}${real(held.imaginary ?? 0)}j)`;
  if (kind === "text") return JSON.stringify(held);
  if (kind === "items") return `[${(held.items || []).map(shown).join(", ")}]`;
  if (kind === "entries") return `{${(held.entries || []).map(({ key, value: of }) => `${shown(key)}: ${shown(of)}`).join(", ")}}`;
  return kind === "unserialisable" ? `<${held}>` : "None";
}

/** Infinity and what is no number come as text. */
function real(held) {
  return Number.isInteger(held) && Math.abs(held) < 1e16 ? held.toFixed(1) : String(held);
}
