// Dead letters: events that were given up, why, and a way to try them again.

import { counted } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { call, poll, withQuery } from "./api.js";
import { number } from "./format.js";
import { maySteer } from "./session.js";
import { button, facts, heading, keyed, nothing, pager, say, time, toast } from "./widgets.js";

/** @import { Letter } from "./contract.d.ts" */

const PAGE = 50;
const NOTE = "Events that failed as often as they may be tried. Fix the cause, then try them again.";
// Longer errors are folded.
const SHOWN = 240;

/** @param {HTMLElement} main @param {string[]} _path @param {URLSearchParams} query */
export function letters(main, _path, query) {
  let stop = () => {};
  const run = query.get("run") || "";
  const list = element("ol", { class: "letters", "aria-label": "Dead letters" });
  const empty = nothing("There are no dead letters: everything requested is done or under way.");
  empty.hidden = true;
  const pages = pager(load);
  const note = run ? ["Dead letters of run ", element("code", null, run), ". ", element("a", { href: "#/dead-letters" }, "Show all")] : NOTE;
  main.append(heading("Dead letters", { note }), list, empty, pages);

  function load() {
    stop();
    const path = withQuery("/v1/dead-letters", { page_size: PAGE, run, page_token: pages.token() });
    stop = poll(path, 2_000, (/** @type {{ letters?: Letter[], next_page_token: string }} */ { letters: found = [], next_page_token }) => {
      keyed(list, found, (letter) => letter.id, item);
      empty.hidden = found.length > 0;
      pages.shows(next_page_token);
    }, (error) => {
      empty.hidden = false;
      say(empty, error.message);
    });
  }

  load();
  return () => stop();
}

/** @param {Letter} letter */
function item({ id, topic, run, conversation, made_at, attempt, error = "" }) {
  const replay = button("Try again", { "aria-label": `Try ${topic} of conversation ${conversation || "unknown"} again` }, async () => {
    await call("POST", `/v1/dead-letters/${encodeURIComponent(id)}/replay`, {});
    toast("The event is being tried again.");
    line.classList.add("gone");
  });
  const line = element("li", null,
    element("div", { class: "letter" },
      element("p", { class: "topic" }, element("code", null, topic), facts(time(made_at), `after ${counted(Math.max(number(attempt), 1), "attempt")}`)),
      reason(error),
      facts(run ? element("a", { href: `#/runs/${encodeURIComponent(run)}` }, `run ${run}`) : "run unknown",
        conversation ? `conversation ${conversation}` : "")),
    maySteer() ? replay : null);
  return line;
}

/** @param {string} error */
function reason(error) {
  if (error.length <= SHOWN) return element("p", { class: "error" }, error || "No reason was given.");
  return element("details", null, element("summary", { class: "error" }, `${error.slice(0, SHOWN)}…`), element("pre", { class: "error" }, error));
}
