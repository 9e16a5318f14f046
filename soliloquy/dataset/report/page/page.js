// The page itself: its views, the list with its filters, the keys.

import { element } from "../../../web/element.js";
import { at, colourSchemeSwitch, debounced, isTyping, toggleSoliloquies } from "../../../web/interaction.js";
import { conversationView, counted } from "../../../web/conversation.js";
import { conversationsOf, textOf } from "./blocks.js";
import { comparison, flagged } from "./compare.js";
import { Search } from "./search.js";

/** @import { Words } from "../../../web/types.d.ts" */
/** @import { Filter } from "./search.js" */

const PAGE = 40;
const WIDE = matchMedia("(min-width: 860px)");
const searchBox = /** @type {HTMLInputElement} */ (at("search"));
const [previous, next] = ["previous", "next"].map((id) => /** @type {HTMLButtonElement} */ (at(id)));
/** Null until the index is read. @type {Search | null} */
let search = null;
/** @type {Words} */
let words;
let page = 0;
/** The row that is read. @type {number | null} */
let open = null;

async function start() {
  colourSchemeSwitch(at("theme"));
  route();
  addEventListener("hashchange", route);
  addEventListener("keydown", pressed);
  const index = JSON.parse(await textOf("index"));
  words = index.words;
  const searching = (search = new Search(index, () => showList(searching, true)));
  showFilters(searching);
  searchBox.addEventListener("input", debounced(() => searching.search(searchBox.value), 180));
  previous.addEventListener("click", () => turnPage(searching, -1));
  next.addEventListener("click", () => turnPage(searching, 1));
  at("reader").addEventListener("click", (event) => /** @type {HTMLElement} */ (event.target).dataset.go === "back" && back());
  /** @type {HTMLDetailsElement} */ (at("narrowing")).open = WIDE.matches;
  showList(searching);
  await route();
  performance.mark("ready");
}

/** #overview, #conversations, #outcome=REASON, #compare=ID, or a conversation's id. */
async function route() {
  const wanted = decodeURIComponent(location.hash.slice(1)) || "overview";
  const browsing = wanted !== "overview";
  at("overview").hidden = browsing;
  at("browser").hidden = !browsing;
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-view]"))) {
    if ((link.dataset.view === "overview") === !browsing) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!browsing) scrollTo(0, 0);
  document.body.classList.remove("comparing");
  if (!search || !browsing) return;
  const [, action, value] = /^(outcome|compare)=([^]*)$/.exec(wanted) || [];
  if (action === "outcome") {
    chooseOutcome(search, value);
    return go("conversations");
  }
  if (action === "compare") return compare(search, search.index.id.indexOf(value));
  if (wanted === "conversations") {
    if (!WIDE.matches || open === null) closeReader(search);
    if (WIDE.matches && open === null && search.rows.length) await openConversation(search, search.rows[0]);
    return;
  }
  const row = search.index.id.indexOf(wanted);
  if (row < 0) {
    fillReader(element("p", { class: "nothing" }, `No conversation ${wanted} is in this report.`));
    return;
  }
  await openConversation(search, row);
  document.body.classList.add("reading");
}

/** @param {Search} searching @param {number} row */
async function openConversation(searching, row) {
  open = row;
  const place = searching.rows.indexOf(row);
  if (place >= 0 && Math.floor(place / PAGE) !== page) page = Math.floor(place / PAGE);
  showList(searching);
  try {
    const conversation = await read(searching, row);
    if (open === row) fillReader(...otherAttempt(searching, row), ...conversationView(conversation, words));
  } catch (error) {
    fillReader(element("p", { class: "nothing" }, error instanceof Error ? error.message : String(error)));
  }
}

/** @param {Search} searching @param {number} row */
async function read(searching, row) {
  const [block, within] = searching.blockOf(row);
  return flagged((await conversationsOf(block))[within]);
}

/** A link to the comparison, if the problem has a rejected and an accepted conversation. @param {Search} searching @param {number} row */
function otherAttempt({ index }, row) {
  const rejected = row in index.pairs ? row : Number(Object.keys(index.pairs).find((one) => index.pairs[Number(one)] === row) ?? -1);
  if (rejected < 0) return [];
  const other = rejected === row ? "an accepted" : "a rejected";
  return [element("p", { class: "other" }, element("a", { href: `#compare=${index.id[rejected]}` }, `Compare with ${other} conversation about this problem`))];
}

/** @param {Search} searching @param {number} row */
async function compare(searching, row) {
  if (!(row in searching.index.pairs)) return fillReader(element("p", { class: "nothing" }, "No accepted conversation is about the same problem."));
  const sides = await Promise.all([row, searching.index.pairs[row]].map((one) => read(searching, one)));
  open = row;
  document.body.classList.add("comparing", "reading");
  fillReader(...comparison(sides[0], sides[1], words));
}

/** @param {...HTMLElement} content */
function fillReader(...content) {
  at("reader").replaceChildren(...content);
  at("reader").scrollTop = 0;
  if (!WIDE.matches) scrollTo(0, 0);
}

/** @param {Search} searching */
function closeReader(searching) {
  open = null;
  document.body.classList.remove("reading");
  fillReader(element("p", { class: "nothing" }, "Choose a conversation."));
  showList(searching);
}

function back() {
  const row = open;
  if (WIDE.matches) return focusOn(row);
  go("conversations", () => focusOn(row));
}

/** Goes to a view, and runs `then` once it is shown. @param {string} view @param {() => void} [then] */
function go(view, then = () => {}) {
  addEventListener("hashchange", then, { once: true });
  location.hash = view;
}

