// Why the conversations of a run were rejected: each rule, and how many break it.

import { element } from "../../../soliloquy/web/element.js";
import { choices } from "./choices.js";
import { inWords, judged, percent, reasonsOf, whole } from "./format.js";
import { keyed, say, updatable } from "./widgets.js";

/** @import { Run } from "./contract.d.ts" */
/** @typedef {{ rule: string, count: number, all: number }} Reason */

// Conversations that a model's answers ended are counted by the prompt, such as mathdial/replying.
const UNUSABLE = "no usable answer to this prompt";

/** @param {Run} run @param {(rule: string) => unknown} narrow Shows only the conversations that break this rule. */
export function rejectionReasons(run, narrow) {
  /** @type {Record<string, string>} */
  let meanings = {};
  let latest = run;
  const rows = element("ul", { class: "reasons-found" });
  const section = element("section", { class: "why", hidden: true, "aria-label": "Why conversations were rejected" },
    element("h2", null, "Why conversations were rejected"),
    element("p", { class: "aside" }, "Shares of all conversations that finished; one may break several rules."), rows);
  const row = (/** @type {Reason} */ { rule }) => {
    const [share, meaning] = [element("b"), element("small")];
    const bar = element("i");
    const press = element("button", { type: "button" }, element("span", { class: "rule" }, inWords(rule)), meaning, share,
      element("span", { class: "share", "aria-hidden": "true" }, bar));
    press.addEventListener("click", () => narrow(rule));
    return updatable(element("li", null, press), (/** @type {Reason} */ { count, all }) => {
      say(meaning, meanings[rule] || (rule.includes("/") ? UNUSABLE : ""));
      say(share, `${whole(count)} · ${percent(count, all)}`);
      bar.style.width = `${(count / all) * 100}%`;
    });
  };
  const shown = updatable(section, (/** @type {Run} */ status) => {
    latest = status;
    const { progress = {} } = status;
    const found = reasonsOf(progress).map(([rule, count]) => ({ rule, count, all: judged(progress) }));
    section.hidden = !found.length;
    keyed(rows, found, ({ rule }) => rule, row);
  });
  choices().then(({ recipes }) => {
    meanings = recipes.find(({ name }) => name === run.request.recipe)?.rules || {};
    shown.shows(latest);
  }, () => null);
  return shown;
}
