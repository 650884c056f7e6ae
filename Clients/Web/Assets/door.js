// A link that Whisper opens (contract §20.6, §20.8), for people who have it in a browser. Nothing of it is sent anywhere.

import { picture } from "./qr.js";

const find = (selector) => document.querySelector(selector);
const { page } = find("main").dataset;
// The link is shown inside of a command: these characters mean nothing to a shell.
const forms = {
  add: /^(?<person>WSP(?:-[A-Z2-7]{4}){3})&(?:[\w.~%=-]+&)*f=[\w-]{22}(?:&[\w.~%=-]+)*$/u,
  invite: /^[\w-]{22}(?:&[\w.~%=-]+)*$/u,
};

function give(state, text) {
  find("main").dataset.state = state;
  find("#status").textContent = text;
}

/** The name in the link, without marks that a screen obeys or does not show. */
function nameIn(fragment) {
  try {
    const written = decodeURIComponent(/&n=([^&]*)/u.exec(fragment)?.[1] ?? "");
    return [...written.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")].slice(0, 64).join("").trim();
  } catch {
    return "";
  }
}

async function copy(link) {
  try {
    await navigator.clipboard.writeText(link);
    give("ready", "The link is copied.");
  } catch {
    find("#link").select();
    give("ready", "Copy the marked link yourself: this browser does not let the page do it.");
  }
}

function show() {
  const fragment = location.hash.slice(1);
  const parts = forms[page].exec(fragment);
  find("#server").textContent = location.host;
  find("#door").hidden = !parts;
  if (!parts) return give("refused", "This link is incomplete. Copy all of it, or ask for a new one.");
  give("ready", "");
  const link = `${location.origin}/${page}#${fragment}`;
  find("#link").value = link;
  find("#copy").onclick = () => copy(link);
  find("#command").textContent = `whisper ${page === "add" ? "add" : "init --invitation"} '${link}'`;
  find("#code").replaceChildren(picture(link) ?? "");
  if (page !== "add") return;
  find("#person").textContent = parts.groups.person;
  find("#name").textContent = nameIn(fragment);
  find("#named").hidden = !nameIn(fragment);
}

addEventListener("hashchange", show);
show();
