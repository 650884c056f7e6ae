// A person and what is between us: name, safety number, timer, peace and quiet, and the end of it. Loaded with the first of them.
import { choice, myID, personIn, toggle } from "./dialogs.js";
import { ask, rpc } from "./door.js";
import { twice } from "./groups.js";
import { timeSpan, words } from "./text.js";
import { button, dialog, el, field, say, sentence } from "./view.js";

const times = [0, 300, 3_600, 86_400, 604_800, 2_419_200];

/** What every chat has. @param {import("./model.js").Model} model @param {boolean} mayTime who may set the timer */
export function chatParts(model, chat, mayTime = true) {
  const row = model.row(chat) ?? model.contacts.get(chat) ?? {};
  const fault = el("p", { class: "fault", role: "alert" });
  const done = (promise) => promise.then(() => model.readList(), (error) => {
    fault.replaceChildren(error.message);
    throw error;
  });
  const now = model.open?.chat === chat ? model.open.timer : 0;
  const options = [...new Set([...times, now])].sort((a, b) => a - b).map((seconds) => [String(seconds), seconds ? timeSpan(seconds) : words.timerOff]);
  return [
    toggle(words.pin, row.isPinned, (pinned) => done(rpc("chat_mark", { chat, pinned }))),
    toggle(words.mute, row.isMuted, (muted) => done(rpc("chat_mark", { chat, muted }))),
    mayTime && choice(words.timer, options, String(now), (seconds) => done(rpc("chat_timer", { chat, seconds: Number(seconds) })), { id: "timer" }),
    mayTime && el("p", { class: "hint" }, words.timerHint),
    fault,
    button(words.newPoll, async () => (await import("./polls.js")).ask(chat, () => (model.open?.chat === chat ? model.open.wrote() : model.readList())), { id: "new-poll" }),
  ];
}

/** Takes the messages of a chat away here. */
export const clearButton = (model, chat, done) => twice(words.clear, words.clearSure, async () => {
  await rpc("chat_clear", { chat });
  done();
  if (model.open?.chat === chat) await model.open.readEnd();
  await model.readList();
});

/** @param {import("./model.js").Model} model @param {() => void} left */
export async function person(model, whisperId, left) {
  const name = model.nameOf(whisperId);
  const contact = model.contacts.get(whisperId);
  if (!contact) return removed(model, whisperId);
  const { number } = await rpc("contact_safety", { whisperId });
  const called = field(words.theirName, { maxlength: 200, name: "name", value: contact.name ?? "" });
  const rename = async (event) => {
    event.preventDefault();
    try {
      await rpc("contact_update", { whisperId, name: called.input.value.trim() });
      await model.readList();
      say(words.saved);
      saved.replaceChildren(words.saved);
    } catch (error) {
      called.refuse(error.message);
    }
  };
  const saved = el("button", { id: "rename" }, words.rename);
  const isVerified = () => Boolean(model.contacts.get(whisperId)?.isVerified);
  const match = button("", async () => {
    await rpc("contact_verify", { whisperId, isVerified: !isVerified() });
    await drawMatch();
  });
  const verified = el("p", { class: "mark", hidden: true }, `✓ ${words.verified}`);
  const drawMatch = async (reads = true) => {
    if (reads) await model.readList();
    verified.hidden = !isVerified();
    match.replaceChildren(isVerified() ? words.noMatch : words.match);
  };
  drawMatch(false);
  const scanTheirs = async () => (await import("./codes.js")).scan(words.scanHint, async (text, source) => {
    const link = await personIn(text);
    if (link.whisperId !== whisperId) return link.whisperId ? words.otherPerson : link;
    await ask("contact_add", { link: text, source });
    await drawMatch();
    if (source === "link") return words.pictureVouches;
    say(words.reallyThem(name));
  });
  const end = (verb) => async () => {
    await rpc(verb, { whisperId });
    shown.close();
    if (verb === "contact_remove") left();
    await model.readList();
  };
  const shown = dialog(
    words.about(name), el("p", { class: "code" }, whisperId),
    el("form", { class: "beside", novalidate: true, submit: rename }, called.box, saved),
    el("h3", {}, ...sentence(words.safetyTitle, { name })),
    el("p", { class: "code number" }, number.split(" ").map((group) => [el("span", {}, group), " "])), el("p", { class: "hint" }, words.safety), verified,
    el("div", { class: "buttons" }, match, button(words.scan, scanTheirs, { id: "scan" }), button(words.myCode, () => myID(model))),
    ...chatParts(model, whisperId),
    el("div", { class: "buttons" },
      clearButton(model, whisperId, () => shown.close()),
      contact.isBlocked ? button(words.unblock, end("contact_unblock")) : twice(words.block, words.blockSure, end("contact_block"), { id: "block" }),
      button(words.report, () => report(model, whisperId), { id: "report" }),
      twice(words.removePerson, words.removeSure, end("contact_remove"), { id: "remove" })));
}

/** A chat whose person was removed: its messages stay. */
function removed(model, whisperId) {
  const shown = dialog(
    words.about(whisperId), el("p", {}, words.notAContact), el("div", { class: "buttons" },
      button(words.add, () => ask("contact_add", { whisperId }).then(() => model.readList(), (error) => say(error.message)).finally(() => shown.close())),
      clearButton(model, whisperId, () => shown.close()), button(words.report, () => report(model, whisperId))));
}

/**
 * A report to the operators. They see what stands in it, and no text of a message.
 * @param {string} [messageId] of a message of theirs, as evidence @param {() => Promise<any>} [first] what is done before
 */
export function report(model, whisperId, messageId, first) {
  const note = field(words.reportNote, { rows: 3, maxlength: 1000, name: "note" }, words.reportHint);
  const send = el("button", { class: "main", id: "send-report" }, words.report);
  let reason = "spam";
  const submit = async (event) => {
    event.preventDefault();
    if (send.getAttribute("aria-disabled")) return;
    send.setAttribute("aria-disabled", "true");
    const said = note.input.value.trim();
    const wish = { whisperId, reason, ...(said ? { note: said } : {}) };
    try {
      await first?.();
      await ask("report_send", messageId ? { ...wish, messageId } : wish).catch((error) => {
        // Its author may have deleted it meanwhile.
        if (!messageId || error.code !== "notFound") throw error;
        return ask("report_send", wish);
      });
      shown.close();
      say(words.reported);
      dialog(words.reported, el("p", {}, words.reportedText));
    } catch (error) {
      send.removeAttribute("aria-disabled");
      note.refuse({ offline: words.reportOffline, unreachable: words.reportOffline }[error.code] ?? error.message);
    }
  };
  const shown = dialog(
    words.reportTitle(model.nameOf(whisperId)), el("form", { novalidate: true, submit }, el("p", {}, messageId ? words.reportMessage : words.reportPerson),
      choice(words.reason, Object.entries(words.reportReasons), reason, (value) => { reason = value; }, { id: "reason" }), note.box,
      el("div", { class: "buttons" }, send)));
}
