// First run: server, twelve words and their check, or an identity that comes back.
import { rpc } from "./door.js";
import { protect } from "./lock.js";
import { words } from "./text.js";
import { button, el, field, form, page } from "./view.js";

const asked = 3;

/** @param {() => void} done there is an identity */
export function chooseServer(state, done) {
  const { box, input, refuse } = field(words.serverField, { required: true, placeholder: "chat.example", inputmode: "url" });
  form(words.server, [el("p", {}, words.serverHint), box], words.next, async () => {
    let address;
    try {
      address = await rpc("server_check", { url: input.value.trim() });
    } catch (error) {
      return refuse(error.message);
    }
    if (!address.answers) return refuse(words.serverSilent);
    await rpc("server_set", { url: address.url });
    welcome({ ...state, server: address.url }, done);
  });
  input.focus();
}

export function welcome(state, done) {
  page(
    el("h1", {}, words.welcome), el("p", {}, words.welcomeText),
    el("p", { class: "hint" }, `${words.serverName}: ${state.server}`),
    el("div", { class: "buttons" },
      button(words.isNew, () => newWords(state, done), { class: "main", id: "new" }),
      button(words.hasWords, () => restore(state, done), { id: "restore" })));
}

// Somebody new. The words are drawn first, and become an identity when they were checked: a reload in the middle loses nothing.

async function newWords(state, done) {
  const phrase = (await rpc("words_draw")).words.split(" ");
  showWords(phrase, state, done);
}

function showWords(phrase, state, done) {
  const list = el("ol", { class: "words", "data-hidden": true }, phrase.map((word) => el("li", {}, el("span", {}, word))));
  const reveal = button(words.show, () => {
    list.toggleAttribute("data-hidden");
    list.querySelectorAll("span").forEach((span) => span.removeAttribute("aria-hidden"));
    reveal.remove();
    list.tabIndex = -1;
    list.focus();
  }, { id: "show" });
  for (const span of list.querySelectorAll("span")) span.setAttribute("aria-hidden", "true");
  page(
    el("h1", {}, words.yourWords), el("p", { class: "care" }, words.aboutWords), list,
    el("div", { class: "buttons" },
      reveal, button(words.print, () => print()),
      button(words.written, () => checkWords(phrase, state, done), { class: "main", id: "written" }),
      button(words.back, () => welcome(state, done))));
}

function checkWords(phrase, state, done) {
  const places = phrase.map((_, place) => place).sort(() => Math.random() - 0.5).slice(0, asked).sort((a, b) => a - b);
  const fields = places.map((place) => field(words.word(place + 1), { "data-place": place + 1, autocapitalize: "none", required: true }));
  const body = [el("p", {}, words.checkText(places.map((place) => place + 1))), el("div", { class: "fields" }, fields.map(({ box }) => box))];
  const again = button(words.seeAgain, () => showWords(phrase, state, done), { id: "again" });
  form(words.check, body, words.next, async () => {
    const wrong = fields.find(({ input }, index) => input.value.trim().toLowerCase() !== phrase[places[index]]);
    if (wrong) return wrong.refuse(words.wrongWord);
    return protect(state, () => become(phrase.join(" "), done));
  }, again);
  fields[0].input.focus();
}

async function become(phrase, done) {
  await rpc("identity_restore", { words: phrase });
  done();
}

// Somebody who comes back.

function restore(state, done) {
  const list = el("datalist", { id: "words" });
  const fields = Array.from({ length: 12 }, (_, place) =>
    field(words.word(place + 1), { "data-place": place + 1, autocapitalize: "none", list: "words", required: true }));
  fields.forEach(({ input }) => {
    input.addEventListener("input", () => complete(input, list));
    input.addEventListener("paste", (event) => {
      const pasted = event.clipboardData.getData("text").trim().split(/\s+/);
      if (pasted.length !== 12) return;
      event.preventDefault();
      fields.forEach((each, place) => { each.input.value = pasted[place]; });
      fields[11].input.focus();
    });
  });
  const body = [
    el("p", { class: "care" }, words.aboutRestore), el("p", { class: "hint" }, words.restorePaste),
    el("div", { class: "fields" }, fields.map(({ box }) => box)), list,
  ];
  form(words.restore, body, words.bringBack, async () => {
    const phrase = fields.map(({ input }) => input.value.trim()).join(" ");
    const check = await rpc("words_check", { words: phrase });
    if (check.unknown.length > 0) return fields[check.unknown[0] - 1]?.refuse(words.unknownWord);
    if (!check.isPhrase) return fields[11].refuse(words.notTogether);
    return protect(state, () => become(phrase, done));
  }, button(words.back, () => welcome(state, done)));
  fields[0].input.focus();
}

async function complete(input, list) {
  const prefix = input.value.trim();
  if (prefix.length < 2 || prefix.length > 8) return list.replaceChildren();
  const found = await rpc("words_find", { prefix });
  list.replaceChildren(...found.words.map((word) => el("option", { value: word })));
}
