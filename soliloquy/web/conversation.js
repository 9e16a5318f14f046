// Draws one conversation: what was said, and folded under each reply the tutor's soliloquy before it.

import { element } from "./element.js";
import { highlighted } from "./python.js";

/** @import { AttemptView, Content, ConversationView, RejectedView, TurnView, Words } from "./types.d.ts" */

// Why a verdict on the student's answer can be believed.
/** @type {Record<string, string>} */
const RESTS_ON = { program: "by a program", step: "by a step worked through before", none: "unverified" };

/** @param {ConversationView} conversation @param {Words} words */
export function conversationView(conversation, words) {
  const { turns } = conversation;
  const { reasons } = conversation;
  const solution = conversation.solution || "";
  const isFunction = solution.startsWith("def ");
  const programs = turns.filter((turn) => turn.description !== null).length;
  return [
    element("header", { class: "about" },
      element("button", { type: "button", class: "quiet back", "data-go": "back" }, "← All"),
      element("p", { class: "names" },
        element("a", { class: "id", href: conversation.link || `#${conversation.id}`, title: "Link to this conversation" }, conversation.id),
        element("span", null, conversation.source)),
      element("h2", null, conversation.question || "No question was written."),
      element("p", { class: "chips" },
        chip(reasons ? "rejected" : "accepted", reasons ? "fault" : "good"),
        chip(conversation.ending || "no ending"), chip(conversation.topic || "no topic"),
        turns.some((turn) => turn.student !== null) ? chip(`student: ${conversation.persona || "anybody"}`) : null,
        conversation.tutor_persona ? chip(`tutor: ${conversation.tutor_persona}`) : null,
        chip(counted(turns.length, "turn")), chip(counted(programs, "calculation")),
        conversation.attempt ? chip(`attempt ${conversation.attempt + 1} at its problem`) : null),
      reasons ? element("ul", { class: "reasons", "aria-label": "Why it was rejected" }, reasons.map((reason) => element("li", null, reason))) : null,
      conversation.ending_reason ? element("p", { class: "aside" }, conversation.ending_reason) : null,
      (conversation.rewinds || []).map(({ rule, because }) => element("p", { class: "aside" }, `Turns were taken back: ${rule}: ${because}`)),
      element("details", { class: "solution" }, element("summary", null, isFunction ? "Its function" : "The expert's solution"),
        isFunction ? highlighted(solution, 0) : element("p", { class: "written" }, solution),
        conversation.outline ? element("p", { class: "written aside" }, conversation.outline) : null),
      (conversation.parts || []).map(({ title, text }) => element("details", { class: "solution" }, element("summary", null, title), element("p", { class: "written" }, text)))),
    element("ol", { class: "turns" }, turns.map((turn) => turnView(turn, words))),
    element("p", { class: "end" }, `ended: ${conversation.ending || "unfinished"}`),
  ];
}

/** @param {TurnView} turn @param {Words} words */
export function turnView(turn, words) {
  return element("li", null,
    turn.student === null ? null : element("div", { class: "student" },
      element("p", { class: "who" }, "Student", element("span", { class: "hidden-label", title: "Drawn before the student spoke; the tutor was not shown it" }, turn.intent === "wrong" ? element("b", null, turn.drawn) : turn.drawn)),
      element("p", { class: "bubble" }, turn.student)),
    turn.rejected?.length ? rejectedView(turn.rejected) : null,
    soliloquyView(turn, words),
    turn.tutor ? element("div", { class: "tutor" }, element("p", { class: "who" }, "Tutor"), element("p", { class: "bubble" }, turn.tutor)) : null,
    (turn.flags || []).map(flagView));
}

/** Earlier answers of the turn, which a rule sent back. @param {RejectedView[]} rejected */
function rejectedView(rejected) {
  return element("details", { class: "call" }, element("summary", null, `${counted(rejected.length, "answer")} sent back before`),
    rejected.map(({ role, rule, text, because }) => [element("p", { class: "written" }, text), element("p", { class: "aside" }, `${role}, ${rule}: ${because}`)]));
}

/** A fault in the turn, by the rule that it breaks. @param {{ claim: string, evidence: string }} flag */
function flagView({ claim, evidence }) {
  return element("p", { class: "flag", role: "note", "aria-label": "Fault" }, element("b", null, `${claim}: `), evidence);
}

