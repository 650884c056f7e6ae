// What one can do with a message: a menu, and its keys.
import { rpc } from "./door.js";
import { wholeTime, words } from "./text.js";
import { bdi, button, dialog, el, say } from "./view.js";

const reactions = ["👍", "❤️", "😂", "😮", "😢", "🙏"];

const isText = (message) => message.kind === "text";
const isOwn = (message) => message.direction === "out";

/**
 * @typedef {object} Orders
 * @property {(message: any) => void} reply
 * @property {(message: any) => void} edit
 * @property {string} me
 * @property {import("./model.js").Model} model
 * @property {(error: Error) => void} refuse
 * @property {boolean} isClosed nothing can be written in this chat now
 */

/** The orders for a message, by their keys. @param {any} message @param {string} chat @param {Orders} orders */
function choices(message, chat, orders) {
  const { reply, edit, refuse, model, isClosed } = orders;
  const done = (promise) => promise.catch(refuse);
  const own = !isClosed && isOwn(message) && !["failed", "expired"].includes(message.state);
  return [
    !isClosed && isText(message) && { key: "r", label: words.reply, act: () => reply(message) },
    !isClosed && isText(message) && { key: "+", label: words.react, act: () => open(message, chat, orders) },
    own && isText(message) && !message.attachment && !message.poll && { key: "e", label: words.edit, act: () => edit(message) },
    isText(message) && { key: "c", label: words.copy, act: () => done(navigator.clipboard.writeText(message.text).then(() => say(words.copied))) },
    { key: "i", label: words.info, act: () => done(info(message, model)) },
    !isOwn(message) && { key: "!", label: words.reportThis, act: async () => (await import("./about.js")).report(model, message.chat, message.messageId) },
    own && isText(message) && { key: "Delete", label: words.remove, act: () => done(rpc("message_delete", { messageId: message.messageId })) },
  ].filter(Boolean);
}

/** @returns {boolean} whether the key was an order */
export function key(event, message, chat, orders) {
  if (event.key === "Enter" || event.key === "F10" && event.shiftKey || event.key === "ContextMenu") {
    open(message, chat, orders);
    return true;
  }
  const choice = choices(message, chat, orders).find((each) => each.key.toLowerCase() === event.key.toLowerCase());
  choice?.act();
  return Boolean(choice);
}

/** Shows the menu. */
export function open(message, chat, orders) {
  const { refuse } = orders;
  const own = message.reactions?.find(({ from }) => from === orders.me)?.reaction;
  const react = (reaction) => {
    shown.close();
    const from = isOwn(message) ? orders.me : message.chat;
    rpc("message_react", { chat, messageId: message.messageId, from, reaction: reaction === own ? "" : reaction }).catch(refuse);
  };
  const row = !orders.isClosed && isText(message) && el("div", { class: "buttons", role: "group", "aria-label": words.react },
    reactions.map((reaction) => button(reaction, () => react(reaction), { class: "reaction", "aria-pressed": String(reaction === own) })));
  const list = choices(message, chat, orders).filter(({ key: name }) => name !== "+").map(({ label, act }) => button(label, () => {
    shown.close();
    act();
  }));
  const shown = dialog(words.message, row, el("div", { class: "menu" }, list));
}

/** How a message stands: one of ours to a group for each member. */
async function info({ messageId, chat, direction }, model) {
  const { message, members = [] } = await rpc("message_info", { messageId, ...(direction === "in" && { from: chat }) });
  const state = (one) => [words.states[one.state]?.[1], words.reasons[one.reason]].filter(Boolean).join(": ");
  const goes = message.expiresAt && wholeTime(message.expiresAt);
  const facts = [[words.writtenAt, wholeTime(message.time)], [words.state, state(message)], [words.disappears, goes], [words.messageId, messageId]];
  const list = (all) => el("dl", {}, all.filter(([, value]) => value).map(([name, value]) => el("div", {}, el("dt", {}, bdi(name)), el("dd", {}, value))));
  dialog(words.info, list(facts), members.length > 0 && [el("h3", {}, words.members(members.length + 1)), list(members.map((each) => [model.nameOf(each.whisperId), state(each)]))]);
}
