// The console's frame: the page that is shown, who reads it, and whether the gateway can be reached.

import { element } from "../../../soliloquy/web/element.js";
import { at, colourSchemeSwitch } from "../../../soliloquy/web/interaction.js";
import { line, tryAgain } from "./api.js";
import { annotate } from "./annotate.js";
import { audit } from "./audit.js";
import { chat } from "./chat.js";
import { compare } from "./compare.js";
import { letters } from "./dead-letters.js";
import { pipeline } from "./pipeline.js";
import { conversation } from "./reader.js";
import { run } from "./run.js";
import { runs } from "./runs.js";
import * as session from "./session.js";
import { teach } from "./teach.js";
import { training } from "./training.js";
import { messageOf, nothing, toast } from "./widgets.js";

/** @import { Leave, ShowPage } from "./contract.d.ts" */

/** @type {Record<string, ShowPage>} */
const PAGES = { runs, compare, chat, annotate, teach, pipeline, "dead-letters": letters, training, audit };
/** @type {Leave} */
let leave = null;
/** @type {symbol | null} */
let shown = null;

async function start() {
  colourSchemeSwitch(at("theme"));
  showConnection();
  addEventListener("hashchange", route);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /** @type {Element} */ (event.target).closest("input, textarea, select")) return;
    const search = /** @type {HTMLElement | null} */ (document.querySelector("input[type=search]"));
    if (search) event.preventDefault();
    search?.focus();
  });
  for (;;) {
    try {
      await session.begin(() => route(null));
      break;
    } catch (error) {
      at("main").replaceChildren(nothing(`The gateway cannot be reached: ${messageOf(error)}. `));
      await new Promise((resume) => setTimeout(resume, 2_000));
    }
  }
  await route(null);
  performance.mark("ready");
}

/** Shows #/runs, #/runs/RUN, #/runs/RUN/CONVERSATION, #/compare/RUN/RUN, #/dead-letters?run=RUN and the like. @param {Event | null} event */
async function route(event) {
  const [path, query] = (location.hash.slice(2) || (session.annotatesOnly() ? "annotate" : "runs")).split("?");
  const [page, ...rest] = path.split("/").map(decodeURIComponent);
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-page]"))) {
    if (link.dataset.page === (page === "compare" ? "runs" : page)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  leave?.();
  leave = null;
  const main = at("main");
  at("pages").hidden = !session.mayRead();
  const needs = { pipeline: session.seesAll(), audit: session.maySteer() };
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-page]"))) {
    const name = link.dataset.page || "";
    link.hidden = session.annotatesOnly() ? !["annotate", "teach"].includes(name) : needs[/** @type {keyof typeof needs} */ (name)] === false;
  }
  if (!session.mayRead()) return session.signIn(main, () => route(null));
  const show = page === "runs" && rest[0] ? (rest[1] ? conversation : run) : PAGES[page];
  const current = (shown = Symbol(path));
  // A page that is left before it has loaded fills a sheet that is no longer shown.
  const sheet = element("div", { class: `page ${page}` });
  main.replaceChildren(sheet);
  scrollTo(0, 0);
  if (!show) return sheet.append(nothing(`There is no page ${path}.`));
  const leaving = await show(sheet, rest, new URLSearchParams(query || ""));
  if (shown !== current) return leaving?.();
  leave = leaving;
  document.title = `${sheet.querySelector("h1")?.textContent || "Runs"} · soliloquy`;
  if (event && !sheet.contains(document.activeElement)) main.focus({ preventScroll: true });
}

function showConnection() {
  let timer = 0;
  const countdown = at("lost-told");
  line.addEventListener("lost", (event) => {
    const until = Date.now() + /** @type {CustomEvent<number>} */ (event).detail;
    const count = () => {
      const seconds = Math.ceil((until - Date.now()) / 1_000);
      countdown.textContent = seconds > 1 ? `trying again in ${seconds} s` : "trying again…";
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

start();
