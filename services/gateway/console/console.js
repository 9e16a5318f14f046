// The console itself: which page is shown, who reads it, and whether the gateway can be reached.

import { line, tryAgain } from "./calls.js";
import { element } from "./element.js";
import { at, nothing, toast } from "./parts.js";
import * as session from "./session.js";
import { chat } from "./chat.js";
import { conversation } from "./reading.js";
import { letters } from "./letters.js";
import { pipeline } from "./pipeline.js";
import { run } from "./run.js";
import { runs } from "./runs.js";
import { training } from "./training.js";

const PAGES = { runs, chat, pipeline, "dead-letters": letters, training };
let leave = null;
let shown = null;

async function start() {
  themed();
  connected();
  addEventListener("hashchange", route);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    const search = document.querySelector("input[type=search]");
    if (search) event.preventDefault();
    search?.focus();
  });
  for (;;) {
    try {
      await session.begin(() => route(null));
      break;
    } catch (error) {
      at("main").replaceChildren(nothing(`The gateway cannot be reached: ${error.message}. `));
      await new Promise((resume) => setTimeout(resume, 2_000));
    }
  }
  await route(null);
  performance.mark("ready");
}

/** #/runs, #/runs/RUN, #/runs/RUN/CONVERSATION, #/dead-letters?run=RUN; a page gives back what is to be done when it is left. */
async function route(event) {
  const [path, query] = (location.hash.slice(2) || "runs").split("?");
  const [page, ...rest] = path.split("/").map(decodeURIComponent);
  for (const link of document.querySelectorAll("[data-page]")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  leave?.();
  leave = null;
  const main = at("main");
  at("pages").hidden = !session.mayRead();
  if (!session.mayRead()) return session.signIn(main, () => route(null));
  const show = page === "runs" && rest[0] ? (rest[1] ? conversation : run) : PAGES[page];
  const asked = (shown = Symbol(path));
  // A page that is left before it is there fills what nobody sees.
  const sheet = element("div", { class: `page ${page}` });
  main.replaceChildren(sheet);
  scrollTo(0, 0);
  if (!show) return sheet.append(nothing(`There is no page ${path}.`));
  const left = await show(sheet, rest, new URLSearchParams(query || ""));
  if (shown !== asked) return left?.();
  leave = left;
  document.title = `${sheet.querySelector("h1")?.textContent || "Runs"} · soliloquy`;
  if (event) main.focus({ preventScroll: true });
}

function connected() {
  let timer = 0;
  const told = at("lost-told");
  line.addEventListener("lost", ({ detail }) => {
    const until = Date.now() + detail;
    const count = () => {
      const seconds = Math.ceil((until - Date.now()) / 1_000);
      told.textContent = seconds > 1 ? `trying again in ${seconds} s` : "trying again…";
    };
    clearInterval(timer);
    timer = setInterval(count, 1_000);
    at("lost").hidden = false;
    count();
  });
  line.addEventListener("found", () => {
    clearInterval(timer);
    if (!at("lost").hidden) toast("Connected again.");
    at("lost").hidden = true;
  });
  at("try-again").addEventListener("click", tryAgain);
}

/** As the system has it, until somebody chooses. */
function themed() {
  const root = document.documentElement;
  const stored = localStorage.getItem("theme");
  if (stored) root.dataset.theme = stored;
  at("theme").addEventListener("click", () => {
    const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  });
}

start();
