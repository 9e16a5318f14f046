// The form that starts a run. A fault is shown beside its field while the reader types.

import { counted } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { Refused, call } from "./api.js";
import { choices } from "./choices.js";
import { forecastTable } from "./forecast.js";
import { faultOf, moment, range } from "./format.js";
import { maySteer } from "./session.js";
import { button, field, languageChoice, messageOf, recipeChoice, toast } from "./widgets.js";

/** @import { Choices, RunRequest, Template } from "./contract.d.ts" */

// Each field's name, label and hint.
const NUMBERS = [
  ["conversations", "Conversations", "Accepted ones; rejected ones are retried and do not count."],
  ["seed", "Seed", "The same seed and settings give the same dataset."],
  ["in_flight", "In flight", "Conversations at once; affects only the speed."],
  ["max_turns", "Maximum turns", ""],
  ["max_attempts", "Attempts", "Per problem, before it is given up."],
];
const UNREACHED = "The gateway cannot be reached. Press Start again: it starts only one run, however often you press.";
const UNREACHED_FORECAST = "The gateway cannot be reached. Press Forecast again.";
const FEW = ["conversations", "seed"];
const LONGEST_NAME = 80;
// The lines of a file that are shown if it cannot be used.
const MOST_FAULTS = 8;

/** Opens the form; what is returned closes it. @param {() => void} shut Called when the reader closes the form. */
export function startForm(shut) {
  // With one id, pressing twice, or again after a lost answer, starts one run.
  const requestId = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const dialog = element("dialog", { class: "sheet", "aria-labelledby": "start-title" });
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (location.hash !== "#/runs?start") return;
    // Not a step back, which would draw the page below again.
    history.replaceState(null, "", "#/runs");
    shut();
  });
  // A press in a field that ends outside selects text.
  let pressed = /** @type {EventTarget | null} */ (null);
  dialog.addEventListener("pointerdown", ({ target }) => (pressed = target));
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog && pressed === dialog) dialog.close();
  });
  let isLeft = false;
  Promise.all([choices(), call("GET", "/v1/templates")]).then(([offered, { templates }]) => {
    if (isLeft) return;
    dialog.append(form(offered, templates, requestId, dialog));
    dialog.showModal();
  }, (error) => {
    if (isLeft) return;
    toast(error.message, "fault");
    dialog.dispatchEvent(new Event("close"));
  });
  return () => {
    isLeft = true;
    dialog.close();
    dialog.remove();
  };
}

/** @param {Choices} offered @param {Template[]} templates @param {string} requestId @param {HTMLDialogElement} dialog */
function form(offered, templates, requestId, dialog) {
  const { recipes, problems, limits } = offered;
  const recipe = recipeChoice("recipe", recipes);
  const groups = [["Banks", "bank"], ["Files", "file"]].map(([label, wanted]) => ({ label, found: problems.filter(({ kind }) => kind === wanted) }));
  const source = element("select", { id: "problems" }, groups.filter(({ found }) => found.length).map(({ label, found }) =>
    element("optgroup", { label }, found.map(({ name }) => element("option", { value: name }, name)))));
  const language = languageChoice("language", offered.languages);
  const own = ownProblems(source, language);
  const enrich = element("input", { type: "checkbox" });
  const name = element("input", { id: "name", autocomplete: "off", maxlength: LONGEST_NAME, "aria-describedby": "name-hint" });
  const numeric = (/** @type {string} */ id) => element("input", { id, inputmode: "numeric", autocomplete: "off", value: offered.defaults[id], "aria-describedby": `${id}-hint` });
  const template = element("select", { id: "template" }, element("option", { value: "" }, "none"), templates.map(({ name, next_at }) =>
    element("option", { value: name }, next_at ? `${name} (starts by itself, next at ${moment(next_at)})` : name)));
  const numbers = Object.fromEntries(NUMBERS.map(([name]) => [name, numeric(name)]));
  const sum = element("p", { class: "sum" });
  const refused = element("p", { class: "fault", role: "alert" });
  const go = element("button", { class: "primary" }, "Start");
  const ask = element("button", { type: "button", class: "quiet" }, "Forecast");
  const told = element("div", { "aria-live": "polite" });
  const shut = element("button", { type: "button", class: "quiet", "aria-label": "Close" }, "✕");
  shut.addEventListener("click", () => dialog.close());

  // A recipe that writes problems takes examples.
  const offer = () => {
    const makes = recipes.find(({ name }) => name === recipe.value)?.topics.length;
    /** @type {HTMLElement} */ (made.querySelector("[for=problems]")).textContent = makes ? "Examples" : "Problems";
  };
  const checked = () => {
    const faults = NUMBERS.map(([name]) => shownFault(numbers[name], faultOf(numbers[name].value, limits[name])));
    const sound = faults.every((fault) => !fault);
    go.disabled = ask.disabled = !sound;
    sum.textContent = sound ? summary(recipe.value, source.value, numbers) : "";
    name.placeholder = sound ? defaultName(source.value, numbers) : "";
    return sound;
  };
  const pair = (/** @type {boolean} */ chosen) => element("div", { class: "pair" },
    NUMBERS.filter(([name]) => FEW.includes(name) === chosen).map(([name, label, hint]) => field(label, numbers[name], hint || range(limits[name]))));
  const made = element("form", { novalidate: true },
    element("header", null, element("h2", { id: "start-title" }, "Start a run"), shut),
    templates.length ? field("Template", template) : null,
    field("Name", name, "Optional: what lists call this run."), field("Recipe", recipe), field("Problems", source), maySteer() ? own : null,
    field("Language", language, "Of the problems and of all messages; banks are English."), pair(true),
    element("details", null, element("summary", null, "More settings"), pair(false),
      element("label", { class: "check" }, enrich,
        element("span", null, "Explain and outline each solution first", element("small", null, "A model does this before the conversation starts.")))),
    told, sum, refused, element("footer", null, ask, go));
  const body = () => {
    const values = Object.fromEntries(Object.entries(numbers).map(([name, { value }]) => [name, name === "seed" ? value.trim() : Number(value)]));
    const request = { name: name.value.trim(), recipe: recipe.value, problems: source.value, enrich: enrich.checked, language: language.value, ...values };
    return { request_id: requestId, request, template: template.value };
  };
  // A forecast of settings that have changed since is not shown.
  let latest = 0;
  const forget = () => {
    latest += 1;
    told.replaceChildren();
    refused.textContent = "";
  };
  ask.addEventListener("click", async () => {
    if (!checked()) return;
    forget();
    const asked = latest;
    told.replaceChildren(element("p", { class: "hint" }, "Looking for a run like this one, or rehearsing some conversations…"));
    ask.disabled = true;
    try {
      const forecast = await call("POST", "/v1/runs?dry_run", body());
      if (asked !== latest) return;
      told.replaceChildren(forecastTable(forecast));
      told.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (asked !== latest) return;
      told.replaceChildren();
      refused.textContent = error instanceof Refused ? error.message : UNREACHED_FORECAST;
    } finally {
      checked();
    }
  });
  template.addEventListener("input", () => {
    const found = templates.find(({ name }) => name === template.value)?.request;
    if (!found) return;
    [recipe.value, source.value, name.value, enrich.checked, language.value] = [found.recipe, found.problems, found.name, found.enrich, found.language];
    NUMBERS.forEach(([id]) => (numbers[id].value = String(found[/** @type {keyof RunRequest} */ (id)])));
  });
  made.addEventListener("input", () => {
    forget();
    offer();
    checked();
  });
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!checked()) return;
    go.disabled = true;
    try {
      const run = await call("POST", "/v1/runs", body());
      dialog.close();
      location.hash = `#/runs/${encodeURIComponent(run.id)}`;
    } catch (error) {
      refused.textContent = error instanceof Refused ? error.message : UNREACHED;
      go.disabled = false;
    }
  });
  if (offered.defaults.recipe) recipe.value = String(offered.defaults.recipe);
  offer();
  checked();
  return made;
}

