// The conversations of a run: the latest first, a page at a time, narrowed by what is asked of them.

import { asking, call } from "./calls.js";
import { counted } from "./conversation.js";
import { element } from "./element.js";
import { button, choice, keyed, nothing, pager, say, time, toast, verdict } from "./parts.js";
import { number, short, whole } from "./told.js";

const PAGE = 40;
const VERDICTS = [["", "All"], ["VERDICT_ACCEPTED", "Kept"], ["VERDICT_REJECTED", "Rejected"]];
// What was listed last, and how far down it was read: a reader goes on to the next one, and comes back to the list.
export const listed = { run: "", ids: [], reading: "" };
const begun = () => ({ asked: { verdict: "", flagged: false, text: "" }, pages: { passed: [], here: "" }, scrolled: 0 });
let place = begun();

export function conversationList(run) {
  if (listed.reading !== run) place = begun();
  listed.reading = "";
  const { asked } = place;
  let [finished, shownAt, timer, round] = [-1, -1, 0, 0];
  const list = element("ol", { class: "list", "aria-label": "Conversations" });
  const empty = nothing("");
  const found = element("p", { class: "found" });
  const pages = pager(load, place.pages);
  const more = button("", { kind: "more", hidden: true }, () => pages.reset());
  const spoken = { placeholder: "Topic or question", "aria-label": "Search topic or question" };
  const search = element("input", { type: "search", ...spoken, autocomplete: "off", spellcheck: "false", value: asked.text });
  const flagged = element("input", { type: "checkbox", checked: asked.flagged });
  const narrowed = (values) => {
    Object.assign(asked, values);
    return pages.reset();
  };
  search.addEventListener("input", debounced(() => narrowed({ text: search.value.trim() })));
  flagged.addEventListener("change", () => narrowed({ flagged: flagged.checked }));

  async function load() {
    const mine = ++round;
    const path = asking(`/v1/runs/${encodeURIComponent(run)}/conversations`, { page_size: PAGE, ...asked, page_token: pages.token() });
    const at = finished;
    try {
      const { conversations = [], next_page_token, total } = await call("GET", path);
      if (mine !== round) return;
      if (shownAt < 0) requestAnimationFrame(() => scrollTo(0, place.scrolled));
      shownAt = at;
      more.hidden = true;
      Object.assign(listed, { run, ids: conversations.map(({ id }) => id) });
      keyed(list, conversations, ({ id }) => id, (one) => item(run, one));
      const narrowing = asked.verdict || asked.flagged || asked.text;
      say(empty, narrowing ? "Nothing fits: ask for less." : "None has finished.");
      empty.hidden = conversations.length > 0;
      // What comes in by itself is not read out.
      found.ariaLive = narrowing ? "polite" : "off";
      say(found, narrowing ? `${counted(number(total), "conversation")} fit${number(total) === 1 ? "s" : ""}` : counted(number(total), "conversation"));
      pages.shows(next_page_token);
    } catch (error) {
      // The page's stream tells of a lost connection, and asks for the list anew.
      if (error.status) toast(error.message, "fault");
    }
  }

  const section = element("section", { class: "conversations", "aria-label": "Conversations" },
    element("div", { class: "narrowing" }, element("h2", null, "Conversations"), found,
      search, choice("Verdict", VERDICTS, asked.verdict, (value) => narrowed({ verdict: value })),
      element("label", { class: "check" }, flagged, element("span", null, "Flagged"))),
    more, list, empty, pages);
  /** What has finished comes in at the top, unless somebody is about to press what would move. */
  section.shows = ({ progress: far = {} }) => {
    finished = number(far.accepted) + number(far.rejected);
    if (finished === shownAt || timer) return;
    timer = setTimeout(() => {
      timer = 0;
      if (pages.first() && !list.matches(":hover, :focus-within")) load();
      else {
        say(more, `${whole(Math.max(finished - shownAt, 1))} more have finished: show them`);
        more.hidden = finished === shownAt;
      }
    }, shownAt < 0 ? 0 : 1_000);
  };
  section.leave = () => {
    clearTimeout(timer);
    place.scrolled = scrollY;
  };
  return section;
}

function item(run, one) {
  const { summary = {} } = one;
  const { turns, python_turns, failed_executions, flags } = summary;
  return element("li", null, element("a", { href: `#/runs/${encodeURIComponent(run)}/${encodeURIComponent(one.id)}` },
    element("span", { class: "question" }, summary.question || one.id),
    element("span", { class: "facts" }, element("span", null, summary.topic || ""), element("span", null, counted(number(turns), "turn")),
      number(python_turns) ? element("span", null, `Python in ${short(python_turns)}`) : null,
      number(failed_executions) ? element("span", { class: "fault" }, `${short(failed_executions)} failed`) : null,
      number(flags) ? element("span", { class: "fault" }, counted(number(flags), "flag")) : null,
      one.reasons?.length ? element("span", { class: "fault reason" }, one.reasons.join("; ")) : null)),
  element("span", { class: "when" }, verdict(one), time(one.finished_at)));
}

function debounced(action) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(action, 200);
  };
}
