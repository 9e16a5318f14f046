// One chat under way: what was said, the tutor's soliloquy as it happens, and the field for the next message.

import { quoted, soliloquyView } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { highlighted } from "../../../soliloquy/web/python.js";
import { Refused, call, events } from "./api.js";
import { suggestions, tutorLine } from "./chat-tutor.js";
import { ask, button, facts, heading, toast } from "./widgets.js";

/** @import { TurnView, Words } from "../../../soliloquy/web/types.d.ts" */
/** @import { Chat } from "./contract.d.ts" */

const LONGEST = 4_000;
const TERMS = `If you keep it, the conversation becomes a row of the dataset of chats, marked as a person's, and everybody who reads
  this console can read it. Otherwise it is deleted.`;

/** @param {HTMLElement} main @param {Chat} begun @param {Words} words */
export function dialogue(main, begun, words) {
  const { id, recipe, tutor, problem, messages } = begun;
  const path = `/v1/chats/${encodeURIComponent(id)}`;
  const turns = element("ol", { class: "turns talk", "aria-label": "Conversation" });
  const status = element("p", { class: "unseen", role: "status" });
  const spoken = { placeholder: "Say something to the tutor", "aria-label": "Your message", enterkeyhint: "send" };
  const text = element("textarea", { id: "say", rows: "2", maxlength: LONGEST, ...spoken });
  const press = element("button", { class: "primary" }, "Send");
  const suggested = suggestions(tutor.suggestions, text);
  const writing = element("form", { class: "writing" }, suggested, text, press);
  let { over } = begun;
  /** The answer that is awaited. @type {AbortController | null} */
  let awaited = null;

  const finish = async () => {
    const answer = await ask("Keep this conversation?", TERMS, [["", "Go on talking"], ["drop", "Do not keep it"], ["keep", "Keep it", "primary"]]);
    if (!answer) return;
    awaited?.abort();
    const { kept, run } = await call("POST", `${path}/finish`, { keep: answer === "keep" });
    toast(kept ? `Thank you: the conversation is kept, in the run ${run}.` : "The conversation was deleted.");
    location.hash = "#/chat";
  };
  main.append(
    heading("Chat", { back: { href: "#/chat", text: "Another chat" }, tools: element("div", { class: "tools" }, button("Finish", {}, finish)) }),
    element("section", { class: "card asked", "aria-label": "The problem" }, facts(recipe, problem.topic),
      element("p", { class: "question" }, problem.question || "The tutor will ask for your problem."), tutorLine(tutor)),
    turns, status, writing);
  for (const message of messages) turns.append(element("li", null, bubble(message.role, message.text)));

  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    writing.requestSubmit();
  });
  text.addEventListener("input", () => {
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight + 2, 220)}px`;
  });
  writing.addEventListener("submit", (event) => {
    event.preventDefault();
    if (text.value.trim() && !awaited && !over) send(text.value.trim());
  });

  /** @param {string} message */
  async function send(message) {
    const mine = (awaited = new AbortController());
    const live = liveTurn(message, words);
    turns.append(live);
    text.value = "";
    text.style.height = "auto";
    press.disabled = true;
    scrollToEnd();
    try {
      for await (const [name, data] of events("POST", `${path}/messages`, { text: message }, mine.signal)) {
        const follow = atEnd();
        live.takes(name, data);
        if (name === "done") {
          over = Boolean(data.over);
          status.textContent = "The tutor has replied.";
        }
        if (follow) scrollToEnd();
      }
      live.ends();
    } catch (error) {
      if (mine.signal.aborted) return;
      live.fails(error instanceof Refused ? error.message : "The connection was lost before the tutor replied.");
      text.value ||= message;
    } finally {
      awaited = null;
      press.disabled = over;
      suggested.hidden = text.disabled = over;
    }
    if (over) turns.append(element("li", { class: "end" }, "The conversation is over: finish it, and choose whether to keep it."));
    else text.focus();
  }

  if (over) suggested.hidden = text.disabled = press.disabled = true;
  else text.focus();
  return () => awaited?.abort();
}

/** @param {"student" | "tutor"} who @param {string} text */
function bubble(who, text) {
  return element("div", { class: who }, element("p", { class: "who" }, who === "tutor" ? "Tutor" : "You"), element("p", { class: "bubble" }, text));
}

/**
 * A turn under way: shows the steps as they come, and the finished turn in their place at the end.
 * @param {string} message
 * @param {Words} words
 */
function liveTurn(message, words) {
  const steps = element("div", { class: "steps" });
  const doing = element("span", { class: "doing" }, "deciding");
  const soliloquy = element("details", { class: "soliloquy live", open: true }, element("summary", null, element("i", null, "soliloquy"), doing), steps);
  const reply = bubble("tutor", "");
  const spoken = /** @type {HTMLElement} */ (reply.querySelector(".bubble"));
  reply.hidden = true;
  const said = bubble("student", message);
  const turn = element("li", null, said, soliloquy, reply);
  let [failed, touched] = [false, false];
  /** What each event shows; returns what the tutor does next. @type {Record<string, (data: any) => string>} */
  const STEPS = {
    deciding: () => "deciding",
    calculation: ({ description }) => {
      steps.append(element("h3", null, "Decides to calculate"), element("p", null, quoted(description)));
      return "writing a program";
    },
    code: ({ code }) => (steps.append(element("h3", null, "Program"), highlighted(code, 0)), "running it"),
    output: (data) => (steps.append(output(data)), "replying"),
    reply: ({ delta }) => {
      reply.hidden = false;
      spoken.append(delta);
      return "replying";
    },
    // The model was asked again: the shown part of its answer does not count.
    reply_again: () => (spoken.replaceChildren(), "asking again"),
    error: (data) => (fails(data.message), ""),
    done: (/** @type {{ view: TurnView }} */ { view }) => {
      const finished = soliloquyView(view, words);
      finished.open = soliloquy.open && touched;
      soliloquy.replaceWith(finished);
      // The gateway replaces characters that mean something in a prompt.
      said.replaceWith(bubble("student", view.student || message));
      spoken.replaceChildren(view.tutor || "");
      if (view.verification === "none") reply.append(element("p", { class: "unverified" }, "Unverified: no program and no checked step supports this verdict."));
      reply.hidden = !view.tutor;
      return "";
    },
  };
  soliloquy.firstElementChild?.addEventListener("click", () => (touched = true));
  const takes = (/** @type {string} */ name, /** @type {any} */ data) => {
    if (STEPS[name]) doing.textContent = STEPS[name](data || {});
  };
  const fails = (/** @type {string} */ text) => {
    soliloquy.classList.remove("live");
    failed = true;
    turn.append(element("p", { class: "flag", role: "alert" }, text));
  };
  const ends = () => {
    if (turn.contains(doing) && doing.textContent && !failed) fails("The tutor stopped before it replied.");
  };
  return Object.assign(turn, { takes, fails, ends });
}

/** @param {{ status: string, error?: string, stdout: string, values: Record<string, unknown> }} execution */
function output({ status, error, stdout, values }) {
  const ran = status === "ok";
  return element("div", { class: "attempt" },
    ran ? element("ul", { class: "output", "aria-label": "Output" }, Object.entries(values).map(([name, value]) => printed(name, value)))
      : element("p", { class: "failed" }, error ? `${status}: ${error}` : status),
    stdout ? element("pre", { class: "code printed" }, stdout) : null);
}

/** A value as Python would print it, as far as JSON keeps its type. @param {string} name @param {unknown} value */
function printed(name, value) {
  const text = typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
  return element("li", null, element("code", null, name), " = ", element("code", { class: "value" }, text));
}

const { documentElement: page } = document;
const atEnd = () => page.scrollHeight - page.scrollTop - innerHeight < 120;
const scrollToEnd = () => page.scrollTo({ top: page.scrollHeight });
