// The identity at the server: the backup of its contacts, and the end of it. Loaded with the first of them.
import { words } from "./accounttext.js";
import { choice, toggle } from "./dialogs.js";
import { ask, rpc } from "./door.js";
import { twice } from "./groups.js";
import { stopped } from "./shell.js";
import { words as common } from "./text.js";
import { button, dialog, el, field } from "./view.js";

/** Leaving waits for messages that are queued, and for the server. */
const askedAgain = 6;

/** @param {string} whisperId our own @param {{backups: (listener?: (event: any) => void) => void, hush: () => Promise<void>}} orders who hears of backups; the end of calls and rooms */
export async function account(whisperId, { backups, hush }) {
  const [{ settings }, { isBackedUp }] = await Promise.all([rpc("settings_get"), rpc("backup_status")]);
  const stateOf = (isDone) => (isDone ? words.backedUp : words.notBackedUp);
  const state = el("p", { role: "status", id: "backup-state" }, stateOf(isBackedUp));
  const tell = (text) => state.replaceChildren(text);
  const says = (before, act) => async () => {
    tell(before);
    await act().then(tell, (error) => tell(error.message));
  };
  backups((event) => tell(words.faults[event.state] ?? stateOf(true)));
  const backUp = says(words.backingUp, async () => {
    await rpc("backup_now");
    return words.backingUp;
  });
  const erase = says(words.deleting, async () => {
    await ask("backup_delete");
    return words.deleted;
  });
  const check = says(words.checking, async () => ((await rpc("store_check")).isWhole ? words.whole : words.damaged));
  const shown = dialog(
    common.account, state,
    toggle(words.backups, settings.backup, (on) => rpc("settings_set", { backup: on })),
    el("div", { class: "buttons" }, button(words.backUp, backUp, { id: "back-up" }), twice(words.deleteBackup, words.deleteSure, erase, { id: "delete-backup" }), button(words.check, check, { id: "check" })),
    el("div", { class: "buttons" }, button(words.leave, () => leave(whisperId, hush), { id: "leave" })));
  shown.element.addEventListener("close", () => backups());
}

/** The core asks for the whole id; a person types its end, so that no click alone erases anybody. */
function leave(whisperId, hush) {
  const end = field(words.confirm, { required: true, maxlength: 4, autocapitalize: "characters", autocomplete: "off", name: "end" });
  let [sentMail, wipe] = ["keep", false];
  const fault = el("p", { class: "fault", role: "alert" });
  const go = el("button", { class: "main", id: "leave-now" }, words.leaveNow);
  const submit = async (event) => {
    event.preventDefault();
    if (go.getAttribute("aria-disabled")) return;
    if (end.input.value.trim().toUpperCase() !== whisperId.slice(-4)) return end.refuse(words.wrongEnd);
    go.setAttribute("aria-disabled", "true");
    fault.replaceChildren(words.leaving);
    try {
      const { isWiped } = await ask("account_delete", { confirm: whisperId, sentMail, wipe }, askedAgain);
      document.querySelectorAll("dialog").forEach((each) => each.close());
      await hush();
      // No chat of the erased identity is open in the window of the next one.
      history.replaceState(null, "", "/");
      if (wipe && !isWiped) stopped(words.leftFiles);
      else if (wipe) stopped(words.left, button(words.startAgain, () => location.reload()));
    } catch (error) {
      fault.replaceChildren(error.message);
    }
    go.removeAttribute("aria-disabled");
  };
  dialog(
    words.leave, el("p", {}, words.leaveText),
    el("form", { novalidate: true, submit },
      choice(words.sentMail, Object.entries(words.sentMails), sentMail, async (value) => { sentMail = value; }),
      toggle(words.wipe, wipe, async (value) => { wipe = value; }),
      end.box, fault, el("div", { class: "buttons" }, go)));
}
