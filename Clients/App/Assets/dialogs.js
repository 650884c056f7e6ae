// Dialogs: somebody new, our own ID, and settings.
import { ask, rpc } from "./door.js";
import { applyLooks } from "./looks.js";
import { words } from "./text.js";
import { button, dialog, el, field, say } from "./view.js";

/** As people write it, with or without dashes, in either case. */
function asID(text) {
  const letters = text.toUpperCase().replace(/[^A-Z0-9]/g, "").replace(/^WSP/, "");
  return letters.length === 12 ? `WSP-${letters.match(/.{4}/g).join("-")}` : null;
}

/** A link that adds somebody. @returns {Promise<any>} what it says; a sentence if it opens something else */
export async function personIn(text) {
  const link = await rpc("link_read", { text }).catch(() => ({}));
  if (link.kind !== "add") return words.noPerson;
  return link.isOurs ? words.itIsYou : link.isOtherServer ? words.otherServer(link.server) : link;
}

/** @param {import("./model.js").Model} model @param {(id: string) => void} done */
export function addPerson(model, done) {
  const id = field(words.theirID, { required: true, placeholder: "WSP-", autocapitalize: "characters", name: "id" }, words.idHint);
  const name = field(words.theirName, { maxlength: 200, name: "name" });
  const add = el("button", { class: "main" }, words.add);
  const note = el("p", { class: "hint", role: "status" });
  const whyNot = (error) => ({ offline: words.addOffline, unreachable: words.addOffline, notFound: words.nobody, invalidField: words.nobody })[error.code] ?? error.message;
  const addBy = async (way) => {
    const called = name.input.value.trim();
    const { contact } = await ask("contact_add", { ...way, ...(called ? { name: called } : {}) });
    const isHere = shown.element.open;
    shown.close();
    if (isHere) done(contact.whisperId);
  };
  const submit = async (event) => {
    event.preventDefault();
    const text = id.input.value.trim();
    const whisperId = asID(text);
    const link = !whisperId && text.includes(":") && await personIn(text);
    if (!whisperId && !link?.whisperId) return id.refuse(link || words.idWrong);
    add.setAttribute("aria-disabled", "true");
    note.replaceChildren(words.adding);
    try {
      await addBy(whisperId ? { whisperId } : { link: text });
    } catch (error) {
      note.replaceChildren();
      add.removeAttribute("aria-disabled");
      if (error.code === "nameTaken" || error.field === "name") return name.refuse(error.message);
      id.refuse(whyNot(error));
    }
  };
  // Off the other's screen, it vouches for their keys.
  const scanTheirs = async () => (await import("./codes.js")).scan(words.scanHint, async (text, source) => {
    const link = await personIn(text);
    return link.whisperId ? addBy({ link: text, source }).catch(whyNot) : link;
  });
  const shown = dialog(words.add, el("form", { novalidate: true, submit }, id.box, name.box, note, el("div", { class: "buttons" }, add, button(words.scan, scanTheirs, { id: "scan" }), button(words.newGroup, async () => {
    const { addGroup } = await import("./groups.js");
    shown.close();
    addGroup(model, done);
  }, { id: "new-group" }))));
  id.input.focus();
}

/** @param {import("./model.js").Model} model */
export function myID({ me }) {
  const id = me.whisperId ?? me.likelyId ?? "";
  const copy = (label, text, props) => {
    const copied = button(label, async () => {
      await navigator.clipboard.writeText(await text());
      copied.replaceChildren(words.copied);
      say(words.copied);
    }, props);
    return copied;
  };
  const link = async () => (await rpc("contact_link")).text;
  const code = el("div");
  if (me.whisperId) {
    Promise.all([import("./codes.js"), link()]).then(async ([{ codeOf }, text]) => code.append(await codeOf(text, words.codeName))).catch(() => {});
  }
  dialog(words.yourID, el("p", {}, me.whisperId ? words.yourIDText : words.noID), code, el("p", { class: "code", id: "my-id" }, id),
    el("div", { class: "buttons" }, copy(words.copy, () => id), me.whisperId && copy(words.copyLink, link, { id: "copy-link" })));
}

/** @param {{quit: () => void, close: () => void, lock: () => void, lockAfter: (minutes: string) => void, backups: (listener?: (event: any) => void) => void, hush: () => Promise<void>, notices: (shows: string) => Promise<boolean>}} orders */
export async function settings(state, model, orders) {
  const { quit, notices } = orders;
  const [looks, kept] = await Promise.all([applyLooks(), rpc("settings_get")]);
  const keep = async (key, value) => {
    await rpc("host_set", { key, value });
    await applyLooks();
  };
  const theme = choice(words.theme, Object.entries(words.themes), looks.theme ?? "system", (value) => keep("theme", value === "system" ? "" : value));
  const size = choice(words.size, ["100", "125", "150", "200", "300"].map((each) => [each, `${each} %`]), looks.size ?? "100", (value) => keep("size", value === "100" ? "" : value));
  const denied = el("p", { class: "fault", role: "alert" });
  const told = choice(words.notices, Object.entries(words.noticesShow), looks.notices ?? "", async (value) => {
    const may = await notices(value);
    denied.replaceChildren(may ? "" : words.noticesDenied);
    if (!may) told.querySelector("select").value = "";
  }, { id: "notices" });
  const sure = el("p", { class: "hint" }, words.quitSure);
  dialog(
    words.settings, el("p", { class: "code" }, model.me.whisperId ?? ""), el("div", { class: "buttons" }, button(words.myCode, () => myID(model)), button(words.security, async () => (await import("./lock.js")).security(state, looks.lock, orders), { id: "security" }),
      model.me.whisperId && button(words.account, async () => (await import("./account.js")).account(model.me.whisperId, orders), { id: "account" })),
    theme, size, told, denied,
    toggle(words.receipts, kept.settings.readReceipts, (readReceipts) => rpc("settings_set", { readReceipts })),
    toggle(words.presence, kept.settings.presence, (presence) => rpc("settings_set", { presence })),
    toggle(words.typingSetting, kept.settings.typing, (typing) => rpc("settings_set", { typing })),
    toggle(words.relayCalls, kept.settings.relayCalls, (relayCalls) => rpc("settings_set", { relayCalls })),
    el("dl", {}, [[words.profile, state.profile], [words.serverName, state.server], [words.version, state.version]]
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    sure, el("div", { class: "buttons" }, button(words.quit, quit, { id: "quit" })));
}

/** Changes reach the daemon in the order in which they were made. One that fails is taken back. */
function keeps(control, property, change) {
  let [kept, turn] = [control[property], Promise.resolve()];
  control.addEventListener("change", () => {
    const wish = control[property];
    turn = turn.then(() => change(wish)).then(() => { kept = wish; }, (error) => {
      if (control[property] === wish) control[property] = kept;
      say(error.message);
    });
  });
}

export function choice(label, options, value, change, props = {}) {
  const select = el("select", props, options.map(([name, text]) => el("option", { value: name, selected: name === value }, text)));
  keeps(select, "value", change);
  return el("label", { class: "row" }, el("span", {}, label), select);
}

export function toggle(label, value, change) {
  const box = el("input", { type: "checkbox", checked: value });
  keeps(box, "checked", change);
  return el("label", { class: "row" }, el("span", {}, label), box);
}
