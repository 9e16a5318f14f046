// Numbers, times and states as people read them, in the reader's own language and time zone.

/** @import { Bounds, Forecast, Interval, Numeric, Progress, Run, RunRequest } from "./contract.d.ts" */

const WHOLE = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const PART = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const RATE = new Intl.NumberFormat(undefined, { minimumSignificantDigits: 2, maximumSignificantDigits: 3 });
const COST = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD" });
const CENTS = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumSignificantDigits: 2 });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** A missing field is 0. @param {Numeric} value */
export const number = (value) => Number(value || 0);
/** @param {Numeric} value */
export const whole = (value) => WHOLE.format(number(value));
/** @param {Numeric} value */
export const short = (value) => (number(value) < 10_000 ? whole(value) : SHORT.format(number(value)));
/** @param {Numeric} value */
export const rate = (value) => (number(value) ? `${RATE.format(number(value))}/s` : "–");

/** 100 % only where the part is the whole. @param {Numeric} part @param {Numeric} of */
export function percent(part, of) {
  if (!number(of)) return "–";
  return PART.format(number(part) < number(of) ? Math.min(number(part) / number(of), 0.999) : 1);
}

/** @param {Numeric} value */
export function cost(value) {
  if (!number(value)) return "nothing";
  return (number(value) < 0.1 ? CENTS : COST).format(number(value));
}

/** The cost of a run; what has no known price is said to be unknown. @param {Run} run */
export function costOf(run) {
  if (!run.unpriced?.length) return cost(run.cost);
  return number(run.cost) ? `${cost(run.cost)} +` : "unknown";
}

/** The two largest units: 2 min 41 s. @param {Numeric} seconds */
export function duration(seconds) {
  const left = Math.round(number(seconds));
  if (left < 60) return `${left} s`;
  if (left < 3_600) return `${Math.floor(left / 60)} min ${left % 60} s`;
  if (left < 86_400) return `${Math.floor(left / 3_600)} h ${Math.floor((left % 3_600) / 60)} min`;
  return `${Math.floor(left / 86_400)} d ${Math.floor((left % 86_400) / 3_600)} h`;
}

/** @param {Numeric} seconds Since 1970. */
export function ago(seconds) {
  const past = Math.max(Date.now() / 1_000 - number(seconds), 0);
  if (past < 5) return "just now";
  const [unit, length] = UNITS.find(([, size]) => past >= size) || UNITS[UNITS.length - 1];
  return AGO.format(-Math.floor(past / length), unit);
}

/** @param {Numeric} seconds Since 1970. */
export const moment = (seconds) => MOMENT.format(new Date(number(seconds) * 1_000));
/** @param {Date} date */
export const clock = (date) => CLOCK.format(date);

/** @param {Numeric} size */
export function bytes(size) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const power = Math.min(Math.floor(Math.log10(Math.max(number(size), 1)) / 3), units.length - 1);
  const format = new Intl.NumberFormat(undefined, { style: "unit", unit: units[power], unitDisplay: power ? "short" : "long", maximumSignificantDigits: 3 });
  return format.format(number(size) / 1_000 ** power);
}

/** RUN_STATE_RUNNING as "running"; an unset value as "". @param {string | undefined} value @param {string} prefix */
export function named(value, prefix) {
  const name = (value || "").replace(prefix, "").toLowerCase().replaceAll("_", " ");
  return name === "unspecified" ? "" : name;
}

