// The services as a picture: how many events wait at each, and how many were given up.

import { counted } from "../../../soliloquy/web/conversation.js";
import { element } from "../../../soliloquy/web/element.js";
import { watch } from "./api.js";
import { duration, number, short, whole } from "./format.js";
import { columns, heading, keyed, nothing, say, svg, updatable } from "./widgets.js";

/** @import { Numeric, Stage } from "./contract.d.ts" */
/** @typedef {{ service: string, topic: string, events: number, retried: number, oldest: number, dead: number }} Topic */
/** @typedef {Record<string, ReturnType<typeof node>>} Nodes */

/** The column and the row of each service. @type {Record<string, [number, number]>} */
const PLACES = { curriculum: [1, 2], planner: [2, 1], student: [2, 2], tutor: [3, 2], codegen: [3, 1], executor: [4, 1], composer: [4, 2], collector: [5, 2] };
/** Which service takes up another's events. */
const WAYS = [
  ["curriculum", "planner"], ["curriculum", "student"], ["planner", "student"], ["student", "tutor"], ["tutor", "codegen"], ["tutor", "composer"],
  ["codegen", "executor"], ["executor", "composer"], ["composer", "student"], ["composer", "collector"], ["collector", "curriculum"],
];
/** @type {Record<string, string>} */
const WORK = {
  curriculum: "admits problems", planner: "explains and plans", student: "asks and answers", tutor: "decides",
  codegen: "writes programs", executor: "runs them", composer: "replies", collector: "judges and keeps",
};
// The topics in which events wait for another try.
const RETRY = ".retry";
// With so many events waiting, a service is drawn in full colour.
const MANY = 1_000;

/** @param {HTMLElement} main */
export function pipeline(main) {
  const nodes = Object.fromEntries(Object.keys(PLACES).map((name) => [name, node(name)]));
  const ways = svg("svg", { class: "ways", "aria-hidden": "true" });
  const picture = element("div", { class: "picture" }, ways, element("ul", { "aria-label": "Services" }, Object.values(nodes)));
  const sum = element("p", { class: "note" }, "Loading…");
  const body = element("tbody");
  const table = element("table", { class: "topics" }, columns(["Service", "Topic", "Waiting", "Oldest", "Retried", "Given up"]), body);
  main.append(heading("Pipeline"), sum, picture, element("details", { class: "by-topic" }, element("summary", null, "By topic"), table));

  /** @param {{ stages?: Stage[], dead_letters?: Record<string, Numeric> }} snapshot */
  const shows = ({ stages = [], dead_letters = {} }) => {
    const topics = topicsOf(stages, dead_letters);
    const events = stages.reduce((all, stage) => all + number(stage.events), 0);
    const dead = Object.values(dead_letters).map(number).reduce((all, count) => all + count, 0);
    sum.replaceChildren(events ? `${whole(events)} events are waiting or under way` : "No events are waiting",
      dead ? element("a", { class: "fault", href: "#/dead-letters" }, counted(dead, "dead letter")) : ", and there are no dead letters.");
    for (const [name, shown] of Object.entries(nodes)) {
      const own = topics.filter(({ service }) => service === name);
      const of = (/** @type {"events" | "retried" | "dead"} */ field) => own.reduce((all, topic) => all + topic[field], 0);
      shown.shows({ events: of("events") + of("retried"), oldest: Math.max(0, ...own.map(({ oldest }) => oldest)), retried: of("retried"), dead: of("dead") });
    }
    flow(ways, nodes);
    keyed(body, topics, ({ service, topic }) => `${service} ${topic}`, topicRow);
  };
  const drawing = new ResizeObserver(() => {
    draw(ways, nodes, picture);
    flow(ways, nodes);
  });
  drawing.observe(picture);
  const stop = watch("/v1/pipeline/watch", (name, data) => name === "pipeline" && shows(data), (error) => main.append(nothing(error.message)));
  return () => {
    stop();
    drawing.disconnect();
  };
}

/**
 * Each topic, with the events of it that are retried.
 * @param {Stage[]} stages
 * @param {Record<string, Numeric>} dead
 * @returns {Topic[]}
 */
export function topicsOf(stages, dead) {
  return stages.filter(({ topic }) => !topic.endsWith(RETRY)).map(({ service, topic, events, oldest_seconds }) => {
    const retried = stages.find((other) => other.service === service && other.topic === topic + RETRY);
    const oldest = Math.max(number(oldest_seconds), number(retried?.oldest_seconds));
    return { service, topic, events: number(events), retried: number(retried?.events), oldest, dead: number(dead[topic]) };
  });
}