/** @param {Search} searching @param {string} value */
function chooseOutcome(searching, value) {
  const select = /** @type {HTMLSelectElement | null} */ (document.querySelector("[data-filter=outcome]"));
  const place = searching.index.filters.outcome.values.indexOf(value);
  if (!select || place < 0) return;
  select.value = String(place);
  select.dispatchEvent(new Event("change"));
}

/** @param {Search} searching */
function showFilters(searching) {
  const ORDER = ["outcome", "ending", "resolution", "topic", "program", "drawn", "student"];
  const all = searching.index.filters;
  // A filter with one value leaves nothing to choose.
  at("filters").replaceChildren(...ORDER.filter((name) => all[name].values.length > 1).map((name) => {
    const counts = countedValues(all[name]);
    const label = (/** @type {string} */ value) => (name !== "outcome" || value === "accepted" || value === "rejected" ? value : `rejected: ${value}`);
    const options = all[name].values.map((value, place) => element("option", { value: place }, `${label(value)} (${counts[place].toLocaleString("en")})`));
    const select = element("select", { "data-filter": name }, element("option", { value: "" }, "any"), options);
    select.addEventListener("change", () => {
      searching.choose(name, select.value === "" ? null : Number(select.value));
      at("active").textContent = String(Object.keys(searching.chosen).length || "");
    });
    return element("label", null, element("span", null, name), select);
  }));
}

/** How many conversations have each value of a filter. @param {Filter} filter */
function countedValues({ values, codes, several }) {
  const counts = new Array(values.length).fill(0);
  for (const code of codes) {
    if (!several) counts[code]++;
    else for (let place = 0; place < values.length; place++) counts[place] += (code >> place) & 1;
  }
  return counts;
}

/** @param {Search} searching @param {boolean} [fromTheTop] */
function showList(searching, fromTheTop = false) {
  if (fromTheTop) page = 0;
  const { rows, index, share, needle } = searching;
  const pages = Math.max(Math.ceil(rows.length / PAGE), 1);
  page = Math.min(page, pages - 1);
  const visible = rows.slice(page * PAGE, (page + 1) * PAGE);
  at("list").replaceChildren(...visible.map((row) => item(searching, row)));
  if (!visible.length) at("list").append(element("li", { class: "nothing" }, share < 1 ? "Searching…" : "No conversation matches: remove a filter or shorten the search."));
  const all = index.id.length.toLocaleString("en");
  at("found").textContent = `${rows.length.toLocaleString("en")} of ${all}${needle && share < 1 ? ` · searched ${Math.round(share * 100)} %` : ""}`;
  at("page").textContent = `${(page + 1).toLocaleString("en")} / ${pages.toLocaleString("en")}`;
  previous.disabled = page === 0;
  next.disabled = page === pages - 1;
}

/** @param {Search} searching @param {number} row */
function item({ index }, row) {
  const has = (/** @type {string} */ name, /** @type {string} */ value) => (index.filters[name].codes[row] >> index.filters[name].values.indexOf(value)) & 1;
  const { values, codes } = index.filters.topic;
  const rejected = index.filters.outcome.values.includes("rejected") && has("outcome", "rejected");
  return element("li", null,
    element("a", { href: `#${index.id[row]}`, "data-row": row, "aria-current": row === open ? "true" : null },
      element("span", { class: "question" }, index.question[row] || index.id[row]),
      element("span", { class: "facts" }, element("span", null, values[codes[row]]), element("span", null, counted(index.turns[row], "turn")),
        has("program", "some") ? element("span", null, "Python") : null,
        rejected ? element("span", { class: "fault" }, "rejected") : null)));
}

/** @param {Search} searching @param {number} by */
function turnPage(searching, by) {
  page += by;
  showList(searching);
  at("list").scrollTop = 0;
  focusOnList();
}

/** Moves on in the list by one conversation, and shows it where there is room. @param {Search} searching @param {number} by */
async function move(searching, by) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.row;
  const place = searching.rows.indexOf(focused !== undefined ? Number(focused) : open ?? -1);
  const target = Math.min(Math.max(place + by, 0), searching.rows.length - 1);
  if (target < 0) return;
  const row = searching.rows[target];
  page = Math.floor(target / PAGE);
  showList(searching);
  focusOn(row);
  if (WIDE.matches) {
    history.replaceState(null, "", `#${searching.index.id[row]}`);
    await openConversation(searching, row);
    focusOn(row);
  }
}

/** @param {number | null} row */
function focusOn(row) {
  /** @type {HTMLElement | null} */ (at("list").querySelector(`[data-row="${row}"]`))?.focus();
}

function focusOnList() {
  at("list").querySelector("a")?.focus();
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !search) return;
  const target = /** @type {HTMLElement} */ (event.target);
  const browsing = !at("browser").hidden;
  const { key } = event;
  if (key === "Escape" && target === searchBox) {
    if (searchBox.value) {
      searchBox.value = "";
      search.search("");
    } else searchBox.blur();
  } else if (isTyping(event)) {
    if (target === searchBox && (key === "Enter" || key === "ArrowDown")) {
      event.preventDefault();
      focusOnList();
    }
  } else if (key === "/") {
    event.preventDefault();
    if (browsing) searchBox.focus();
    else go("conversations", () => searchBox.focus());
  } else if (!browsing) {
    return;
  } else if (document.body.classList.contains("comparing")) {
    if (key === "Escape" && open !== null) location.hash = search.index.id[open];
  } else if (key === "Escape") {
    back();
  } else if (key === "j" || key === "k" || ((key === "ArrowDown" || key === "ArrowUp") && !at("reader").contains(target))) {
    event.preventDefault();
    move(search, key === "j" || key === "ArrowDown" ? 1 : -1);
  } else if (key === "Enter" && target.dataset.row) {
    requestAnimationFrame(() => at("reader").focus());
  } else if (key === "s") {
    toggleSoliloquies(at("reader"));
  }
}

start();
