// Building blocks that several pages share.

import { element } from "../../../soliloquy/web/element.js";
import { at } from "../../../soliloquy/web/interaction.js";
import { ago, moment, named, number, percent, stateInWords, stateMeaning, stateOf, whole } from "./format.js";

/** @import { Content } from "../../../soliloquy/web/types.d.ts" */
/** @import { Choices, FinishedConversation, Numeric, RecipeChoice, Run } from "./contract.d.ts" */

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} attributes
 * @param {...Node} children
 */
export function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * A page's heading, with a link back, a note and tools.
 * @param {string} title
 * @param {{ back?: { href: string, text: string }, note?: Content, tools?: Content }} [more]
 */
export function heading(title, { back, note, tools } = {}) {
  return element("header", { class: "heading" },
    back ? element("a", { class: "up", href: back.href }, `← ${back.text}`) : null,
    element("div", { class: "titled" }, element("h1", null, title), tools || null),
    note ? element("p", { class: "note" }, note) : null);
}

/** A line of facts; empty ones are left out. @param {...Content} all */
export function facts(...all) {
  return element("span", { class: "facts" }, all.filter(Boolean).map((one) => element("span", null, one)));
}

/** @param {Content[]} names */
export function columns(names) {
  return element("thead", null, element("tr", null, names.map((name) => element("th", { scope: "col" }, name))));
}

/** @param {string} label @param {HTMLElement} input @param {string} [hint] */
export function field(label, input, hint) {
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input,
    hint ? element("p", { class: "hint", id: `${input.id}-hint` }, hint) : null);
}

/** @param {string} id @param {RecipeChoice[]} recipes */
export function recipeChoice(id, recipes) {
  return element("select", { id }, recipes.map(({ name, title }) => element("option", { value: name }, `${name}: ${title}`)));
}

/** @param {string} id @param {Choices["languages"]} languages */
export function languageChoice(id, languages) {
  return element("select", { id }, element("option", { value: "" }, "English"),
    Object.entries(languages).map(([code, name]) => element("option", { value: code }, name)));
}

/**
 * An element that can be told of changes.
 * @template {Element} Shown
 * @template Thing
 * @param {Shown} shown
 * @param {(thing: Thing) => void} shows
 * @returns {Shown & { shows: (thing: Thing) => void }}
 */
export function updatable(shown, shows) {
  return Object.assign(shown, { shows });
}

/**
 * Updates the children of a list, one for each thing. A child stays as long as its thing does, with focus and selection.
 * @template Thing
 * @param {HTMLElement} list
 * @param {Thing[]} things
 * @param {(thing: Thing) => string} keyOf
 * @param {(thing: Thing) => HTMLElement & { shows?: (thing: Thing) => void }} make
 */
export function keyed(list, things, keyOf, make) {
  const children = /** @type {ReturnType<typeof make>[]} */ ([...list.children]);
  const before = new Map(children.map((child) => [child.dataset.key, child]));
  const after = things.map((thing) => {
    const key = keyOf(thing);
    const child = before.get(key) || make(thing);
    child.dataset.key = key;
    child.shows?.(thing);
    return child;
  });
  const kept = new Set(after);
  for (const child of before.values()) {
    if (kept.has(child)) continue;
    // The focus would be lost with the child.
    if (child.contains(document.activeElement)) at("main").focus({ preventScroll: true });
    child.remove();
  }
  after.forEach((child, place) => list.children[place] !== child && list.insertBefore(child, list.children[place] || null));
}

/** Sets a text that changes; an equal one is left alone. @param {Element} place @param {string} text */
export function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** @param {Numeric} seconds Since 1970. */
export function time(seconds) {
  const date = number(seconds);
  if (!date) return element("span", null, "–");
  return element("time", { datetime: new Date(date * 1_000).toISOString(), title: moment(date), "data-since": date }, ago(date));
}

setInterval(() => {
  for (const shown of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("time[data-since]"))) say(shown, ago(shown.dataset.since));
}, 5_000);

/** @param {Run} run */
export function state(run) {
  const shown = updatable(element("span", { class: "state" }), (/** @type {Run} */ status) => {
    shown.className = `state ${stateOf(status)}`;
    shown.title = stateMeaning(status);
    say(shown, stateInWords(status));
  });
  shown.shows(run);
  return shown;
}

