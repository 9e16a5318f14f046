// Adapters and their evaluations, side by side.

import { quoted } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { call } from "./api.js";
import { columns, facts, heading, messageOf, nothing, time } from "./widgets.js";

/** @import { Content } from "../../../soliloquy/web/types.d.ts" */
/** @import { Adapter, Evaluation, Measure } from "./contract.d.ts" */

const FIGURE = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 });
// The figures of a training that readers look at first.
const FIRST = ["validation loss", "validation step", "loss first", "loss last", "steps", "data conversations", "learned_tokens", "tokens_per_second"];

/** @param {HTMLElement} main */
export async function training(main) {
  main.append(heading("Training", { note: "Adapters trained on the conversations of this gateway, and their evaluations." }));
  try {
    /** @type {{ adapters?: Adapter[], evaluations?: Evaluation[], shows_adapters: boolean, shows_evaluations: boolean, unreadable?: string[] }} */
    const { adapters = [], evaluations = [], shows_adapters, shows_evaluations, unreadable = [] } = await call("GET", "/v1/training");
    main.append(section("Adapters", adapters.length ? element("ul", { class: "cards" }, adapters.map(adapter)) : noAdapters(shows_adapters)));
    main.append(section("Evaluations", ...(evaluations.length ? compared(evaluations) : [noEvaluations(shows_evaluations)])));
    main.append(...unreadable.map((line) => nothing(line)));
  } catch (error) {
    main.append(nothing(messageOf(error)));
  }
}

/** @param {boolean} shown Whether this gateway shows a registry. */
function noAdapters(shown) {
  return steps(shown ? "The registry of this gateway is empty." : "This gateway shows no registry of adapters.",
    ["Train an adapter on the dataset of a run. It needs the extra `training`, the weights of a model and, for more than a trial, a GPU.",
      "soliloquy train --config soliloquy --base MODEL --data DATASET --name tutor-1"],
    ["Add it to a registry.", "soliloquy adapters push trained/tutor-1 --name tutor --registry REGISTRY"],
    shown ? null : ["Start the gateway with that registry.", "soliloquy up --data DATA --adapters REGISTRY"]);
}

/** @param {boolean} shown Whether this gateway shows a folder of evaluations. */
function noEvaluations(shown) {
  return steps(shown ? "The folder of evaluations is empty." : "This gateway shows no folder of evaluations.",
    ["Evaluate a tutor. Repeat it with another model to see both side by side.", "soliloquy evaluate soliloquy --model openai --base-url URL --out EVALUATIONS/NAME"],
    shown ? null : ["Start the gateway with that folder.", "soliloquy up --data DATA --evaluations EVALUATIONS"]);
}

/** @param {string} why @param {...(string[] | null)} each What to do, and the command that does it. */
function steps(why, ...each) {
  return element("div", { class: "to-do" }, element("p", { class: "nothing" }, why),
    element("ol", null, each.filter((one) => one !== null).map(([what, command]) => element("li", null, element("p", null, quoted(what)), element("pre", { class: "command", tabindex: "0" }, command)))));
}

/** @param {string} title @param {...Content} content */
function section(title, ...content) {
  return element("section", null, element("h2", null, title), content);
}

/** @param {Adapter} adapter */
function adapter({ name, digest, base_digest, active, active_since, note, metrics }) {
  const names = new Set([...FIRST.filter((one) => one in metrics), ...Object.keys(metrics)]);
  const figures = [...names].slice(0, FIRST.length);
  return element("li", { class: "card" },
    element("h3", null, name, active ? element("span", { class: "chip good" }, "active") : null),
    facts(shortened(digest), base_digest ? ["on ", shortened(base_digest)] : null, active ? ["since ", time(Date.parse(active_since) / 1_000)] : null),
    note ? element("p", { class: "aside" }, note) : null,
    element("dl", null, figures.map((key) => [element("dt", null, key.replaceAll("_", " ")), element("dd", null, FIGURE.format(metrics[key]))])));
}

/** A table for each protocol, with a row for each figure and a column for each model. @param {Evaluation[]} evaluations */
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

/** @param {Evaluation} evaluation @returns {Content} */
function evaluated({ name, model, at }) {
  return [model || name, element("small", null, model && name !== model ? `${name} ` : "", time(at))];
}

/** @param {string} digest */
function shortened(digest) {
  return element("code", { title: digest }, digest.slice(0, 12));
}

/** @param {string} name @param {(Measure | undefined)[]} values */
function measured(name, values) {
  const there = values.filter((value) => value !== undefined);
  const highest = Math.max(...there.map(({ value, high }) => Math.max(value, high ?? value)), 1e-9);
  // Shares are drawn on a scale of 0 to 1.
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