/** @param {Pick<Run, "state">} run */
export const stateOf = (run) => named(run.state, "RUN_STATE_");
/** @type {Record<string, string>} */
const STATE_WORDS = { short: "incomplete", open: "started elsewhere" };
/** @type {Record<string, string>} */
const STATE_MEANINGS = {
  paused: "Conversations under way wait at their next turn, and no others start.",
  short: "It ended with fewer conversations than requested, or lost some of them.",
  open: "The gateway did not start it and does not control it: kept chats, and `soliloquy generate --kafka`.",
};
/** @param {Pick<Run, "state">} run */
export const stateInWords = (run) => STATE_WORDS[stateOf(run)] || stateOf(run);
/** What a state means, where its name does not say. @param {Pick<Run, "state">} run */
export const stateMeaning = (run) => STATE_MEANINGS[stateOf(run)] || "";
/** Whether a run is over and its dataset lacks conversations. @param {Run} run */
export const isWriting = (run) => isOver(run) && run.dataset === "DATASET_STATE_WRITING";
/** @param {Run} run */
export const seconds = (run) => (isOver(run) ? number(run.changed_at) : Date.now() / 1_000) - number(run.requested_at);
/** The accepted conversations, of those requested. @param {Numeric} count @param {RunRequest} request */
export const outOf = (count, { conversations }) => (number(conversations) ? `${whole(count)} of ${whole(conversations)}` : whole(count));
/** @param {Pick<Run, "state">} run */
export const isSteered = (run) => ["running", "paused"].includes(stateOf(run));
/** @param {Pick<Run, "state">} run */
export const isOver = (run) => ["cancelled", "finished", "short"].includes(stateOf(run));

/** @param {Progress} [progress] */
export const underWay = (progress) => `${whole(progress?.under_way)} under way${number(progress?.held) ? ` (${whole(progress?.held)} held)` : ""}`;

/** The conversations that were judged. @param {Progress} progress */
export const judged = ({ accepted, rejected }) => number(accepted) + number(rejected);
/** A rule's name, or a reason that names one, in words. @param {string} text */
export const inWords = (text) => text.replace(/\bENDING_([A-Z_]+)/, (_, name) => named(name, "")).replaceAll("_", " ");

/** The rules that rejected conversations break, the commonest first. @param {Progress} progress @returns {[string, number][]} */
export function reasonsOf({ reasons = {} }) {
  return Object.entries(reasons).map(([rule, count]) => /** @type {[string, number]} */ ([rule, number(count)]))
    .sort(([a, some], [b, others]) => others - some || a.localeCompare(b));
}

/** How many conversations were rejected, and mostly why. @param {Progress} progress */
export function rejection(progress) {
  if (!number(progress.rejected)) return "";
  const [commonest] = reasonsOf(progress);
  return `${whole(progress.rejected)} of ${whole(judged(progress))}${commonest ? `, mostly for “${inWords(commonest[0])}”` : ""}`;
}

/** @param {Progress} progress */
export function tokensOf({ tokens = {} }) {
  const used = Object.values(tokens);
  const sum = (/** @type {"prompt" | "cached" | "completion" | "reasoning"} */ kind) => used.reduce((all, one) => all + number(one[kind]), 0);
  return { prompt: sum("prompt"), cached: sum("cached"), completion: sum("completion"), reasoning: sum("reasoning") };
}

/** @param {Bounds} bounds */
export const range = ({ least, most }) => `${whole(least)} to ${whole(most)}.`;

/** Why a field cannot hold this; empty where it can. @param {string} value @param {Bounds} bounds */
export function faultOf(value, { least, most }) {
  const text = value.trim();
  if (!text) return "Enter a number.";
  if (!/^\d+$/.test(text)) return `${text} is not a whole number.`;
  // A seed has up to twenty digits, more than a double holds.
  if (BigInt(text) < BigInt(least)) return `At least ${whole(least)}.`;
  return BigInt(text) > BigInt(most) ? `At most ${whole(most)}.` : "";
}

/** Each figure's name, and its expected value, lower and upper bound in words. @param {Forecast} forecast @returns {[string, string[]][]} */
export function forecastFigures(forecast) {
  const { calls, prompt_tokens, cached_tokens, completion_tokens, dollars, seconds } = forecast;
  const shown = (/** @type {Interval | null | undefined} */ interval, /** @type {(value: number) => string} */ text) =>
    interval ? [interval.expected, interval.low, interval.high].map(text) : ["unknown"];
  const money = (/** @type {number} */ value) => (forecast.unpriced?.length ? `${cost(value)} +` : cost(value));
  return [
    ["Calls", shown(calls, short)], ["Tokens read", shown(prompt_tokens, short)], ["of them cached", shown(cached_tokens, short)],
    ["Tokens written", shown(completion_tokens, short)], ["Cost", shown(dollars, money)], ["Time", shown(seconds, duration)],
  ];
}
