// What several pages are made of.

import { element } from "./element.js";
import { ago, moment, named, number, percent, stateOf, whole } from "./told.js";

export const at = (id) => document.getElementById(id);

export function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A page's heading, with what leads back and what can be done here. */
export function heading(title, { back, note, tools } = {}) {
  return element("header", { class: "heading" },
    back ? element("a", { class: "up", href: back.href }, `← ${back.text}`) : null,
    element("div", { class: "titled" }, element("h1", null, title), tools || null),
    note ? element("p", { class: "note" }, note) : null);
}

/** A line of what is to be known besides; what is nothing is left out. */
export function facts(...told) {
  return element("span", { class: "facts" }, told.filter(Boolean).map((one) => element("span", null, one)));
}

export function columns(names) {
  return element("thead", null, element("tr", null, names.map((name) => element("th", { scope: "col" }, name))));
}

export function field(label, input, hint) {
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input,
    hint ? element("p", { class: "hint", id: `${input.id}-hint` }, hint) : null);
}

export function recipeChoice(id, recipes) {
  return element("select", { id }, recipes.map(({ name, title }) => element("option", { value: name }, `${name}: ${title}`)));
}

/** Children of a list, kept as long as their thing is there: focus and selection outlive what comes in. */
export function keyed(list, things, keyOf, make) {
  const before = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const after = things.map((thing) => {
    const key = String(keyOf(thing));
    const child = before.get(key) || make(thing);
    child.dataset.key = key;
    child.shows?.(thing);
    return child;
  });
  const kept = new Set(after);
  for (const child of before.values()) if (!kept.has(child)) child.remove();
  after.forEach((child, place) => list.children[place] !== child && list.insertBefore(child, list.children[place] || null));
}

/** Text that changes: what it stands in is left alone where it says the same. */
export function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

export function time(seconds) {
  const date = number(seconds);
  if (!date) return element("span", null, "–");
  return element("time", { datetime: new Date(date * 1_000).toISOString(), title: moment(date), "data-since": date }, ago(date));
}

setInterval(() => {
  for (const shown of document.querySelectorAll("time[data-since]")) say(shown, ago(shown.dataset.since));
}, 5_000);

export function state(run) {
  const shown = element("span", { class: "state" });
  shown.shows = (status) => {
    shown.className = `state ${stateOf(status)}`;
    say(shown, stateOf(status));
  };
  shown.shows(run);
  return shown;
}

/** How far a run is: what is accepted, and behind it what is under way. */
export function progress(run) {
  const [done, under] = [element("i", { class: "done" }), element("i", { class: "under" })];
  const bar = element("div", { class: "progress", role: "progressbar", "aria-label": "Accepted conversations", "aria-valuemin": "0" }, under, done);
  bar.shows = ({ request, progress: far = {} }) => {
    const wanted = Math.max(number(request?.conversations), 1);
    bar.hidden = !number(request?.conversations);
    const share = (count) => `${Math.min(count / wanted, 1) * 100}%`;
    done.style.width = share(number(far.accepted));
    under.style.width = share(number(far.accepted) + number(far.under_way));
    bar.setAttribute("aria-valuemax", wanted);
    bar.setAttribute("aria-valuenow", number(far.accepted));
    bar.setAttribute("aria-valuetext", `${whole(far.accepted)} of ${whole(wanted)}, ${percent(far.accepted, wanted)}`);
  };
  bar.shows(run);
  return bar;
}

/** One of a few, as buttons side by side. */
export function choice(label, options, chosen, changed) {
  const name = `choice-${label.toLowerCase().replaceAll(" ", "-")}`;
  return element("div", { class: "choice", role: "radiogroup", "aria-label": label }, options.map(([value, text]) => {
    const input = element("input", { type: "radio", name, value, checked: value === chosen });
    input.addEventListener("change", () => changed(value));
    return element("label", null, input, element("span", null, text));
  }));
}

/** It stays where the keyboard is while it is at work, and takes no second press. */
export function button(text, { kind = "quiet", ...attributes }, pressed) {
  const made = element("button", { type: "button", class: kind, ...attributes }, text);
  made.addEventListener("click", async () => {
    if (made.ariaBusy) return;
    made.ariaBusy = "true";
    try {
      await pressed();
    } catch (error) {
      toast(error.message, "fault");
    } finally {
      made.ariaBusy = null;
    }
  });
  return made;
}

/** Pages by their tokens, which lead onwards only: those that one came from are in `kept`, for who comes back to it. */
export function pager(turned, kept = { passed: [], here: "" }) {
  let next = "";
  const go = (token) => {
    kept.here = token;
    return turned();
  };
  const newer = button("← Newer", {}, () => go(kept.passed.pop()));
  const older = button("Older →", {}, () => {
    kept.passed.push(kept.here);
    return go(next);
  });
  const bar = element("nav", { class: "pages", "aria-label": "Pages of the list", hidden: true }, newer, older);
  bar.shows = (token) => {
    next = token;
    newer.hidden = !kept.passed.length;
    older.hidden = !next;
    bar.hidden = newer.hidden && older.hidden;
  };
  bar.first = () => kept.passed.length === 0;
  bar.reset = () => {
    kept.passed.length = 0;
    return go("");
  };
  bar.token = () => kept.here;
  return bar;
}

/** Says something at the edge of the page for a while; screen readers hear it once. */
export function toast(text, kind = "") {
  const shown = element("p", { class: `toast ${kind}` }, text);
  at("toasts").append(shown);
  setTimeout(() => shown.remove(), kind ? 9_000 : 5_000);
}

/** A question with a few answers: resolves to the value of the one that is chosen, or null for Escape. */
export function ask(title, text, answers) {
  const dialog = element("dialog", { class: "question", "aria-labelledby": "question" },
    element("form", { method: "dialog" }, element("h2", { id: "question" }, title), element("p", null, text),
      element("div", { class: "answers" }, answers.map(([value, told, kind = "quiet"]) => element("button", { value, class: kind }, told)))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue || null);
  }));
}

export function nothing(...content) {
  return element("p", { class: "nothing" }, content);
}

/** What a row tells of a conversation: its ending, and why it was not kept. */
export function verdict({ accepted, ending }) {
  return element("span", { class: accepted ? "chip good" : "chip fault", title: `ended: ${named(ending, "ENDING_")}` }, accepted ? "kept" : "rejected");
}
