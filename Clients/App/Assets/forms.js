// Forms of live conversations and rooms. Loaded with the first of them.
import { rpc } from "./door.js";
import { button, el, field, write } from "./view.js";

/** What the window keeps in the store. @param {string} key */
export const valueOf = async (key) => (await rpc("host_get")).values.find((each) => each.key === key)?.value;

/** @param {Record<string, string>} refusals sentences for codes of the core */
export function formsOf(refusals) {
  const reasonOf = (error) => refusals[error.code] ?? error.message;

  /** A row that begins something. Its fault stands below it. */
  function choice(act, label) {
    const fault = el("p", { class: "fault", role: "alert" });
    const press = async () => {
      try {
        await act();
      } catch (error) {
        write(fault, reasonOf(error));
      }
    };
    return el("div", {}, button(label, press, { class: "wide" }), fault);
  }

  /** A form with one button, whose fault stands at a field. */
  function formOf(label, id, { refuse }, act, ...children) {
    const go = el("button", { class: "main", id }, label);
    const submit = async (event) => {
      event.preventDefault();
      // A second Enter begins nothing twice.
      if (go.getAttribute("aria-disabled")) return;
      go.setAttribute("aria-disabled", "true");
      await act().catch((error) => refuse(reasonOf(error)));
      go.removeAttribute("aria-disabled");
    };
    return el("form", { novalidate: true, submit }, ...children, el("div", { class: "buttons" }, go));
  }
  return { reasonOf, choice, formOf };
}

/** The name that others see, kept for the next time. */
export function nameField(label, name = "") {
  const { box, input, refuse } = field(label, { maxlength: 64, name: "name" });
  input.value = name;
  const keep = async () => {
    const value = input.value.trim();
    if (value !== name) await rpc("host_set", { key: "name", value });
    return value;
  };
  return { box, refuse, keep };
}
