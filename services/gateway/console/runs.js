// All runs, the latest first.

import { element } from "../../../soliloquy/web/element.js";
import { watch, withQuery } from "./api.js";
import { costOf, duration, isOver, isWriting, number, outOf, percent, judged, rejection, seconds, underWay } from "./format.js";
import { maySteer, seesAll } from "./session.js";
import { startForm } from "./start-form.js";
import { choice, columns, facts, heading, keyed, nothing, pager, progress, say, state, time, updatable } from "./widgets.js";

/** @import { Run } from "./contract.d.ts" */

const STATES = [
  ["", "All"], ["RUN_STATE_RUNNING", "Running"], ["RUN_STATE_PAUSED", "Paused"],
  ["RUN_STATE_FINISHED", "Finished"], ["RUN_STATE_SHORT", "Incomplete"], ["RUN_STATE_CANCELLED", "Cancelled"],
  ["RUN_STATE_OPEN", "Started elsewhere"],
];
const PAGE = 30;
/** The run that was shown last: who comes back to the list has the focus there. */
export const visited = { run: "" };

/** @param {HTMLElement} main @param {string[]} _path @param {URLSearchParams} query */
export function runs(main, _path, query) {
  let chosen = "";
  let stop = () => {};
  const body = element("tbody");
  const table = element("table", { class: "runs" }, columns(["Run", "Accepted", "Rejected", "Time", "Cost", "State"]), body);
  const empty = element("div", { class: "empty", hidden: true });
  const pages = pager(load);
  const start = element("a", { class: "primary", href: "#/runs?start" }, "Start a run");
  const compared = element("a", { class: "quiet", href: "#/compare" }, "Compare");
  main.append(heading("Runs", { tools: element("div", { class: "tools" }, compared, maySteer() ? start : null) }), choice("Which runs", STATES, chosen, (value) => {
    chosen = value;
    pages.reset();
  }), table, empty, pages);

  function load() {
    stop();
    const path = withQuery("/v1/runs/watch", { page_size: PAGE, state: chosen, page_token: pages.token() });
    stop = watch(path, (name, /** @type {{ runs?: Run[], next_page_token: string }} */ { runs: found = [], next_page_token }) => {
      if (name !== "runs") return;
      keyed(body, found, (run) => run.id, row);
      table.hidden = !found.length;
      compared.hidden = found.length < 2 && !chosen;
      empty.hidden = found.length > 0;
      if (!found.length) empty.replaceChildren(...unstarted(chosen));
      pages.shows(next_page_token);
      comeBack(body);
    }, (error) => main.append(nothing(error.message)));
  }

  load();
  const close = query.has("start") && maySteer() ? startForm(() => start.focus()) : null;
  return () => {
    stop();
    close?.();
  };
}

/** Focuses the run that was shown last, unless the reader has gone on. @param {HTMLElement} body */
function comeBack(body) {
  const here = [...body.children].find((line) => /** @type {HTMLElement} */ (line).dataset.key === visited.run);
  visited.run = "";
  if (document.activeElement?.id === "main") here?.querySelector("a")?.focus();
}

/** @param {string} chosen */
function unstarted(chosen) {
  if (chosen) return [nothing("No run is in this state.")];
  return [element("h2", null, "There are no runs yet"),
    element("p", null, "A run generates tutoring conversations whose numbers are right: choose a recipe and problems, and watch the conversations come in.")];
}

/** @param {Run} run */
function row(run) {
  const bar = progress(run);
  const [count, under, share, why, spent, left, price] = [element("b"), element("span"), element("b"), element("small"), element("b"), element("small"), element("td")];
  const shownState = state(run);
  const because = element("span", { class: "because" });
  const line = element("tr", null,
    element("th", { scope: "row" }, element("a", { href: `#/runs/${encodeURIComponent(run.id)}` }, run.name),
      facts(run.request.recipe, run.model ? `model ${run.model}` : null,
        run.changed_prompts?.length ? `changed prompts ${run.changed_prompts.join(", ")}` : null, `seed ${run.request.seed}`, ["started ", time(run.requested_at)],
        run.tenant && seesAll() ? `tenant ${run.tenant}` : null)),
    element("td", { class: "far" }, bar, element("span", { class: "facts" }, count, under)),
    element("td", { "data-of": "Rejected" }, share, why), element("td", { "data-of": "Time" }, spent, left), price,
    element("td", null, shownState, because));
  price.dataset.of = "Cost";
  price.title = "Tokens at the prices in the gateway's model settings; – where they name no price";
  return updatable(line, (/** @type {Run} */ status) => {
    const counts = status.progress || {};
    bar.shows(status);
    shownState.shows(status);
    say(count, outOf(counts.accepted, status.request));
    say(under, number(counts.under_way) ? underWay(counts) : "");
    say(share, percent(counts.rejected, judged(counts)));
    say(why, rejection(counts));
    say(spent, duration(seconds(status)));
    say(left, !isOver(status) && number(status.eta_seconds) ? `${duration(status.eta_seconds)} left` : "");
    say(price, costOf(status));
    price.classList.toggle("blank", price.textContent === "–");
    say(because, status.because || (isWriting(status) ? "Its dataset is being written." : ""));
  });
}
