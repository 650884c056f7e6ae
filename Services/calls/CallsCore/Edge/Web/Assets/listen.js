// The listener's page: whose conversation the link names, whether one wants to listen, and then the text.
import { ask, pause } from "./ask.js";
import { toBase64 } from "./bytes.js";
import { isName, openInfo, readLink } from "./crypto.js";
import { Guest } from "./guest.js";
import { Listening } from "./listening.js";
import { loadSettings, storeSettings } from "./settings.js";
import { Sounds } from "./sounds.js";
import { Speech } from "./speech.js";
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

  const listening = new Listening(link, info, await Guest.ofThisBrowser(), {
    changed: (state, reason, note) => view.show(state, reason, note),
    transcribed: (isTranscribed) => (view.isTranscribed = isTranscribed),
    act: (action) => act(action, { view, text, sounds, speech }),
  });
  bindForm(settings, { listening, text, sounds });
  find("#leave").onclick = () => listening.leave();
  find("#use-here").onclick = () => listening.useHere();
  find("#again").onclick = () => view.show("consent");
  for (const button of document.querySelectorAll("[data-want]")) button.onclick = () => raise(button, listening);
  view.show("consent");
}

function bindForm(settings, { listening, text, sounds }) {
  const [form, name, passcode, join] = [find("#consent form"), find("#name"), find("#passcode"), find("#join")];
  const check = () => (join.disabled = !isName(name.value.trim()));
  name.value = settings.name;
  name.oninput = check;
  check();
  form.onsubmit = (event) => {
    event.preventDefault();
    if (join.disabled) return;
    settings.name = name.value.trim();
    storeSettings(settings);
    sounds.allow();
    text.clear();
    listening.begin({ name: settings.name, passcode: passcode.hidden ? undefined : passcode.value });
    passcode.value = "";
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
