// The listener's page: whose conversation the link names, whether one wants to listen, and then the text.
import { ask, pause } from "./ask.js";
import { toBase64 } from "./bytes.js";
import { isName, openInfo, readLink } from "./crypto.js";
import { forget } from "./forget.js";
import { Guest } from "./guest.js";
import { Listening } from "./listening.js";
import { loadSettings, storeSettings } from "./settings.js";
import { Sounds } from "./sounds.js";
import { Speech } from "./speech.js";
import { plain } from "./stage.js";
import { Text } from "./text.js";
import { bindSettings, View } from "./view.js";

/** The server takes six in a minute. */
const attentionPause = 10_000;

const find = (selector) => document.querySelector(selector);

export async function run() {
  const settings = loadSettings();
  const [view, text, sounds, speech] = [new View(), new Text(), new Sounds(), new Speech()];
  bindSettings(settings, { text, sounds, speech });
  // Another link of the same conversation, pasted over this one.
  addEventListener("hashchange", () => location.reload());

  const link = await readLink(location.pathname, location.hash);
  // Whose conversation it is, without connecting.
  const looked =
    link && (await ask(`/live/${link.id}/look`, { linkProof: toBase64(link.proof) }, () => view.show("offline")));
  const info = looked && (await openInfo(link, looked));
  if (!info) return view.show("notfound");
  view.info = info;
  view.isTranscribed = looked.isTranscribed;

  /** @type {Listening} of whoever has joined last */
  let listening;
  let guest;
  const changed = (state, reason, note) => {
    // Nobody has to start again because of one wrong letter: the form comes back as it was.
    const isWrong = reason === "passcode";
    if (isWrong) state = "consent";
    if (state === "consent") askWho(isWrong);
    view.show(state, reason, note);
  };
  const askWho = bindForm(settings, async (words, isNew, remember) => {
    sounds.allow();
    text.clear();
    if (isNew || !listening) {
      guest = await Guest.ofThisBrowser("guest", isNew);
      listening = new Listening(link, info, guest, {
        changed,
        transcribed: (isTranscribed) => (view.isTranscribed = isTranscribed),
        act: (action) => act(action, { view, text, sounds, speech }),
      });
    }
    // Not before its keys are there: a name must never stand for the keys of somebody else.
    remember();
    listening.begin(words);
  });
  find("#leave").onclick = () => listening.leave();
  find("#forget").onclick = async () => {
    view.show("connecting");
    if (await forget("guest", settings, guest)) view.show("forgotten");
    else changed("consent", "kept");
  };
  find("#use-here").onclick = () => listening.useHere();
  find("#again").onclick = () => changed("consent");
  for (const button of document.querySelectorAll("[data-want]")) button.onclick = () => raise(button, listening);
  changed("consent");
}

/**
 * Several people may use one browser. A permission of one of them is not the next one's.
 * @param {(words: {name: string, passcode?: string}, isNew: boolean, remember: () => void) => void} join
 * @returns {(isSame: boolean) => void} asks who wants to listen; `isSame`: the one of just now, if nobody else
 */
function bindForm(settings, join) {
  const [name, passcode, button, same, other] = ["#name", "#passcode", "#join", "#continue", "#somebody"].map(find);
  const check = () => {
    const isNew = settings.name === "" || other.checked;
    find("#name-field").hidden = name.disabled = !isNew;
    button.disabled = isNew ? !isName(name.value.trim()) : !same.checked;
  };
  name.oninput = same.onchange = other.onchange = check;
  find("#consent form").onsubmit = (event) => {
    event.preventDefault();
    if (button.disabled) return;
    const isNew = !same.checked;
    const words = { name: isNew ? name.value.trim() : settings.name, passcode: passcode.hidden ? undefined : passcode.value };
    join(words, isNew, () => {
      settings.name = words.name;
      storeSettings(settings);
    });
    button.disabled = true;
    passcode.value = "";
  };
  return (isSame) => {
    find("#returning").hidden = settings.name === "";
    find("#before-name").textContent = plain(settings.name);
    [same.checked, other.checked] = [isSame, false];
    name.value = "";
    check();
  };
}

/** Whoever works by keyboard keeps the focus: the buttons stay, and do nothing for a while. */
async function raise(button, listening) {
  if (button.ariaDisabled === "true" || !listening.attention(button.dataset.want)) return;
  const buttons = document.querySelectorAll("[data-want]");
  for (const other of buttons) other.ariaDisabled = "true";
  button.dataset.sent = "";
  await pause(attentionPause);
  delete button.dataset.sent;
  for (const other of buttons) other.ariaDisabled = "false";
}

/** @param {import("./machine.js").Action} action */
function act(action, { view, text, sounds, speech }) {
  switch (action.do) {
    case "began":
      text.began();
      speech.began();
      break;
    case "text":
      text.live = action.text;
      if (action.text !== "") sounds.typed();
      break;
    case "line":
      text.line(action.number, action.text);
      speech.line(action.number, action.text);
      sounds.completedLine();
      break;
    case "missing":
      text.missing(action.from, action.to);
      break;
    case "cue":
      if (action.cue.sound !== undefined) {
        sounds.cue(action.cue.sound);
        view.ring();
      }
      if (action.cue.say !== undefined) speech.say(action.cue.say);
      if (action.cue.share !== undefined) view.offer(action.cue);
      break;
  }
}
