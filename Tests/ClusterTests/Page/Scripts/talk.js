// Worlds for what is said in rooms: people come, go and load their page again, and their connections break while texts are on
// the way. A person who had a seat when something was said, and kept it, has it once and in order.
// `args` are the vectors, the folder of the modules, the first seed and how many follow. Returns what went wrong, by seed.
const [vectors, folder, first, count] = args;
const { Talk, frameMax, helloWithin, nameOf, plainMax, rememberedMax, textMax, waitingBytesMax, waitingMax } =
  await import(`${folder}/talk.js`);

/** Uniform in 0..<1, from a seed (mulberry32, public domain). */
const randomFrom = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

const chaos = 60_000;
const calm = 40_000;
const idOf = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** One world. @returns {string[]} */
function play(seed) {
  const random = randomFrom(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const faults = [];
  let now = 0;
  let [names, order] = [0, 0];
  const due = [];
  const later = (delay, work) => due.push({ at: now + delay, order: (order += 1), work });
  const isCalm = () => now > chaos;
  /** @type {{id: string, isPlain: boolean, lives: object[]}[]} */
  const everybody = Array.from({ length: 2 + Math.floor(random() * 3) }, (_, at) => ({ id: `p${at}`, isPlain: random() < 0.15 }));
  let seat = 0;
  /** Each with its speaker, their page, and the pages of those whom it is for. */
  const messages = [];
  const links = new Map();

  const begin = (one) => {
    const life = (one.life = { shown: [], seat: one.seat });
    const heard = (from, { id, text }) => {
      if (life.shown.some((other) => other.id === id)) faults.push(`${one.id} sees ${id} twice`);
      life.shown.push({ from, id });
      const message = messages.find((other) => other.id === id);
      if (message?.said.text !== text) faults.push(`${id} is another text`);
      if (message && !message.seats.includes(life.seat)) faults.push(`${one.id} sees ${id}, which is from before`);
    };
    const write = (peer, name, texts) => {
      const link = linkOf(one.id, peer);
      if (!link.isUp) return false;
      if (link.isBusy?.()) {
        later(200, () => one.life === life && link === linkOf(one.id, peer) && one.talk.drained(peer));
        return false;
      }
      for (const text of texts) deliver(link, one, other(peer), name, text);
      return true;
    };
    const broke = () => faults.push("broken as if somebody were hostile");
    one.talk = new Talk({ heard, write, broke, left() {}, changed() {} }, btoa(String(names += 1).padStart(8, "e")));
  };
  const other = (id) => everybody.find((one) => one.id === id);
  const key = (one, two) => [one, two].sort().join();
  const linkOf = (one, two) => links.get(key(one, two)) ?? {};
  const deliver = (link, from, to, name, text) => {
    link.arrives ??= {};
    link.arrives[from.id] = Math.max(link.arrives[from.id] ?? 0, now + 5 + random() * (isCalm() ? 20 : 500));
    const life = to.life;
    later(link.arrives[from.id] - now, () => {
      if (!link.isUp || link !== linkOf(from.id, to.id) || to.life !== life) return;
      if (name === "talk") to.talk.heard(from.id, text, now);
      // A greeting that comes late: the texts until then have come without an id.
      else to.life.shown.push({ from: from.seat, id: text.slice("text ".length) });
    });
  };
  const see = () => {
    const seated = everybody.filter((one) => one.seat);
    for (const one of seated) one.talk.seen(seated.filter((two) => two !== one));
    for (const [at, one] of seated.entries()) for (const two of seated.slice(at + 1)) if (!links.has(key(one.id, two.id))) connect(one, two);
  };
  const connect = (one, two) => {
    const link = { isUp: false };
    links.set(key(one.id, two.id), link);
    later(random() * (isCalm() ? 500 : 8_000), () => {
      if (linkOf(one.id, two.id) !== link) return;
      link.isUp = true;
      if (random() < 0.3 && !isCalm()) link.isBusy = () => !isCalm() && random() < 0.5;
      for (const [end, peer] of [[one, two], [two, one]]) {
        for (const name of random() < 0.5 ? ["chat", "talk"] : ["talk", "chat"]) {
          if (name === "talk" && (one.isPlain || two.isPlain)) continue;
          later(random() * 50, () => link === linkOf(one.id, two.id) && end.talk.opened(peer.id, name, now));
        }
      }
    });
  };
  const cut = (one, two) => {
    if (!links.delete(key(one.id, two.id))) return;
    one.talk.cut(two.id);
    two.talk.cut(one.id);
  };
  const cutAll = (one) => {
    for (const two of everybody) if (two !== one && two.seat) cut(one, two);
  };
  const enter = (one) => {
    one.seat = seat += 1;
    begin(one);
    see();
  };
  const say = (one) => {
    if (one.isPlain) return;
    const id = idOf(names += 1);
    const seated = everybody.filter((two) => two.seat && two !== one);
    const message = { id, from: one, life: one.life, seat: one.seat, seats: seated.map((two) => two.seat), to: seated.map((two) => [two, two.life]) };
    // Somebody may see it before `say` has returned.
    message.said = { text: `text ${id}` };
    messages.push(message);
    const said = one.talk.say(id, 1, `text ${id}`, false);
    if (said.full) messages.splice(messages.indexOf(message), 1);
    else message.said = said;
  };
  const disturb = () => {
    if (now > chaos - 10_000) return;
    const seated = everybody.filter((one) => one.seat);
    const one = pick(seated);
    const what = random();
    if (one && what < 0.1) {
      cutAll(one);
      one.seat = 0;
      see();
      later(random() * 5_000, () => enter(one));
    } else if (one && what < 0.2) {
      cutAll(one);
      begin(one);
      see();
    } else if (one && what < 0.5) {
      const two = pick(seated);
      if (two !== one) cut(one, two);
      see();
    } else if (one) say(one);
    later(random() * 800, disturb);
  };
  for (const one of everybody) later(random() * 3_000, () => enter(one));
  later(3_000, disturb);
  later(chaos, () => {
    see();
    const flush = () => {
      for (const one of everybody) for (const two of everybody) if (one !== two) one.talk.drained(two.id);
      if (now < chaos + 20_000) later(500, flush);
    };
    flush();
  });
  while (now < chaos + calm) {
    const wake = Math.min(...everybody.map((one) => one.talk?.nextWake ?? Infinity));
    due.sort((a, b) => a.at - b.at || a.order - b.order);
    if (wake <= (due[0]?.at ?? Infinity) && wake < Infinity) {
      now = Math.max(now, wake);
      for (const one of everybody) one.talk?.timerFired(now);
    } else if (due.length > 0) {
      const { at, work } = due.shift();
      now = Math.max(now, at);
      work();
    } else break;
  }
  for (const { id, from, life, seat, said, to } of messages) {
    for (const [two, itsLife] of to) {
      const seen = itsLife.shown.filter((one) => one.id === id).length;
      const state = said.states.get(itsLife.seat);
      if (state === "got" && seen === 0 && two.life === itsLife) faults.push(`${two.id} is said to have ${id}`);
      const isLate = state === "plain";
      const isHere = from.life === life && two.seat === itsLife.seat;
      // A page that was loaded again has what came before on its former life alone.
      if (isHere && two.life === itsLife && (seen > 1 || (seen === 0 && !isLate))) faults.push(`${two.id} sees ${id} ${seen} times`);
      if (isHere && state !== "got" && !isLate) faults.push(`${id} is ${state} for ${two.id}`);
      if (from.life === life && two.seat !== itsLife.seat && !/lost|got|plain/.test(state)) faults.push(`${id} is ${state} for ${two.id}, who left`);
    }
    for (const two of everybody) {
      const places = messages.filter((one) => one.life === life).map((one) => two.life.shown.findIndex((seen) => seen.id === one.id)).filter((place) => place >= 0);
      if (places.some((place, at) => at > 0 && place < places[at - 1])) faults.push(`${two.id} sees what ${seat} said in another order`);
    }
  }
  return [...new Set(faults)];
}

/** Single steps that worlds reach too seldom. */
function steps() {
  const faults = [];
  const same = (what, one, other) => {
    if (JSON.stringify(one) !== JSON.stringify(other)) faults.push(`${what}: ${JSON.stringify(one)}, not ${JSON.stringify(other)}`);
  };
  const pair = () => {
    const it = { written: [], heard: [], broke: 0, left: 0, isBusy: false };
    const write = (_, channel, texts) => !it.isBusy && it.written.push(...texts.map((text) => [channel, text])) > 0;
    it.talk = new Talk({
      write, heard: (seat, message) => it.heard.push([seat, message.text]), changed() {},
      broke: () => (it.broke += 1), left: () => (it.left += 1),
    }, "AAECAwQFBgc=");
    it.talk.seen([{ id: "b", seat: 2 }]);
    it.take = () => it.written.splice(0);
    it.hello = (more) => it.talk.heard("b", JSON.stringify({ t: "hello", v: 1, have: [], epoch: "AAAAAAAAAAA=", ...more }), 0);
    return it;
  };
  const say = (number, text = "x") => JSON.stringify({ t: "say", id: idOf(number), at: 1, text });

  // Frames as the vectors have them.
  for (const { about, data, isGood, isUnknown } of vectors.frames) {
    const it = pair();
    const isHello = /"t": ?"hello"/.test(data ?? "");
    if (!isHello) it.hello();
    for (let n = 0; n < 20; n += 1) it.talk.heard("b", data ?? new ArrayBuffer(4), 1);
    // A good hello is the first one alone.
    same(about, it.broke > 0, isHello ? !isGood : !isGood && !isUnknown);
    if (isHello) same(`${about}: greets`, it.talk.people.get("b").hasGreeted, isGood);
  }
  for (const { text, name } of vectors.names) same(`name ${JSON.stringify(text)}`, nameOf(text) ?? null, name);
  const written = pair();
  written.talk.name = "Ann";
  written.talk.opened("b", "talk", 0);
  const sorted = (frame) => Object.entries(frame).sort(([one], [other]) => (one < other ? -1 : 1));
  same("hello", sorted(JSON.parse(written.take()[0][1])), sorted(vectors.hello));

  // Nothing is taken before the greeting, and nothing goes.
  const it = pair();
  const said = it.talk.say(idOf(1), 5, "one", false);
  it.talk.opened("b", "chat", 100);
  it.talk.opened("b", "talk", 100);
  same("greets first", it.take().map(([channel, text]) => [channel, JSON.parse(text).t]), [["talk", "hello"]]);
  it.talk.heard("b", say(9), 100);
  same("not before", [it.heard, said.states.get(2), it.talk.nextWake], [[], "waiting", 100 + helloWithin]);
  it.hello();
  same("then", [it.take(), said.states.get(2), it.talk.nextWake], [[["talk", JSON.stringify({ t: "say", id: idOf(1), at: 5, text: "one" })]], "sent", null]);
  it.hello();
  it.talk.heard("b", say(9, "nine"), 100);
  it.talk.heard("b", say(9, "nine"), 100);
  same("once, with two receipts", [it.heard, it.take().map(([, text]) => JSON.parse(text).ids)], [[[2, "nine"]], [[idOf(9)], [idOf(9)]]]);
  // The next connection: the same id. A page that was loaded again shows what it has lost.
  it.talk.cut("b");
  same("waits again", said.states.get(2), "waiting");
  it.talk.opened("b", "talk", 200);
  it.hello();
  same("again", it.take().map(([, text]) => JSON.parse(text).id).filter(Boolean), [idOf(1)]);
  it.talk.heard("b", JSON.stringify({ t: "got", ids: [idOf(7), idOf(1)] }), 200);
  same("got", [said.states.get(2), it.talk.isOwing], ["got", false]);
  it.talk.heard("b", JSON.stringify({ t: "bye" }), 200);
  same("left", it.left, 1);

  // Bounds of what waits, and whoever is full.
  const full = pair();
  for (let n = 0; n < waitingMax; n += 1) full.talk.say(idOf(n), 1, "x", false);
  same("full", full.talk.say(idOf(99), 1, "x", false), { full: [2] });
  same("without them", [...full.talk.say(idOf(99), 1, "x", true).states], [[2, "lost"]]);
  const large = pair();
  let taken = 0;
  while (!large.talk.say(idOf(taken), 1, "x".repeat(textMax), false).full) taken += 1;
  same("bytes", taken, Math.floor(waitingBytesMax / textMax));
  same("long", [large.talk.say(idOf(1), 1, "é".repeat(textMax / 2 + 1), true), large.talk.say(idOf(1), 1, "\u0001".repeat(frameMax / 4), true)], [{ isLong: true }, { isLong: true }]);
  full.talk.seen([]);
  same("gone", full.talk.isOwing, false);

  // A connection that is busy, and one whose other end never greets.
  const busy = pair();
  busy.talk.opened("b", "talk", 0);
  busy.hello();
  busy.take();
  busy.isBusy = true;
  const late = busy.talk.say(idOf(1), 1, "x", false);
  for (let n = 0; n < 100; n += 1) busy.talk.heard("b", say(n), 0);
  same("busy", [late.states.get(2), busy.take()], ["waiting", []]);
  busy.isBusy = false;
  busy.talk.drained("b");
  same("drained", [late.states.get(2), busy.take().map(([, text]) => JSON.parse(text).ids?.length ?? 0)], ["sent", [64, 36, 0]]);
  const plain = pair();
  const pieces = plain.talk.say(idOf(1), 1, `${"x".repeat(plainMax - 1)}😀!`, false);
  plain.talk.opened("b", "chat", 0);
  plain.talk.timerFired(helloWithin - 1);
  same("patient", plain.take(), []);
  plain.talk.timerFired(helloWithin);
  same("plain", [plain.take().map(([channel, text]) => [channel, text.length]), pieces.states.get(2), plain.talk.isOwing],
    [[["chat", plainMax - 1], ["chat", 3]], "plain", false]);
  same("shown so", plain.talk.people.get("b").isPlain, true);
  plain.talk.opened("b", "talk", 0);
  plain.take();
  plain.hello({ name: "\u202ebob\u0007 " });
  same("greets late", [plain.talk.people.get("b").isPlain, plain.talk.people.get("b").name, plain.take()], [false, "bob", []]);

  // So many ids of one life are known. Another life begins anew.
  const memory = pair();
  memory.hello();
  for (let n = 0; n < rememberedMax; n += 1) memory.talk.heard("b", say(n), 0);
  memory.talk.heard("b", say(0), 0);
  same("remembers", memory.heard.length, rememberedMax);
  memory.talk.cut("b");
  memory.hello();
  memory.talk.heard("b", say(0), 0);
  same("over connections", memory.heard.length, rememberedMax);
  memory.talk.cut("b");
  memory.hello({ epoch: "AAAAAAAAAAE=" });
  memory.talk.heard("b", say(0), 0);
  same("another life", memory.heard.length, rememberedMax + 1);

  // Twenty in a minute break the connection.
  const hostile = pair();
  hostile.hello();
  for (let n = 0; n < 19; n += 1) hostile.talk.heard("b", "x", n);
  same("not yet", hostile.broke, 0);
  hostile.talk.heard("b", "x", 60_010);
  same("not in a minute", hostile.broke, 0);
  for (let n = 0; n < 12; n += 1) hostile.talk.heard("b", "x", 60_011);
  same("broken", hostile.broke, 1);
  return faults;
}

const found = {};
const wrong = steps();
if (wrong.length > 0) found.steps = wrong;
for (let seed = first; seed < first + count; seed += 1) {
  const faults = play(seed);
  if (faults.length > 0) found[seed] = faults;
}
return found;