/** The accepted conversations of those requested: neither rejected ones nor those under way fill the bar. @param {Run} run */
export function progress(run) {
  const done = element("i", { class: "done" });
  const empty = element("div", { class: "progress", role: "progressbar", "aria-label": "Accepted conversations", "aria-valuemin": "0" }, done);
  const bar = updatable(empty, (/** @type {Run} */ { request, progress: counts = {} }) => {
    const wanted = Math.max(number(request?.conversations), 1);
    bar.hidden = !number(request?.conversations);
    done.style.width = `${Math.min(number(counts.accepted) / wanted, 1) * 100}%`;
    bar.setAttribute("aria-valuemax", String(wanted));
    bar.setAttribute("aria-valuenow", String(number(counts.accepted)));
    bar.setAttribute("aria-valuetext", `${whole(counts.accepted)} of ${whole(wanted)}, ${percent(counts.accepted, wanted)}`);
  });
  bar.shows(run);
  return bar;
}

/**
 * One of a few options, as buttons side by side.
 * @param {string} label
 * @param {string[][]} options Each a value and its text.
 * @param {string} chosen
 * @param {(value: string) => unknown} changed
 */
export function choice(label, options, chosen, changed) {
  const name = `choice-${label.toLowerCase().replaceAll(" ", "-")}`;
  return element("div", { class: "choice", role: "radiogroup", "aria-label": label }, options.map(([value, text]) => {
    const input = element("input", { type: "radio", name, value, checked: value === chosen });
    input.addEventListener("change", () => changed(value));
    return element("label", null, input, element("span", null, text));
  }));
}

/**
 * A button that keeps the focus while its action runs, and ignores further presses meanwhile.
 * @param {string} text
 * @param {Record<string, string | boolean>} attributes Its `kind` is its class.
 * @param {() => unknown} pressed
 */
export function button(text, { kind = "quiet", ...attributes }, pressed) {
  const made = element("button", { type: "button", class: kind, ...attributes }, text);
  made.addEventListener("click", async () => {
    if (made.ariaBusy) return;
    made.ariaBusy = "true";
    try {
      await pressed();
    } catch (error) {
      toast(messageOf(error), "fault");
    } finally {
      made.ariaBusy = null;
    }
  });
  return made;
}

/**
 * Buttons that turn pages. A token leads to the next page only, so the tokens of earlier pages are kept.
 * @param {() => unknown} turned
 * @param {{ passed: string[], here: string }} [kept] Outlives the pager, for a reader who comes back to the list.
 */
export function pager(turned, kept = { passed: [], here: "" }) {
  let next = "";
  const go = (/** @type {string} */ token) => {
    kept.here = token;
    return turned();
  };
  const newer = button("← Newer", {}, () => go(kept.passed.pop() || ""));
  const older = button("Older →", {}, () => {
    kept.passed.push(kept.here);
    return go(next);
  });
  const bar = element("nav", { class: "pages", "aria-label": "Pages of the list", hidden: true }, newer, older);
  return Object.assign(bar, {
    /** @param {string} token Of the next page. */
    shows: (token) => {
      next = token;
      newer.hidden = !kept.passed.length;
      older.hidden = !next;
      bar.hidden = newer.hidden && older.hidden;
    },
    first: () => kept.passed.length === 0,
    reset: () => {
      kept.passed.length = 0;
      return go("");
    },
    token: () => kept.here,
  });
}

/** Shows a message at the edge of the page for a while; screen readers hear it once. @param {string} text @param {string} [kind] */
export function toast(text, kind = "") {
  const shown = element("p", { class: `toast ${kind}` }, text);
  at("toasts").append(shown);
  setTimeout(() => shown.remove(), kind ? 9_000 : 5_000);
}

/**
 * Asks a question with a few answers; resolves to the value of the chosen one, or null for Escape.
 * @param {string} title
 * @param {string} text
 * @param {string[][]} answers Each a value, its text and perhaps its kind.
 * @returns {Promise<string | null>}
 */
export function ask(title, text, answers) {
  const dialog = element("dialog", { class: "question", "aria-labelledby": "question" },
    element("form", { method: "dialog" }, element("h2", { id: "question" }, title), element("p", null, text),
      element("div", { class: "answers" }, answers.map(([value, label, kind = "quiet"]) => element("button", { value, class: kind }, label)))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue || null);
  }));
}

/** @param {...Content} content */
export function nothing(...content) {
  return element("p", { class: "nothing" }, content);
}

/** @param {FinishedConversation} conversation */
export function verdict({ accepted, ending }) {
  return element("span", { class: accepted ? "chip good" : "chip fault", title: `ended: ${named(ending, "ENDING_")}` }, accepted ? "accepted" : "rejected");
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
