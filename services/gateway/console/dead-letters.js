// Dead letters: events that were given up, grouped by cause, and a way to replay them.

import { counted } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { call, poll, withQuery } from "./api.js";
import { number, whole } from "./format.js";
import { maySteer } from "./session.js";
import { ask, button, facts, heading, keyed, messageOf, nothing, pager, say, time, toast, updatable } from "./widgets.js";

/** @import { Cause, Letter } from "./contract.d.ts" */

const PAGE = 50;
const NOTE = "Events that failed as often as they may be tried, grouped by the cause. Remove the cause, then replay them: they return to their topics.";
const EMPTY = "There are no dead letters: every event was handled, or is under way.";
// Longer errors are folded.
const SHOWN = 240;

/** @param {HTMLElement} main @param {string[]} _path @param {URLSearchParams} query */
export function letters(main, _path, query) {
  const run = query.get("run") || "";
  const groups = element("ol", { class: "letters", "aria-label": "Causes" });
  const empty = nothing(EMPTY);
  empty.hidden = true;
  let all = 0;
  const every = button("Replay all", { hidden: true }, async () => {
    const answer = await ask(`Replay ${counted(all, "dead letter")}?`, "Every event returns to its topic and is tried again, whatever its cause.", [["", "Leave them"], ["replay", "Replay all", "primary"]]);
    if (answer) await replayAll({ run });
  });
  const note = run ? ["Dead letters of run ", element("code", null, run), ". ", element("a", { href: "#/dead-letters" }, "Show all")] : NOTE;
  main.append(heading("Dead letters", { note, tools: element("div", { class: "tools" }, maySteer() ? every : null) }), groups, empty);
  return poll(withQuery("/v1/dead-letters/causes", { run }), 2_000, (/** @type {{ causes?: Cause[] }} */ { causes = [] }) => {
    all = causes.reduce((sum, { letters: some }) => sum + number(some), 0);
    every.hidden = causes.length < 2;
    keyed(groups, causes, ({ cause }) => cause, (cause) => group(cause, run));
    say(empty, EMPTY);
    empty.hidden = causes.length > 0;
  }, (error) => {
    empty.hidden = false;
    say(empty, error.message);
  });
}

/** @param {Cause} first @param {string} run */
function group(first, run) {
  const { cause } = first;
  const [count, about, error] = [element("b"), element("p"), element("div")];
  const summary = element("summary");
  const list = element("ol", { class: "single", "aria-label": "Letters" });
  const pages = pager(load);
  const folded = element("details", null, summary, list, pages);
  folded.addEventListener("toggle", () => folded.open && load());
  const replay = button("", {}, () => replayAll({ cause, run }));

  async function load() {
    try {
      const path = withQuery("/v1/dead-letters", { page_size: PAGE, run, cause, page_token: pages.token() });
      /** @type {{ letters?: Letter[], next_page_token: string }} */
      const { letters: found = [], next_page_token } = await call("GET", path);
      keyed(list, found, (letter) => letter.id, item);
      pages.shows(next_page_token);
    } catch (problem) {
      toast(messageOf(problem), "fault");
    }
  }

  let [shown, latest] = ["", -1];
  const line = element("li", null, element("div", { class: "letter" }, error, about, folded), maySteer() ? replay : null);
  return updatable(line, (/** @type {Cause} */ { letters: some, runs, topics = [], first_at, last_at, error: text }) => {
    const size = number(some);
    say(replay, `Replay ${size === 1 ? "it" : `all ${whole(size)}`}`);
    say(count, counted(size, "letter"));
    say(summary, size === 1 ? "Show the letter" : "Show the letters");
    about.replaceChildren(facts(count, topics.map((topic, place) => [place ? ", " : "", element("code", null, topic)]), counted(number(runs), "run"),
      size === 1 ? time(last_at) : ["from ", time(first_at), " to ", time(last_at)]));
    if (shown !== text) error.replaceChildren(reason(text));
    if (folded.open && latest !== size) load();
    [shown, latest] = [text, size];
  });
}

/** @param {{ cause?: string, run?: string }} which */
async function replayAll(which) {
  let [replayed, most] = [0, 0];
  for (let left = 1; left > 0; ) {
    const answer = await call("POST", "/v1/dead-letters/replay", which);
    replayed += number(answer.replayed);
    most ||= replayed + number(answer.left);
    // Letters that fail again meanwhile are not replayed again.
    left = Math.min(number(answer.left), most - replayed);
  }
  toast(`${counted(replayed, "event")} returned to ${replayed === 1 ? "its topic" : "their topics"}.`);
}

/** @param {Letter} letter */
function item({ id, topic, run, conversation, made_at, attempt }) {
  const replay = button("Replay", {}, async () => {
    await call("POST", `/v1/dead-letters/${encodeURIComponent(id)}/replay`, {});
    toast("The event returned to its topic.");
    line.classList.add("gone");
  });
  replay.append(element("span", { class: "unseen" }, ` the letter of conversation ${conversation || "unknown"}`));
  const line = element("li", null,
    facts(element("code", null, topic), time(made_at), `after ${counted(Math.max(number(attempt), 1), "attempt")}`,
      run ? element("a", { href: `#/runs/${encodeURIComponent(run)}` }, `run ${run}`) : "run unknown",
      conversation ? `conversation ${conversation}` : ""),
    maySteer() ? replay : null);
  return line;
}

/** @param {string} error */
function reason(error) {
  if (error.length <= SHOWN) return element("p", { class: "error" }, error || "The error has no message.");
  return element("details", null, element("summary", { class: "error" }, `${error.slice(0, SHOWN)}…`), element("pre", { class: "error" }, error));
}
