// The states of a page: what is seen in each, and the words about it.

const main = document.querySelector("main");
const status = document.querySelector("#status");

/**
 * Words of somebody else, for the midst of a sentence: they change the direction of nothing around them. An element isolates
 * them, unless a character in them ends that: those are left out.
 */
export function foreign(text) {
  const element = document.createElement("bdi");
  element.textContent = plain(text);
  return element;
}

export const plain = (text) => text.replace(/\p{Bidi_Control}/gu, "");

/** A sentence, with words of somebody else in it. @returns {(string | HTMLElement)[]} */
export const sentence = (strings, ...words) =>
  strings.flatMap((string, at) => (at < words.length ? [string, foreign(words[at])] : [string]));

/** @param {Element} element @param {string | (string | Node)[]} text */
export function put(element, text) {
  const parts = [text].flat();
  if (element.textContent !== parts.map((part) => part.textContent ?? part).join("")) element.replaceChildren(...parts);
}

/**
 * @param {string} state shows what `data-in` names it
 * @param {string | (string | Node)[]} text
 * @param {boolean} isUrgent told at once to people who hear the page, not when there is time
 * @param {string} refuge gets the focus if what had it has gone: who works by keyboard would be nowhere
 * @param {() => void} [also] changes what is seen besides
 * @returns {boolean} whether the state is another one
 */
export function turnTo(state, text, isUrgent, refuge, also) {
  const isNew = main.dataset.state !== state;
  const focus = document.activeElement;
  main.dataset.state = state;
  for (const element of document.querySelectorAll("[data-in]")) {
    element.hidden = !element.dataset.in.split(" ").includes(state);
  }
  also?.();
  status.ariaLive = isUrgent ? "assertive" : "polite";
  put(status, text);
  if (isNew && focus && focus !== document.body && !focus.checkVisibility()) document.querySelector(refuge).focus();
  return isNew;
}
