// The passphrase: for the first time, to come in, and in the settings. Loaded with the first of them.
import { about, Ended, order, rpc } from "./door.js";
import { choice } from "./dialogs.js";
import { stopped } from "./shell.js";
import { words } from "./locktext.js";
import { timeSpan, words as all } from "./text.js";
import { button, dialog, el, field, form } from "./view.js";

const bytesMax = 1_024;
const lockTimes = [5, 15, 60];
const lookEvery = 5_000;

/** As it comes from any keyboard. */
const textOf = ({ input }) => input.value.normalize("NFC");
const secret = (label, name, hint = "") => field(label, { type: "password", name, required: true }, hint);

/** A new passphrase, twice: nobody sees what is typed. */
function twoFields(hint = "") {
  const [first, second] = [secret(words.newPassphrase, "new", hint), secret(words.again, "again")];
  const isGood = () => {
    if (new TextEncoder().encode(textOf(first)).length > bytesMax) return first.refuse(words.tooLong);
    if (!textOf(first)) return first.input.focus();
    if (textOf(first) !== textOf(second)) return second.refuse(words.unequal);
    return true;
  };
  return { first, boxes: [first.box, second.box], isGood };
}

let isSealing = false;

/** One change of the key at a time. @param {(...values: any[]) => Promise<any>} act */
const alone = (act) => async (...values) => {
  if (isSealing) return;
  isSealing = true;
  try {
    await act(...values);
  } finally {
    isSealing = false;
  }
};

/** @param {any} body @param {ReturnType<field>} [now] the field of the passphrase of now @returns {Promise<boolean>} */
async function seal(path, body, now) {
  const answer = await order(path, body).catch((error) => {
    if (error instanceof Ended) stopped(all.stopped);
    throw error instanceof TypeError ? new Error(all.stopped) : error;
  });
  if (answer.ok) return true;
  const { error, waitSeconds } = await answer.json().catch(() => ({ error: { message: words.busy } }));
  if (error || !now) throw new Error(error?.message);
  now.refuse(waitSeconds > 0 ? words.wait(timeSpan(waitSeconds)) : words.wrong);
  now.input.select();
  return false;
}

/** Before there is an identity. @param {() => Promise<void>} make */
export function protect(state, make) {
  if (state.seal === "elsewhere") return make();
  const { first, boxes, isGood } = twoFields(words.protectHint);
  const without = button(words.without, alone(() => seal("/seal", {}).then(make).catch((error) => first.refuse(error.message))), { id: "without" });
  form(words.protect, [el("p", {}, words.protectText), ...boxes, el("p", { class: "hint" }, words.withoutHint)], words.next, alone(async () => {
    if (isGood() && await seal("/seal", { passphrase: textOf(first) })) await make();
  }), without);
  first.input.focus();
}

/** Nothing else is here until the passphrase is right. @param {boolean} isLocked the store is open, and only the page is not */
export function unlock(isLocked) {
  if (isLocked) tell();
  const passphrase = secret(words.passphrase, "passphrase");
  form(words.locked, [el("p", {}, words.lockedText), passphrase.box], words.unlock, async () => {
    if (await seal("/session/unlock", { passphrase: textOf(passphrase) }, passphrase)) location.reload();
  });
  passphrase.input.focus();
}

/** The daemon says how many messages wait, and no more. */
async function tell() {
  const tells = sessionStorage.getItem("whisper.notices") && Notification.permission === "granted";
  let before = 0;
  for (;;) {
    const { state, came } = await about().catch((error) => ({ state: error instanceof Ended ? "ended" : "locked", came: before }));
    if (state === "ended") return stopped(all.stopped);
    // Another window has given the passphrase.
    if (state !== "locked") return location.reload();
    if (tells && came > before && !document.hasFocus()) {
      const notice = new Notification(all.appName, { tag: "locked", renotify: true, body: all.oneNew, icon: new URL("icon.svg", import.meta.url).href });
      notice.onclick = () => focus();
    }
    before = came;
    await new Promise((go) => setTimeout(go, lookEvery));
  }
}

/** @param {string | undefined} minutes of the lock @param {{lock: () => void, close: () => void, lockAfter: (minutes: string) => void}} orders */
export function security(state, minutes, { lock, close, lockAfter: after }) {
  const has = state.seal === "passphrase";
  const now = has && secret(words.nowPassphrase, "now");
  const { first, boxes, isGood } = twoFields(words.protectHint);
  const fault = el("p", { class: "fault", role: "alert" });
  const change = alone(async (body) => {
    fault.replaceChildren(words.sealing);
    try {
      if (await seal("/seal", has ? { ...body, now: textOf(now) } : body, now)) return location.reload();
      fault.replaceChildren();
    } catch (error) {
      fault.replaceChildren(error.message);
    }
  });
  const submit = (event) => {
    event.preventDefault();
    if (isGood()) change({ passphrase: textOf(first) });
  };
  const times = [["", words.never], ...lockTimes.map((each) => [String(each), timeSpan(each * 60)])];
  const keep = async (value) => {
    await rpc("host_set", { key: "lock", value });
    after(value);
  };
  dialog(
    words.security, el("p", {}, words.seals[state.seal]),
    state.seal !== "elsewhere" && el("form", { novalidate: true, submit }, now && now.box, ...boxes, fault, el("div", { class: "buttons" },
      el("button", { class: "main", id: "seal" }, has ? words.change : words.seal),
      state.seal !== "key" && button(has ? words.noPassphrase : words.sealKey, () => change({}), { id: "seal-key" }))),
    has ? choice(words.lockAfter, times, minutes ?? "", keep, { id: "lock-after" }) : el("p", { class: "hint" }, words.closeHint),
    el("div", { class: "buttons" }, has ? button(words.lockNow, lock, { id: "lock" }) : button(words.close, close, { id: "close" })));
}

let watch;
let touched = Date.now();

/** Locks when nobody was here for so long. @param {string} [minutes] none for never @param {() => void} [lock] */
export function lockAfter(minutes, lock) {
  if (!watch) touched = Date.now();
  watch = clearInterval(watch);
  if (!minutes) return;
  for (const type of ["keydown", "pointerdown", "pointermove", "wheel"]) addEventListener(type, touch, { capture: true, passive: true });
  // A computer that slept has no timers meanwhile.
  watch = setInterval(() => Date.now() - touched >= minutes * 60_000 && lock(), lookEvery);
}

const touch = () => { touched = Date.now(); };
