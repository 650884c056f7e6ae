// Elements, lists that stay in step with what they show, and words for screen readers.

export const signs = {
  attach: "m13 6-6 6a2 2 0 0 0 3 3l6-6a4 4 0 0 0-6-6L4 9a5 5 0 0 0 7 8", mic: "M10 3a2 2 0 0 1 2 2v4a2 2 0 0 1-4 0V5a2 2 0 0 1 2-2ZM5 9a5 5 0 0 0 10 0M10 14v3",
  back: "M12 4 6 10l6 6", add: "M10 4v12M4 10h12", send: "M3 10h12M10 5l5 5-5 5", down: "M10 4v11M5 10l5 5 5-5",
  more: "M5 10h.01M10 10h.01M15 10h.01", close: "M5 5l10 10M15 5 5 15", phone: "M5 3h3l1 4-2 1a9 9 0 0 0 5 5l1-2 4 1v3a2 2 0 0 1-2 2A12 12 0 0 1 3 5a2 2 0 0 1 2-2Z", video: "M3 6h9v8H3ZM12 9l5-3v8l-5-3", people: "M10 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 17a6 6 0 0 1 12 0",
};
const svg = "http://www.w3.org/2000/svg";

/** @param {keyof typeof signs} name */
export function icon(name) {
  const element = document.createElementNS(svg, "svg");
  element.setAttribute("viewBox", "0 0 20 20");
  element.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg, "path");
  path.setAttribute("d", signs[name]);
  element.append(path);
  return element;
}

/**
 * An element. A function is a listener, `true` an attribute without a value, and `false`, `null` or nothing is left out.
 * @param {string} tag @param {Record<string, unknown>} [props] @param {...(Node | string | null | false | undefined | any[])} children
 */
export function el(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else set(element, name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return element;
}

/** Sets an attribute if it is another one. */
export function set(element, name, value) {
  if (value === null || value === undefined || value === false) return element.removeAttribute(name);
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** A button with a sign, and a name for those who do not see it. */
export const signButton = (sign, name, click, props = {}) =>
  el("button", { type: "button", class: "sign", "aria-label": name, title: name, click, ...props }, icon(sign));

export const button = (words, click, props = {}) => el("button", { type: "button", click, ...props }, words);

/** Another person's words in a sentence of ours keep their direction to themselves. */
export const bdi = (text) => el("bdi", {}, text);

/** A sentence with `{names}` in it, as nodes. @param {string} text @param {Record<string, string>} names */
export const sentence = (text, names) =>
  text.split(/(\{\w+\})/).map((part) => (part.startsWith("{") ? bdi(names[part.slice(1, -1)] ?? "") : part));

/** Puts a sentence there, if it is another one. Screen readers are told of changes alone. */
export function write(element, text, names = {}) {
  const look = JSON.stringify([text, names]);
  if (element.look === look) return;
  element.look = look;
  element.replaceChildren(...sentence(text, names));
}

/**
 * Brings the children in step with items: what stays keeps its element, and the focus.
 * @template T
 * @param {Element} parent @param {T[]} items @param {(item: T) => string} keyOf
 * @param {(item: T) => Element} make @param {(element: any, item: T) => void} [update]
 */
export function keyed(parent, items, keyOf, make, update = () => {}) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let element = old.get(key);
    old.delete(key);
    if (!element) {
      element = make(item);
      element.dataset.key = key;
    }
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  for (const element of old.values()) element.remove();
}

const waiting = new Set();

/** Draws in the next frame, once. @param {() => void} drawing always the same function */
export function draw(drawing) {
  if (waiting.size === 0) {
    const run = () => {
      if (waiting.size === 0) return;
      const drawings = [...waiting];
      waiting.clear();
      for (const each of drawings) each();
    };
    // A hidden window has no frames, and may be hidden before the next one.
    requestAnimationFrame(run);
    setTimeout(run, document.hidden ? 50 : 1_000);
  }
  waiting.add(drawing);
}

/** Says something to a screen reader, when there is time. */
export const say = (text) => tell("polite", text);
/** The same at once. */
export const alarm = (text) => tell("urgent", text);

function tell(place, text) {
  const line = el("p", {}, text);
  document.getElementById(place).append(line);
  setTimeout(() => line.remove(), 5_000);
}

/** Shows a page in place of everything. The heading gets the focus. */
export function page(...children) {
  const main = el("main", { class: "page" }, ...children);
  document.getElementById("app").replaceChildren(main);
  const heading = main.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus();
  }
  return main;
}

/** A labelled field with room for a fault. */
export function field(label, props = {}, hint = "") {
  const id = `f${(fields += 1)}`;
  const input = el(props.rows ? "textarea" : "input", { id, autocomplete: "off", spellcheck: "false", ...props });
  const fault = el("p", { id: `${id}f`, class: "fault", role: "alert" });
  const note = hint && el("p", { id: `${id}h`, class: "hint" }, hint);
  input.setAttribute("aria-describedby", `${hint ? `${id}h ` : ""}${id}f`);
  const box = el("div", { class: "field" }, el("label", { for: id }, label), note, input, fault);
  const refuse = (words) => {
    fault.replaceChildren(words);
    set(input, "aria-invalid", words ? "true" : null);
    if (words) input.focus();
  };
  input.addEventListener("input", () => refuse(""));
  return { box, input, refuse };
}

let fields = 0;

/** A page with one thing to do. */
export function form(title, body, label, submit, ...more) {
  const go = el("button", { class: "main", id: "go" }, label);
  const fault = el("p", { class: "fault", role: "alert" });
  const element = el("form", {
    novalidate: true,
    submit: async (event) => {
      event.preventDefault();
      if (go.getAttribute("aria-disabled")) return;
      go.setAttribute("aria-disabled", "true");
      fault.replaceChildren();
      try {
        await submit();
      } catch (error) {
        fault.replaceChildren(error.message);
      }
      go.removeAttribute("aria-disabled");
    },
  }, ...body, fault, el("div", { class: "buttons" }, go, ...more));
  page(el("h1", {}, title), element);
}

/**
 * A dialog. It goes with Escape, and the focus returns to where it was.
 * @param {string} title @param {...any} children
 */
export function dialog(title, ...children) {
  const id = `f${(fields += 1)}`;
  const close = () => element.close();
  const element = el(
    "dialog", { "aria-labelledby": id, close: () => {
      element.remove();
      // Something else has the focus already.
      if (![before, document.body].includes(document.activeElement)) return;
      // Chromium gives a text its focus back, and not its caret.
      before?.blur?.();
      before?.focus?.();
    } },
    el("header", {}, el("h2", { id }, title), signButton("close", "Close", close)), children);
  const before = document.activeElement;
  document.body.append(element);
  element.showModal();
  return { element, close };
}
