// The page itself: which view is shown, the list with its filters, the keys.

const PAGE = 40;
const WIDE = matchMedia("(min-width: 860px)");
const at = (id) => document.getElementById(id);
let finding = null;
let words = null;
let page = 0;
let open = null;

async function start() {
  themed();
  route();
  addEventListener("hashchange", route);
  addEventListener("keydown", pressed);
  const index = JSON.parse(await textOf("index"));
  words = index.words;
  finding = new Finding(index, () => listed(true));
  filters(index.filters);
  at("search").addEventListener("input", debounced(() => finding.search(at("search").value), 180));
  at("previous").addEventListener("click", () => turned(-1));
  at("next").addEventListener("click", () => turned(1));
  at("reader").addEventListener("click", (event) => event.target.dataset.go === "back" && back());
  at("narrowing").open = WIDE.matches;
  listed();
  await route();
  performance.mark("ready");
}

/** #overview, #conversations, or a conversation's id. */
async function route() {
  const wanted = decodeURIComponent(location.hash.slice(1)) || "overview";
  const browsing = wanted !== "overview";
  at("overview").hidden = browsing;
  at("browser").hidden = !browsing;
  for (const link of document.querySelectorAll("[data-view]")) {
    if ((link.dataset.view === "overview") === !browsing) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!browsing) scrollTo(0, 0);
  if (!finding || !browsing) return;
  if (wanted === "conversations") {
    if (!WIDE.matches || open === null) closed();
    if (WIDE.matches && open === null && finding.rows.length) await shown(finding.rows[0]);
    return;
  }
  const row = finding.index.id.indexOf(wanted);
  if (row < 0) {
    reading(element("p", { class: "nothing" }, `No conversation ${wanted} is in this report.`));
    return;
  }
  await shown(row);
  document.body.classList.add("reading");
}

async function shown(row) {
  open = row;
  const place = finding.rows.indexOf(row);
  if (place >= 0 && Math.floor(place / PAGE) !== page) page = Math.floor(place / PAGE);
  listed();
  const [block, within] = finding.blockOf(row);
  try {
    const conversations = await conversationsOf(block);
    if (open === row) reading(...conversationView(conversations[within], words));
  } catch (error) {
    reading(element("p", { class: "nothing" }, error.message));
  }
}

function reading(...content) {
  at("reader").replaceChildren(...content);
  at("reader").scrollTop = 0;
  if (!WIDE.matches) scrollTo(0, 0);
}

function closed() {
  open = null;
  document.body.classList.remove("reading");
  reading(element("p", { class: "nothing" }, "Choose a conversation."));
  listed();
}

function back() {
  if (WIDE.matches) return focusOn(open);
  const row = open;
  gone("conversations", () => focusOn(row));
}

/** Goes to a view; what is to be done there waits until it is shown. */
function gone(view, then) {
  addEventListener("hashchange", then, { once: true });
  location.hash = view;
}

function filters(all) {
  const ORDER = ["outcome", "ending", "resolution", "topic", "program", "mistake", "student"];
  // Where all have the same there is nothing to choose.
  at("filters").replaceChildren(...ORDER.filter((name) => all[name].values.length > 1).map((name) => {
    const { values, codes, several } = all[name];
    const count = new Array(values.length).fill(0);
    for (const code of codes) {
      if (!several) count[code]++;
      else for (let place = 0; place < values.length; place++) count[place] += (code >> place) & 1;
    }
    const told = (value) => (name !== "outcome" || value === "kept" || value === "rejected" ? value : `rejected: ${value}`);
    const options = values.map((value, place) => element("option", { value: place }, `${told(value)} (${count[place].toLocaleString("en")})`));
    const select = element("select", { "data-filter": name }, element("option", { value: "" }, "any"), options);
    select.addEventListener("change", () => {
      finding.choose(name, select.value === "" ? null : Number(select.value));
      at("active").textContent = Object.keys(finding.chosen).length || "";
    });
    return element("label", null, element("span", null, name), select);
  }));
}

