// Polls: the answers of one with those who chose them, and the dialog that asks. Loaded with the first of them.
import { rpc } from "./door.js";
import { words } from "./text.js";
import { button, dialog, el, field } from "./view.js";

const optionsMax = 10;

/** The answers of a poll, as buttons. @param {any} message @param {{chat: string, me: string, nameOf: (id: string) => string, refuse: (error: Error) => void}} about */
export function answers(message, { chat, me, nameOf, refuse }) {
  const { options, many, until } = message.poll;
  const isOver = until <= Date.now();
  const isMine = ({ voters }) => voters.includes(me);
  // The next click may come before the answer to this one is drawn.
  let mine = options.flatMap((option, place) => (isMine(option) ? [place] : []));
  const vote = (place) => {
    const before = mine;
    const others = many ? mine.filter((each) => each !== place) : [];
    mine = mine.includes(place) ? others : [...others, place].sort((a, b) => a - b);
    const from = message.direction === "out" ? me : message.chat;
    rpc("poll_vote", { chat, messageId: message.messageId, from, choices: mine }).catch((error) => {
      mine = before;
      refuse(error);
    });
  };
  return el("div", { class: "poll", role: "group", "aria-label": many ? words.pollMany : words.poll }, options.map((option, place) => {
    const names = option.voters.toSorted((one, other) => Number(other === me) - Number(one === me)).map((id) => (id === me ? words.you.replace(":", "") : nameOf(id))).join(", ");
    return el("button", {
      type: "button", "aria-pressed": String(isMine(option)), "data-choice": place, disabled: isOver, click: () => vote(place),
    }, el("span", { dir: "auto" }, option.text), el("span", { class: "hint" }, names ? `${option.voters.length} · ${names}` : "0"));
  }), el("p", { class: "hint" }, isOver ? words.pollOver : many ? words.pollMany : words.poll));
}

/** Asks for a question and its answers, and sends them. @param {string} to @param {() => Promise<void>} sent */
export function ask(to, sent) {
  const question = field(words.question, { required: true, name: "question" });
  const options = el("div", { class: "answers" });
  const add = () => {
    const { box, input } = field(words.answer(options.children.length + 1), { name: "option", maxlength: 100 });
    options.append(box);
    more.hidden = options.children.length >= optionsMax;
    return input;
  };
  const more = button(words.moreAnswers, () => add().focus());
  const many = el("input", { type: "checkbox" });
  add();
  add();
  const clientId = crypto.randomUUID();
  const submit = async (event) => {
    event.preventDefault();
    const texts = [...options.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
    try {
      await rpc("poll_send", { to, text: question.input.value.trim(), options: texts, many: many.checked, clientId });
    } catch (error) {
      return question.refuse(error.message);
    }
    shown.close();
    // It is sent, whatever becomes of the reading.
    await sent().catch(() => {});
  };
  const shown = dialog(words.newPoll, el("form", { novalidate: true, submit }, question.box, options, more,
    el("label", { class: "row" }, el("span", {}, words.pollMany), many), el("div", { class: "buttons" }, el("button", { class: "main" }, words.send))));
  question.input.focus();
}
