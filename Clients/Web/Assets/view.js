// What the page says and shows in each state, and its switches.
import { bindAppearance, storeSettings } from "./settings.js";
import { Speech } from "./speech.js";
import { plain, sentence, turnTo } from "./stage.js";

const find = (selector) => document.querySelector(selector);

const listens = ["connected", "paused", "ended"];
/** States in which something ended that the reader was in the middle of: told at once, not when there is time. */
const urgent = ["refused", "ended", "replaced"];

/** @param {string} who whispers @returns {string | (string | Node)[]} */
function words(state, reason, who) {
  switch (state) {
    case "waiting":
      return reason === "live"
        ? sentence`Waiting for ${who} to let you in.`
        : sentence`Waiting for ${who} to let you in. ${who} is not typing now, so it may take a while.`;
    case "connecting":
      return "Connecting…";
    case "connected":
      return reason === "idle"
        ? sentence`${who} has not begun yet. The text appears here as soon as it is typed.`
        : sentence`Live: you see what ${who} types.`;
    case "paused":
      return sentence`Paused: ${who} is away for a moment. It goes on here by itself.`;
    case "ended":
      return reason === "deleted"
        ? sentence`${who} has deleted this conversation.`
        : sentence`The conversation has ended. If ${who} begins again, it goes on here.`;
    case "refused":
      return refusals(who)[reason] ?? "You cannot listen here.";
    case "replaced":
      return "You are listening in another tab or window now.";
    case "offline":
      return "Can't reach the server. Trying again…";
    case "forgotten":
      return "You're forgotten: the server has erased you, and this browser has no name and keys of yours. Reload the page to start anew.";
    case "notfound":
      return "This link is incomplete or has expired. Ask for a new one.";
    default:
      return refusals(who)[reason] ?? "";
  }
}

const refusals = (who) => ({
  declined: sentence`${who} did not let you in.`,
  passcode: "That is not the passcode.",
  removed: sentence`${who} removed you.`,
  expired: sentence`${who} did not answer.`,
  banned: "This browser may not listen any more.",
  kept: "You aren't forgotten yet. Try again in a minute.",
});

export class View {
  #whisperer = "";
  #title = "Whisper";
  #hasListened = false;

  /** @param {{conversation: string, whisperer: string, admission: string}} info */
  set info({ conversation, whisperer, admission }) {
    this.#whisperer = whisperer;
    this.#title = `${plain(conversation)} · Whisper`;
    document.title = this.#title;
    find("#conversation").textContent = plain(conversation);
    for (const element of document.querySelectorAll("#whisperer, .who")) element.textContent = plain(whisperer);
    find("#passcode-field").hidden = find("#passcode").hidden = admission !== "passcode";
    find("#decides").hidden = admission === "link";
    find("#title").hidden = false;
  }

  set isTranscribed(isTranscribed) {
    find("#transcribed").hidden = !isTranscribed;
    find("#kept-nothing").hidden = isTranscribed;
  }

  /** @param {string} [note] of the whisperer */
  show(state, reason, note) {
    const text = [words(state, reason, this.#whisperer), note ? sentence` “${note}”` : []].flat();
    const isWrong = reason === "passcode";
    const isNew = turnTo(state, text, isWrong || urgent.includes(state), "#title h1", () => {
      if (state === "consent") this.#hasListened = false;
      // Known already, and the field is to be in sight.
      for (const element of document.querySelectorAll("#before, #consent ul")) element.hidden = isWrong;
      this.#hasListened ||= listens.includes(state);
      find("#panel").hidden = find("#listening").hidden ||= !this.#hasListened;
    });
    const first = isWrong ? "#passcode" : find("#returning").hidden ? "#name" : "#continue";
    if (isNew && state === "consent") find(first).focus({ preventScroll: true });
  }

  // MARK: Cues

  /** Somebody who looks at another tab sees the cue in its title. */
  ring() {
    if (!document.hidden) return;
    document.title = `● ${this.#title}`;
    const seen = () => {
      if (document.hidden) return;
      document.title = this.#title;
      document.removeEventListener("visibilitychange", seen);
    };
    document.addEventListener("visibilitychange", seen);
  }

  /** @param {{share: string, secret: string}} transcript */
  offer({ share, secret }) {
    const link = find("#transcript");
    link.href = `/transcript/${share}#${secret}`;
    link.hidden = false;
  }
}

/**
 * Binds the switches to what they change.
 * @param {import("./settings.js").Settings} settings
 * @param {{text: import("./text.js").Text, sounds: import("./sounds.js").Sounds, speech: Speech}} parts
 */
export function bindSettings(settings, { text, sounds, speech }) {
  bindAppearance(settings);
  const apply = () => {
    text.order = settings.order;
    find("#live").ariaLive = settings.announceLive ? "polite" : "off";
    sounds.volume = settings.volume;
    sounds.isTypingHeard = settings.typingSound;
    storeSettings(settings);
  };
  const choose = (selector, name, property = "value") => {
    const control = find(selector);
    control[property] = settings[name];
    control.onchange = () => {
      settings[name] = control[property];
      sounds.allow();
      apply();
    };
  };
  choose("#order", "order");
  choose("#volume", "volume");
  choose("#typing-sound", "typingSound", "checked");
  choose("#announce-live", "announceLive", "checked");
  find("#read-aloud").disabled = !Speech.isPossible;
  find("#read-aloud").onchange = ({ target }) => speech.turn(target.checked);
  apply();
}
