// One conversation as the report shows it, with flags and model calls besides.

import { conversationView } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { at, isTyping, toggleSoliloquies } from "../../../soliloquy/web/interaction.js";
import { call } from "./api.js";
import { wordsOf } from "./choices.js";
import { listed } from "./conversations.js";
import { messageOf, nothing } from "./widgets.js";

/** @param {HTMLElement} main @param {string[]} path */
export async function conversation(main, [run, id]) {
  const runPath = `#/runs/${encodeURIComponent(run)}`;
  const here = (/** @type {string} */ one) => `${runPath}/${encodeURIComponent(one)}`;
  const reader = element("article", { class: "reader", tabindex: "-1", "aria-label": "Conversation" });
  const place = listed.run === run ? listed.ids.indexOf(id) : -1;
  Object.assign(listed, { reading: run, last: id });
  const [newer, older] = place < 0 ? [] : [listed.ids[place - 1], listed.ids[place + 1]];
  const back = () => (location.hash = runPath);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    if (event.key === "s") toggleSoliloquies(reader);
    else if (event.key === "j" && older) location.hash = here(older);
    else if (event.key === "k" && newer) location.hash = here(newer);
    else if (event.key === "Escape") back();
  };
  try {
    const view = await call("GET", `/v1/runs/${encodeURIComponent(run)}/conversations/${encodeURIComponent(id)}/view`);
    reader.append(...conversationView({ ...view.conversation, link: here(id) }, await wordsOf(view.recipe)));
  } catch (error) {
    reader.append(element("a", { class: "up", href: runPath }, "← The run"), nothing(messageOf(error)));
  }
  reader.addEventListener("click", (event) => /** @type {HTMLElement} */ (event.target).dataset.go === "back" && back());
  main.append(element("h1", { class: "unseen" }, "Conversation"), element("nav", { class: "between", "aria-label": "Conversations" },
    element("a", { class: "up", href: runPath }, "← The run"),
    newer ? element("a", { href: here(newer) }, "Newer ", element("kbd", { "aria-hidden": "true" }, "k")) : null,
    older ? element("a", { href: here(older) }, "Older ", element("kbd", { "aria-hidden": "true" }, "j")) : null,
    element("span", { class: "unfolding", "aria-hidden": "true" }, element("kbd", null, "s"), " unfolds all")), reader);
  document.addEventListener("keydown", keys);
  at("main").focus({ preventScroll: true });
  return () => document.removeEventListener("keydown", keys);
}