/** A file of the reader's own: sent, checked, and chosen if it has no faults. @param {HTMLSelectElement} source @param {HTMLSelectElement} language */
function ownProblems(source, language) {
  const file = element("input", { type: "file", accept: ".jsonl,.ndjson,.json", id: "own-problems", hidden: true });
  const told = element("div", { class: "hint", role: "status" });
  file.addEventListener("change", async () => {
    const [chosen] = file.files || [];
    if (!chosen) return;
    told.replaceChildren(`Checking ${chosen.name}…`);
    try {
      const { name, problems, faults, open } = await call("POST", "/v1/problems", { name: chosen.name, text: await chosen.text(), language: language.value });
      const found = faults.length ? faults : open;
      told.replaceChildren(
        element("p", { class: faults.length ? "fault" : "" }, faults.length ? `${counted(faults.length, "line")} of ${chosen.name} cannot be used:` : `${counted(problems, "problem")}, no faults in the arithmetic${open.length ? `; ${counted(open.length, "problem")} whose answer is open:` : "."}`),
        element("ul", null, found.slice(0, MOST_FAULTS).map((/** @type {string} */ line) => element("li", null, `line ${line}`))));
      if (!name) return;
      const there = [...source.options].find((option) => option.value === name) || element("option", { value: name }, name);
      if (!there.parentElement) (source.querySelector("optgroup[label=Files]") || source).append(there);
      source.value = name;
      source.dispatchEvent(new Event("input", { bubbles: true }));
    } catch (error) {
      told.replaceChildren(element("p", { class: "fault" }, messageOf(error)));
    } finally {
      file.value = "";
    }
  });
  return element("div", { class: "field" }, button("Use a file of your own…", {}, () => file.click()), file, told);
}

/** @param {HTMLInputElement} input @param {string} fault */
function shownFault(input, fault) {
  const hint = /** @type {HTMLElement | null | undefined} */ (input.parentElement?.querySelector(".hint"));
  input.setAttribute("aria-invalid", String(Boolean(fault)));
  if (!hint) return fault;
  hint.dataset.hint ??= hint.textContent || "";
  hint.textContent = fault || hint.dataset.hint;
  hint.classList.toggle("fault", Boolean(fault));
  return fault;
}

/** @param {string} recipe @param {string} source @param {Record<string, HTMLInputElement>} numbers */
function summary(recipe, source, numbers) {
  const { conversations, seed } = numbers;
  return `${counted(Number(conversations.value), "conversation")} from ${source}, by ${recipe}, seed ${seed.value.trim()}.`;
}

/** As the gateway names a run that nobody named. @param {string} source @param {Record<string, HTMLInputElement>} numbers */
function defaultName(source, { conversations }) {
  return `${source}, ${counted(Number(conversations.value), "conversation")}`;
}
