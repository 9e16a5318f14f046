// One conversation, as the report shows it too, with the flags and what the models answered.

import { call } from "./calls.js";
import { wordsOf } from "./choices.js";
import { conversationView } from "./conversation.js";
import { listed } from "./conversations.js";
import { element } from "./element.js";
import { at, nothing } from "./parts.js";
import { rowOf } from "./rows.js";

export async function conversation(main, [run, id]) {
  const here = (one) => `#/runs/${encodeURIComponent(run)}/${encodeURIComponent(one)}`;
  const reader = element("article", { class: "reader", tabindex: "-1", "aria-label": "Conversation" });
  const place = listed.run === run ? listed.ids.indexOf(id) : -1;
  listed.reading = run;
  const [newer, older] = place < 0 ? [] : [listed.ids[place - 1], listed.ids[place + 1]];
  const back = () => (location.hash = `#/runs/${encodeURIComponent(run)}`);
  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === "s") unfold(reader);
    else if (event.key === "j" && older) location.hash = here(older);
    else if (event.key === "k" && newer) location.hash = here(newer);
    else if (event.key === "Escape") back();
  };
  try {
    const told = await call("GET", `/v1/runs/${encodeURIComponent(run)}/conversations/${encodeURIComponent(id)}`);
    const words = await wordsOf(told.conversation.run?.recipe);
    reader.append(...conversationView({ ...rowOf(told), link: here(id) }, words));
  } catch (error) {
    reader.append(element("a", { class: "up", href: `#/runs/${encodeURIComponent(run)}` }, "← The run"), nothing(error.message));
  }
  reader.addEventListener("click", (event) => event.target.dataset.go === "back" && back());
  main.append(element("nav", { class: "between", "aria-label": "Conversations" },
    element("a", { class: "up", href: `#/runs/${encodeURIComponent(run)}` }, "← The run"),
    newer ? element("a", { href: here(newer) }, "Newer ", element("kbd", { "aria-hidden": "true" }, "k")) : null,
    older ? element("a", { href: here(older) }, "Older ", element("kbd", { "aria-hidden": "true" }, "j")) : null,
    element("span", { class: "unfolding", "aria-hidden": "true" }, element("kbd", null, "s"), " unfolds all")), reader);
  document.addEventListener("keydown", keys);
  at("main").focus({ preventScroll: true });
  return () => document.removeEventListener("keydown", keys);
}

function unfold(reader) {
  const folded = [...reader.querySelectorAll("details.soliloquy")];
  const opening = folded.some((details) => !details.open);
  for (const details of folded) details.open = opening;
}
