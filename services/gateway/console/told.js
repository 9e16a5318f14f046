// Numbers, times and states as people read them, in the reader's own language and zone.

const WHOLE = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const PART = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const RATE = new Intl.NumberFormat(undefined, { minimumSignificantDigits: 2, maximumSignificantDigits: 3 });
const COST = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD" });
const CENTS = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumSignificantDigits: 2 });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** What protobuf's JSON leaves out is nothing, and its long integers are strings. */
export const number = (value) => Number(value || 0);
export const whole = (value) => WHOLE.format(number(value));
export const short = (value) => (number(value) < 10_000 ? whole(value) : SHORT.format(number(value)));
export const rate = (value) => (number(value) ? `${RATE.format(number(value))}/s` : "–");

/** All is said only of all. */
export function percent(part, of) {
  if (!number(of)) return "–";
  return PART.format(number(part) < number(of) ? Math.min(number(part) / number(of), 0.999) : 1);
}

export function cost(value) {
  if (!number(value)) return "–";
  return (number(value) < 0.1 ? CENTS : COST).format(number(value));
}

/** 2 min 41 s: the two largest units. */
export function lasting(seconds) {
  const left = Math.round(number(seconds));
  if (left < 60) return `${left} s`;
  if (left < 3_600) return `${Math.floor(left / 60)} min ${left % 60} s`;
  if (left < 86_400) return `${Math.floor(left / 3_600)} h ${Math.floor((left % 3_600) / 60)} min`;
  return `${Math.floor(left / 86_400)} d ${Math.floor((left % 86_400) / 3_600)} h`;
}

export function ago(seconds) {
  const past = Math.max(Date.now() / 1_000 - number(seconds), 0);
  if (past < 5) return "just now";
  const [unit, length] = UNITS.find(([, size]) => past >= size) || UNITS.at(-1);
  return AGO.format(-Math.floor(past / length), unit);
}

export const moment = (seconds) => MOMENT.format(new Date(number(seconds) * 1_000));
export const clock = (date) => CLOCK.format(date);

export function bytes(size) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const power = Math.min(Math.floor(Math.log10(Math.max(number(size), 1)) / 3), units.length - 1);
  const format = new Intl.NumberFormat(undefined, { style: "unit", unit: units[power], unitDisplay: power ? "short" : "long", maximumSignificantDigits: 3 });
  return format.format(number(size) / 1_000 ** power);
}

/** RUN_STATE_RUNNING is `running`; what is unset is nothing. */
export function named(value, prefix) {
  const name = (value || "").replace(prefix, "").toLowerCase().replaceAll("_", " ");
  return name === "unspecified" ? "" : name;
}

export const stateOf = (run) => named(run.state, "RUN_STATE_");
/** What a run is called: its problems or, where nobody here asked for it, its own name. */
export const title = ({ id, request }) => request.problems || id;
/** How many are accepted, of those that were asked for. */
export const outOf = (count, { conversations }) => (number(conversations) ? `${whole(count)} of ${whole(conversations)}` : whole(count));
export const isSteered = (run) => ["running", "paused"].includes(stateOf(run));
export const isOver = (run) => ["cancelled", "finished", "short"].includes(stateOf(run));
