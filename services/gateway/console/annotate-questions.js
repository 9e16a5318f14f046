// The questions of a scheme as a form: keys choose labels, drafts outlive a reload, and a lost answer is sent again.

import { element } from "../../../soliloquy/web/element.js";
import { sender } from "./sending.js";

/** @import { AnnotationQuestion, AnnotationScheme, AnnotationValues } from "./contract.d.ts" */

/**
 * A form for one item; `stop` ends what it listens to.
 * @param {{ project: string, scheme: AnnotationScheme, item: string, values: AnnotationValues }} asked
 * @param {(values: AnnotationValues, seconds: number) => Promise<void>} save
 * @param {Record<string, AnnotationValues>} [given] What annotators have said, by pseudonym.
 */
export function questionForm({ project, scheme, item, values }, save, given = {}) {
  const draft = `annotation ${project} ${item}`;
  const { status, fault, send, stop: giveUp } = sender("Saving", "saved");
  const answers = scheme.questions.map((one) => questionView(one, given));
  const before = { ...values, ...JSON.parse(localStorage.getItem(draft) || "{}") };
  for (const answer of answers) answer.set(before[answer.name]);
  const press = element("button", { class: "primary" }, "Save, and on", element("kbd", { "aria-hidden": "true" }, "Enter"));
  const form = element("form", { class: "asking", tabindex: "-1", novalidate: true, "aria-label": scheme.title },
    answers.map(({ view }) => view), fault, element("footer", null, press, status));

  const said = () => Object.fromEntries(answers.map(({ name, get }) => [name, get()]).filter(([, value]) => value !== null));
  form.addEventListener("input", () => localStorage.setItem(draft, JSON.stringify(said())));

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const missing = answers.find(({ required, get }) => required && get() === null);
    fault.textContent = missing ? `${missing.title}: choose an answer.` : "";
    if (missing) return missing.focus();
    const values = said();
    await send(async (seconds) => {
      await save(values, seconds);
      localStorage.removeItem(draft);
    });
  });

  /** @param {KeyboardEvent} event */
  const keys = (event) => {
    const typing = /** @type {Element} */ (event.target).closest("textarea, select, input[type=text]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && !/** @type {Element} */ (event.target).closest("a, button, summary")) {
      event.preventDefault();
      return form.requestSubmit();
    }
    if (!answers.some(({ chosenBy }) => chosenBy(event.key))) return;
    event.preventDefault();
    form.dispatchEvent(new Event("input"));
  };
  addEventListener("keydown", keys);

  const stop = () => {
    removeEventListener("keydown", keys);
    giveUp();
  };
  return { form, stop };
}

/** @param {AnnotationQuestion} question @param {Record<string, AnnotationValues>} given */
function questionView(question, given) {
  const { name, title, asks, kind, labels, several, required } = question;
  const others = Object.entries(given).map(([who, values]) => element("span", { class: "chip" }, `${who}: ${inWords(question, values[name])}`));
  const legend = [element("b", null, title), " ", asks, required ? null : element("i", null, " (optional)")];
  if (kind === "text") {
    const input = element("textarea", { id: `ask-${name}`, rows: "2", maxlength: "4000" });
    const view = element("div", { class: "question" }, element("label", { for: input.id }, legend), input, others);
    const get = () => input.value.trim() || null;
    return { name, title, required, view, get, set: (/** @type {any} */ value) => (input.value = value || ""), focus: () => input.focus(), chosenBy: () => false };
  }
  if (kind === "span") return spanView(question, legend);
  const options = kind === "scale" ? scaleOf(question) : labels.map((label) => ({ value: label.name, text: label.title, key: label.shortcut }));
  const inputs = options.map(({ value }) => element("input", { type: several ? "checkbox" : "radio", name: `ask-${name}`, value: String(value) }));
  const view = element("fieldset", { class: kind === "scale" ? "question scale" : "question" }, element("legend", null, legend),
    element("div", { class: "labels" }, options.map(({ text, key }, place) => element("label", null, inputs[place],
      element("span", null, text, key ? element("kbd", { "aria-hidden": "true" }, key) : null)))), others);
  const read = (/** @type {string} */ value) => (kind === "scale" ? Number(value) : value);
  const get = () => {
    const chosen = inputs.filter(({ checked }) => checked).map(({ value }) => read(value));
    return several ? (chosen.length ? chosen : null) : chosen[0] ?? null;
  };
  const set = (/** @type {any} */ value) => inputs.forEach((input) => (input.checked = [value].flat().includes(read(input.value))));
  const chosenBy = (/** @type {string} */ pressed) => {
    const place = options.findIndex(({ key }) => key && key === pressed);
    if (place < 0) return false;
    inputs[place].checked = several ? !inputs[place].checked : true;
    return true;
  };
  return { name, title, required, view, get, set, focus: () => inputs[0].focus(), chosenBy };
}

/** @param {AnnotationQuestion} question */
function scaleOf({ least, most, ends }) {
  return Array.from({ length: most - least + 1 }, (_, place) => {
    const told = place === 0 ? ends[0] : place === most - least ? ends[1] : "";
    return { value: least + place, text: told ? `${least + place}: ${told}` : String(least + place), key: "" };
  });
}

/** Marks parts of what is shown: select text, then press a label. @param {AnnotationQuestion} question @param {any} legend */
function spanView({ name, title, labels, required }, legend) {
  /** @type {{ start: number, end: number, label: string }[]} */
  let spans = [];
  const list = element("ul", { class: "spans" });
  const shown = () => /** @type {HTMLElement} */ (document.querySelector(".item"));
  const draw = () => list.replaceChildren(...spans.map((span) => {
    const drop = element("button", { type: "button", class: "quiet" }, "Remove");
    drop.addEventListener("click", () => change(spans.filter((one) => one !== span)));
    return element("li", null, `${span.label}: “${shown()?.textContent?.slice(span.start, span.end) || ""}”`, drop);
  }));
  const change = (/** @type {typeof spans} */ to) => {
    spans = to;
    draw();
    view.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const buttons = labels.map((label) => {
    const mark = element("button", { type: "button", class: "quiet" }, `Mark as ${label.title}`);
    mark.addEventListener("click", () => {
      const selected = getSelection()?.rangeCount ? getSelection()?.getRangeAt(0) : null;
      if (!selected || selected.collapsed || !shown()?.contains(selected.commonAncestorContainer)) return;
      const before = document.createRange();
      before.selectNodeContents(shown());
      before.setEnd(selected.startContainer, selected.startOffset);
      const start = before.toString().length;
      change([...spans, { start, end: start + selected.toString().length, label: label.name }]);
    });
    return mark;
  });
  const view = element("div", { class: "question", role: "group", "aria-label": title }, element("p", null, legend), element("div", { class: "labels" }, buttons), list);
  const set = (/** @type {any} */ value) => {
    spans = value || [];
    draw();
  };
  return { name, title, required, view, get: () => (spans.length ? spans : null), set, focus: () => buttons[0].focus(), chosenBy: () => false };
}

/** @param {AnnotationQuestion} question @param {any} value */
function inWords({ kind, labels }, value) {
  if (value === undefined) return "nothing";
  if (kind !== "label") return String(value);
  return [value].flat().map((one) => labels.find(({ name }) => name === one)?.title || one).join(", ");
}
