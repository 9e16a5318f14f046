// A rejected conversation beside an accepted one about the same problem.

import { conversationView } from "../../../web/conversation.js";
import { element } from "../../../web/element.js";

/** @import { ConversationView, Words } from "../../../web/types.d.ts" */

const LOCATED = /^([^:]+): turn (\d+): ([^]+)$/;

/**
 * Marks the turns that the reasons for its rejection name.
 * @param {ConversationView} conversation
 */
export function flagged(conversation) {
  const faults = (conversation.reasons || []).map((reason) => LOCATED.exec(reason)).filter((found) => found !== null);
  const turns = conversation.turns.map((turn, place) => ({
    ...turn,
    flags: faults.filter(([, , turn]) => Number(turn) === place + 1).map(([, claim, , evidence]) => ({ claim, evidence })),
  }));
  return { ...conversation, turns };
}

/**
 * Both next to each other; where there is room for one, two buttons show the one or the other.
 * @param {ConversationView} rejected
 * @param {ConversationView} accepted
 * @param {Words} words
 */
export function comparison(rejected, accepted, words) {
  const sides = element("div", { class: "sides", "data-shown": "rejected" },
    element("section", { class: "rejected", "aria-label": "Rejected" }, conversationView(rejected, words)),
    element("section", { class: "accepted", "aria-label": "Accepted" }, conversationView(accepted, words)));
  const choices = ["rejected", "accepted"].map((name) => element("button", { type: "button", class: "quiet", "aria-pressed": String(name === "rejected") }, name));
  for (const chosen of choices) {
    chosen.addEventListener("click", () => {
      sides.dataset.shown = chosen.textContent || "";
      for (const choice of choices) choice.setAttribute("aria-pressed", String(choice === chosen));
    });
  }
  return [
    element("p", { class: "compared" }, element("a", { class: "quiet", href: `#${rejected.id}` }, "← Back"), element("span", null, choices)),
    sides,
  ];
}
