// One run: its progress, its conversations as they finish, its files.

import { element } from "../../../soliloquy/web/element.js";
import { call, poll, watch } from "./api.js";
import { conversationList } from "./conversations.js";
import { bytes, clock, cost, duration, isOver, isSteered, moment, number, percent, rate, short, stateOf, title, totalTokens, whole } from "./format.js";
import { maySteer } from "./session.js";
import { ask, button, facts, heading, keyed, messageOf, nothing, progress, say, state, svg, time, toast, updatable } from "./widgets.js";

/** @import { Run, RunRequest } from "./contract.d.ts" */

// The seconds that the curve of the rate covers.
const LOOK_BACK = 120;
const FIGURES = ["accepted", "rate", "left", "rejected", "flags", "programs", "cost"];
const CANCELLING = "Finished conversations stay. Conversations under way are dropped, and the run cannot be resumed.";

/** @param {HTMLElement} main @param {string[]} path */
export async function run(main, [id]) {
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  /** @type {Run} */
  let status;
  try {
    status = await call("GET", path);
  } catch (error) {
    main.append(heading("Run", { back: { href: "#/runs", text: "Runs" } }), nothing(messageOf(error)));
    return null;
  }
  const { request } = status;
  const shownState = state(status);
  const because = element("p", { class: "note because" });
  const tools = element("div", { class: "tools" });
  const kept = element("ul");
  const summary = element("summary", null, "Files");
  const files = element("details", { class: "files", hidden: true }, summary, kept);
  const bar = progress(status);
  const strip = figures();
  const list = conversationList(id);
  main.append(
    element("header", { class: "heading" }, element("a", { class: "up", href: "#/runs" }, "← Runs"),
      element("div", { class: "titled" }, element("h1", null, title(status)), shownState, tools),
      facts(element("code", null, id), request.recipe, ["started ", time(status.requested_at), status.requested_by ? ` by ${status.requested_by}` : ""]),
      because),
    element("div", { class: "whole" }, bar), strip, element("div", { class: "folds" }, settings(request), files), list);

  let before = stateOf(status);
  const shows = (/** @type {Run} */ next) => {
    bar.shows(next);
    strip.shows(next);
    shownState.shows(next);
    say(because, next.because || "");
    if (tools.dataset.state !== stateOf(next)) steer(tools, next, path, shows);
    if (before !== stateOf(next)) toast(`The run is ${stateOf(next)}.`);
    before = stateOf(next);
    list.shows(next);
  };
  shows(status);
  const stops = [watch(`${path}/watch`, (name, data) => name === "run" && shows(data), (error) => toast(error.message, "fault"))];
  stops.push(poll(`${path}/files`, 5_000, (/** @type {{ files?: { name: string, size: number }[] }} */ { files: found = [] }) => {
    files.hidden = !found.length;
    say(summary, `Files (${found.length})`);
    keyed(kept, found, ({ name, size }) => `${name} ${size}`, ({ name, size }) => element("li", null,
      element("a", { href: `${path}/files/${encodeURIComponent(name)}`, download: name.split("/").pop() }, name), element("span", null, bytes(size))));
  }, () => null));
  return () => {
    for (const stop of stops) stop();
    list.leave();
  };
}

/**
 * Shows the buttons that fit the run's state, which another operator may change too.
 * @param {HTMLElement} tools
 * @param {Run} status
 * @param {string} path
 * @param {(status: Run) => void} shows
 */
function steer(tools, status, path, shows) {
  tools.dataset.state = stateOf(status);
  if (!maySteer() || !isSteered(status)) {
    tools.replaceChildren();
    return;
  }
  const press = (/** @type {string} */ what) => async () => shows(await call("POST", `${path}/${what}`, {}));
  const cancel = async () => {
    const answer = await ask("Cancel this run?", CANCELLING, [["", "Keep it"], ["cancel", "Cancel the run", "danger"]]);
    if (answer) await press("cancel")();
  };
  const focused = tools.contains(document.activeElement);
  tools.replaceChildren(
    stateOf(status) === "paused" ? button("Resume", { kind: "primary" }, press("resume")) : button("Pause", {}, press("pause")),
    button("Cancel", {}, cancel));
  if (focused) tools.querySelector("button")?.focus();
}

