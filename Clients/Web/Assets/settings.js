// What the reader likes, kept in this browser.

const key = "whisper.listen";
/** Of text, in percent. */
export const sizes = [100, 150, 200, 250, 300];

/**
 * @typedef {object} Settings
 * @property {string} name that the reader gave last
 * @property {number} size of text, one of `sizes`
 * @property {"auto" | "light" | "dark"} theme
 * @property {"bottom" | "top"} order where the newest text is
 * @property {boolean} announceLive to screen readers, each change of the live line
 * @property {boolean} typingSound
 * @property {"off" | "low" | "middle" | "high"} volume of sounds
 */

/** @type {Settings} */
const defaults = {
  name: "", size: 100, theme: "auto", order: "bottom", announceLive: false, typingSound: false, volume: "middle",
};

const allowed = {
  size: sizes, theme: ["auto", "light", "dark"], order: ["bottom", "top"], volume: ["off", "low", "middle", "high"],
};

/** @returns {Settings} */
export function loadSettings() {
  let stored;
  try {
    stored = JSON.parse(localStorage.getItem(key) ?? "{}");
  } catch {
    stored = {};
  }
  const settings = { ...defaults };
  for (const name of Object.keys(defaults)) {
    const value = stored?.[name];
    if (typeof value === typeof defaults[name] && (allowed[name]?.includes(value) ?? true)) settings[name] = value;
  }
  return settings;
}

/** @param {Settings} settings */
export function storeSettings(settings) {
  try {
    localStorage.setItem(key, JSON.stringify(settings));
  } catch {
    // A browser that stores nothing: they hold until the page is left.
  }
}

/** Binds the switches of size and colours, which each page has. @param {Settings} settings */
export function bindAppearance(settings) {
  const find = (selector) => document.querySelector(selector);
  const root = document.documentElement;
  const apply = () => {
    root.dataset.size = settings.size;
    root.dataset.theme = settings.theme;
    find("#size").textContent = `${settings.size} %`;
    find("#smaller").disabled = settings.size === sizes[0];
    find("#larger").disabled = settings.size === sizes.at(-1);
    storeSettings(settings);
  };
  const step = (by) => () => {
    settings.size = sizes[sizes.indexOf(settings.size) + by] ?? settings.size;
    apply();
  };
  find("#smaller").onclick = step(-1);
  find("#larger").onclick = step(1);
  find("#theme").value = settings.theme;
  find("#theme").onchange = ({ target }) => {
    settings.theme = target.value;
    apply();
  };
  // On a phone they would stand between the reader and the text.
  find("#settings").open = matchMedia("(min-width: 60em)").matches;
  apply();
}
