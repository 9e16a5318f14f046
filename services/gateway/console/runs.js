// All runs, the latest first.

import { element } from "../../../soliloquy/web/element.js";
import { watch, withQuery } from "./api.js";
import { cost, duration, isOver, number, outOf, rate, title, troubles } from "./format.js";
import { maySteer } from "./session.js";
import { startForm } from "./start-form.js";
import { choice, columns, facts, heading, keyed, nothing, pager, progress, say, state, time, updatable } from "./widgets.js";

/** @import { Run } from "./contract.d.ts" */

const STATES = [
  ["", "All"], ["RUN_STATE_RUNNING", "Running"], ["RUN_STATE_PAUSED", "Paused"],
  ["RUN_STATE_FINISHED", "Finished"], ["RUN_STATE_SHORT", "Short"], ["RUN_STATE_CANCELLED", "Cancelled"],
  ["RUN_STATE_OPEN", "Open"],
];
const PAGE = 30;

/** @param {HTMLElement} main @param {string[]} _path @param {URLSearchParams} query */
export function runs(main, _path, query) {
  let chosen = "";
  let stop = () => {};
  const body = element("tbody");
  const table = element("table", { class: "runs" }, columns(["Run", "Progress", "Rate", "Time left", "Cost", "State"]), body);
  const empty = element("div", { class: "empty", hidden: true });
  const pages = pager(load);
  const start = element("a", { class: "primary", href: "#/runs?start", role: "button" }, "Start a run");
  main.append(heading("Runs", { tools: maySteer() ? start : null }), choice("Which runs", STATES, chosen, (value) => {
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
      empty.hidden = found.length > 0;
      if (!found.length && !empty.children.length) empty.replaceChildren(...unstarted(chosen));
      pages.shows(next_page_token);
    }, (error) => main.append(nothing(error.message)));
  }

  load();
  const close = query.has("start") && maySteer() ? startForm() : null;
  return () => {
    stop();
    close?.();
  };
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
  const [count, share, speed, left, price] = [element("b"), element("span"), element("td"), element("td"), element("td")];
  const shownState = state(run);
  const because = element("span", { class: "because" });
  const line = element("tr", null,
    element("th", { scope: "row" }, element("a", { href: `#/runs/${encodeURIComponent(run.id)}` }, title(run)),
      facts(run.request.recipe, `seed ${run.request.seed}`, time(run.requested_at))),
    element("td", { class: "far" }, bar, element("span", { class: "facts" }, count, share)),
    speed, left, price, element("td", null, shownState, because));
  speed.dataset.of = "Rate";
  left.dataset.of = "Left";
  price.dataset.of = "Cost";
  return updatable(line, (/** @type {Run} */ status) => {
    const counts = status.progress || {};
    bar.shows(status);
    shownState.shows(status);
    say(count, outOf(counts.accepted, status.request));
    say(share, troubles(counts));
    say(speed, rate(status.rate));
    say(left, isOver(status) || !number(status.eta_seconds) ? "–" : duration(status.eta_seconds));
    say(price, cost(status.cost));
    for (const cell of [speed, left, price]) cell.classList.toggle("blank", cell.textContent === "–");
    say(because, status.because || "");
  });
}
