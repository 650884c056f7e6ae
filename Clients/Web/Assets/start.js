// Starts the page, or says why it cannot. Old browsers read this file, too: nothing newer than modules in it.

/** While processes of two releases answer, files of this page may be missing for some seconds. */
const reloadsMax = 5;
const counter = "whisper.reloads";

const pages = {
    listen: () => import("./listen.js"), join: () => import("./join.js"), transcript: () => import("./transcript.js"),
};
const main = document.querySelector("main");

function give(state, text) {
  main.dataset.state = state;
  document.querySelector("#status").textContent = text;
}

/** Ed25519 and X25519 are the youngest of what the page needs. */
async function isSupported() {
  try {
    if (!String.prototype.isWellFormed) return false;
    await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    await crypto.subtle.generateKey("X25519", false, ["deriveBits"]);
    return true;
  } catch (error) {
    return false;
  }
}

function loadAgain() {
  const count = Number(sessionStorage.getItem(counter)) + 1;
  if (count > reloadsMax) return give("offline", "This page could not be loaded completely. Load it again in a minute.");
  sessionStorage.setItem(counter, String(count));
  setTimeout(() => location.reload(), 500 * 2 ** count);
}

isSupported().then((supported) => {
  if (!supported) {
    const needs = "Firefox 130, Safari 17.2, Chrome or Edge 137, or any later version of them";
    const where = window.isSecureContext ? "" : " The page must also be loaded over https.";
    return give("unsupported", `This browser lacks the encryption that this page needs. Use ${needs}.${where}`);
  }
  return pages[main.dataset.page]().then((page) => {
    sessionStorage.removeItem(counter);
    page.run();
  }, loadAgain);
});
