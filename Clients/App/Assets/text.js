// All words of the page. Sentences 1 to 10 of the design stand here as they are.

export const words = {
  // First run
  server: "Which server?",
  serverHint: "People who use the same server can write to each other. Its address looks like chat.example.",
  serverField: "Address of the server",
  serverSilent: "No Whisper server answers there.",
  next: "Continue",
  back: "Back",
  welcome: "Welcome to Whisper",
  welcomeText: "Messages that only you and the other person can read. Your identity stays on this computer.",
  isNew: "I'm new",
  hasWords: "I have twelve words",
  yourWords: "Your twelve words",
  aboutWords: "These twelve words are your identity. Anyone who has them can be you, and without them nobody can bring you back, not even your server. Write them down on paper: Whisper won't show them again.",
  show: "Show the words",
  print: "Print",
  written: "I've written them down",
  check: "Check what you wrote",
  checkText: (numbers) => `Type words ${numbers[0]}, ${numbers[1]} and ${numbers[2]}.`,
  word: (number) => `Word ${number}`,
  wrongWord: "That isn't the word. Look at your paper, or see the words again.",
  seeAgain: "See them again",
  restore: "Enter your twelve words",
  aboutRestore: "Your identity and contacts will come back. Messages stay on the device that has them. If another device is signed in, it will be signed out.",
  restorePaste: "Paste all twelve into the first field, or type them one by one.",
  unknownWord: "This isn't one of the words. Is it spelled right?",
  notTogether: "All are good words, but not together: one is wrong, or two are swapped.",
  bringBack: "Bring me back",
  came: (added, missing) => missing > 0 ? `Contacts are coming back (${added} of ${added + missing}).` : `${added === 1 ? "One contact is" : `${added} contacts are`} back.`,

  // Shell
  appName: "Whisper",
  chats: "Chats",
  chat: "Chat",
  live: "Live",
  add: "Add somebody",
  myCode: "My Whisper ID",
  menu: "Menu",
  settings: "Settings",
  quit: "Quit Whisper",
  security: "Security",
  account: "Backup and account",
  rooms: "Rooms",
  quitSure: "Whisper ends on this computer. Messages wait at the server until you open it again.",
  empty: "Nobody is here yet",
  emptyText: "Add somebody by their Whisper ID, or give them yours.",
  requests: "Requests",
  contacts: "Contacts",
  choose: "Choose a chat",
  unread: (count) => (count === 1 ? "1 unread message" : `${count} unread messages`),
  draft: "Draft:",
  you: "You:",
  blocked: "Blocked",
  muted: "Muted",
  pinned: "Pinned",
  title: (unread, rings) => (rings ? "Somebody is calling – Whisper" : unread > 0 ? `(${unread}) Whisper` : "Whisper"),

  // Chat
  messagesWith: "Messages with {name}",
  writeTo: (name) => `Write to ${name}`,
  send: "Send",
  backToChats: "Back to chats",
  toEnd: (count) => (count > 0 ? `To the latest, ${count} new` : "To the latest"),
  newMessages: "New messages",
  noMessages: "No messages yet. Say hello.",
  typing: "typing…",
  here: "online",
  deleted: "Deleted",
  unreadable: "This message can't be read.",
  other: "This message is of a kind that this page doesn't show yet.",
  file: "File",
  photo: "Photo",
  voiceNote: "Voice note",
  call: { phone: "Voice call", video: "Video call" },
  missed: { phone: "Missed voice call", video: "Missed video call" },
  youDeclined: "you declined",
  callOutcomes: { declined: "declined", busy: "busy", noAnswer: "no answer", cancelled: "cancelled", failed: "not connected" },
  edited: "edited",
  tooLong: (bytes) => `${bytes.toLocaleString()} of 8,000 bytes: too long to send.`,
  length: (bytes) => `${bytes.toLocaleString()} of 8,000 bytes`,
  notSent: "This wasn't sent.",
  tryAgain: "Try again",
  left: "You aren't in this group any more.",
  newcomers: "Nobody vouches for {names} in this group. What you write goes to them when you let them read.",
  admit: "Let them read",
  members: (count) => (count === 0 ? "Group" : count === 1 ? "Group, only you" : `Group of ${count}`),
  blockedText: "You've blocked this person.",
  unblock: "Unblock",
  bannedText: "This person is banned from the server.",
  gone: "No longer here.",
  several: (count) => `${count} new messages`,
  message: "Message",
  actions: "Actions",
  reply: "Reply",
  react: "React",
  edit: "Edit",
  info: "Info",
  remove: "Delete for both",
  writtenAt: "Written",
  state: "State",
  messageId: "Id, for support",
  disappears: "Disappears",
  replyTo: "Reply to {name}",
  inReply: "In reply to",
  editing: "Editing",
  earlier: "An earlier message",
  notHere: "That message isn't here any more.",
  cancel: "Cancel",
  reactionOf: (reaction, names) => `${reaction} from ${names.join(", ")}`,
  search: "Search",
  found: (count) => (count === 0 ? "Nothing was found" : count === 1 ? "1 was found" : `${count} were found`),
  states: {
    queued: ["◌", "Waiting"], sending: ["…", "Sending"], sent: ["✓", "Sent"], delivered: ["✓✓", "Delivered"],
    read: ["✓✓", "Read"], expired: ["⧖", "Expired"], failed: ["!", "Failed"],
  },
  // Polls
  newPoll: "New poll",
  question: "Question",
  answer: (number) => `Answer ${number}`,
  moreAnswers: "Another answer",
  poll: "Choose one",
  pollMany: "Choose as many as you like",
  pollOver: "This poll is over.",

  notForAll: (count) => (count === 1 ? "1 member can't get it" : `${count} members can't get it`),
  reasons: {
    noSuchPerson: "Nobody has this Whisper ID any more.",
    forbidden: "The server doesn't take messages for this person.",
    banned: "Your identity is banned.",
    rejected: "The server refused this message.",
    triedTooOften: "Whisper tried many times.",
    badKey: "This person's key can't be used.",
    fileNotUploaded: "The file couldn't be sent.",
    cancelled: "You took it back.",
  },

  // Files
  attach: "Attach files",
  sendTo: (name) => `Send to ${name}`,
  leaveOut: (name) => `Leave out ${name}`,
  original: "Send originals. They may tell where and when they were taken.",
  noFolders: "Folders can't be sent. Choose the files in them.",
  tooMany: (count) => `At most ${count} files go at once. The rest was left out.`,
  tooLarge: (size) => `Too large: the server takes at most ${size}.`,
  notAPicture: "This picture can't be read here, so what it would tell about you can't be taken out.",
  save: "Save",
  saveFile: (name) => `Save ${name}`,
  saveAnyway: "Save it anyway",
  program: "This file can do things when you open it. Save it only if you expected it from this person.",
  progress: "Progress",
  closedFile: "It opens when you accept this person.",
  fileGone: "This file isn't here any more.",
  notShown: "This is no picture or sound that Whisper shows. It can be saved.",
  fileFailed: {
    gone: "The server doesn't have this file any more.",
    forbidden: "The server doesn't give you this file.",
    damaged: "This isn't the file that was sent. Nothing of it was kept.",
    unreadable: "Whisper can't read or write its files. Is the disk full?",
    triedTooOften: "Whisper tried many times.",
    rejected: "The server refused this file.",
  },
  recording: "Recording…",
  stopRecording: "Stop",
  throwAway: "Throw away",
  noMicrophone: "Whisper can't use the microphone. Is there one, and may this page use it?",
  play: (length) => `Play, ${length}`,
  pause: "Pause",
  place: "Position",
  placeOf: (place, length) => `${place} of ${length}`,
  rate: (rate) => `Speed ${rate}×`,

  // Ten sentences
  replaced: "Your words were used on another device, so this one was signed out. If that wasn't you, somebody has your words.",
  useDevice: "Use this device",
  stranger: "You don't know this person. They won't see that you've read this unless you accept.",
  accept: "Accept",
  reject: "Delete",
  block: "Block",
  safety: "If you both see the same number, nobody is listening in between.",
  alarm: "The server offered different keys for {name}. Whisper refused them. Your messages still go to the {name} you know; compare safety numbers before you trust anything new.",
  offline: "You're offline. What you write is kept here and goes out when you're back.",
  expired: "{name}'s device didn't collect this within three days, so it was never delivered.",
  sendAgain: "Send again",
  banned: (until) => `The operators of this server have banned your identity${until ? ` until ${until}` : ""}. Nothing you send arrives, and nothing reaches you.`,
  stopped: "Whisper isn't running on this computer any more. Open it from your apps, or run: whisper app",

  // About a chat
  rename: "Rename",
  saved: "Saved",
  pin: "Keep at the top",
  mute: "Mute",
  timer: "Messages disappear after",
  timerOff: "They stay",
  timerHint: "For everybody in this chat, from when a message was read. Other people's apps may not do it, and a screenshot keeps it.",
  object: "you",
  groupNotes: {
    andMore: (count) => ` and ${count} more`,
    added: { own: "You added {people}.", theirs: "{name} added {people}.", self: "{people} joined.", none: "{people} joined." },
    removed: { own: "You removed {people}.", theirs: "{name} removed {people}.", self: "{people} left.", none: "{people}: no longer in the group." },
    title: { own: "You named the group {title}.", theirs: "{name} named the group {title}.", none: "The group is called {title} now." },
  },
  timerSet: {
    own: { on: "You set messages to disappear after {time}.", off: "You turned disappearing messages off." },
    theirs: { on: "{name} set messages to disappear after {time}.", off: "{name} turned disappearing messages off." },
  },
  disappear: (time) => `disappears after ${time}`,
  clear: "Clear chat",
  clearSure: "Clear it here",
  blockSure: "Block this person",
  blockAndReport: "Block and report",
  removePerson: "Remove contact",
  removeSure: "Remove; messages stay",
  notAContact: "This isn't one of your contacts. The messages stay until you clear the chat.",
  noMatch: "They don't match any more",
  pictureVouches: "The picture shows their code. It vouches as much as the way by which it came: compare the safety number.",
  report: "Report",
  reportThis: "Report this message",
  reportTitle: (name) => `Report ${name}`,
  reportPerson: "The operators of this server see who is reported, who reports, the reason and your note. They see no message.",
  reportMessage: "The operators of this server see who is reported, who reports, the reason, your note, and of this message whose it is, when and in which group it was sent. They get its sealed text, and can't read it.",
  reason: "Reason",
  reportReasons: { spam: "Unwanted messages", abuse: "Threats or abuse", other: "Something else" },
  reportNote: "Note",
  reportHint: "The operators read it.",
  reported: "Reported",
  reportedText: "The operators of this server will look at it.",
  reportOffline: "You're offline. A report can be sent when you're back.",

  // Windows and connection
  busy: "Whisper is already open in another window.",
  useHere: "Use here",
  callEnds: "Your call ends there.",
  taken: "Whisper is open in another window now.",
  closed: "You closed Whisper in this browser. Open it from your apps, or run: whisper app",
  loginRefused: "The server didn't let this identity in.",
  invitation: "This server takes somebody new by invitation only.",
  invitationField: "Invitation: a link or its token",
  storeFailed: "Whisper can't read or write its files. Is the disk full?",
  ends: {
    registrationClosed: "This server takes nobody new now.",
    erased: "This identity was erased for good. Nobody can use it again.",
    foreignChallenge: "Danger: the server asked for a signature that isn't for signing in. Nothing was signed. Don't trust this server.",
    foreignIdentity: "Danger: the server calls you by an ID that isn't yours. Nothing was sent. Don't trust this server.",
  },
  refused: "The server ended the connection.",
  notConnected: "Whisper runs, but isn't connected.",
  connect: "Connect",
  retry: (seconds) => `Next try in ${seconds} s.`,
  close: "Close",

  // People
  theirID: "Whisper ID",
  idHint: "Ask the person for it, or for their link. It looks like WSP-ABCD-EFGH-IJKL.",
  idWrong: "A Whisper ID has twelve letters and digits after WSP.",
  theirName: "Name, as you call them",
  adding: "Asking the server…",
  addOffline: "You're offline. Somebody new can be added when you're back.",
  nobody: "Nobody has this Whisper ID.",
  noPerson: "This isn't a person's code or link.",
  itIsYou: "This is your own.",
  otherServer: (server) => `This person is on another server: ${server}.`,
  scan: "Scan a code",
  scanHint: "Hold the code on their screen before your camera.",
  camera: "Picture of the camera",
  codePicture: "Picture of a code",
  noCodeThere: "There's no code in this picture.",
  noCameraHere: "Whisper can't use the camera. Is there one, and may this page use it? A picture of the code will do.",
  noReader: "This computer can't read codes: the library libzbar0 isn't installed. Paste their link instead.",
  noCode: "This is too long for a code.",
  codeName: "Your code, which others scan",
  otherPerson: "This is somebody else's code. Don't trust this chat before you've spoken to them.",
  reallyThem: (name) => `This is really ${name}.`,
  copyLink: "Copy the link",
  yourID: "Your Whisper ID",
  yourIDText: "Give it to people who want to write to you.",
  noID: "The server hasn't given you an ID yet. It will most likely be:",
  copy: "Copy",
  copied: "Copied",
  safetyTitle: "Safety number with {name}",
  match: "They match",
  verified: "verified",
  about: (name) => `About ${name}`,

  // Groups
  newGroup: "New group",
  groupTitle: "Name of the group",
  groupPeople: "Who is in it",
  groupNobody: "Add people first: a group is made of your contacts.",
  create: "Create",
  addToGroup: "Add people",
  roles: { owner: "owner", admin: "admin", member: "" },
  makeAdmin: "Make admin",
  noAdmin: "Admin no more",
  takeOut: (name) => `Remove ${name}`,
  leaveGroup: "Leave the group",
  leaveSure: "Leave it. Messages stay here",

  // Settings
  theme: "Colours",
  themes: { system: "As the computer", light: "Light", dark: "Dark" },
  size: "Size of text",
  receipts: "Tell senders what you've read",
  presence: "Show who is here. Others see when you are here in any case",
  typingSetting: "Show that you're typing, and who types",
  notices: "Notifications",
  noticesShow: { "": "Off", text: "Name and message", name: "Name", nothing: "Only that something came" },
  noticesDenied: "Your browser doesn't allow notifications for Whisper. It can be changed beside the address.",
  oneNew: "New message",
  oneRequest: "Somebody new wrote to you.",
  rings: "is calling",
  relayCalls: "Hide my address in calls. They go through the server, and may be slower",
  version: "Version",
  profile: "Profile",
  serverName: "Server",
};

