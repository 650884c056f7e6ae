// "Forget me": the server erases the guest, and then this browser its keys and its name.
import { Connection } from "./connection.js";
import { Guest } from "./guest.js";
import { storeSettings } from "./settings.js";

/**
 * @param {"guest" | "room"} entry under which the keys are stored
 * @param {import("./settings.js").Settings} settings
 * @param {Guest} [guest] of a browser that stores nothing
 * @returns {Promise<boolean>} whether the server and this browser have forgotten it
 */
export async function forget(entry, settings, guest) {
  const stored = await Guest.stored(entry);
  if (stored) guest = await Guest.ofThisBrowser(entry);
  if (guest ? !(await isErased(guest)) : stored === undefined) return false;
  if (!(await Guest.forget(entry)) && stored) return false;
  settings.name = "";
  storeSettings(settings);
  return true;
}

/** Asks over a connection of its own: it ends every other one of the guest. @param {Guest} guest */
const isErased = (guest) =>
  new Promise((done) => {
    const end = (isErased) => {
      connection.stop();
      done(isErased);
      return true;
    };
    const connection = new Connection(guest, {
      entered: async () => {
        await connection.ask("guest_forget");
        end(true);
      },
      received: () => {},
      dropped: () => {},
      lost: () => end(false),
      stopped: () => end(false),
      refused: () => end(false),
    });
    connection.begin();
  });