function listed(anew = false) {
  if (anew) page = 0;
  const { rows, index, share, needle } = finding;
  const pages = Math.max(Math.ceil(rows.length / PAGE), 1);
  page = Math.min(page, pages - 1);
  const visible = rows.slice(page * PAGE, (page + 1) * PAGE);
  at("list").replaceChildren(...visible.map((row) => item(row)));
  if (!visible.length) at("list").append(element("li", { class: "nothing" }, share < 1 ? "Searching…" : "Nothing fits: take a filter away or search for less."));
  const all = index.id.length.toLocaleString("en");
  at("found").textContent = `${rows.length.toLocaleString("en")} of ${all}${needle && share < 1 ? ` · searched ${Math.round(share * 100)} %` : ""}`;
  at("page").textContent = `${(page + 1).toLocaleString("en")} / ${pages.toLocaleString("en")}`;
  at("previous").disabled = page === 0;
  at("next").disabled = page === pages - 1;
}

function item(row) {
  const { index } = finding;
  const has = (name, value) => (index.filters[name].codes[row] >> index.filters[name].values.indexOf(value)) & 1;
  const { values, codes } = index.filters.topic;
  const rejected = index.filters.outcome.values.includes("rejected") && has("outcome", "rejected");
  return element("li", null,
    element("a", { href: `#${index.id[row]}`, "data-row": row, "aria-current": row === open ? "true" : null },
      element("span", { class: "question" }, index.question[row] || index.id[row]),
      element("span", { class: "facts" }, element("span", null, values[codes[row]]), element("span", null, counted(index.turns[row], "turn")),
        has("program", "some") ? element("span", null, "Python") : null,
        rejected ? element("span", { class: "fault" }, "rejected") : null)));
}

function turned(by) {
  page += by;
  listed();
  at("list").scrollTop = 0;
  at("list").querySelector("a")?.focus();
}

/** Takes the list one conversation on; where there is room it is shown right away. */
async function moved(by) {
  const focused = document.activeElement?.dataset?.row;
  const place = finding.rows.indexOf(focused !== undefined ? Number(focused) : open);
  const next = Math.min(Math.max(place + by, 0), finding.rows.length - 1);
  if (next < 0) return;
  const row = finding.rows[next];
  page = Math.floor(next / PAGE);
  listed();
  focusOn(row);
  if (WIDE.matches) {
    history.replaceState(null, "", `#${finding.index.id[row]}`);
    await shown(row);
    focusOn(row);
  }
}

function focusOn(row) {
  at("list").querySelector(`[data-row="${row}"]`)?.focus();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !finding) return;
  const typing = event.target.closest("input, select, textarea");
  const browsing = !at("browser").hidden;
  const { key } = event;
  if (key === "Escape" && event.target === at("search")) {
    if (at("search").value) {
      at("search").value = "";
      finding.search("");
    } else at("search").blur();
  } else if (typing) {
    if (event.target === at("search") && (key === "Enter" || key === "ArrowDown")) {
      event.preventDefault();
      at("list").querySelector("a")?.focus();
    }
  } else if (key === "/") {
    event.preventDefault();
    if (browsing) at("search").focus();
    else gone("conversations", () => at("search").focus());
  } else if (!browsing) {
    return;
  } else if (key === "Escape") {
    back();
  } else if (key === "j" || key === "k" || ((key === "ArrowDown" || key === "ArrowUp") && !at("reader").contains(event.target))) {
    event.preventDefault();
    moved(key === "j" || key === "ArrowDown" ? 1 : -1);
  } else if (key === "Enter" && event.target.dataset.row) {
    requestAnimationFrame(() => at("reader").focus());
  } else if (key === "s") {
    const folded = [...at("reader").querySelectorAll("details.soliloquy")];
    const opening = folded.some((details) => !details.open);
    for (const details of folded) details.open = opening;
  }
}

/** As the system has it, until somebody chooses. */
function themed() {
  const stored = remembered(() => localStorage.getItem("theme"));
  if (stored) document.documentElement.dataset.theme = stored;
  at("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    remembered(() => localStorage.setItem("theme", document.documentElement.dataset.theme));
  });
}

/** Some browsers keep nothing for a page that is a file. */
function remembered(access) {
  try {
    return access();
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

function debounced(action, milliseconds) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(action, milliseconds);
  };
}

start();
