// The services as a picture: what waits where, and what was given up.

import { watch } from "./calls.js";
import { counted } from "./conversation.js";
import { element } from "./element.js";
import { columns, heading, keyed, nothing, say, svg } from "./parts.js";
import { lasting, number, short, whole } from "./told.js";

// Where each service stands: a column and a row; and which one goes on with what another did.
const PLACES = { curriculum: [1, 2], planner: [2, 1], student: [2, 2], tutor: [3, 2], codegen: [3, 1], executor: [4, 1], composer: [4, 2], collector: [5, 2] };
const WAYS = [
  ["curriculum", "planner"], ["curriculum", "student"], ["planner", "student"], ["student", "tutor"], ["tutor", "codegen"], ["tutor", "composer"],
  ["codegen", "executor"], ["executor", "composer"], ["composer", "student"], ["composer", "collector"], ["collector", "curriculum"],
];
const WORK = {
  curriculum: "admits problems", planner: "explains and plans", student: "asks and answers", tutor: "decides",
  codegen: "writes programs", executor: "runs them", composer: "replies", collector: "judges and keeps",
};
// Where events wait for another try.
const AGAIN = ".retry";
// From so many waiting on, a service is drawn in full colour.
const MANY = 1_000;

export function pipeline(main) {
  const nodes = Object.fromEntries(Object.keys(PLACES).map((name) => [name, node(name)]));
  const ways = svg("svg", { class: "ways", "aria-hidden": "true" });
  const picture = element("div", { class: "picture" }, ways, element("ul", { "aria-label": "Services" }, Object.values(nodes)));
  const sum = element("p", { class: "note" }, "Asking…");
  const body = element("tbody");
  const table = element("table", { class: "topics" }, columns(["Service", "Topic", "Waiting", "Oldest", "Tried again", "Given up"]), body);
  main.append(heading("Pipeline"), sum, picture, element("details", { class: "by-topic" }, element("summary", null, "By topic"), table));

  const shows = ({ stages = [], dead_letters = {} }) => {
    const topics = topicsOf(stages, dead_letters);
    const events = stages.reduce((all, stage) => all + number(stage.events), 0);
    const dead = Object.values(dead_letters).reduce((all, count) => all + number(count), 0);
    sum.replaceChildren(events ? `${whole(events)} events wait or are under way` : "Nothing waits",
      dead ? element("a", { class: "fault", href: "#/dead-letters" }, counted(dead, "dead letter")) : ", and no letter is dead.");
    for (const [name, shown] of Object.entries(nodes)) {
      const own = topics.filter(({ service }) => service === name);
      const of = (field) => own.reduce((all, topic) => all + topic[field], 0);
      shown.shows({ events: of("events") + of("again"), oldest: Math.max(0, ...own.map(({ oldest }) => oldest)), again: of("again"), dead: of("dead") });
    }
    flow(ways, nodes);
    keyed(body, topics, ({ service, topic }) => `${service} ${topic}`, topicRow);
  };
  const drawing = new ResizeObserver(() => {
    draw(ways, nodes, picture);
    flow(ways, nodes);
  });
  drawing.observe(picture);
  const stop = watch("/v1/pipeline/watch", (name, told) => name === "pipeline" && shows(told), (error) => main.append(nothing(error.message)));
  return () => {
    stop();
    drawing.disconnect();
  };
}

/** A topic with what is tried again of it. */
function topicsOf(stages, dead) {
  return stages.filter(({ topic }) => !topic.endsWith(AGAIN)).map(({ service, topic, events, oldest_seconds }) => {
    const again = stages.find((other) => other.service === service && other.topic === topic + AGAIN);
    const oldest = Math.max(number(oldest_seconds), number(again?.oldest_seconds));
    return { service, topic, events: number(events), again: number(again?.events), oldest, dead: number(dead[topic]) };
  });
}

function node(name) {
  const [count, about, dead] = [element("b"), element("small"), element("span", { class: "dead", hidden: true })];
  const made = element("li", { class: "node" }, element("span", { class: "name" }, name), element("span", { class: "work" }, WORK[name]), count, about, dead);
  const [column, line] = PLACES[name];
  made.style.setProperty("--column", column);
  made.style.setProperty("--row", line);
  made.shows = ({ events, oldest, again, dead: lost }) => {
    made.dataset.events = events;
    made.style.setProperty("--load", events ? `${10 + 60 * Math.min(Math.log(1 + events) / Math.log(1 + MANY), 1)}%` : "0%");
    say(count, short(events));
    say(about, events ? `oldest ${lasting(oldest)}${again ? `, ${short(again)} tried again` : ""}` : "idle");
    say(dead, `${short(lost)} dead`);
    dead.hidden = !lost;
    made.classList.toggle("idle", !events);
  };
  made.shows({ events: 0, oldest: 0, again: 0, dead: 0 });
  return made;
}

function topicRow() {
  const cells = ["th", "td", "td", "td", "td", "td"].map((tag) => element(tag, tag === "th" ? { scope: "row" } : null));
  const row = element("tr", null, cells);
  row.shows = ({ service, topic, events, oldest, again, dead }) =>
    [service, topic, whole(events), events || again ? lasting(oldest) : "–", whole(again), whole(dead)].forEach((text, place) => say(cells[place], text));
  return row;
}

/** Where something waits at the end of a way, it moves. */
function flow(ways, nodes) {
  for (const way of ways.querySelectorAll("[data-to]")) {
    const busy = Number(nodes[way.dataset.to].dataset.events) > 0;
    way.setAttribute("class", busy ? "busy" : "");
    way.setAttribute("marker-end", busy ? "url(#busy)" : "url(#idle)");
  }
}

/** Curves from each service to the one that goes on; drawn anew where the page has another size. */
function draw(ways, nodes, picture) {
  const { left, top, width, height } = picture.getBoundingClientRect();
  ways.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const box = (name) => {
    const found = nodes[name].getBoundingClientRect();
    return { x: found.left - left, y: found.top - top, w: found.width, h: found.height };
  };
  const size = { viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" };
  const head = (id) => svg("marker", { id, ...size }, svg("path", { d: "M0,0L8,4L0,8Z" }));
  const drawn = WAYS.map(([from, to]) => svg("path", { d: between(box(from), box(to), height), "data-to": to }));
  ways.replaceChildren(svg("defs", {}, head("idle"), head("busy")), ...drawn);
}

function between(a, b, height) {
  const [ax, ay, bx, by] = [a.x + a.w / 2, a.y + a.h / 2, b.x + b.w / 2, b.y + b.h / 2];
  // Side by side, one above the other, or back below all the others.
  if (bx < ax - a.w / 2) {
    const below = Math.min(Math.max(a.y + a.h, b.y + b.h) + (ax - bx > 3 * a.w ? 56 : 30), height - 4);
    return `M${ax},${a.y + a.h}V${below - 14}Q${ax},${below} ${ax - 14},${below}H${bx + 14}Q${bx},${below} ${bx},${below - 14}V${b.y + b.h}`;
  }
  if (Math.abs(ay - by) < 8) return `M${a.x + a.w},${ay}L${b.x},${by}`;
  if (Math.abs(ax - bx) < 8) return by > ay ? `M${ax},${a.y + a.h}L${bx},${b.y}` : `M${ax},${a.y}L${bx},${b.y + b.h}`;
  const [sx, ex] = [a.x + a.w, b.x];
  return `M${sx},${ay}C${(sx + ex) / 2},${ay} ${(sx + ex) / 2},${by} ${ex},${by}`;
}
