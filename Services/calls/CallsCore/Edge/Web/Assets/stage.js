// The states of a page: what is seen in each, and the words about it.

const main = document.querySelector("main");
const status = document.querySelector("#status");

/**
 * @param {string} state shows what `data-in` names it
 * @param {string} text
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
  if (status.textContent !== text) status.textContent = text;
  if (isNew && focus && focus !== document.body && !focus.checkVisibility()) document.querySelector(refuge).focus();
  return isNew;
}