/** A message in one line, or in a word if it has no text. */
export const gist = ({ text, attachment }) =>
  text || (attachment?.voice ? words.voiceNote : attachment?.image ? words.photo : words.file);

const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const oldDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "short" });
const near = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const midnight = (time) => new Date(time).setHours(0, 0, 0, 0);
const daysAgo = (time) => Math.round((midnight(Date.now()) - midnight(time)) / 86_400_000);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A call in the history: `Missed voice call`, `Video call, 3:12`. */
export function called({ isVideo, outcome, seconds }, isOurs = true) {
  const kind = words.call[isVideo ? "video" : "phone"];
  if (outcome === "missed") return words.missed[isVideo ? "video" : "phone"];
  return `${kind}, ${outcome === "talked" ? lengthOf(seconds * 1_000) : outcome === "declined" && !isOurs ? words.youDeclined : words.callOutcomes[outcome]}`;
}

/** A time in its largest whole unit: `1 day`. */
export function timeSpan(seconds) {
  const [unit, size] = [["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]].find(([, each]) => seconds % each === 0);
  return new Intl.NumberFormat(undefined, { style: "unit", unit, unitDisplay: "long" }).format(seconds / size);
}

/** Minutes and seconds. */
export const lengthOf = (ms) => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1_000) % 60).padStart(2, "0")}`;
export const sameDay = (one, other) => midnight(one) === midnight(other);
export const timeOf = (time) => clock.format(time);
export const wholeTime = (time) => whole.format(time);

export function dayOf(time) {
  const days = daysAgo(time);
  if (days >= 0 && days < 2) return capital(near.format(-days, "day"));
  return (days < 300 ? day : oldDay).format(time);
}

/** For a row of the list. */
export function timeInList(time) {
  const days = daysAgo(time);
  return days <= 0 ? clock.format(time) : (days < 7 ? weekday : short).format(time);
}