/** @param {TurnView} turn @param {Words} words */
export function soliloquyView(turn, words) {
  const { letters, evaluations } = words;
  const letter = letters[turn.evaluation || ""];
  const found = programVerdict(turn);
  const against = found !== null && letter && !words.agreeing[found].includes(letter);
  const summary = [
    turn.description === null ? "no calculation" : outcomeOf(turn, found),
    letter ? `${evaluations[letter]} (${letter})` : null,
    against ? "against its program" : null,
    RESTS_ON[turn.verification || ""] || null,
    turn.response || null,
  ].filter(Boolean);
  return element("details", { class: against ? "soliloquy fault" : "soliloquy" },
    element("summary", null, element("i", null, "soliloquy"), summary.map((part) => element("span", null, part))),
    turn.description === null ? element("p", { class: "aside" }, "Needs no calculation.")
      : turn.description ? element("div", { class: "calculation" }, element("h3", null, "Decides to calculate"), element("p", null, quoted(turn.description))) : null,
    turn.attempts.map((attempt, place) => attemptView(attempt, place, turn.attempts.length)),
    letter || turn.thoughts ? element("h3", null, "Judges") : null,
    turn.thoughts ? element("p", { class: "thoughts" }, turn.thoughts) : null,
    element("dl", { class: "codes" },
      pair("evaluation", letter, evaluations[letter]),
      Object.entries(turn.labels || {}).map(([name, value]) => pair(name, value, words.labels[name]?.[value || ""] || "")),
      pair("model", turn.model, "")),
    (turn.calls || []).map(callView));
}

/**
 * What a model was asked and what it answered, word for word.
 * @param {{ role: string, raw: string[], thoughts: string[], prompt: string, told: string }} call
 */
function callView({ role, told, prompt, raw, thoughts }) {
  return element("details", { class: "call" },
    element("summary", null, element("span", null, role), element("span", { class: "aside" }, told)),
    raw.map((text) => element("pre", { class: "code printed" }, text)),
    thoughts.length ? element("details", null, element("summary", null, "What it thought"),
      thoughts.map((thought) => element("pre", { class: "code printed" }, thought))) : null,
    prompt ? element("details", null, element("summary", null, "What it was asked"), element("pre", { class: "code printed" }, prompt)) : null);
}

/** @param {AttemptView} attempt @param {number} place @param {number} attempts */
export function attemptView(attempt, place, attempts) {
  const ran = attempt.status === "ok";
  const values = attempt.values.map(({ name, shown }) => element("li", null, element("code", null, name), " = ", element("code", { class: "value" }, shown),
    attempt.recomputed.includes(name) ? element("span", { class: "aside" }, " computed again on the host") : null));
  return element("div", { class: "attempt" },
    element("h3", null, attempts > 1 ? `Program, attempt ${place + 1} of ${attempts}` : "Program"),
    highlighted(attempt.code, ran ? 0 : attempt.error_line),
    ran ? element("ul", { class: "output", "aria-label": "Output" }, values)
      : element("p", { class: "failed" }, `${attempt.status || "did not run"}${attempt.error ? `: ${attempt.error}` : ""}`),
    attempt.stdout ? element("pre", { class: "code printed" }, attempt.stdout) : null);
}

/**
 * The last program's verdict on the student's number: the one truth value among its results, if there is exactly one.
 * @param {TurnView} turn
 */
export function programVerdict(turn) {
  const last = turn.attempts.at(-1);
  const found = last && last.status === "ok" ? last.values.filter(({ shown }) => shown === "True" || shown === "False") : [];
  return found.length === 1 ? (found[0].shown === "True" ? "right" : "wrong") : null;
}

/** @param {TurnView} turn @param {string | null} found */
function outcomeOf(turn, found) {
  const last = turn.attempts.at(-1);
  if (!last || last.status !== "ok") return "no program ran";
  return found ? `program: ${found}` : "program: a value";
}

/** @param {string} name @param {string | number | null} code @param {string} meaning @returns {Content} */
function pair(name, code, meaning) {
  return code ? [element("dt", null, name), element("dd", null, element("b", null, String(code)), meaning ? ` ${meaning}` : "")] : [];
}

/** Sets `names` between backticks as code. @param {string} text @returns {Content} */
export function quoted(text) {
  return text.split("`").map((part, place) => (place % 2 ? element("code", null, part) : part));
}

/** @param {string} text @param {string} [kind] */
function chip(text, kind) {
  return element("span", { class: kind ? `chip ${kind}` : "chip" }, text);
}

/** @param {number} number @param {string} thing */
export function counted(number, thing) {
  return `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
}
