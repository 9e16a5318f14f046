// Two runs side by side: the settings that differ, and their figures.

import { element } from "../../../soliloquy/web/element.js";
import { call, poll, withQuery } from "./api.js";
import { turnByTurn } from "./compare-turns.js";
import { costOf, duration, inWords, judged, moment, number, percent, rate, reasonsOf, seconds, short, stateInWords, tokensOf, whole } from "./format.js";
import { columns, heading, messageOf, nothing } from "./widgets.js";

/** @import { Numeric, Run } from "./contract.d.ts" */
/** @typedef {{ text: string, share?: number }} Value */
/** @typedef {(run: Run) => Value} Figure */

const CHOICES = 200;
const NOTE = "A share is of the conversations that finished, or of the verdicts; its bar ends at 100 %.";

/** @type {Record<string, Figure>} */
const SETTINGS = {
  recipe: ({ request }) => ({ text: request.recipe }),
  language: ({ request }) => ({ text: request.language || "en" }),
  problems: ({ request }) => ({ text: request.problems || "–" }),
  model: ({ model }) => ({ text: model || "unknown" }),
  conversations: ({ request }) => ({ text: whole(request.conversations) }),
  seed: ({ request }) => ({ text: String(request.seed) }),
  "in flight": ({ request }) => ({ text: whole(request.in_flight) }),
  "maximum turns": ({ request }) => ({ text: whole(request.max_turns) }),
  attempts: ({ request }) => ({ text: whole(request.max_attempts) }),
  "solutions explained first": ({ request }) => ({ text: request.enrich ? "yes" : "no" }),
};
/** @type {Record<string, Figure>} */
const FIGURES = {
  state: (run) => ({ text: stateInWords(run) }),
  accepted: ({ progress = {} }) => shareOf(progress.accepted, judged(progress)),
  rejected: ({ progress = {} }) => shareOf(progress.rejected, judged(progress)),
  "unverified verdicts": ({ progress = {} }) => shareOf(progress.unverified, progress.verdicts),
  "false statements": ({ progress = {} }) => ({ text: whole(progress.flags) }),
  "turns with Python": ({ progress = {} }) => shareOf(progress.python_turns, progress.turns),
  "turns a conversation": ({ progress = {} }) => ({ text: ratio(progress.turns, judged(progress)) }),
  duration: (run) => ({ text: duration(seconds(run)) }),
  "accepted a second": (run) => ({ text: rate(number(run.progress?.accepted) / Math.max(seconds(run), 1)) }),
  "prompt tokens": ({ progress = {} }) => ({ text: short(tokensOf(progress).prompt) }),
  "completion tokens": ({ progress = {} }) => ({ text: short(tokensOf(progress).completion) }),
  "tokens for one accepted": ({ progress = {} }) => {
    const { prompt, completion } = tokensOf(progress);
    return { text: ratio(prompt + completion, progress.accepted) };
  },
  "tokens from a cache": ({ progress = {} }) => shareOf(tokensOf(progress).cached, tokensOf(progress).prompt),
  "tokens of thoughts": ({ progress = {} }) => ({ text: short(tokensOf(progress).reasoning) }),
  cost: (run) => ({ text: costOf(run) }),
  "cost of one accepted": (run) => ({ text: number(run.progress?.accepted) ? costOf({ ...run, cost: number(run.cost) / number(run.progress?.accepted) }) : "–" }),
};

/** @param {HTMLElement} main @param {string[]} path */
export async function compare(main, [first = "", second = ""]) {
  main.append(heading("Compare runs", { back: { href: "#/runs", text: "Runs" }, note: NOTE }));
  /** @type {Run[]} */
  let listed;
  try {
    ({ runs: listed = [] } = await call("GET", withQuery("/v1/runs", { page_size: CHOICES })));
    for (const id of [first, second]) {
      if (id && !listed.some((run) => run.id === id)) listed.push(await call("GET", `/v1/runs/${encodeURIComponent(id)}`));
    }
  } catch (error) {
    main.append(nothing(messageOf(error)));
    return null;
  }
  const chosen = [first, second];
  const body = element("div", { class: "side-by-side" });
  const picks = ["First run", "Second run"].map((label, place) => pick(label, listed, chosen[place], (id) => {
    chosen[place] = id;
    history.replaceState(null, "", `#/compare/${chosen.map(encodeURIComponent).join("/")}`);
    begin();
  }));
  const turns = element("div", { class: "side-by-side" });
  main.append(element("div", { class: "pair" }, picks), body, turns);
  let stops = [() => {}];
  const begin = () => {
    for (const stop of stops) stop();
    const pair = chosen.join("/");
    turns.replaceChildren();
    if (chosen.every(Boolean)) turnByTurn(chosen).then((drawn) => pair === chosen.join("/") && turns.replaceChildren(drawn));
    /** @type {Run[]} */
    const runs = [];
    body.replaceChildren(nothing(listed.length < 2 ? "There is one run at most: start another to compare them." : "Choose two runs."));
    stops = chosen.every(Boolean) ? chosen.map((id, place) => poll(`/v1/runs/${encodeURIComponent(id)}`, 3_000, (run) => {
      runs[place] = run;
      if (runs[0] && runs[1]) redraw(body, element("div", null, sideBySide(runs)));
    }, (error) => body.replaceChildren(nothing(error.message)))) : [];
  };
  begin();
  return () => stops.forEach((stop) => stop());
}

