// All runs, the latest first.

import { asking, watch } from "./calls.js";
import { element } from "./element.js";
import { choice, columns, facts, heading, keyed, nothing, pager, progress, say, state, time } from "./parts.js";
import { maySteer } from "./session.js";
import { startForm } from "./starting.js";
import { cost, isOver, lasting, number, outOf, percent, rate, title, whole } from "./told.js";

const STATES = [
  ["", "All"], ["RUN_STATE_RUNNING", "Running"], ["RUN_STATE_PAUSED", "Paused"],
  ["RUN_STATE_FINISHED", "Finished"], ["RUN_STATE_SHORT", "Short"], ["RUN_STATE_CANCELLED", "Cancelled"],
  ["RUN_STATE_OPEN", "Open"],
];
const PAGE = 30;

export function runs(main, rest, query) {
  let chosen = "";
  let stop = null;
  const body = element("tbody");
  const table = element("table", { class: "runs" }, columns(["Run", "Progress", "Rate", "Time left", "Cost", "State"]), body);
  const empty = element("div", { class: "empty", hidden: true });
  const pages = pager(() => asked());
  const start = element("a", { class: "primary", href: "#/runs?start", role: "button" }, "Start a run");
  main.append(heading("Runs", { tools: maySteer() ? start : null }), choice("Which runs", STATES, chosen, (value) => {
    chosen = value;
    pages.reset();
  }), table, empty, pages);

  function asked() {
    stop?.();
    stop = watch(asking("/v1/runs/watch", { page_size: PAGE, state: chosen, page_token: pages.token() }), (name, { runs: found = [], next_page_token }) => {
      if (name !== "runs") return;
      keyed(body, found, (run) => run.id, row);
      table.hidden = !found.length;
      empty.hidden = found.length > 0;
      if (!found.length && !empty.children.length) empty.replaceChildren(...unstarted(chosen));
      pages.shows(next_page_token);
    }, (error) => main.append(nothing(error.message)));
  }

  asked();
  const close = query.has("start") && maySteer() ? startForm() : null;
  return () => {
    stop?.();
    close?.();
  };
}

function unstarted(chosen) {
  if (chosen) return [nothing("No run is in this state.")];
  return [element("h2", null, "Nothing has been grown here yet"),
    element("p", null, "A run grows tutoring conversations whose numbers are right: you choose a recipe and the problems, and watch them come in.")];
}

function row(run) {
  const bar = progress(run);
  const [count, share, speed, left, price] = ["b", "span", "td", "td", "td"].map((tag) => element(tag));
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
  line.shows = (status) => {
    const far = status.progress || {};
    bar.shows(status);
    shownState.shows(status);
    say(count, outOf(far.accepted, status.request));
    say(share, told(far));
    say(speed, rate(status.rate));
    say(left, isOver(status) || !number(status.eta_seconds) ? "–" : lasting(status.eta_seconds));
    say(price, cost(status.cost));
    for (const cell of [speed, left, price]) cell.classList.toggle("blank", cell.textContent === "–");
    say(because, status.because || "");
  };
  return line;
}

function told({ accepted, rejected, flags, dead_letters }) {
  const parts = [];
  if (number(rejected)) parts.push(`${percent(rejected, number(accepted) + number(rejected))} rejected`);
  if (number(flags)) parts.push(`${whole(flags)} flagged`);
  if (number(dead_letters)) parts.push(`${whole(dead_letters)} dead`);
  return parts.join(" · ");
}
