// Begins: a session, the state of the daemon, and the screen for it.
import { about, begin, Ended } from "./door.js";
import { open, stopped } from "./shell.js";
import { words } from "./text.js";

const reloaded = "whisper.reloaded";

async function run() {
  await begin();
  const state = await about();
  // A page of another version than its daemon loads itself anew, once.
  if (!import.meta.url.includes(`/a/${state.assets}/`) && !sessionStorage.getItem(reloaded)) {
    sessionStorage.setItem(reloaded, "yes");
    return location.reload();
  }
  sessionStorage.removeItem(reloaded);
  if (["needsPassphrase", "locked"].includes(state.state)) {
    return (await import("./lock.js")).unlock(state.state === "locked");
  }
  if (state.state !== "open") {
    const { chooseServer, welcome } = await import("./first.js");
    // Server and key were chosen meanwhile.
    const go = async () => open(await about(), true);
    return state.state === "needsServer" ? chooseServer(state, go) : welcome(state, go);
  }
  // A program may have decided that a daemon of before is not connected.
  return open(state, false);
}

run().catch((error) => {
  if (!(error instanceof Ended)) console.warn(error);
  stopped(words.stopped);
});
