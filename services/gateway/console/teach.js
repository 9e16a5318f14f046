// The teacher's seat: the projects, and a problem with both solutions beside the dialogue with the student.

import { element } from "../../../soliloquy/web/element.js";
import { questionForm } from "./annotate-questions.js";
import { call, poll } from "./api.js";
import { choices } from "./choices.js";
import { maySteer } from "./session.js";
import { comparison, sandbox, writing } from "./teach-forms.js";
import { projectForm } from "./teach-project.js";
import { terms } from "./terms.js";
import { button, facts, heading, messageOf, nothing } from "./widgets.js";

/** @import { TeacherSeat, TeachingProject } from "./contract.d.ts" */

const PATH = "/v1/teaching/projects";
const BACK = { href: "#/teach", text: "All projects" };
const NOTE = `You are the teacher: a model speaks as a student who believes in a wrong solution. What you write becomes data, under
  a pseudonym; you can stop at any time and go on later, here or on another device.`;
const AGAIN = 700;
/** What the page waits for, in words. @type {Partial<Record<TeacherSeat["state"], (seat: TeacherSeat) => string>>} */
const WAITING = {
  preparing: () => "A student is working on the next problem…",
  student: ({ student }) => `${student || "The student"} is thinking…`,
  keeping: () => "The dialogue is being kept…",
};

/** @param {HTMLElement} main @param {string[]} path */
export async function teach(main, [id]) {
  try {
    if (!id) return await projects(main, (await call("GET", PATH)).projects);
    return await teaching(main, await call("GET", `${PATH}/${encodeURIComponent(id)}`));
  } catch (error) {
    main.append(heading("Teach", id ? { back: BACK } : {}), nothing(messageOf(error)));
    return null;
  }
}

/** @param {HTMLElement} main @param {TeachingProject[]} all */
async function projects(main, all) {
  const offered = maySteer() ? await choices() : null;
  const list = element("ul", { class: "projects" }, all.map((one) => element("li", { class: "card" },
    element("h2", null, element("a", { href: `#/teach/${one.id}` }, one.name)),
    facts(one.recipe, `${one.done} of ${one.dialogues} kept`, `${one.own} by you`),
    maySteer() && one.done ? element("p", { class: "tools" }, element("a", { href: `#/runs/${encodeURIComponent(one.run)}` }, "The dialogues")) : null)));
  main.append(heading("Teach", { note: NOTE }), all.length ? list : nothing("There is no project yet."));
  if (offered) main.append(projectForm(offered, (project) => (location.hash = `#/teach/${project.id}`)));
  return null;
}

/** @param {HTMLElement} main @param {TeachingProject} project */
async function teaching(main, project) {
  const at = `${PATH}/${encodeURIComponent(project.id)}`;
  const next = () => call("POST", `${at}/next`, {});
  const place = element("div", { class: "teaching" });
  main.append(heading(project.name, { back: BACK }), project.consented ? place : terms(project, at));
  if (!project.consented) return null;
  let leave = () => {};
  /** @type {TeacherSeat} */
  let shown = await next();

  /** Draws what has changed; a form stays as long as its state does. @param {TeacherSeat} seat */
  const show = async (seat) => {
    if (seat.state === "unfit" || seat.state === "left") seat = await next();
    leave();
    shown = seat;
    const path = `/v1/teaching/seats/${encodeURIComponent(seat.id)}`;
    const [stop, content] = step(seat, path, show);
    const polls = WAITING[seat.state] ? poll(path, AGAIN, (/** @type {TeacherSeat} */ now) => changed(now) && show(now)) : () => {};
    leave = () => (stop(), polls());
    place.replaceChildren(...(seat.id ? [problem(seat), element("div", { class: "dialogue" }, talk(seat), ...content)] : content));
    place.querySelector(".dialogue")?.scrollIntoView({ block: "end" });
    // On a phone the keyboard would hide what was said.
    if (seat.state !== "comparing" && matchMedia("(hover: hover)").matches) document.getElementById("say")?.focus({ preventScroll: true });
  };
  const changed = (/** @type {TeacherSeat} */ now) => now.state !== shown.state || now.fault !== shown.fault;
  /** @param {TeacherSeat} seat @param {string} path @param {(seat: TeacherSeat) => Promise<void>} go @returns {[() => void, HTMLElement[]]} */
  const step = (seat, path, go) => {
    const quiet = () => {};
    const giveUp = button("Leave this problem", {}, async () => go(await call("POST", `${path}/leave`, {})));
    if (!seat.id) return [quiet, [nothing("Nothing is left for you here: thank you.")]];
    if (seat.state === "comparing") {
      const { form, stop } = comparison(seat, path, go);
      return [stop, [form, giveUp]];
    }
    if (seat.state === "teacher" || seat.state === "student") {
      const end = button("End the dialogue", {}, async () => go(await call("POST", `${path}/end`, {})));
      const { form, stop } = writing(seat, path, go);
      const box = seat.calculates && seat.state === "teacher" ? sandbox(seat, path) : null;
      return [() => (stop(), box?.stop()), [waiting(seat), form, ...(box ? [box.form] : []), element("p", { class: "tools" }, end, giveUp)]];
    }
    if (seat.state === "rating" && seat.scheme) {
      const asked = { project: "teaching", scheme: seat.scheme, item: seat.id, values: {} };
      const { form, stop } = questionForm(asked, async (values, seconds) => go(await call("POST", `${path}/answers`, { values, seconds })));
      return [stop, [element("p", { class: "note" }, "The dialogue is over. A few questions about the student:"), form]];
    }
    if (seat.state === "done") {
      const on = button("Next problem", { kind: "primary" }, async () => go(await next()));
      return [quiet, [element("p", { class: "note", role: "status" }, `The dialogue is kept: your number ${seat.own} in this project.`), on]];
    }
    return [quiet, [waiting(seat)]];
  };

  await show(shown);
  return () => leave();
}

/** @param {TeacherSeat} seat */
function waiting(seat) {
  const words = WAITING[seat.state]?.(seat) || "";
  return element("p", { class: "waiting", role: "status" }, words,
    seat.fault ? element("span", { class: "fault" }, ` It has not answered: ${seat.fault}. It is asked again; nothing is lost.`) : null);
}

/** The problem, its solution and the student's, as the paper shows them to a teacher. @param {TeacherSeat} seat */
function problem({ question, solution, student, handed_in, plan }) {
  return element("section", { class: "item", "aria-label": "The problem", tabindex: "0" },
    element("h2", { class: "question" }, question),
    element("h3", null, "The solution"), element("p", { class: "written" }, solution),
    plan.length ? [element("h3", null, "The plan"), element("ol", { class: "written" }, plan.map((line) => element("li", null, line)))] : null,
    handed_in.length ? [element("h3", null, `${student || "The student"}'s solution`), element("ol", { class: "written" }, handed_in.map((line) => element("li", null, line)))] : null);
}

/** @param {TeacherSeat} seat */
function talk({ messages, student }) {
  if (!messages.length) return null;
  return element("ol", { class: "turns", "aria-label": "Conversation" }, messages.map(({ role, text, move }) => element("li", null,
    element("div", { class: role }, element("p", { class: "who" }, role === "tutor" ? `You${move ? ` (${move})` : ""}` : student || "Student"),
      element("p", { class: "bubble" }, text)))));
}
