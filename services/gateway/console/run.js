// One run: its progress, its figures, its dataset, and its conversations as they finish.

import { element } from "../../../soliloquy/web/element.js";
import { isTyping } from "../../../soliloquy/web/interaction.js";
import { call, poll, watch } from "./api.js";
import { conversationList } from "./conversations.js";
import { downloads } from "./downloads.js";
import { figures } from "./figures.js";
import { isOver, isSteered, number, stateInWords, stateOf, whole } from "./format.js";
import { rejectionReasons } from "./reasons.js";
import { visited } from "./runs.js";
import { maySteer } from "./session.js";
import { ask, button, facts, heading, messageOf, nothing, progress, say, state, time, toast } from "./widgets.js";

/** @import { Run } from "./contract.d.ts" */

const PAUSE = 5_000;
const CANCELLING = "Finished conversations stay. Conversations under way are dropped, and the run cannot be resumed.";

/** @param {HTMLElement} main @param {string[]} path */
export async function run(main, [id]) {
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  /** @type {Run} */
  let status;
  try {
    status = await call("GET", path);
  } catch (error) {
    main.append(heading("Run", { back: { href: "#/runs", text: "Runs" } }), nothing(messageOf(error)));
    return null;
  }
  visited.run = id;
  const { request } = status;
  const shownState = state(status);
  const because = element("p", { class: "note because" });
  const dead = element("a", { class: "fault", hidden: true, href: `#/dead-letters?run=${encodeURIComponent(id)}` });
  const controls = element("div", { class: "tools" });
  const bar = progress(status);
  const strip = figures();
  const list = conversationList(id);
  const why = rejectionReasons(status, list.narrowTo);
  const files = downloads(status, path);
  main.append(
    element("header", { class: "heading" }, element("a", { class: "up", href: "#/runs" }, "← Runs"),
      element("div", { class: "titled" }, element("h1", null, status.name), shownState,
        element("div", { class: "tools" }, element("a", { class: "quiet", href: `#/compare/${encodeURIComponent(id)}` }, "Compare"), controls)),
      facts(request.recipe, status.model ? `model ${status.model}` : null, ["started ", time(status.requested_at), status.requested_by ? ` by ${status.requested_by}` : ""],
        status.tenant ? `tenant ${status.tenant}` : null,
        element("code", null, id)),
      because, dead),
    element("div", { class: "whole" }, bar), strip, why, settings(status), files, list);

  let before = stateOf(status);
  const shows = (/** @type {Run} */ next) => {
    for (const part of [bar, strip, shownState, why, files, list]) part.shows(next);
    say(because, next.because || "");
    const lost = number(next.progress?.dead_letters);
    dead.hidden = !lost;
    say(dead, lost ? `${whole(lost)} of its problems ended among the dead letters` : "");
    if (controls.dataset.state !== stateOf(next)) steer(controls, next, path, shows);
    if (before !== stateOf(next)) toast(`The run is ${stateInWords(next)}.`);
    before = stateOf(next);
  };
  shows(status);
  const refused = (/** @type {Error} */ error) => toast(error.message, "fault");
  let stop = () => {};
  const follow = () => {
    stop = watch(`${path}/watch`, (name, data) => {
      if (name === "run") shows(data);
      if (name === "end" && before === "short") wait();
    }, refused);
  };
  // It goes on when somebody replays its dead letters.
  const wait = () => {
    stop = poll(path, PAUSE, (next) => {
      if (isOver(next)) return;
      stop();
      follow();
    }, refused);
  };
  follow();
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && !isTyping(event)) location.hash = "#/runs";
  };
  document.addEventListener("keydown", keys);
  return () => {
    stop();
    files.leave();
    list.leave();
    document.removeEventListener("keydown", keys);
  };
}

/**
 * Shows the buttons that fit the run's state, which another operator may change too.
 * @param {HTMLElement} controls
 * @param {Run} status
 * @param {string} path
 * @param {(status: Run) => void} shows
 */
function steer(controls, status, path, shows) {
  controls.dataset.state = stateOf(status);
  const focused = controls.contains(document.activeElement);
  const press = (/** @type {string} */ what) => async () => shows(await call("POST", `${path}/${what}`, {}));
  const cancel = async () => {
    const answer = await ask("Cancel this run?", CANCELLING, [["", "Keep it"], ["cancel", "Cancel the run", "danger"]]);
    if (answer) await press("cancel")();
  };
  const buttons = maySteer() && isSteered(status)
    ? [stateOf(status) === "paused" ? button("Resume", { kind: "primary" }, press("resume")) : button("Pause", {}, press("pause")), button("Cancel", {}, cancel)]
    : [];
  controls.replaceChildren(...buttons);
  if (focused) (buttons[0] || document.getElementById("main")).focus({ preventScroll: true });
}

/** @param {Run} run */
function settings({ request }) {
  const values = {
    recipe: request.recipe,
    ...(request.language ? { language: request.language } : {}),
    ...(number(request.conversations) ? { problems: request.problems, conversations: whole(request.conversations) } : {}),
    seed: request.seed,
    "in flight": whole(request.in_flight),
    "maximum turns": whole(request.max_turns),
    attempts: whole(request.max_attempts),
    "solutions explained first": request.enrich ? "yes" : "no",
  };
  const pairs = Object.entries(values).map(([name, value]) => [element("dt", null, name), element("dd", null, value)]);
  return element("details", { class: "settings" }, element("summary", null, "Settings"), element("dl", null, pairs));
}
