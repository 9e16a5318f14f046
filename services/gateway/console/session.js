// Who reads: a name and a role, where the gateway needs to know.

import { call, line } from "./calls.js";
import { element } from "./element.js";
import { at, button } from "./parts.js";

let session = { name: "", role: "", needed: false };

export const mayRead = () => !session.needed || Boolean(session.role);
export const maySteer = () => !session.needed || session.role === "operator";

/** Resolves when it is known who reads; `changed` is called whenever that is somebody else. */
export async function begin(changed) {
  line.addEventListener("unknown", () => {
    if (!mayRead() || !session.needed) return;
    taken({ name: "", role: "", needed: true });
    changed();
  });
  taken(await call("GET", "/v1/session"));
  at("session").addEventListener("left", changed);
}

function taken(told) {
  session = { name: "", role: "", ...told };
  const leave = async () => {
    await call("DELETE", "/v1/session").catch(() => null);
    taken({ needed: true });
    at("session").dispatchEvent(new Event("left"));
  };
  at("session").replaceChildren(...(session.needed && session.role
    ? [element("span", { class: "who-reads" }, session.name, element("small", null, session.role)), button("Sign out", {}, leave)]
    : []));
}

/** The form for a token, until one is good. */
export function signIn(main, signedIn) {
  const hidden = { type: "password", autocomplete: "current-password", spellcheck: "false" };
  const input = element("input", { id: "token", ...hidden, required: true, "aria-describedby": "token-fault" });
  const fault = element("p", { id: "token-fault", class: "fault", role: "alert" });
  const form = element("form", { class: "sign-in" },
    element("h1", null, "Sign in"),
    element("p", { class: "note" }, "Your token becomes a cookie that no script can read; this page keeps nothing of it."),
    element("label", { for: "token" }, "Token"), input, fault,
    element("button", { class: "primary" }, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    fault.textContent = "";
    try {
      await call("POST", "/v1/session", { token: input.value.trim() });
      taken(await call("GET", "/v1/session"));
      signedIn();
    } catch (error) {
      fault.textContent = error.status === 401 ? "Nobody has this token." : error.message;
      input.select();
    }
  });
  main.replaceChildren(form);
  input.focus();
}
