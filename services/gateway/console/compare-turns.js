// Conversations of two runs about the same problem, turn beside turn.

import { turnView } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { call, withQuery } from "./api.js";
import { wordsOf } from "./choices.js";
import { messageOf, nothing, verdict } from "./widgets.js";

/** @import { ConversationView, TurnView, Words } from "../../../soliloquy/web/types.d.ts" */
/** @import { FinishedConversation } from "./contract.d.ts" */

// The latest conversations of each run, of which pairs are made.
const LOOKED_THROUGH = 500;
const NONE = "The latest conversations of these runs have no problem in common: runs with the same problems and seed have.";

/** @param {string[]} runs The ids of two. */
export async function turnByTurn(runs) {
  const turns = element("div");
  const section = element("section", { "aria-label": "Turn by turn" }, element("h2", null, "Turn by turn"));
  try {
    const [first, second] = await Promise.all(runs.map(latest));
    const pairs = [...first].flatMap(([question, one]) => (second.has(question) ? [[one, /** @type {FinishedConversation} */ (second.get(question))]] : []));
    if (!pairs.length) return append(section, nothing(NONE));
    const select = element("select", { id: "problem" }, pairs.map(([{ summary }], place) => element("option", { value: place }, summary?.question || "")));
    const show = async () => turns.replaceChildren(await sideBySide(runs, pairs[Number(select.value)]));
    select.addEventListener("change", show);
    await show();
    return append(section, element("div", { class: "field" }, element("label", { for: "problem" }, "Problem"), select), turns);
  } catch (error) {
    return append(section, nothing(messageOf(error)));
  }
}

/** The latest attempt at each question. @param {string} run @returns {Promise<Map<string, FinishedConversation>>} */
async function latest(run) {
  const { conversations = [] } = await call("GET", withQuery(`/v1/runs/${encodeURIComponent(run)}/conversations`, { page_size: LOOKED_THROUGH }));
  return new Map(conversations.toReversed().map((/** @type {FinishedConversation} */ one) => [one.summary?.question || "", one]));
}

/** @param {string[]} runs @param {FinishedConversation[]} pair */
async function sideBySide(runs, pair) {
  const paths = pair.map(({ id }, place) => `${encodeURIComponent(runs[place])}/conversations/${encodeURIComponent(id)}`);
  /** @type {{ recipe: string, conversation: ConversationView }[]} */
  const views = await Promise.all(paths.map((path) => call("GET", `/v1/runs/${path}/view`)));
  /** @type {Words[]} */
  const words = await Promise.all(views.map(({ recipe }) => wordsOf(recipe)));
  const rows = Math.max(...views.map(({ conversation }) => conversation.turns.length));
  const heads = pair.map((one, place) => element("th", { scope: "col" },
    element("a", { href: `#/runs/${encodeURIComponent(runs[place])}/${encodeURIComponent(one.id)}` }, one.id.slice(0, 8)), " ", verdict(one)));
  const cell = (/** @type {TurnView | undefined} */ turn, /** @type {number} */ place) =>
    element("td", null, turn ? element("ol", { class: "turns" }, turnView(turn, words[place])) : null);
  return element("table", { class: "turns-compared" }, element("thead", null, element("tr", null, heads)),
    element("tbody", null, Array.from({ length: rows }, (_, number) =>
      element("tr", null, views.map(({ conversation }, place) => cell(conversation.turns[number], place))))));
}

/** @param {HTMLElement} section @param {...Node} parts */
function append(section, ...parts) {
  section.append(...parts);
  return section;
}
