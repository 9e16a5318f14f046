// One chat under way: what was said, what the tutor asks itself meanwhile, and where one writes.

import { Refused, call, events } from "./calls.js";
import { quoted, soliloquyView } from "./conversation.js";
import { element } from "./element.js";
import { ask, button, facts, heading, toast } from "./parts.js";
import { highlighted } from "./python.js";
import { turnOf } from "./rows.js";

const LONGEST = 4_000;
const TERMS = `If you keep it, what you and the tutor said becomes a row of the dataset of chats, marked as a person's, and whoever
  reads this console can read it. Otherwise nothing of it stays.`;

export function dialogue(main, begun, words) {
  const { id, recipe, problem = {}, messages = [] } = begun;
  const path = `/v1/chats/${encodeURIComponent(id)}`;
  const turns = element("ol", { class: "turns talk", "aria-label": "Conversation" });
  const status = element("p", { class: "unseen", role: "status" });
  const spoken = { placeholder: "Say something to the tutor", "aria-label": "Your message", enterkeyhint: "send" };
  const text = element("textarea", { id: "say", rows: "2", maxlength: LONGEST, ...spoken });
  const send = element("button", { class: "primary" }, "Send");
  const writing = element("form", { class: "writing" }, text, send);
  let [over, under] = [Boolean(begun.over), null];

  const finish = async () => {
    const answer = await ask("Keep this conversation?", TERMS, [["", "Go on talking"], ["drop", "Do not keep it"], ["keep", "Keep it", "primary"]]);
    if (!answer) return;
    under?.abort();
    const { kept, run } = await call("POST", `${path}/finish`, { keep: answer === "keep" });
    toast(kept ? `Thank you: it is kept, in the run ${run}.` : "Nothing of it was kept.");
    location.hash = "#/chat";
  };
  main.append(
    heading("Chat", { back: { href: "#/chat", text: "Another chat" }, tools: element("div", { class: "tools" }, button("Finish", {}, finish)) }),
    element("section", { class: "card asked", "aria-label": "The problem" }, facts(recipe, problem.topic),
      element("p", { class: "question" }, problem.question || "The tutor will ask for your problem.")),
    turns, status, writing);
  for (const { role, text: said } of messages) turns.append(element("li", null, bubble(role, said)));

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
    if (text.value.trim() && !under && !over) say(text.value.trim());
  });

  async function say(message) {
    const mine = (under = new AbortController());
    const live = liveTurn(message, words);
    turns.append(live);
    text.value = "";
    text.style.height = "auto";
    send.disabled = true;
    nearEnd();
    try {
      for await (const [name, told] of events("POST", `${path}/messages`, { text: message }, mine.signal)) {
        const follow = atEnd();
        live.takes(name, told);
        if (name === "done") {
          over = Boolean(told.over);
          status.textContent = "The tutor has replied.";
        }
        if (follow) nearEnd();
      }
      live.ends();
    } catch (error) {
      if (mine.signal.aborted) return;
      live.fails(error instanceof Refused ? error.message : "The connection was lost before the tutor had replied.");
      text.value ||= message;
    } finally {
      under = null;
      send.disabled = over;
      text.disabled = over;
    }
    if (over) turns.append(element("li", { class: "end" }, "The conversation is over: finish it, and say whether it may be kept."));
    else text.focus();
  }

  if (over) text.disabled = send.disabled = true;
  else text.focus();
  return () => under?.abort();
}

function bubble(who, text) {
  return element("div", { class: who }, element("p", { class: "who" }, who === "tutor" ? "Tutor" : "You"), element("p", { class: "bubble" }, text));
}

/** A turn that is under way: pieces come in, and the whole of it takes their place at the end. */
function liveTurn(message, words) {
  const steps = element("div", { class: "steps" });
  const doing = element("span", { class: "doing" }, "deciding");
  const soliloquy = element("details", { class: "soliloquy live", open: true }, element("summary", null, element("i", null, "soliloquy"), doing), steps);
  const reply = bubble("tutor", "");
  const spoken = reply.querySelector(".bubble");
  reply.hidden = true;
  const turn = element("li", null, bubble("student", message), soliloquy, reply);
  const PIECES = {
    deciding: () => "deciding",
    calculation: ({ description }) => {
      steps.append(element("h3", null, "Decides to calculate"), element("p", null, quoted(description)));
      return "writing a program";
    },
    code: ({ code }) => (steps.append(element("h3", null, "Program"), highlighted(code, 0)), "running it"),
    output: (told) => (steps.append(output(told)), "replying"),
    reply: ({ delta }) => {
      reply.hidden = false;
      spoken.append(delta);
      return "replying";
    },
    // It was asked anew: what was shown of its answer does not hold.
    reply_again: () => (spoken.replaceChildren(), "asking again"),
    error: ({ message: told }) => (turn.fails(told), ""),
    done: ({ turn: whole }) => {
      const told = soliloquyView(turnOf(whole), words);
      told.open = soliloquy.open && soliloquy.dataset.touched === "yes";
      soliloquy.replaceWith(told);
      // Signs that mean something in a prompt were replaced.
      turn.querySelector(".student .bubble").textContent = whole.student?.text || message;
      spoken.replaceChildren(whole.tutor?.text || "");
      reply.hidden = !whole.tutor?.text;
      return "";
    },
  };
  soliloquy.firstChild.addEventListener("click", () => (soliloquy.dataset.touched = "yes"));
  turn.takes = (name, told) => {
    if (PIECES[name]) doing.textContent = PIECES[name](told || {});
  };
  turn.fails = (text) => {
    soliloquy.classList.remove("live");
    turn.failed = true;
    turn.append(element("p", { class: "flag", role: "alert" }, text));
  };
  turn.ends = () => {
    if (turn.contains(doing) && doing.textContent && !turn.failed) turn.fails("The tutor fell silent before it had replied.");
  };
  return turn;
}

function output({ status, error, stdout, values }) {
  const ran = status === "ok";
  return element("div", { class: "attempt" },
    ran ? element("ul", { class: "output", "aria-label": "Output" }, Object.entries(values).map(printed))
      : element("p", { class: "failed" }, error ? `${status}: ${error}` : status),
    stdout ? element("pre", { class: "code printed" }, stdout) : null);
}

/** As Python would print it, as far as JSON tells. */
function printed([name, value]) {
  const told = typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
  return element("li", null, element("code", null, name), " = ", element("code", { class: "value" }, told));
}

const page = () => document.scrollingElement;
const atEnd = () => page().scrollHeight - page().scrollTop - innerHeight < 120;
const nearEnd = () => page().scrollTo({ top: page().scrollHeight });
