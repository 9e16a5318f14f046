// One run: how far it is, its conversations as they finish, its files.

import { call, poll, watch } from "./calls.js";
import { element } from "./element.js";
import { conversationList } from "./conversations.js";
import { ask, button, facts, heading, keyed, nothing, progress, say, state, svg, time, toast } from "./parts.js";
import { maySteer } from "./session.js";
import { bytes, clock, cost, isOver, isSteered, lasting, moment, number, percent, rate, short, stateOf, title, whole } from "./told.js";

// Seconds that the curve of the rate shows.
const LOOK_BACK = 120;
const FIGURES = ["accepted", "rate", "left", "rejected", "flags", "programs", "cost"];
const CANCELLING = "What it has grown stays. What is under way is dropped, and the run cannot go on afterwards.";

export async function run(main, [id]) {
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  let status;
  try {
    status = await call("GET", path);
  } catch (error) {
    main.append(heading("Run", { back: { href: "#/runs", text: "Runs" } }), nothing(error.message));
    return null;
  }
  const { request } = status;
  const shownState = state(status);
  const because = element("p", { class: "note because" });
  const tools = element("div", { class: "tools" });
  const kept = element("ul");
  const files = element("details", { class: "files", hidden: true }, element("summary", null, "Files"), kept);
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
  const shows = (next) => {
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
  const stops = [watch(`${path}/watch`, (name, told) => name === "run" && shows(told), (error) => toast(error.message, "fault"))];
  stops.push(poll(`${path}/files`, 5_000, ({ files: found = [] }) => {
    files.hidden = !found.length;
    say(files.firstChild, `Files (${found.length})`);
    keyed(kept, found, ({ name, size }) => `${name} ${size}`, ({ name, size }) => element("li", null,
      element("a", { href: `${path}/files/${encodeURIComponent(name)}`, download: name.split("/").pop() }, name), element("span", null, bytes(size))));
  }, () => null));
  return () => {
    for (const stop of stops) stop();
    list.leave();
  };
}

/** What can be done to a run as it is; the other operator's presses change it too. */
function steer(tools, status, path, shows) {
  tools.dataset.state = stateOf(status);
  if (!maySteer() || !isSteered(status)) return tools.replaceChildren();
  const press = (what) => async () => shows(await call("POST", `${path}/${what}`, {}));
  const cancel = async () => {
    const answer = await ask("Cancel this run?", CANCELLING, [["", "Keep it"], ["cancel", "Cancel the run", "danger"]]);
    if (answer) await press("cancel")();
  };
  const focused = tools.contains(document.activeElement);
  tools.replaceChildren(
    stateOf(status) === "paused" ? button("Resume", { kind: "primary" }, press("resume")) : button("Pause", {}, press("pause")),
    button("Cancel", {}, cancel));
  if (focused) tools.firstChild.focus();
  return tools;
}

function figures() {
  const curve = sparkline();
  const shown = Object.fromEntries(FIGURES.map((name) => [name, [element("dd"), element("dt")]]));
  const figure = (name) => element("div", { class: name }, shown[name].toReversed(), name === "rate" ? curve : null);
  const strip = element("dl", { class: "figures" }, FIGURES.map(figure));
  const put = (name, ...texts) => shown[name].forEach((place, which) => say(place, texts[which]));
  strip.shows = (status) => {
    const far = status.progress || {};
    const done = number(far.accepted) + number(far.rejected);
    const running = stateOf(status) === "running";
    const eta = number(status.eta_seconds);
    const wanted = number(status.request.conversations);
    put("accepted", whole(far.accepted), wanted ? `of ${whole(wanted)} accepted` : "accepted");
    put("rate", rate(status.rate), "accepted, of late");
    if (isOver(status)) put("left", lasting(number(status.changed_at) - number(status.requested_at)), `ended ${moment(status.changed_at)}`);
    else if (running && eta) put("left", lasting(eta), `left, until ${clock(new Date(Date.now() + eta * 1_000))}`);
    else put("left", "–", `${wanted ? "left" : "no end is known"}; ${whole(far.under_way)} under way`);
    put("rejected", percent(far.rejected, done), `rejected, ${whole(far.rejected)} of ${whole(done)}`);
    put("flags", whole(far.flags), "flags: said, and not so");
    put("programs", percent(far.python_turns, far.turns), `of ${whole(far.turns)} turns ran Python`);
    put("cost", cost(status.cost), `${short(tokens(far))} tokens`);
    strip.querySelector(".rejected").classList.toggle("fault", number(far.rejected) > 0);
    strip.querySelector(".flags").classList.toggle("fault", number(far.flags) > 0);
    if (running) curve.adds(number(status.rate));
  };
  return strip;
}

function tokens({ tokens: used = {} }) {
  return Object.values(used).reduce((sum, { prompt, completion }) => sum + number(prompt) + number(completion), 0);
}

/** The rate since the page was opened. */
function sparkline() {
  const chart = svg("svg", { class: "sparkline", viewBox: "0 0 120 28", preserveAspectRatio: "none", "aria-hidden": "true" });
  const [area, path] = [svg("path", { class: "area" }), svg("path", { class: "curve" })];
  chart.append(area, path);
  const points = [];
  chart.adds = (value) => {
    const now = performance.now() / 1_000;
    if (points.length && now - points.at(-1)[0] < 0.5) return;
    points.push([now, value]);
    while (points[0][0] < now - LOOK_BACK) points.shift();
    const highest = Math.max(...points.map(([, rated]) => rated)) || 1;
    const [first, span] = [points[0][0], Math.max(now - points[0][0], 1)];
    const drawn = points.map(([when, rated]) => `${(((when - first) / span) * 120).toFixed(1)},${(26 - (rated / highest) * 23).toFixed(1)}`).join("L");
    path.setAttribute("d", `M${drawn}`);
    area.setAttribute("d", `M${drawn}L120,28L0,28Z`);
  };
  return chart;
}

function settings(request) {
  const told = {
    recipe: request.recipe,
    ...(number(request.conversations) ? { problems: request.problems, conversations: whole(request.conversations) } : {}),
    seed: request.seed,
    "in flight": whole(request.in_flight),
    "turns at most": whole(request.max_turns),
    attempts: whole(request.max_attempts),
    "solutions explained first": request.enrich ? "yes" : "no",
  };
  const pairs = Object.entries(told).map(([name, value]) => [element("dt", null, name), element("dd", null, value)]);
  return element("details", { class: "settings" }, element("summary", null, "Settings"), element("dl", null, pairs));
}
