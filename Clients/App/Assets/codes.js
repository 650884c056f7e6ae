// Codes that a camera reads: ours drawn, and those of others read. Loaded with the first of them.
import { raw, Refusal } from "./door.js";
import { words } from "./text.js";
import { button, dialog, el } from "./view.js";

const svg = "http://www.w3.org/2000/svg";
/** Light modules around a code. */
const edge = 4;
/** The daemon takes no larger picture. */
const [widthMax, heightMax] = [640, 480];
const lookEvery = 300;
const againAfter = 3_000;

/** The picture that is being read. @type {Promise<any>} */
let reading = Promise.resolve();

/** A text as a code. @param {string} text @param {string} name for those who do not see it @returns {Promise<Element>} */
export async function codeOf(text, name) {
  const answer = await raw("/qr", { method: "POST", body: JSON.stringify({ text }), headers: { "Content-Type": "application/json" } });
  if (!answer.ok) throw new Refusal({ code: "tooLarge", message: words.noCode });
  const { rows } = await answer.json();
  const dark = rows.flatMap((row, y) => [...row].map((module, x) => (module === "1" ? `M${x} ${y}h1v1h-1z` : "")));
  const element = document.createElementNS(svg, "svg");
  const path = document.createElementNS(svg, "path");
  const size = rows.length + 2 * edge;
  for (const [key, value] of Object.entries({ class: "qr", role: "img", "aria-label": name, viewBox: `${-edge} ${-edge} ${size} ${size}` })) element.setAttribute(key, value);
  path.setAttribute("d", dark.join(""));
  element.append(path);
  return element;
}

/** What the code in a picture says, if it has one. @param {CanvasImageSource} source @returns {Promise<string>} */
async function textIn(source, width, height) {
  const scale = Math.min(1, widthMax / width, heightMax / height);
  const [wide, high] = [Math.max(1, Math.floor(width * scale)), Math.max(1, Math.floor(height * scale))];
  const context = new OffscreenCanvas(wide, high).getContext("2d", { willReadFrequently: true });
  context.drawImage(source, 0, 0, wide, high);
  const { data } = context.getImageData(0, 0, wide, high);
  const body = new Uint8Array(4 + wide * high);
  new DataView(body.buffer).setUint32(0, wide * 65_536 + high);
  for (let pixel = 0; pixel < wide * high; pixel += 1) {
    const at = 4 * pixel;
    body[4 + pixel] = (data[at] * 77 + data[at + 1] * 151 + data[at + 2] * 28) >> 8;
  }
  // The daemon reads one picture at a time.
  const asked = reading.then(() => raw("/scan", { method: "POST", body, headers: { "Content-Type": "application/octet-stream" } }));
  reading = asked.catch(() => {});
  const answer = await asked;
  if (answer.status === 501) throw new Refusal({ code: "unsupported", message: words.noReader });
  return answer.status === 200 ? (await answer.json()).text : "";
}

/**
 * Reads a code with the camera, or off a picture.
 * @param {string} hint whose code it is
 * @param {(text: string, source: "scan" | "link") => Promise<string | void>} take gets what it says, and what vouches for it: a picture
 *   may have come by any way, as a link may. Its sentence says why that is not it
 */
export async function scan(hint, take) {
  const fault = el("p", { class: "fault", role: "alert" });
  const video = el("video", { class: "scan", muted: true, playsinline: true, "aria-label": words.camera });
  const file = el("input", { type: "file", accept: "image/*", hidden: true, id: "code-file", change: () => read() });
  const picture = button(words.codePicture, () => file.click());
  const shown = dialog(words.scan, el("p", {}, hint), video, fault, file, el("div", { class: "buttons" }, picture));
  let stream;
  let isOver = false;
  let [last, since] = ["", 0];
  shown.element.addEventListener("close", () => {
    isOver = true;
    stream?.getTracks().forEach((track) => track.stop());
  });
  const told = async (text, source) => {
    // A code that is held before the camera is told once in a while.
    if (!text || isOver || text === last && performance.now() - since < againAfter) return;
    const why = await take(text, source).catch((error) => error.message);
    [last, since] = [text, performance.now()];
    if (why) fault.replaceChildren(why);
    else shown.close();
  };
  async function read() {
    last = "";
    try {
      const bitmap = await createImageBitmap(file.files[0]);
      const text = await textIn(bitmap, bitmap.width, bitmap.height);
      if (!text) fault.replaceChildren(words.noCodeThere);
      await told(text, "link");
    } catch (error) {
      fault.replaceChildren(error instanceof Refusal ? error.message : words.noCodeThere);
    }
    file.value = "";
  }
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: widthMax, height: heightMax, facingMode: "environment" } });
  } catch {
    video.hidden = true;
    return fault.replaceChildren(words.noCameraHere);
  }
  if (isOver) return stream.getTracks().forEach((track) => track.stop());
  video.srcObject = stream;
  // The dialog may be closed meanwhile.
  await video.play().catch(() => {});
  while (!isOver) {
    try {
      if (video.videoWidth) await told(await textIn(video, video.videoWidth, video.videoHeight), "scan");
    } catch (error) {
      fault.replaceChildren(error.message);
      // Nothing here reads codes. Else the daemon may answer the next time.
      if (error.code === "unsupported") return stream.getTracks().forEach((track) => track.stop());
    }
    await new Promise((resolve) => setTimeout(resolve, lookEvery));
  }
}
