// Theme and size, as the core keeps them for this profile.
import { rpc } from "./door.js";
import { set } from "./view.js";

export async function applyLooks() {
  const { values } = await rpc("host_get");
  const looks = Object.fromEntries(values.map(({ key, value }) => [key, value]));
  set(document.documentElement, "data-theme", looks.theme);
  set(document.documentElement, "data-size", looks.size);
  return looks;
}
