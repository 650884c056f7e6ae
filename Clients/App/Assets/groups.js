// Dialogs of groups: a new one, and who is in one. Loaded when the first of them is opened.
import { ask, rpc } from "./door.js";
import { words } from "./text.js";
import { bdi, button, dialog, el, field, say } from "./view.js";

/** Contacts to choose from. @returns {{box: Element, chosen: () => string[]}} */
function people(contacts) {
  const rows = contacts.map(({ whisperId, name }) => [whisperId, el("input", { type: "checkbox", value: whisperId }), name ?? whisperId]);
  return {
    box: el("fieldset", {}, el("legend", {}, words.groupPeople), rows.map(([, input, name]) => el("label", { class: "row" }, bdi(name), input))),
    chosen: () => rows.filter(([, input]) => input.checked).map(([whisperId]) => whisperId),
  };
}

/** A button that asks once more before it does what cannot be taken back. */
export function twice(label, sure, act, props = {}) {
  const first = button(label, () => {
    // A double click, or a key that is held, is no second word.
    const second = button(sure, ({ detail }) => detail < 2 && Promise.resolve(act()).catch((error) => say(error.message)), {
      class: "loud", blur: () => second.replaceWith(first), keydown: (event) => event.repeat && event.preventDefault(),
    });
    first.replaceWith(second);
    second.focus();
  }, props);
  return first;
}

const friends = (model) => [...model.contacts.values()].filter(({ isStranger, isBlocked }) => !isStranger && !isBlocked);

/** @param {import("./model.js").Model} model @param {(chat: string) => void} done */
export function addGroup(model, done) {
  const title = field(words.groupTitle, { required: true, maxlength: 64, name: "title" });
  const { box, chosen } = people(friends(model));
  const submit = async (event) => {
    event.preventDefault();
    try {
      const { group: made } = await ask("group_create", { title: title.input.value.trim(), members: chosen() });
      const isHere = shown.element.open;
      shown.close();
      if (isHere) done(made.groupId);
    } catch (error) {
      title.refuse(error.message);
    }
  };
  const shown = dialog(words.newGroup, el("form", { novalidate: true, submit }, title.box, friends(model).length > 0 ? box : el("p", { class: "hint" }, words.groupNobody),
    el("div", { class: "buttons" }, el("button", { class: "main" }, words.create))));
  title.input.focus();
}

/** Who is in a group; changes to it by those who may. @param {() => void} left */
export async function group(model, groupId, left) {
  const { members } = await rpc("group_members", { groupId });
  const role = members.find(({ whisperId }) => whisperId === model.me.whisperId)?.role;
  const mayChange = role === "owner" || role === "admin";
  const fault = el("p", { class: "fault", role: "alert" });
  const change = (fields) => ask("group_update", { groupId, ...fields }).then(() => {
    shown.close();
    return model.readList();
  }).catch((error) => fault.replaceChildren(error.message));
  const row = ({ whisperId, role: theirs }) => {
    const isMe = whisperId === model.me.whisperId;
    const name = isMe ? words.you.replace(":", "") : model.nameOf(whisperId);
    const isAdmin = theirs === "admin";
    const rank = role === "owner" && !isMe && button(isAdmin ? words.noAdmin : words.makeAdmin, () => change({ [isAdmin ? "members" : "admins"]: [whisperId] }), { "data-rank": whisperId });
    const out = mayChange && !isMe && theirs !== "owner" && twice("✕", words.takeOut(name), () => change({ remove: [whisperId] }), { class: "sign", "aria-label": words.takeOut(name) });
    return el("li", { class: "row" }, bdi(name), el("span", { class: "hint" }, words.roles[theirs]), rank, out);
  };
  const others = friends(model).filter(({ whisperId }) => !members.some((member) => member.whisperId === whisperId));
  const { box, chosen } = people(others);
  const adds = mayChange && others.length > 0 && el("details", {}, el("summary", {}, words.addToGroup), box, button(words.addToGroup, () => chosen().length > 0 && change({ add: chosen() })));
  const leave = role && twice(words.leaveGroup, words.leaveSure, () => ask("group_leave", { groupId }).then(() => {
    shown.close();
    if (model.open?.chat === groupId) left();
    return model.readList();
  }).catch((error) => fault.replaceChildren(error.message)), { id: "leave-group" });
  const title = field(words.groupTitle, { required: true, maxlength: 64, name: "title", value: model.nameOf(groupId) });
  const rename = (event) => {
    event.preventDefault();
    change({ title: title.input.value.trim() });
  };
  const { chatParts, clearButton } = await import("./about.js");
  const shown = dialog(model.nameOf(groupId),
    mayChange && el("form", { class: "beside", novalidate: true, submit: rename }, title.box, el("button", { id: "rename" }, words.rename)),
    el("ul", { class: "members" }, members.map(row)), adds, fault, ...chatParts(model, groupId, mayChange),
    el("div", { class: "buttons" }, clearButton(model, groupId, () => shown.close()), leave));
}
