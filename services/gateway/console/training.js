// Adapters and what was measured of them, side by side.

import { call } from "./calls.js";
import { element } from "./element.js";
import { columns, facts, heading, nothing, time } from "./parts.js";

const FIGURE = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 });
// Of what a training reports, what is looked at first.
const FIRST = ["validation loss", "validation step", "loss first", "loss last", "steps", "data conversations", "learned_tokens", "tokens_per_second"];

export async function training(main) {
  main.append(heading("Training", { note: "Adapters that were made from what was grown here, and what their evaluations found." }));
  try {
    const { adapters = [], evaluations = [] } = await call("GET", "/v1/training");
    const none = nothing("No registry of adapters was given to this gateway, or it is empty.");
    main.append(section("Adapters", adapters.length ? element("ul", { class: "cards" }, adapters.map(adapter)) : none));
    main.append(section("Evaluations", ...(evaluations.length ? compared(evaluations) : [nothing("No evaluation was given to this gateway.")])));
  } catch (error) {
    main.append(nothing(error.message));
  }
}

function section(title, ...content) {
  return element("section", null, element("h2", null, title), content);
}

function adapter({ name, digest, base_digest, active, active_since, note, metrics }) {
  const names = new Set([...FIRST.filter((one) => one in metrics), ...Object.keys(metrics)]);
  const told = [...names].slice(0, FIRST.length).map((one) => [one, metrics[one]]);
  return element("li", { class: "card" },
    element("h3", null, name, active ? element("span", { class: "chip good" }, "active") : null),
    facts(shortened(digest), base_digest ? ["on ", shortened(base_digest)] : null, active ? ["since ", time(Date.parse(active_since) / 1_000)] : null),
    note ? element("p", { class: "aside" }, note) : null,
    element("dl", null, told.map(([key, value]) => [element("dt", null, key.replaceAll("_", " ")), element("dd", null, FIGURE.format(value))])));
}

/** Each protocol has a table: a row a figure, a column a model. */
function compared(evaluations) {
  const protocols = Map.groupBy(evaluations, ({ protocol }) => protocol || "evaluation");
  return [...protocols].map(([protocol, found]) => {
    const names = [...new Set(found.flatMap(({ metrics }) => Object.keys(metrics)))];
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": protocol }, element("table", { class: "compared" },
      element("caption", null, protocol),
      columns([element("span", { class: "unseen" }, "Figure"), ...found.map(evaluated)]),
      element("tbody", null, names.map((figure) => measured(figure, found.map(({ metrics }) => metrics[figure]))))));
  });
}

function evaluated({ name, model, at }) {
  return [model || name, element("small", null, model && name !== model ? `${name} ` : "", time(at))];
}

function shortened(digest) {
  return element("code", { title: digest }, digest.slice(0, 12));
}

function measured(name, values) {
  const there = values.filter(Boolean);
  const highest = Math.max(...there.map(({ value, high }) => Math.max(value, high ?? value)), 1e-9);
  // Shares are drawn on the whole of one.
  const whole = highest <= 1 ? 1 : highest;
  return element("tr", null, element("th", { scope: "row" }, name.replaceAll("_", " ")), values.map((found) => {
    if (!found) return element("td", { class: "none" }, "–");
    const { value, low, high } = found;
    const ranged = typeof low === "number" && typeof high === "number";
    const bar = element("i", { class: "value" });
    const range = element("i", { class: "range" });
    bar.style.width = `${(value / whole) * 100}%`;
    range.style.left = `${((low ?? value) / whole) * 100}%`;
    range.style.width = `${(((high ?? value) - (low ?? value)) / whole) * 100}%`;
    return element("td", null, element("b", null, FIGURE.format(value)),
      ranged ? element("small", null, `${FIGURE.format(low)} – ${FIGURE.format(high)}`) : null,
      element("span", { class: "ranged", "aria-hidden": "true" }, bar, ranged ? range : null));
  }));
}
