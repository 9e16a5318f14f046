// Dead letters: what could not be done, why, and another try.

import { asking, call, poll } from "./calls.js";
import { counted } from "./conversation.js";
import { element } from "./element.js";
import { button, facts, heading, keyed, nothing, pager, say, time, toast } from "./parts.js";
import { maySteer } from "./session.js";
import { number } from "./told.js";

const PAGE = 50;
const NOTE = "What was tried as often as it may be and failed. Once what was wrong is mended, it can be tried again.";
// Of an error, before it is folded.
const SHOWN = 240;

export function letters(main, rest, query) {
  let stop = null;
  const run = query.get("run") || "";
  const list = element("ol", { class: "letters", "aria-label": "Dead letters" });
  const empty = nothing("No letter is dead: whatever was asked for is done or under way.");
  empty.hidden = true;
  const pages = pager(() => asked());
  const note = run ? ["Those of run ", element("code", null, run), ". ", element("a", { href: "#/dead-letters" }, "Show all")] : NOTE;
  main.append(heading("Dead letters", { note }), list, empty, pages);

  function asked() {
    stop?.();
    stop = poll(asking("/v1/dead-letters", { page_size: PAGE, run, page_token: pages.token() }), 2_000, ({ letters: found = [], next_page_token }) => {
      keyed(list, found, (letter) => letter.id, item);
      empty.hidden = found.length > 0;
      pages.shows(next_page_token);
    }, (error) => {
      empty.hidden = false;
      say(empty, error.message);
    });
  }

  asked();
  return () => stop?.();
}

function item({ id, topic, run, conversation, made_at, attempt, error = "" }) {
  const replay = button("Try again", { "aria-label": `Try ${topic} of conversation ${conversation || "unknown"} again` }, async () => {
    await call("POST", `/v1/dead-letters/${encodeURIComponent(id)}/replay`, {});
    toast("It is tried again.");
    line.classList.add("gone");
  });
  const line = element("li", null,
    element("div", { class: "letter" },
      element("p", { class: "topic" }, element("code", null, topic), facts(time(made_at), `after ${counted(Math.max(number(attempt), 1), "attempt")}`)),
      reason(error),
      facts(run ? element("a", { href: `#/runs/${encodeURIComponent(run)}` }, `run ${run}`) : "of no known run",
        conversation ? `conversation ${conversation}` : "")),
    maySteer() ? replay : null);
  return line;
}

function reason(error) {
  if (error.length <= SHOWN) return element("p", { class: "error" }, error || "No reason is told.");
  return element("details", null, element("summary", { class: "error" }, `${error.slice(0, SHOWN)}…`), element("pre", { class: "error" }, error));
}
