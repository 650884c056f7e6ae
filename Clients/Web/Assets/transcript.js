// The page of a shared transcript: opens it with the link's secret, and checks the signature of each line.
import { ask, pause } from "./ask.js";
import { toBase64 } from "./bytes.js";
import { readContent } from "./content.js";
import { openShare, readShareLink } from "./crypto.js";
import { bindAppearance, loadSettings } from "./settings.js";
import { foreign, plain, put as write, sentence } from "./stage.js";
import { linked } from "./text.js";

/** While the stream goes on, in milliseconds. */
const nextLook = 10_000;
/** Lines that are shown before the reader is asked whether to go on. */
const linesAtOnce = 5_000;
/** A line may be stored later than the one behind it. So far back it is asked for again. */
const lateLinesMax = 64;
/** The reader is at the end if no more than this is below, in CSS pixels. */
const nearby = 48;

const find = (selector) => document.querySelector(selector);
const [root, list, status, more] = [document.documentElement, find("#lines"), find("#status"), find("#more")];
/** Numbers of lines: those on the page, the last of those without a gap, the newest. */
const numbers = new Set();
let [complete, newest] = [0, 0];

export async function run() {
  bindAppearance(loadSettings());
  addEventListener("hashchange", () => location.reload());
  find("#print").onclick = () => print();

  const link = await readShareLink(location.pathname, location.hash);
  const read = (after) =>
    ask(`/live/shares/${link.id}`, { shareProof: toBase64(link.proof), after }, () => say("The server cannot be reached. Trying again…"));
  let page = link && (await read(0));
  const share = page && (await openShare(link, page));
  if (!share) return show("notfound", "This link is incomplete or has expired. Ask for a new one.");
  const { whisperer } = share;
  showTitle(share, page.startedAt);
  for (let most = linesAtOnce; page; ) {
    await add(page.lines, share);
    const marked = list.querySelectorAll("[data-verified=false]").length;
    const report =
      marked > 0
        ? [sentence`Lines that ${whisperer} did not sign are marked`, `: ${marked}.`].flat()
        : sentence`Each line is signed by ${whisperer}.`;
    more.hidden = !page.nextLine;
    if (page.nextLine) {
      show("shown", [...report, " There are more lines."]);
      if (numbers.size >= most) {
        await new Promise((resolve) => (more.onclick = resolve));
        most += linesAtOnce;
      }
      page = await read(page.nextLine);
    } else {
      if (!page.isOpen) return show("shown", report);
      show("shown", [...report, " New lines appear here by themselves."]);
      // From here on lines are news.
      list.ariaLive = "polite";
      await pause(nextLook);
      page = await read(Math.max(complete, newest - lateLinesMax));
    }
  }
  show("notfound", "This transcript is no longer shared. What you have read stays until you close the page.");
}

const say = (text) => write(status, text);

function show(state, text) {
  find("main").dataset.state = state;
  say(text);
}

function showTitle({ conversation, whisperer }, startedAt) {
  document.title = `${plain(conversation)} · Whisper`;
  find("#conversation").textContent = plain(conversation);
  find("#whisperer").textContent = plain(whisperer);
  find("#started").textContent = new Date(startedAt).toLocaleString([], { dateStyle: "long", timeStyle: "short" });
  for (const selector of ["#title", "#listening", "#print"]) find(selector).hidden = false;
}

async function add(lines, share) {
  const fresh = await Promise.all(lines.filter(({ line }) => !numbers.has(line)).map((line) => lineElement(line, share)));
  const follows = list.ariaLive === "polite" && root.scrollHeight - innerHeight - scrollY <= nearby;
  fresh.forEach(put);
  while (numbers.has(complete + 1)) complete += 1;
  if (follows) scrollTo(0, root.scrollHeight);
}

async function lineElement(sealed, { keys, content, whisperer }) {
  const opened = await keys.open({ ...sealed, kind: "line" });
  const text = typeof opened === "string" ? undefined : readContent(opened, "line");
  const isVerified = Boolean(text && (await keys.isSigned(sealed.line, text.text, content, text.sig)));
  const element = document.createElement("p");
  Object.assign(element.dataset, { line: sealed.line, verified: isVerified });
  if (!isVerified) {
    const mark = document.createElement("strong");
    write(mark, text ? sentence`Not signed by ${whisperer}: ` : opened === "keyMissing" ? "Not shared with you." : "Not readable.");
    element.append(mark);
  }
  if (text) element.appendChild(foreign("")).append(...linked(text.text));
  return element;
}

/** Each line has its place by its number. */
function put(element) {
  const number = Number(element.dataset.line);
  numbers.add(number);
  newest = Math.max(newest, number);
  let before = list.lastElementChild;
  while (before && Number(before.dataset.line) > number) before = before.previousElementSibling;
  if (before) before.after(element);
  else list.prepend(element);
  for (const line of [element, element.nextElementSibling]) if (line) showGap(line);
}

function showGap({ dataset, previousElementSibling: before }) {
  const missing = dataset.line - (before?.dataset.line ?? 0) - 1;
  if (missing > 0) dataset.missing = `Missing lines: ${missing}.`;
  else delete dataset.missing;
}
