// Sends what a person wrote into a form: again until it is kept, with the seconds for which it was seen.

import { element } from "../../../soliloquy/web/element.js";
import { Refused } from "./api.js";

const AGAIN = 3_000;

/** One form's sending, and the two lines that show it; `stop` gives up. @param {string} doing "Saving" @param {string} done "saved" */
export function sender(doing, done) {
  const status = element("p", { class: "saved", role: "status" });
  const fault = element("p", { class: "fault", role: "alert" });
  const timer = visibleSeconds();
  let [sending, over] = [false, false];

  /** @param {(seconds: number) => Promise<unknown>} once */
  const send = async (once) => {
    if (sending) return;
    sending = true;
    const seconds = timer.seconds();
    for (; !over; await new Promise((resume) => setTimeout(resume, AGAIN))) {
      try {
        status.textContent = `${doing}…`;
        await once(seconds);
        status.textContent = "";
        break;
      } catch (error) {
        if (error instanceof Refused && !error.passes) {
          fault.textContent = error.message;
          status.textContent = "";
          break;
        }
        status.textContent = `Not ${done} yet: the gateway cannot be reached, and is tried again.`;
      }
    }
    sending = false;
  };
  const stop = () => {
    over = true;
    timer.stop();
  };
  return { status, fault, send, stop };
}

function visibleSeconds() {
  let [total, since] = [0, document.hidden ? 0 : performance.now()];
  const seen = () => (since ? performance.now() - since : 0);
  const change = () => {
    total += seen();
    since = document.hidden ? 0 : performance.now();
  };
  document.addEventListener("visibilitychange", change);
  return {
    seconds: () => Math.round(total + seen()) / 1_000,
    stop: () => document.removeEventListener("visibilitychange", change),
  };
}
