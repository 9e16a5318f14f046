// Annotation: the projects, what an annotator sees of an item, and what they say of it.

import { element } from "../../../soliloquy/web/element.js";
import { call } from "./api.js";
import { projectForm } from "./annotate-form.js";
import { shownItem } from "./annotate-item.js";
import { questionForm } from "./annotate-questions.js";
import { maySteer } from "./session.js";
import { terms } from "./terms.js";
import { button, facts, heading, messageOf, nothing, toast } from "./widgets.js";

/** @import { AnnotationItem, AnnotationProject, Dispute } from "./contract.d.ts" */

const PATH = "/v1/annotation/projects";
const BACK = { href: "#/annotate", text: "All projects" };
const NOTE = "You see an item and a few questions about it. Nobody sees what others have said, and you may take your last answer back.";

/** @param {HTMLElement} main @param {string[]} path */
export async function annotate(main, [id, part]) {
  try {
    if (!id) return projects(main, (await call("GET", PATH)).projects);
    const project = await call("GET", `${PATH}/${encodeURIComponent(id)}`);
    return part === "disputes" ? disputes(main, project) : annotating(main, project);
  } catch (error) {
    main.append(heading("Annotate", id ? { back: BACK } : {}), nothing(messageOf(error)));
    return null;
  }
}

/** @param {HTMLElement} main @param {AnnotationProject[]} all */
function projects(main, all) {
  const list = element("ul", { class: "projects" }, all.map((one) => element("li", { class: "card" },
    element("h2", null, element("a", { href: `#/annotate/${one.id}` }, one.name)),
    facts(one.scheme.title, `${one.complete} of ${one.items} complete`, `${one.own} by you`),
    maySteer() ? element("p", { class: "tools" },
      element("a", { href: `#/annotate/${one.id}/disputes` }, "Decide disputes"),
      button("Download annotations", {}, () => download(one))) : null)));
  main.append(heading("Annotate", { note: NOTE }), all.length ? list : nothing("There is no project yet."));
  if (maySteer()) main.append(projectForm((project) => (location.hash = `#/annotate/${project.id}`)));
  return null;
}

/** Saves the annotations as lines of JSON, as `soliloquy annotations agreement` reads them. @param {AnnotationProject} project */
async function download(project) {
  const { annotations } = await call("GET", `${PATH}/${project.id}/annotations`);
  const lines = annotations.map((/** @type {unknown} */ one) => `${JSON.stringify(one)}\n`);
  const href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
  element("a", { href, download: `${project.name}.jsonl` }).click();
  URL.revokeObjectURL(href);
}

/** @param {HTMLElement} main @param {AnnotationProject} project */
async function annotating(main, project) {
  const path = `${PATH}/${encodeURIComponent(project.id)}`;
  main.append(heading(project.name, { back: BACK, note: project.scheme.guide }));
  if (!project.consented) {
    main.append(terms(project, path));
    return null;
  }
  const place = element("div", { class: "annotating" });
  main.append(place);
  let leave = () => {};

  const show = (/** @type {AnnotationItem} */ item) => {
    leave();
    if (!item.item) {
      leave = () => {};
      place.replaceChildren(nothing("Nothing is left for you here: thank you."), undo());
      return;
    }
    const kept = { project: project.id, scheme: project.scheme, item: item.item, values: item.values };
    const { form, stop } = questionForm(kept, async (values, seconds) => {
      show(await call("POST", `${path}/annotations`, { item: item.item, values, seconds }));
    });
    leave = stop;
    const count = element("p", { class: "counted", role: "status" }, `${item.own + 1} of ${item.items}`);
    place.replaceChildren(count, shownItem(item.shown), form, undo());
    scrollTo(0, 0);
    form.focus({ preventScroll: true });
  };
  const undo = () => button("Take my last answer back", { kind: "quiet undo" }, async () => {
    const item = await call("POST", `${path}/undo`, {});
    if (item.item) show(item);
    else toast("There is no answer to take back.");
  });

  show(await call("POST", `${path}/next`, {}));
  return () => leave();
}

/** @param {HTMLElement} main @param {AnnotationProject} project */
async function disputes(main, project) {
  const path = `${PATH}/${encodeURIComponent(project.id)}`;
  const place = element("div", { class: "annotating" });
  main.append(heading(`${project.name}: disputes`, { back: BACK, note: "Items whose annotators disagree. What you decide counts." }), place);
  let leave = () => {};

  const show = (/** @type {Dispute} */ dispute) => {
    leave();
    if (!dispute.item) {
      leave = () => {};
      place.replaceChildren(nothing("No item is disputed."));
      return;
    }
    const kept = { project: `${project.id}/disputes`, scheme: project.scheme, item: dispute.item, values: {} };
    const { form, stop } = questionForm(kept, async (values, seconds) => {
      show(await call("POST", `${path}/decisions`, { item: dispute.item, values, seconds }));
    }, dispute.given);
    leave = stop;
    place.replaceChildren(element("p", { class: "counted", role: "status" }, `${dispute.left} left`), shownItem(dispute.shown), form);
    scrollTo(0, 0);
    form.focus({ preventScroll: true });
  };

  show(await call("GET", `${path}/disputed`));
  return () => leave();
}