function figures() {
  const curve = sparkline();
  const shown = Object.fromEntries(FIGURES.map((name) => [name, [element("dd"), element("dt")]]));
  const figure = (/** @type {string} */ name) => element("div", { class: name }, shown[name].toReversed(), name === "rate" ? curve : null);
  const empty = element("dl", { class: "figures" }, FIGURES.map(figure));
  const put = (/** @type {string} */ name, /** @type {string[]} */ ...texts) => shown[name].forEach((place, which) => say(place, texts[which]));
  const strip = updatable(empty, (/** @type {Run} */ status) => {
    const counts = status.progress || {};
    const done = number(counts.accepted) + number(counts.rejected);
    const running = stateOf(status) === "running";
    const eta = number(status.eta_seconds);
    const wanted = number(status.request.conversations);
    put("accepted", whole(counts.accepted), wanted ? `of ${whole(wanted)} accepted` : "accepted");
    put("rate", rate(status.rate), "accepted, recently");
    if (isOver(status)) put("left", duration(number(status.changed_at) - number(status.requested_at)), `ended ${moment(status.changed_at)}`);
    else if (running && eta) put("left", duration(eta), `left, until ${clock(new Date(Date.now() + eta * 1_000))}`);
    else put("left", "–", `${wanted ? "left" : "no end set"}; ${whole(counts.under_way)} under way`);
    put("rejected", percent(counts.rejected, done), `rejected, ${whole(counts.rejected)} of ${whole(done)}`);
    put("flags", whole(counts.flags), "flags: claims that are not so");
    put("programs", percent(counts.python_turns, counts.turns), `of ${whole(counts.turns)} turns ran Python`);
    put("cost", cost(status.cost), `${short(totalTokens(counts))} tokens`);
    strip.querySelector(".rejected")?.classList.toggle("fault", number(counts.rejected) > 0);
    strip.querySelector(".flags")?.classList.toggle("fault", number(counts.flags) > 0);
    if (running) curve.shows(number(status.rate));
  });
  return strip;
}

/** The rate since the page was opened. */
function sparkline() {
  const chart = svg("svg", { class: "sparkline", viewBox: "0 0 120 28", preserveAspectRatio: "none", "aria-hidden": "true" });
  const [area, path] = [svg("path", { class: "area" }), svg("path", { class: "curve" })];
  chart.append(area, path);
  /** @type {[number, number][]} */
  const points = [];
  return updatable(chart, (/** @type {number} */ value) => {
    const now = performance.now() / 1_000;
    if (points.length && now - points[points.length - 1][0] < 0.5) return;
    points.push([now, value]);
    while (points[0][0] < now - LOOK_BACK) points.shift();
    const highest = Math.max(...points.map(([, rated]) => rated)) || 1;
    const [first, span] = [points[0][0], Math.max(now - points[0][0], 1)];
    const drawn = points.map(([when, rated]) => `${(((when - first) / span) * 120).toFixed(1)},${(26 - (rated / highest) * 23).toFixed(1)}`).join("L");
    path.setAttribute("d", `M${drawn}`);
    area.setAttribute("d", `M${drawn}L120,28L0,28Z`);
  });
}

/** @param {RunRequest} request */
function settings(request) {
  const values = {
    recipe: request.recipe,
    ...(number(request.conversations) ? { problems: request.problems, conversations: whole(request.conversations) } : {}),
    seed: request.seed,
    "in flight": whole(request.in_flight),
    "maximum turns": whole(request.max_turns),
    attempts: whole(request.max_attempts),
    "solutions explained first": request.enrich ? "yes" : "no",
  };
  const pairs = Object.entries(values).map(([name, value]) => [element("dt", null, name), element("dd", null, value)]);
  return element("details", { class: "settings" }, element("summary", null, "Settings"), element("dl", null, pairs));
}
