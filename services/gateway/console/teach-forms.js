// The forms of a teacher: the comparison of the solutions, each message, and the programs before it. Drafts outlive a reload.

import { attemptView } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { call } from "./api.js";
import { sender } from "./sending.js";
import { ask, field } from "./widgets.js";

/** @import { AttemptView } from "../../../soliloquy/web/types.d.ts" */
/** @import { TeacherSeat } from "./contract.d.ts" */

const LONGEST = "4000";

/**
 * Asks for the first wrong line of the student's solution, and what is wrong with it.
 * @param {TeacherSeat} seat @param {string} path @param {(seat: TeacherSeat) => Promise<void>} go
 */
export function comparison(seat, path, go) {
  const lines = choices("First wrong line", "line", seat.handed_in.map((text, place) => ({ name: String(place + 1), text })));
  const text = element("textarea", { id: "comparison", rows: "3", maxlength: LONGEST });
  const name = seat.student || "the student";
  return form(seat, { lines, text, key: "comparison", press: "Begin the dialogue", intro: [lines.view, field(`What is ${name}'s mistake?`, text)] },
    async (seconds) => go(await call("POST", `${path}/comparison`, { line: Number(lines.get()), description: text.value.trim(), seconds })));
}

/**
 * Asks for a move and its message. While the student thinks, the message can be written and not sent.
 * @param {TeacherSeat} seat @param {string} path @param {(seat: TeacherSeat) => Promise<void>} go
 */
export function writing(seat, path, go) {
  const lines = choices("Your move", "move", seat.moves.map(({ name, meaning }) => ({ name, text: name, title: meaning })));
  const text = element("textarea", { id: "say", rows: "3", maxlength: LONGEST, enterkeyhint: "send" });
  const thinks = seat.state === "student";
  const turn = thinks ? seat.turn + 1 : seat.turn;
  const minutes = Math.ceil(seat.seconds_left / 60);
  const left = element("p", { class: "hint" }, `${seat.turns_left} messages and ${minutes} minutes are left.`);
  const send = async (/** @type {number} */ seconds) => {
    const message = { turn, text: text.value.trim(), move: lines.get(), seconds };
    let answer = await call("POST", `${path}/messages`, message);
    if (answer.warnings.length) {
      const chosen = await ask("Send it anyway?", answer.warnings.join(" "), [["", "Change it"], ["send", "Send anyway", "primary"]]);
      if (!chosen) return false;
      answer = await call("POST", `${path}/messages`, { ...message, anyway: true });
    }
    return go(answer);
  };
  return form(seat, { lines, text, key: String(turn), press: "Send", thinks, intro: [lines.view, field("Your message", text), left] }, send);
}

/**
 * Runs Python, or an expression, before a message; the programs that have run stay beside their output.
 * @param {TeacherSeat} seat @param {string} path
 */
export function sandbox(seat, path) {
  const text = element("textarea", { id: "program", rows: "2", maxlength: LONGEST, spellcheck: "false", autocapitalize: "off" });
  const output = element("div", { class: "programs", role: "log", "aria-label": "Output" });
  const shows = (/** @type {AttemptView[]} */ programs) => output.replaceChildren(...programs.map((one) => attemptView(one, 0, 1)));
  const lines = choices("", "none", []);
  const parts = { lines, text, key: `${seat.turn} program`, press: "Run", intro: [field("Calculate", text, "Python, or an expression such as 3 * 1.4. The student does not see it; the record keeps it."), output] };
  shows(seat.programs);
  return form(seat, parts, async () => {
    shows((await call("POST", `${path}/programs`, { turn: seat.turn, code: text.value })).programs);
    text.value = "";
  });
}

/**
 * @param {TeacherSeat} seat
 * @param {{ lines: ReturnType<typeof choices>, text: HTMLTextAreaElement, key: string, press: string, thinks?: boolean, intro: HTMLElement[] }} parts
 * @param {(seconds: number) => Promise<unknown>} send Resolves to false for a message that was not sent.
 */
function form(seat, { lines, text, key, press, thinks = false, intro }, send) {
  const draft = `teaching ${seat.id} ${key}`;
  const before = JSON.parse(localStorage.getItem(draft) || "{}");
  const { status, fault, send: keepSending, stop } = sender("Sending", "sent");
  const go = element("button", { class: "primary", disabled: thinks }, press);
  const made = element("form", { class: "asking", novalidate: true }, intro, fault, element("footer", null, go, status));
  text.value = before.text || "";
  lines.set(before.chosen);
  made.addEventListener("input", () => localStorage.setItem(draft, JSON.stringify({ text: text.value, chosen: lines.get() })));
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    made.requestSubmit();
  });
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (thinks || text.readOnly) return;
    const missing = lines.missing() ? `${lines.legend}: choose one.` : text.value.trim() ? "" : "Write something first.";
    fault.textContent = missing;
    if (missing) return lines.missing() ? lines.focus() : text.focus();
    // A message that is tried again is not changed meanwhile.
    text.readOnly = true;
    await keepSending(async (seconds) => {
      if ((await send(seconds)) !== false) localStorage.removeItem(draft);
    });
    text.readOnly = false;
  });
  return { form: made, stop };
}

/** One of a few, as large buttons. @param {string} legend @param {string} name @param {{ name: string, text: string, title?: string }[]} options */
function choices(legend, name, options) {
  const inputs = options.map((one) => element("input", { type: "radio", name, value: one.name }));
  const view = element("fieldset", { class: "question", hidden: !options.length }, element("legend", null, element("b", null, legend)),
    element("div", { class: "labels" }, options.map(({ text, title }, place) => element("label", title ? { title } : null, inputs[place],
      element("span", null, text, title ? element("small", null, title) : null)))));
  const get = () => inputs.find(({ checked }) => checked)?.value || "";
  const set = (/** @type {string} */ value) => inputs.forEach((input) => (input.checked = input.value === value));
  return { legend, view, get, set, missing: () => options.length > 0 && !get(), focus: () => inputs[0].focus() };
}
