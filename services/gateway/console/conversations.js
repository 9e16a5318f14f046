// The conversations of a run: the latest first, a page at a time, filtered by verdict, false statements, rule and text.

import { counted } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { debounced } from "../../../soliloquy/web/interaction.js";
import { Refused, call, withQuery } from "./api.js";
import { inWords, number, whole } from "./format.js";
import { button, choice, keyed, nothing, pager, say, time, toast, verdict } from "./widgets.js";

/** @import { FinishedConversation, Run } from "./contract.d.ts" */

const PAGE = 40;
const RETRY = 2_000;
// As a reader looks for them; a conversation under way has none.
const ENDINGS = ["SOLVED", "TURN_LIMIT", "UNPARSABLE", "UNFIT", "REJECTED", "WRITTEN", "LEFT"];
const VERDICTS = [["", "All"], ["VERDICT_ACCEPTED", "Accepted"], ["VERDICT_REJECTED", "Rejected"]];
/** The list that was shown last: a reader goes from one conversation to the next, and back to the list. */
export const listed = { run: "", ids: /** @type {string[]} */ ([]), reading: "", last: "" };
const newPlace = () => ({ filter: { verdict: "", flagged: false, text: "", reason: "", ending: "", persona: "" }, personas: /** @type {string[]} */ ([]), pages: { passed: /** @type {string[]} */ ([]), here: "" }, scrolled: 0 });
// Where the reader was in that list.
let place = newPlace();

/** @param {string} run */
export function conversationList(run) {
  if (listed.reading !== run) place = newPlace();
  listed.reading = "";
  const { filter } = place;
  let [finished, shownAt, timer, retry, round] = [-1, -1, 0, 0, 0];
  const list = element("ol", { class: "list", "aria-label": "Conversations" });
  const empty = nothing("");
  const found = element("p", { class: "found" });
  const pages = pager(load, place.pages);
  const more = button("", { kind: "more", hidden: true }, () => pages.reset());
  const spoken = { placeholder: "Topic or question", "aria-label": "Search topic or question" };
  const search = element("input", { type: "search", ...spoken, autocomplete: "off", spellcheck: "false", value: filter.text });
  const flagged = element("input", { type: "checkbox", checked: filter.flagged });
  const narrow = (/** @type {Partial<typeof filter>} */ values) => {
    Object.assign(filter, values);
    return pages.reset();
  };
  search.addEventListener("input", debounced(() => narrow({ text: search.value.trim() }), 200));
  flagged.addEventListener("change", () => narrow({ flagged: flagged.checked }));
  const endings = offer("Ending", ENDINGS.map((name) => [`ENDING_${name}`, inWords(`ENDING_${name}`)]), filter.ending, (ending) => narrow({ ending }));
  const personas = offer("Student", place.personas.map((name) => [name, name]), filter.persona, (persona) => narrow({ persona }));
  const rule = button("", { kind: "chip fault", hidden: true }, () => narrowTo(""));
  const showRule = () => {
    rule.hidden = !filter.reason;
    rule.replaceChildren(inWords(filter.reason), " ✕", element("span", { class: "unseen" }, " remove this filter"));
  };
  showRule();

  /** Shows only the conversations that break this rule. @param {string} reason Empty for all. */
  async function narrowTo(reason) {
    filter.reason = reason;
    showRule();
    await narrow({});
    section.scrollIntoView({ block: "start" });
    search.focus({ preventScroll: true });
  }

  async function load() {
    const mine = ++round;
    const path = withQuery(`/v1/runs/${encodeURIComponent(run)}/conversations`, { page_size: PAGE, ...filter, page_token: pages.token() });
    const at = finished;
    try {
      /** @type {{ conversations?: FinishedConversation[], next_page_token: string, total: string }} */
      const { conversations = [], next_page_token, total } = await call("GET", path);
      if (mine !== round) return;
      if (shownAt < 0) requestAnimationFrame(comeBack);
      shownAt = at;
      more.hidden = true;
      Object.assign(listed, { run, ids: conversations.map(({ id }) => id) });
      for (const name of new Set(conversations.map(({ summary }) => summary?.persona || ""))) {
        if (!name || place.personas.includes(name)) continue;
        place.personas.push(name);
        personas.append(element("option", { value: name }, name));
      }
      personas.hidden = !place.personas.length;
      keyed(list, conversations, ({ id }) => id, (one) => item(run, one));
      const filtered = Object.values(filter).some(Boolean);
      say(empty, filtered ? "No conversation matches: remove a filter." : "No conversation has finished yet.");
      empty.hidden = conversations.length > 0;
      // Screen readers hear of a search, not of every new conversation.
      found.ariaLive = filtered ? "polite" : "off";
      say(found, filtered ? `${counted(number(total), "conversation")} ${number(total) === 1 ? "matches" : "match"}` : counted(number(total), "conversation"));
      pages.shows(next_page_token);
    } catch (error) {
      if (error instanceof Refused) toast(error.message, "fault");
      // The page reports a lost connection. Nothing else loads the list again of a run that is over.
      else if (mine === round) retry = setTimeout(load, RETRY);
    }
  }

  /** Scrolls to where the reader left the list, and focuses the conversation that was read last. */
  function comeBack() {
    scrollTo(0, place.scrolled);
    const last = [...list.children].find((line) => /** @type {HTMLElement} */ (line).dataset.key === listed.last);
    listed.last = "";
    if (document.activeElement?.id === "main") last?.querySelector("a")?.focus({ preventScroll: true });
  }

  const section = element("section", { class: "conversations", "aria-label": "Conversations" },
    element("div", { class: "narrowing" }, element("h2", null, "Conversations"), found,
      search, choice("Verdict", VERDICTS, filter.verdict, (value) => narrow({ verdict: value })),
      element("label", { class: "check" }, flagged, element("span", null, "With false statements")), endings, personas, rule),
    more, list, empty, pages);
  /** Adds finished conversations at the top, unless the reader is about to press something that would move. @param {Run} status */
  const shows = ({ progress = {} }) => {
    finished = number(progress.accepted) + number(progress.rejected);
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
  const leave = () => {
    clearTimeout(timer);
    clearTimeout(retry);
    round += 1;
    place.scrolled = scrollY;
  };
  return Object.assign(section, { shows, leave, narrowTo });
}

/** @param {string} label @param {[string, string][]} options @param {string} chosen @param {(value: string) => void} changed */
function offer(label, options, chosen, changed) {
  const select = element("select", { "aria-label": label }, element("option", { value: "" }, `${label}: any`),
    options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
  select.addEventListener("change", () => changed(select.value));
  return select;
}

/** @param {string} run @param {FinishedConversation} one */
function item(run, one) {
  const { summary = {} } = one;
  const { turns, python_turns, failed_executions, flags } = summary;
  return element("li", null, element("a", { href: `#/runs/${encodeURIComponent(run)}/${encodeURIComponent(one.id)}` },
    element("span", { class: "question" }, summary.question || one.id),
    element("span", { class: "facts" }, element("span", null, summary.topic || ""), element("span", null, counted(number(turns), "turn")),
      number(python_turns) ? element("span", null, `Python in ${counted(number(python_turns), "turn")}`) : null,
      number(failed_executions) ? element("span", { class: "fault" }, `${counted(number(failed_executions), "program")} failed`) : null,
      number(flags) ? element("span", { class: "fault" }, counted(number(flags), "false statement")) : null,
      one.reasons?.length ? element("span", { class: "fault reason" }, one.reasons.map(inWords).join("; ")) : null)),
  element("span", { class: "when" }, verdict(one), time(one.finished_at)));
}
