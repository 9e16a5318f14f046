// The figures of a run: how far it is, how good, how long and how dear.

import { element } from "../../../soliloquy/web/element.js";
import { clock, costOf, duration, isOver, judged, moment, number, percent, rate, seconds, short, stateOf, tokensOf, underWay, whole } from "./format.js";
import { say, svg, updatable } from "./widgets.js";

/** @import { Run } from "./contract.d.ts" */

// The seconds that the curve of the rate covers.
const LOOK_BACK = 120;
const UNVERIFIED = "No program ran for the tutor's verdict, and no step of the problem settles it.";
const FIGURES = ["accepted", "rejected", "unverified", "flags", "time", "rate", "programs", "cost"];

export function figures() {
  const curve = sparkline();
  const shown = Object.fromEntries(FIGURES.map((name) => [name, [element("dd"), element("dt")]]));
  const figure = (/** @type {string} */ name) => element("div", { class: name }, shown[name].toReversed(), name === "rate" ? curve : null);
  const empty = element("dl", { class: "figures" }, FIGURES.map(figure));
  const put = (/** @type {string} */ name, /** @type {string[]} */ ...texts) => shown[name].forEach((place, which) => say(place, texts[which]));
  shown.unverified.forEach((place) => (place.title = UNVERIFIED));
  const strip = updatable(empty, (/** @type {Run} */ status) => {
    const counts = status.progress || {};
    const wanted = number(status.request.conversations);
    put("accepted", whole(counts.accepted), wanted ? `of ${whole(wanted)} accepted` : "accepted");
    put("rejected", percent(counts.rejected, judged(counts)), `rejected: ${whole(counts.rejected)} of ${whole(judged(counts))}`);
    put("unverified", percent(counts.unverified, counts.verdicts), `unverified: ${whole(counts.unverified)} of ${whole(counts.verdicts)} verdicts`);
    put("flags", whole(counts.flags), "false statements found");
    put("time", duration(seconds(status)), timeLeft(status));
    put("rate", ...pace(status));
    put("programs", percent(counts.python_turns, counts.turns), `of ${whole(counts.turns)} turns ran Python`);
    const tokens = tokensOf(counts);
    const unpriced = status.unpriced?.length ? `no price known for ${status.unpriced.join(", ")}; ` : "";
    const cached = tokens.cached ? `, ${percent(tokens.cached, tokens.prompt)} of the read ones cached` : "";
    put("cost", costOf(status), `${unpriced}${short(tokens.prompt + tokens.completion)} tokens${cached}`);
    for (const name of ["rejected", "unverified", "flags"]) {
      const count = number(counts[/** @type {"rejected" | "unverified" | "flags"} */ (name)]);
      strip.querySelector(`.${name}`)?.classList.toggle("fault", count > 0);
    }
    if (stateOf(status) === "running") curve.shows(number(status.rate));
  });
  return strip;
}

/** @param {Run} status */
function timeLeft(status) {
  if (isOver(status)) return `until ${moment(status.changed_at)}`;
  const eta = number(status.eta_seconds);
  if (stateOf(status) === "running" && eta) return `so far; ${duration(eta)} left, until ${clock(new Date(Date.now() + eta * 1_000))}`;
  return `so far; ${underWay(status.progress)}`;
}

/** The current rate, or the average of a run that is over. @param {Run} status */
function pace(status) {
  if (!isOver(status)) return [rate(status.rate), "accepted over the last minute"];
  return [rate(number(status.progress?.accepted) / Math.max(seconds(status), 1)), "accepted on average"];
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