/** Replaces what differs, so that the focus and a selection stay where they are. @param {Element} shown @param {Element} fresh */
function redraw(shown, fresh) {
  const parts = [...fresh.children];
  if (parts.length !== shown.children.length) return shown.replaceChildren(...parts);
  parts.forEach((part, place) => {
    const old = shown.children[place];
    const holdsParts = part.children.length > 0 && part.children.length === part.childNodes.length;
    if (old.isEqualNode(part)) return;
    if (holdsParts && old.nodeName === part.nodeName) redraw(old, part);
    else old.replaceWith(part);
  });
}

/** @param {string} label @param {Run[]} runs @param {string} chosen @param {(id: string) => void} changed */
function pick(label, runs, chosen, changed) {
  const id = label.toLowerCase().replaceAll(" ", "-");
  const options = runs.map((run) => element("option", { value: run.id, selected: run.id === chosen }, `${run.name}, ${stateInWords(run)}, ${moment(run.requested_at)}`));
  const select = element("select", { id }, element("option", { value: "" }, "Choose a run"), options);
  select.addEventListener("change", () => changed(select.value));
  return element("div", { class: "field" }, element("label", { for: id }, label), select);
}

/** @param {Run[]} runs */
function sideBySide(runs) {
  const [differing, same] = split(runs);
  const rules = [...new Set(runs.flatMap(({ progress = {} }) => reasonsOf(progress).map(([rule]) => rule)))];
  const broken = Object.fromEntries(rules.map((rule) => [inWords(rule), (/** @type {Run} */ { progress = {} }) => shareOf(progress.reasons?.[rule], judged(progress))]));
  return [
    table("Settings that differ", runs, differing, "The settings are the same."),
    same.length && differing.length ? element("p", { class: "aside" }, `The same in both: ${same.join(", ")}.`) : "",
    table("Figures", runs, FIGURES),
    table("Rules that rejected conversations break", runs, broken, "No conversation was rejected."),
  ];
}

/** The settings that differ, and the names of those that do not. @param {Run[]} runs @returns {[Record<string, Figure>, string[]]} */
export function split(runs) {
  const differs = (/** @type {Figure} */ figure) => new Set(runs.map((run) => figure(run).text)).size > 1;
  const all = Object.entries(SETTINGS);
  return [Object.fromEntries(all.filter(([, figure]) => differs(figure))), all.filter(([, figure]) => !differs(figure)).map(([name]) => name)];
}

/** @param {string} caption @param {Run[]} runs @param {Record<string, Figure>} figures @param {string} [none] */
function table(caption, runs, figures, none = "") {
  const names = Object.keys(figures);
  if (!names.length) return element("section", null, element("h2", null, caption), element("p", { class: "aside" }, none));
  const heads = runs.map(({ id, name }) => element("a", { href: `#/runs/${encodeURIComponent(id)}` }, name));
  return element("table", { class: "runs-compared" }, element("caption", null, caption), columns([element("span", { class: "unseen" }, "Figure"), ...heads]),
    element("tbody", null, names.map((name) => element("tr", null, element("th", { scope: "row" }, name), runs.map((run) => cell(figures[name](run)))))));
}

/** @param {Value} value */
function cell({ text, share }) {
  if (share === undefined) return element("td", null, text);
  const bar = element("i");
  bar.style.width = `${share * 100}%`;
  return element("td", null, text, element("span", { class: "share", "aria-hidden": "true" }, bar));
}

/** @param {Numeric} part @param {Numeric} of @returns {Value} */
function shareOf(part, of) {
  return number(of) ? { text: `${percent(part, of)} (${whole(part)} of ${whole(of)})`, share: Math.min(number(part) / number(of), 1) } : { text: "–" };
}

/** @param {Numeric} part @param {Numeric} of */
function ratio(part, of) {
  return number(of) ? short(Math.round((number(part) / number(of)) * 10) / 10) : "–";
}