/** @param {string} name */
function node(name) {
  const [count, about, dead] = [element("b"), element("small"), element("span", { class: "dead", hidden: true })];
  const empty = element("li", { class: "node" }, element("span", { class: "name" }, name), element("span", { class: "work" }, WORK[name]), count, about, dead);
  const [column, line] = PLACES[name];
  empty.style.setProperty("--column", String(column));
  empty.style.setProperty("--row", String(line));
  const made = updatable(empty, (/** @type {Omit<Topic, "service" | "topic">} */ { events, oldest, retried, dead: lost }) => {
    made.dataset.events = String(events);
    made.style.setProperty("--load", events ? `${10 + 60 * Math.min(Math.log(1 + events) / Math.log(1 + MANY), 1)}%` : "0%");
    say(count, short(events));
    say(about, events ? `oldest ${duration(oldest)}${retried ? `, ${short(retried)} retried` : ""}` : "idle");
    say(dead, counted(lost, "dead letter"));
    dead.hidden = !lost;
    made.classList.toggle("idle", !events);
  });
  made.shows({ events: 0, oldest: 0, retried: 0, dead: 0 });
  return made;
}

function topicRow() {
  const cells = [element("th", { scope: "row" }), ...Array.from({ length: 5 }, () => element("td"))];
  return updatable(element("tr", null, cells), (/** @type {Topic} */ { service, topic, events, oldest, retried, dead }) =>
    [service, topic, whole(events), events || retried ? duration(oldest) : "–", whole(retried), whole(dead)].forEach((text, place) => say(cells[place], text)));
}

/** Animates the ways to services at which events wait. @param {SVGSVGElement} ways @param {Nodes} nodes */
function flow(ways, nodes) {
  for (const way of /** @type {NodeListOf<SVGPathElement>} */ (ways.querySelectorAll("[data-to]"))) {
    const busy = Number(nodes[way.dataset.to || ""].dataset.events) > 0;
    way.setAttribute("class", busy ? "busy" : "");
    way.setAttribute("marker-end", busy ? "url(#busy)" : "url(#idle)");
  }
}

/**
 * Draws a curve from each service to those that take up its events, for the page's current size.
 * @param {SVGSVGElement} ways
 * @param {Nodes} nodes
 * @param {HTMLElement} picture
 */
function draw(ways, nodes, picture) {
  const { left, top, width, height } = picture.getBoundingClientRect();
  ways.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const box = (/** @type {string} */ name) => {
    const found = nodes[name].getBoundingClientRect();
    return { x: found.left - left, y: found.top - top, w: found.width, h: found.height };
  };
  const size = { viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" };
  const head = (/** @type {string} */ id) => svg("marker", { id, ...size }, svg("path", { d: "M0,0L8,4L0,8Z" }));
  const drawn = WAYS.map(([from, to]) => svg("path", { d: between(box(from), box(to), height), "data-to": to }));
  ways.replaceChildren(svg("defs", {}, head("idle"), head("busy")), ...drawn);
}

/** @typedef {{ x: number, y: number, w: number, h: number }} Box */

/** The path from one box to another. @param {Box} a @param {Box} b @param {number} height */
function between(a, b, height) {
  const [ax, ay, bx, by] = [a.x + a.w / 2, a.y + a.h / 2, b.x + b.w / 2, b.y + b.h / 2];
  // Back below all the others, side by side, or one above the other.
  if (bx < ax - a.w / 2) {
    const below = Math.min(Math.max(a.y + a.h, b.y + b.h) + (ax - bx > 3 * a.w ? 56 : 30), height - 4);
    return `M${ax},${a.y + a.h}V${below - 14}Q${ax},${below} ${ax - 14},${below}H${bx + 14}Q${bx},${below} ${bx},${below - 14}V${b.y + b.h}`;
  }
  if (Math.abs(ay - by) < 8) return `M${a.x + a.w},${ay}L${b.x},${by}`;
  if (Math.abs(ax - bx) < 8) return by > ay ? `M${ax},${a.y + a.h}L${bx},${b.y}` : `M${ax},${a.y}L${bx},${b.y + b.h}`;
  const [sx, ex] = [a.x + a.w, b.x];
  return `M${sx},${ay}C${(sx + ex) / 2},${ay} ${(sx + ex) / 2},${by} ${ex},${by}`;
}
