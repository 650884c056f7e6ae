# Whisper 0.1.0. Generated from the verbs by `make documents`: do not edit it.
# Bounds of lengths and numbers stand in docs/core.json. A parameter whose name is a word of Python goes in a dictionary:
# core.send("message_react", **{"from": bob}, chat=bob, messageId=id, reaction="👍"). This module is for type checkers alone:
# import it under typing.TYPE_CHECKING.
from typing import Any, Literal, TypeAlias, TypedDict, overload
from typing_extensions import NotRequired

class IdentityCreatedResult(TypedDict):
    type: Literal["identityCreated"]
    words: str

class IdentityRestoredResult(TypedDict):
    type: Literal["identityRestored"]

class IdentityResult(TypedDict):
    type: Literal["identity"]
    hasIdentity: bool
    whisperId: NotRequired[str | None]
    likelyId: NotRequired[str | None]
    hasPassphrase: NotRequired[bool | None]
    signPublicKey: NotRequired[str | None]
    encPublicKey: NotRequired[str | None]

class WordsDrawnResult(TypedDict):
    type: Literal["wordsDrawn"]
    words: str

class WordsFoundResult(TypedDict):
    type: Literal["wordsFound"]
    words: list[str]

class WordsCheckedResult(TypedDict):
    type: Literal["wordsChecked"]
    isPhrase: bool
    count: int
    unknown: list[int]

class ServerResult(TypedDict):
    type: Literal["server"]
    url: str
    answers: bool

class ServerSetResult(TypedDict):
    type: Literal["serverSet"]
    url: str

class ConnectingResult(TypedDict):
    type: Literal["connecting"]

class DisconnectedResult(TypedDict):
    type: Literal["disconnected"]

class SessionStatusResult(TypedDict):
    type: Literal["sessionStatus"]
    core: Literal["noIdentity", "open", "suspended", "closed"]
    isConnecting: bool
    isOnline: bool
    refusedFrames: int
    whisperId: NotRequired[str | None]
    rateClass: NotRequired[str | None]
    isBanned: NotRequired[bool | None]
    bannedUntil: NotRequired[int | None]

class LoggedOutResult(TypedDict):
    type: Literal["loggedOut"]

class AccountDeletedResult(TypedDict):
    type: Literal["accountDeleted"]
    erasureId: NotRequired[str | None]
    isWiped: NotRequired[bool | None]

class AccountExportedResult(TypedDict):
    type: Literal["accountExported"]
    sizeBytes: int

class PushSetResult(TypedDict):
    type: Literal["pushSet"]

class PushMatchedResult(TypedDict):
    type: Literal["pushMatched"]
    isMine: bool

class Settings(TypedDict):
    readReceipts: bool
    typing: bool
    presence: bool
    backup: bool
    mentions: bool
    profiles: Literal["core", "host"]
    relayCalls: bool

class SettingsResult(TypedDict):
    type: Literal["settings"]
    settings: Settings
    owesPushTokens: bool

class SettingsSetResult(TypedDict):
    type: Literal["settingsSet"]
    settings: Settings

class TypingSaidResult(TypedDict):
    type: Literal["typingSaid"]
    state: Literal["now", "later", "known", "full", "off"]

class Presence(TypedDict):
    whisperId: str
    status: Literal["online", "offline"]
    lastSeen: NotRequired[int | None]

class PresencesResult(TypedDict):
    type: Literal["presences"]
    presences: list[Presence]

class NearbyStartedResult(TypedDict):
    type: Literal["nearbyStarted"]

class NearbyStoppedResult(TypedDict):
    type: Literal["nearbyStopped"]

class Phone(TypedDict):
    peer: str
    title: NotRequired[str | None]
    strength: NotRequired[int | None]
    isConnected: bool
    isOurs: bool
    whisperId: NotRequired[str | None]

class NearbyPhonesResult(TypedDict):
    type: Literal["nearbyPhones"]
    radio: Literal["off", "on", "denied", "unsupported"]
    title: NotRequired[str | None]
    phones: list[Phone]

class NearbyConnectingResult(TypedDict):
    type: Literal["nearbyConnecting"]

class NearbyDisconnectingResult(TypedDict):
    type: Literal["nearbyDisconnecting"]

class NearbySendingResult(TypedDict):
    type: Literal["nearbySending"]
    number: int

class CallStartedResult(TypedDict):
    type: Literal["callStarted"]
    callId: str

class HeldResult(TypedDict):
    type: Literal["held"]
    callId: str

class CallTakenResult(TypedDict):
    type: Literal["callTaken"]

class CallPathToldResult(TypedDict):
    type: Literal["callPathTold"]

class CallClosedResult(TypedDict):
    type: Literal["callClosed"]

class Call(TypedDict):
    callId: str
    chat: str
    isOwn: bool
    isVideo: bool
    stage: Literal["calling", "ringing", "talking"]
    isHeld: bool
    sdp: NotRequired[str | None]
    candidates: NotRequired[list[str] | None]

class CallsResult(TypedDict):
    type: Literal["calls"]
    calls: list[Call]

class RelaysResult(TypedDict):
    type: Literal["relays"]
    urls: list[str]
    username: str
    credential: str
    ttl: int

class Contact(TypedDict):
    whisperId: str
    name: NotRequired[str | None]
    isStranger: bool
    isPinned: bool
    isMuted: bool
    isBlocked: bool
    notes: NotRequired[str | None]
    isBanned: bool
    isGone: NotRequired[bool | None]
    isVerified: NotRequired[bool | None]
    verification: NotRequired[Literal["linked", "scanned", "compared"] | None]
    addedAt: int
    signPublicKey: str
    encPublicKey: str

class ContactResult(TypedDict):
    type: Literal["contact"]
    contact: Contact

class ReportedResult(TypedDict):
    type: Literal["reported"]
    reportId: str

class BackupBegunResult(TypedDict):
    type: Literal["backupBegun"]

class BackupDeletedResult(TypedDict):
    type: Literal["backupDeleted"]

class StoreCheckedResult(TypedDict):
    type: Literal["storeChecked"]
    isWhole: bool

class ContactsResult(TypedDict):
    type: Literal["contacts"]
    contacts: list[Contact]
    hasMore: bool

class RemovedResult(TypedDict):
    type: Literal["removed"]

class SafetyResult(TypedDict):
    type: Literal["safety"]
    number: str

class LinkResult(TypedDict):
    type: Literal["link"]
    text: str

class LinkReadResult(TypedDict):
    type: Literal["linkRead"]
    kind: Literal["add", "invite", "profile", "listen", "room", "transcript"]
    server: NotRequired[str | None]
    isOtherServer: bool
    whisperId: NotRequired[str | None]
    name: NotRequired[str | None]
    add: NotRequired[str | None]
    isOurs: bool
    conversationId: NotRequired[str | None]
    roomId: NotRequired[str | None]
    shareId: NotRequired[str | None]

class InvitationResult(TypedDict):
    type: Literal["invitation"]
    text: str
    token: str
    expiresAt: int

class InvitationRevokedResult(TypedDict):
    type: Literal["invitationRevoked"]

class RequestsResult(TypedDict):
    type: Literal["requests"]
    contacts: list[Contact]
    hasMore: bool

class RejectedResult(TypedDict):
    type: Literal["rejected"]

class Voice(TypedDict):
    durationMs: int
    waveform: NotRequired[str | None]

class Image(TypedDict):
    width: int
    height: int

class Attachment(TypedDict):
    name: NotRequired[str | None]
    mimeType: str
    size: int
    thumbnail: NotRequired[str | None]
    voice: NotRequired[Voice | None]
    image: NotRequired[Image | None]
    isUnsigned: NotRequired[bool | None]
    state: Literal["offered", "waiting", "complete", "kept", "failed"]
    reason: NotRequired[Literal["tooLarge", "quota", "gone", "forbidden", "damaged", "unreadable", "rejected", "triedTooOften"] | None]

class Mention(TypedDict):
    whisperId: str
    start: int
    count: int

class Option(TypedDict):
    text: str
    voters: list[str]

class Poll(TypedDict):
    options: list[Option]
    many: bool
    until: NotRequired[int | None]

Reaction = TypedDict("Reaction", {"from": str, "reaction": str})

class Latest(TypedDict):
    number: int
    messageId: str
    chat: str
    groupId: NotRequired[str | None]
    direction: Literal["in", "out"]
    time: int
    kind: str
    text: NotRequired[str | None]
    body: NotRequired[str | None]
    attachment: NotRequired[Attachment | None]
    mentions: NotRequired[list[Mention] | None]
    isMentioned: NotRequired[bool | None]
    poll: NotRequired[Poll | None]
    isEdited: NotRequired[bool | None]
    replyTo: NotRequired[str | None]
    replyFrom: NotRequired[str | None]
    reactions: NotRequired[list[Reaction] | None]
    state: NotRequired[Literal["queued", "sending", "sent", "delivered", "read", "expired", "failed"] | None]
    reason: NotRequired[Literal["noSuchPerson", "forbidden", "banned", "rejected", "triedTooOften", "badKey", "fileNotUploaded", "cancelled"] | None]
    failedMembers: NotRequired[int | None]
    expires: NotRequired[int | None]
    expiresAt: NotRequired[int | None]
    isRead: NotRequired[bool | None]

Note = TypedDict("Note", {"number": int, "time": int, "kind": Literal["timer", "call", "added", "removed", "title"], "from": NotRequired[str | None], "seconds": NotRequired[int | None], "members": NotRequired[list[str] | None], "count": NotRequired[int | None], "title": NotRequired[str | None], "isVideo": NotRequired[bool | None], "outcome": NotRequired[Literal["talked", "missed", "declined", "busy", "noAnswer", "cancelled", "failed"] | None]})

class Chat(TypedDict):
    chat: str
    kind: Literal["person", "group"]
    name: NotRequired[str | None]
    isStranger: bool
    isPinned: bool
    isMuted: bool
    isBlocked: bool
    isGone: NotRequired[bool | None]
    unread: int
    firstUnread: NotRequired[int | None]
    draft: NotRequired[str | None]
    latest: Latest
    note: NotRequired[Note | None]

class ChatsResult(TypedDict):
    type: Literal["chats"]
    chats: list[Chat]
    cursor: NotRequired[int | None]

class MessagesResult(TypedDict):
    type: Literal["messages"]
    messages: list[Latest]
    hasOlder: bool
    hasNewer: bool
    notes: NotRequired[list[Note] | None]
    timer: NotRequired[int | None]
    keepers: NotRequired[list[str] | None]

class ReadResult(TypedDict):
    type: Literal["read"]
    count: int

class DraftedResult(TypedDict):
    type: Literal["drafted"]

class ChatResult(TypedDict):
    type: Literal["chat"]
    chat: str
    unread: int
    draft: NotRequired[str | None]
    isPinned: bool
    isMuted: bool
    timer: NotRequired[int | None]
    keepers: NotRequired[list[str] | None]

class ClearedResult(TypedDict):
    type: Literal["cleared"]
    count: int

class FoundResult(TypedDict):
    type: Literal["found"]
    messages: list[Latest]
    cursor: NotRequired[int | None]

class Message(TypedDict):
    messageId: str
    chat: str
    groupId: NotRequired[str | None]
    direction: Literal["in", "out"]
    time: int
    kind: str
    text: NotRequired[str | None]
    body: NotRequired[str | None]
    attachment: NotRequired[Attachment | None]
    mentions: NotRequired[list[Mention] | None]
    isMentioned: NotRequired[bool | None]
    poll: NotRequired[Poll | None]
    isEdited: NotRequired[bool | None]
    replyTo: NotRequired[str | None]
    replyFrom: NotRequired[str | None]
    reactions: NotRequired[list[Reaction] | None]
    state: NotRequired[Literal["queued", "sending", "sent", "delivered", "read", "expired", "failed"] | None]
    reason: NotRequired[Literal["noSuchPerson", "forbidden", "banned", "rejected", "triedTooOften", "badKey", "fileNotUploaded", "cancelled"] | None]
    failedMembers: NotRequired[int | None]
    expires: NotRequired[int | None]
    expiresAt: NotRequired[int | None]
    isRead: NotRequired[bool | None]

class MessageResult(TypedDict):
    type: Literal["message"]
    message: Message

class Member(TypedDict):
    whisperId: str
    state: Literal["queued", "sending", "sent", "delivered", "read", "expired", "failed"]
    reason: NotRequired[Literal["noSuchPerson", "forbidden", "banned", "rejected", "triedTooOften", "badKey", "fileNotUploaded", "cancelled"] | None]

class MessageInfoMessageResult(TypedDict):
    type: Literal["message"]
    message: Latest
    members: NotRequired[list[Member] | None]

class QueuedResult(TypedDict):
    type: Literal["queued"]
    count: int
    messageIds: list[str]

class CancelledResult(TypedDict):
    type: Literal["cancelled"]
    count: int

class UnreadResult(TypedDict):
    type: Literal["unread"]
    messages: list[Latest]
    count: int

class OutboxResultChat(TypedDict):
    chat: str
    count: int

class OutboxResult(TypedDict):
    type: Literal["outbox"]
    isPaused: bool
    chats: list[OutboxResultChat]

class ResumedResult(TypedDict):
    type: Literal["resumed"]

class DiscardedResult(TypedDict):
    type: Literal["discarded"]
    count: int

class RoomHoldHeldResult(TypedDict):
    type: Literal["held"]
    roomId: str

class Participant(TypedDict):
    participant: str
    seat: int
    via: Literal["creator", "code", "link"]
    isConnected: bool
    isLinked: NotRequired[bool | None]
    link: NotRequired[int | None]
    name: NotRequired[str | None]
    joinedAt: int
    signPublicKey: str
    encPublicKey: str
    safetyNumber: NotRequired[str | None]

class Turn(TypedDict):
    urls: list[str]
    username: str
    credential: str
    ttl: int

class Room(TypedDict):
    roomId: str
    own: NotRequired[str | None]
    host: str
    participantsMax: int
    isLocked: bool
    revision: int
    state: Literal["pending", "accepted", "closed"]
    expiresAt: int
    participants: list[Participant]
    code: NotRequired[str | None]
    codeExpiresAt: NotRequired[int | None]
    link: NotRequired[str | None]
    turn: NotRequired[Turn | None]

class RoomResult(TypedDict):
    type: Literal["room"]
    room: Room

class RoomsResult(TypedDict):
    type: Literal["rooms"]
    rooms: list[Room]

class SignalledResult(TypedDict):
    type: Literal["signalled"]

class RoomCodeResult(TypedDict):
    type: Literal["roomCode"]
    roomId: str
    code: NotRequired[str | None]
    codeExpiresAt: NotRequired[int | None]

class RoomUpdateRoomResult(TypedDict):
    type: Literal["room"]
    room: NotRequired[Room | None]

class RoomRemovedResult(TypedDict):
    type: Literal["roomRemoved"]
    roomId: str
    participant: str

class RoomPokedResult(TypedDict):
    type: Literal["roomPoked"]
    roomId: str
    woken: int

class SaidResult(TypedDict):
    type: Literal["said"]
    id: str

class NamedResult(TypedDict):
    type: Literal["named"]
    name: NotRequired[str | None]

class ReceivedResult(TypedDict):
    type: Literal["received"]

class TurnResult(TypedDict):
    type: Literal["turn"]
    turn: Turn

class RoomLeftResult(TypedDict):
    type: Literal["roomLeft"]
    roomId: str

class RoomPurgedResult(TypedDict):
    type: Literal["roomPurged"]
    left: int
    closed: int

class Conversation(TypedDict):
    conversationId: str
    name: str
    title: str
    whisperer: str
    admission: Literal["knock", "passcode", "link"]
    passcode: NotRequired[str | None]
    transcriptDays: int
    link: str
    state: NotRequired[Literal["idle", "live", "paused"] | None]
    holder: NotRequired[str | None]

class ConversationResult(TypedDict):
    type: Literal["conversation"]
    conversation: Conversation

class LiveDeletedResult(TypedDict):
    type: Literal["liveDeleted"]
    conversationId: str

class ConversationsResult(TypedDict):
    type: Literal["conversations"]
    conversations: list[Conversation]

class Heard(TypedDict):
    conversationId: str
    title: str
    whisperer: str
    link: str
    listenedAt: int

class KnownResult(TypedDict):
    type: Literal["known"]
    own: list[Conversation]
    defaultId: NotRequired[str | None]
    lastId: NotRequired[str | None]
    heard: list[Heard]

class LiveHoldHeldResult(TypedDict):
    type: Literal["held"]
    conversationId: str

class WhisperingResult(TypedDict):
    type: Literal["whispering"]
    conversationId: str

class TypedResult(TypedDict):
    type: Literal["typed"]
    conversationId: str
    text: str

class LiveLineTypedResult(TypedDict):
    type: Literal["typed"]
    conversationId: str

class CuedResult(TypedDict):
    type: Literal["cued"]
    conversationId: str

class LiveStoppedResult(TypedDict):
    type: Literal["liveStopped"]
    conversationId: str

class Line(TypedDict):
    line: int
    text: str

class LiveResult(TypedDict):
    type: Literal["live"]
    conversationId: str
    role: Literal["whisperer", "listener"]
    state: Literal["starting", "live", "stopped", "failed", "joining", "waiting", "idle", "paused", "ended", "over"]
    reason: NotRequired[str | None]
    note: NotRequired[str | None]
    contentId: NotRequired[str | None]
    isTranscribed: bool
    text: str
    lines: list[Line]
    hasOlder: bool
    waiting: list[str]

class Caller(TypedDict):
    listener: str
    name: str
    note: NotRequired[str | None]

class Listener(TypedDict):
    listener: str
    name: str
    isPresent: bool

class RosterResult(TypedDict):
    type: Literal["roster"]
    callers: list[Caller]
    listeners: list[Listener]

class AcceptedResult(TypedDict):
    type: Literal["accepted"]
    conversationId: str

class RefusedResult(TypedDict):
    type: Literal["refused"]
    conversationId: str

class LiveRemoveRemovedResult(TypedDict):
    type: Literal["removed"]
    conversationId: str

class LookResult(TypedDict):
    type: Literal["look"]
    conversationId: str
    title: str
    whisperer: str
    admission: Literal["knock", "passcode", "link"]
    state: Literal["idle", "live", "paused"]
    isTranscribed: bool

class ListeningResult(TypedDict):
    type: Literal["listening"]
    conversationId: str

class LiveLeftResult(TypedDict):
    type: Literal["liveLeft"]
    conversationId: str

class RaisedResult(TypedDict):
    type: Literal["raised"]
    conversationId: str

class Transcript(TypedDict):
    contentId: str
    startedAt: int
    endedAt: NotRequired[int | None]
    lines: int
    expiresAt: int

class TranscriptsResult(TypedDict):
    type: Literal["transcripts"]
    transcripts: list[Transcript]

class ShareResult(TypedDict):
    type: Literal["share"]
    shareId: str
    link: str
    expiresAt: int

class UnsharedResult(TypedDict):
    type: Literal["unshared"]
    conversationId: str

class ForgottenResult(TypedDict):
    type: Literal["forgotten"]
    conversationId: str

class ProfileMember(TypedDict):
    whisperId: str
    joinedAt: int

class Document(TypedDict):
    name: Literal["user", "whisper", "listen", "settings", "favorites"]
    version: int
    updatedAt: int
    bytes: int

class Profile(TypedDict):
    profileId: str
    link: str
    members: list[ProfileMember]
    documents: list[Document]

class ProfileResult(TypedDict):
    type: Literal["profile"]
    profile: Profile

class ProfileRemoveRemovedResult(TypedDict):
    type: Literal["removed"]
    whisperId: str
    link: NotRequired[str | None]

class LeftResult(TypedDict):
    type: Literal["left"]

class DocumentResult(TypedDict):
    type: Literal["document"]
    name: Literal["user", "whisper", "listen", "settings", "favorites"]
    version: int
    updatedAt: int
    content: str

class WrittenResult(TypedDict):
    type: Literal["written"]
    name: Literal["user", "whisper", "listen", "settings", "favorites"]
    version: int
    updatedAt: int

class RepairedResult(TypedDict):
    type: Literal["repaired"]

class ProfileStatusResult(TypedDict):
    type: Literal["profileStatus"]
    isShared: bool
    owed: list[Literal["user", "whisper", "listen", "settings", "favorites"]]
    members: list[str]
    isStale: bool

class UserResult(TypedDict):
    type: Literal["user"]
    username: NotRequired[str | None]
    device: NotRequired[str | None]

class Favorite(TypedDict):
    id: str
    name: str
    text: str
    place: int

class FavoriteResult(TypedDict):
    type: Literal["favorite"]
    favorite: Favorite

class FavoriteRemovedResult(TypedDict):
    type: Literal["favoriteRemoved"]

class FavoritesResult(TypedDict):
    type: Literal["favorites"]
    favorites: list[Favorite]

class Group(TypedDict):
    groupId: str
    title: str
    isMember: bool
    members: int
    revision: int
    newcomers: NotRequired[list[str] | None]
    needsConsent: NotRequired[bool | None]
    createdAt: int
    updatedAt: int

class GroupResult(TypedDict):
    type: Literal["group"]
    group: Group

class GroupsResult(TypedDict):
    type: Literal["groups"]
    groups: list[Group]
    hasMore: bool

class MembersResultMember(TypedDict):
    whisperId: str
    name: NotRequired[str | None]
    role: Literal["owner", "admin", "member"]
    joinedAt: int
    hasKeys: bool

class MembersResult(TypedDict):
    type: Literal["members"]
    members: list[MembersResultMember]

class BackupStatusResult(TypedDict):
    type: Literal["backupStatus"]
    isBackedUp: bool

class Suspect(TypedDict):
    whisperId: str
    kind: Literal["unverified", "stale"]
    count: int

class StoreInfoResult(TypedDict):
    type: Literal["storeInfo"]
    unread: int
    unsettled: int
    suspicious: int
    suspects: list[Suspect]
    owesReadMarks: bool
    consumers: int

class Openrpc(TypedDict):
    openrpc: str

class SchemaResult(TypedDict):
    type: Literal["schema"]
    openrpc: Openrpc

class Parameters(TypedDict):
    to: NotRequired[str | None]
    chat: NotRequired[str | None]
    whisperId: NotRequired[str | None]
    messageId: NotRequired[str | None]
    replyTo: NotRequired[str | None]
    reaction: NotRequired[str | None]
    text: NotRequired[str | None]
    path: NotRequired[str | None]

class CommandResult(TypedDict):
    type: Literal["command"]
    verb: str
    parameters: Parameters

class Value(TypedDict):
    key: str
    value: str

class HostResult(TypedDict):
    type: Literal["host"]
    values: list[Value]

class HostSetResult(TypedDict):
    type: Literal["hostSet"]

class Result(TypedDict):
    type: str

class Error(TypedDict):
    code: Literal["closed", "forked", "suspended", "busyReader", "tooMany", "tooLong", "invalidCommand", "unknownVerb", "invalidField", "notReadOnly", "config", "locked", "wrongKey", "notADatabase", "damaged", "needsUpgrade", "needsDowngrade", "tooNew", "unsupported", "noIdentity", "identityExists", "words", "otherServer", "newerLink", "unknownContact", "bannedContact", "blockedContact", "toSelf", "conflict", "notFound", "notText", "unknownConsumer", "inUse", "changed", "outdated", "unreadable", "managed", "busy", "wrongStage", "notMember", "notAgreed", "offline", "banned", "unreachable", "server", "foreignKeys", "changedKeys", "nameTaken", "forbidden", "rateLimited", "file", "tooLarge", "store", "internal"]
    message: str
    retryable: bool
    field: NotRequired[str | None]
    similar: NotRequired[list[str] | None]
    pid: NotRequired[int | None]
    steps: NotRequired[int | None]

class KeptResult(TypedDict):
    type: Literal["kept"]
    verb: NotRequired[str | None]
    result: NotRequired[Result | None]
    error: NotRequired[Error | None]

class SubscribedResult(TypedDict):
    type: Literal["subscribed"]
    acked: int
    newest: int
    isKnown: bool

class UnsubscribedResult(TypedDict):
    type: Literal["unsubscribed"]

class AckedResult(TypedDict):
    type: Literal["acked"]
    acked: int
    newest: int

class EventsResultEvent(TypedDict):
    seq: NotRequired[int | None]
    account: NotRequired[str | None]
    event: Result

class EventsResult(TypedDict):
    type: Literal["events"]
    events: list[EventsResultEvent]

class ConnectionEvent(TypedDict):
    type: Literal["connection"]
    state: Literal["connecting", "online", "away", "stopped"]
    why: NotRequired[str | None]
    retryInMs: NotRequired[int | None]
    reason: NotRequired[Literal["closed", "replaced", "banned", "loginRefused", "foreignChallenge", "foreignIdentity", "storeFailed", "registrationClosed", "invitationNeeded", "invitationInvalid", "erased", "confirmationMismatch"] | None]
    bannedUntil: NotRequired[int | None]

class CaughtUpEvent(TypedDict):
    type: Literal["caughtUp"]

class MessageReceivedEvent(TypedDict):
    type: Literal["messageReceived"]
    message: Message
    isSilent: NotRequired[bool | None]

class MessageChangedEvent(TypedDict):
    type: Literal["messageChanged"]
    message: Message

class ContactChangedEvent(TypedDict):
    type: Literal["contactChanged"]
    contact: Contact

class RequestReceivedEvent(TypedDict):
    type: Literal["requestReceived"]
    contact: Contact

class GroupChangedEvent(TypedDict):
    type: Literal["groupChanged"]
    group: Group
    actor: NotRequired[str | None]
    added: list[str]
    removed: list[str]

class BackupEvent(TypedDict):
    type: Literal["backup"]
    state: Literal["written", "restored", "unreadable", "tooLarge", "refused"]
    added: NotRequired[int | None]
    missing: NotRequired[int | None]
    bytes: NotRequired[int | None]
    status: NotRequired[int | None]

class AlarmEvent(TypedDict):
    type: Literal["alarm"]
    kind: Literal["unverified", "stale", "foreignKeys", "changedKeys"]
    whisperId: str
    count: NotRequired[int | None]

class RoomChangedEvent(TypedDict):
    type: Literal["roomChanged"]
    room: Room

class RoomEventEvent(TypedDict):
    type: Literal["roomEvent"]
    roomId: str
    event: Literal["joined", "left", "removed", "away", "back", "host", "updated", "closed"]
    participant: NotRequired[str | None]

RoomSignalEvent = TypedDict("RoomSignalEvent", {"type": Literal["roomSignal"], "roomId": str, "from": str, "link": int, "kind": Literal["offer", "accept", "answer", "candidate", "drop"], "sdp": NotRequired[str | None], "isFresh": NotRequired[bool | None], "candidate": NotRequired[str | None], "sdpMLineIndex": NotRequired[int | None], "sdpMid": NotRequired[str | None]})

class RoomForgedEvent(TypedDict):
    type: Literal["roomForged"]
    roomId: str
    participant: str

class RoomEndedEvent(TypedDict):
    type: Literal["roomEnded"]
    roomId: str
    reason: Literal["left", "closed", "removed", "notFound", "broken"]

class RoomDataEvent(TypedDict):
    type: Literal["roomData"]
    roomId: str
    to: str
    link: int
    channel: Literal["talk", "chat"]
    text: str

RoomMessageEvent = TypedDict("RoomMessageEvent", {"type": Literal["roomMessage"], "roomId": str, "id": str, "from": str, "name": NotRequired[str | None], "at": int, "text": str, "re": NotRequired[str | None]})

class RoomMessageStateEvent(TypedDict):
    type: Literal["roomMessageState"]
    roomId: str
    id: str
    to: str
    state: Literal["waiting", "sent", "got", "lost"]

class RoomPersonEvent(TypedDict):
    type: Literal["roomPerson"]
    roomId: str
    participant: str
    name: NotRequired[str | None]
    isPlain: bool
    isFull: bool

class AnswerEvent(TypedDict):
    type: Literal["answer"]
    request: int
    verb: str
    corrId: NotRequired[str | None]
    result: NotRequired[Result | None]
    error: NotRequired[Error | None]

class SettingsChangedEvent(TypedDict):
    type: Literal["settingsChanged"]
    settings: Settings

class TypingEvent(TypedDict):
    type: Literal["typing"]
    chat: str
    isTyping: bool

class PresenceEvent(TypedDict):
    type: Literal["presence"]
    whisperId: str
    status: Literal["online", "offline"]
    lastSeen: NotRequired[int | None]

class ChatChangedEvent(TypedDict):
    type: Literal["chatChanged"]
    chat: str
    unread: int
    draft: NotRequired[str | None]
    isPinned: bool
    isMuted: bool
    timer: NotRequired[int | None]
    keepers: NotRequired[list[str] | None]

TimerChangedEvent = TypedDict("TimerChangedEvent", {"type": Literal["timerChanged"], "chat": str, "from": str, "seconds": int})

MessagesExpiredEventMessage = TypedDict("MessagesExpiredEventMessage", {"number": int, "messageId": str, "from": NotRequired[str | None]})

class MessagesExpiredEvent(TypedDict):
    type: Literal["messagesExpired"]
    chat: str
    messages: list[MessagesExpiredEventMessage]

class CallIncomingEvent(TypedDict):
    type: Literal["callIncoming"]
    callId: str
    chat: str
    isVideo: bool
    sdp: str

class CallRingingEvent(TypedDict):
    type: Literal["callRinging"]
    callId: str

class CallAnsweredEvent(TypedDict):
    type: Literal["callAnswered"]
    callId: str
    sdp: str

class CallCandidateEvent(TypedDict):
    type: Literal["callCandidate"]
    callId: str
    candidate: str

class CallTakenEvent(TypedDict):
    type: Literal["callTaken"]
    callId: str

class CallEndedEvent(TypedDict):
    type: Literal["callEnded"]
    callId: str
    chat: str
    reason: Literal["ended", "declined", "busy", "timeout", "failed", "cancelled"]

class CallNotedEvent(TypedDict):
    type: Literal["callNoted"]
    chat: str
    note: Note

class NearbyChangedEvent(TypedDict):
    type: Literal["nearbyChanged"]
    change: Literal["radio", "found", "lost", "connected", "known", "disconnected"]
    radio: NotRequired[Literal["off", "on", "denied", "unsupported"] | None]
    phone: NotRequired[Phone | None]
    reason: NotRequired[Literal["hungUp", "refused", "timeout", "lost", "closed"] | None]

class NearbyTextEvent(TypedDict):
    type: Literal["nearbyText"]
    peer: str
    title: NotRequired[str | None]
    text: str

class NearbySentEvent(TypedDict):
    type: Literal["nearbySent"]
    number: int
    arrived: bool

FileProgressEvent = TypedDict("FileProgressEvent", {"type": Literal["fileProgress"], "messageId": str, "chat": str, "from": NotRequired[str | None], "bytes": int, "total": int})

class ProfileChangedEvent(TypedDict):
    type: Literal["profileChanged"]
    profileId: str
    change: Literal["document", "members"]
    name: NotRequired[Literal["user", "whisper", "listen", "settings", "favorites"] | None]
    version: NotRequired[int | None]

class ConversationsChangedEvent(TypedDict):
    type: Literal["conversationsChanged"]

class FavoritesChangedEvent(TypedDict):
    type: Literal["favoritesChanged"]

class ProfileFullEvent(TypedDict):
    type: Literal["profileFull"]
    name: Literal["user", "whisper", "listen", "settings", "favorites"]

class ProfileForeignEvent(TypedDict):
    type: Literal["profileForeign"]
    name: Literal["user", "whisper", "listen", "settings", "favorites"]
    isNewer: bool

class ProfileRolledBackEvent(TypedDict):
    type: Literal["profileRolledBack"]
    name: Literal["user", "whisper", "listen", "settings", "favorites"]

class Fact(TypedDict):
    name: str
    value: str

class LogEvent(TypedDict):
    type: Literal["log"]
    level: Literal["debug", "info", "notice", "warning", "error"]
    message: str
    facts: list[Fact]

class TakenEvent(TypedDict):
    type: Literal["taken"]

EventsLostEvent = TypedDict("EventsLostEvent", {"type": Literal["eventsLost"], "count": int, "from": NotRequired[int | None], "to": NotRequired[int | None]})

class LiveStartedEvent(TypedDict):
    type: Literal["liveStarted"]
    conversationId: str
    isResumed: bool

class LiveStoppedEvent(TypedDict):
    type: Literal["liveStopped"]
    conversationId: str
    reason: Literal["stopped", "taken_over", "removed"]

class LiveFailedEvent(TypedDict):
    type: Literal["liveFailed"]
    conversationId: str
    code: str

class LiveKnockedEvent(TypedDict):
    type: Literal["liveKnocked"]
    conversationId: str
    listener: str
    name: str
    note: NotRequired[str | None]

class LiveListenerEvent(TypedDict):
    type: Literal["liveListener"]
    conversationId: str
    listener: str
    name: str
    status: Literal["waiting", "joined", "left", "admitted", "refused", "blocked"]
    joined: int

class LiveAttentionEvent(TypedDict):
    type: Literal["liveAttention"]
    conversationId: str
    listener: str
    name: str
    want: Literal["hand", "repeat", "slower"]

class LiveKeysChangedEvent(TypedDict):
    type: Literal["liveKeysChanged"]
    conversationId: str
    generation: int

class LiveSaidEvent(TypedDict):
    type: Literal["liveSaid"]
    conversationId: str
    line: int
    text: str

class LiveWaitingEvent(TypedDict):
    type: Literal["liveWaiting"]
    conversationId: str

class LiveJoinedEvent(TypedDict):
    type: Literal["liveJoined"]
    conversationId: str
    state: Literal["idle", "live", "paused"]
    isTranscribed: bool

class LiveStateEvent(TypedDict):
    type: Literal["liveState"]
    conversationId: str
    state: Literal["live", "paused", "ended"]

class LiveBeganEvent(TypedDict):
    type: Literal["liveBegan"]
    conversationId: str
    contentId: str

class LiveTextEvent(TypedDict):
    type: Literal["liveText"]
    conversationId: str
    text: str

class LiveLineEvent(TypedDict):
    type: Literal["liveLine"]
    conversationId: str
    line: int
    text: str

LiveMissingEvent = TypedDict("LiveMissingEvent", {"type": Literal["liveMissing"], "conversationId": str, "from": int, "to": int})

class LiveCueEvent(TypedDict):
    type: Literal["liveCue"]
    conversationId: str
    sound: NotRequired[Literal["air-horn", "bike-horn", "bike-bell"] | None]
    say: NotRequired[str | None]
    transcript: NotRequired[str | None]

class LiveEndedEvent(TypedDict):
    type: Literal["liveEnded"]
    conversationId: str
    reason: Literal["notFound", "forbidden", "broken", "declined", "passcode", "removed", "expired", "deleted"]
    note: NotRequired[str | None]

class Asked(TypedDict):
    type: Literal["asked"]
    request: int

Event: TypeAlias = (
    ConnectionEvent
    | CaughtUpEvent
    | MessageReceivedEvent
    | MessageChangedEvent
    | ContactChangedEvent
    | RequestReceivedEvent
    | GroupChangedEvent
    | BackupEvent
    | AlarmEvent
    | RoomChangedEvent
    | RoomEventEvent
    | RoomSignalEvent
    | RoomForgedEvent
    | RoomEndedEvent
    | RoomDataEvent
    | RoomMessageEvent
    | RoomMessageStateEvent
    | RoomPersonEvent
    | AnswerEvent
    | SettingsChangedEvent
    | TypingEvent
    | PresenceEvent
    | ChatChangedEvent
    | TimerChangedEvent
    | MessagesExpiredEvent
    | CallIncomingEvent
    | CallRingingEvent
    | CallAnsweredEvent
    | CallCandidateEvent
    | CallTakenEvent
    | CallEndedEvent
    | CallNotedEvent
    | NearbyChangedEvent
    | NearbyTextEvent
    | NearbySentEvent
    | FileProgressEvent
    | ProfileChangedEvent
    | ConversationsChangedEvent
    | FavoritesChangedEvent
    | ProfileFullEvent
    | ProfileForeignEvent
    | ProfileRolledBackEvent
    | LogEvent
    | SubscribedResult
    | TakenEvent
    | EventsLostEvent
    | LiveStartedEvent
    | LiveStoppedEvent
    | LiveFailedEvent
    | LiveKnockedEvent
    | LiveListenerEvent
    | LiveAttentionEvent
    | LiveKeysChangedEvent
    | LiveSaidEvent
    | LiveWaitingEvent
    | LiveJoinedEvent
    | LiveStateEvent
    | LiveBeganEvent
    | LiveTextEvent
    | LiveLineEvent
    | LiveMissingEvent
    | LiveCueEvent
    | LiveEndedEvent
)
class Envelope(TypedDict):
    seq: NotRequired[int]
    account: NotRequired[str | None]
    event: Event

class Verbs:
    @overload
    def send(self, verb: Literal["identity_create"], *, passphrase: str | None = ..., invitation: str | None = ..., corrId: str | None = ...) -> IdentityCreatedResult: ...
    @overload
    def send(self, verb: Literal["identity_restore"], *, words: str, passphrase: str | None = ..., corrId: str | None = ...) -> IdentityRestoredResult: ...
    @overload
    def send(self, verb: Literal["identity_show"], *, corrId: str | None = ...) -> IdentityResult: ...
    @overload
    def send(self, verb: Literal["words_draw"], *, corrId: str | None = ...) -> WordsDrawnResult: ...
    @overload
    def send(self, verb: Literal["words_find"], *, prefix: str, corrId: str | None = ...) -> WordsFoundResult: ...
    @overload
    def send(self, verb: Literal["words_check"], *, words: str, corrId: str | None = ...) -> WordsCheckedResult: ...
    @overload
    def send(self, verb: Literal["server_check"], *, url: str, corrId: str | None = ...) -> ServerResult: ...
    @overload
    def send(self, verb: Literal["server_set"], *, url: str, corrId: str | None = ...) -> ServerSetResult: ...
    @overload
    def send(self, verb: Literal["connect"], *, invitation: str | None = ..., corrId: str | None = ...) -> ConnectingResult: ...
    @overload
    def send(self, verb: Literal["disconnect"], *, corrId: str | None = ...) -> DisconnectedResult: ...
    @overload
    def send(self, verb: Literal["session_status"], *, corrId: str | None = ...) -> SessionStatusResult: ...
    @overload
    def send(self, verb: Literal["logout"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["account_delete"], *, confirm: str, sentMail: Literal["keep", "withdraw"] | None = ..., wipe: bool | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["account_export"], *, to: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["push_set"], *, pushToken: str | None = ..., voipToken: str | None = ..., corrId: str | None = ...) -> PushSetResult: ...
    @overload
    def send(self, verb: Literal["push_match"], *, tag: str, wakeId: str, corrId: str | None = ...) -> PushMatchedResult: ...
    @overload
    def send(self, verb: Literal["settings_get"], *, corrId: str | None = ...) -> SettingsResult: ...
    @overload
    def send(self, verb: Literal["settings_set"], *, readReceipts: bool | None = ..., typing: bool | None = ..., presence: bool | None = ..., backup: bool | None = ..., mentions: bool | None = ..., profiles: Literal["core", "host"] | None = ..., relayCalls: bool | None = ..., corrId: str | None = ...) -> SettingsSetResult: ...
    @overload
    def send(self, verb: Literal["typing"], *, chat: str, isTyping: bool, corrId: str | None = ...) -> TypingSaidResult: ...
    @overload
    def send(self, verb: Literal["presence_list"], *, after: str | None = ..., limit: int | None = ..., corrId: str | None = ...) -> PresencesResult: ...
    @overload
    def send(self, verb: Literal["nearby_start"], *, title: str | None = ..., corrId: str | None = ...) -> NearbyStartedResult: ...
    @overload
    def send(self, verb: Literal["nearby_stop"], *, corrId: str | None = ...) -> NearbyStoppedResult: ...
    @overload
    def send(self, verb: Literal["nearby_list"], *, corrId: str | None = ...) -> NearbyPhonesResult: ...
    @overload
    def send(self, verb: Literal["nearby_connect"], *, peer: str, corrId: str | None = ...) -> NearbyConnectingResult: ...
    @overload
    def send(self, verb: Literal["nearby_disconnect"], *, peer: str, corrId: str | None = ...) -> NearbyDisconnectingResult: ...
    @overload
    def send(self, verb: Literal["nearby_send"], *, peer: str, text: str, corrId: str | None = ...) -> NearbySendingResult: ...
    @overload
    def send(self, verb: Literal["call_start"], *, chat: str, isVideo: bool, sdp: str, corrId: str | None = ...) -> CallStartedResult: ...
    @overload
    def send(self, verb: Literal["call_hold"], *, callId: str, corrId: str | None = ...) -> HeldResult: ...
    @overload
    def send(self, verb: Literal["call_answer"], *, callId: str, sdp: str, corrId: str | None = ...) -> CallTakenResult: ...
    @overload
    def send(self, verb: Literal["call_ice"], *, callId: str, candidate: str, corrId: str | None = ...) -> CallPathToldResult: ...
    @overload
    def send(self, verb: Literal["call_end"], *, callId: str, reason: Literal["ended", "declined", "busy", "timeout", "failed", "cancelled"] | None = ..., corrId: str | None = ...) -> CallClosedResult: ...
    @overload
    def send(self, verb: Literal["call_list"], *, corrId: str | None = ...) -> CallsResult: ...
    @overload
    def send(self, verb: Literal["call_turn"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["contact_verify"], *, whisperId: str, isVerified: bool, number: str | None = ..., corrId: str | None = ...) -> ContactResult: ...
    @overload
    def send(self, verb: Literal["report_send"], *, whisperId: str, reason: Literal["spam", "abuse", "other"], note: str | None = ..., messageId: str | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["backup_now"], *, corrId: str | None = ...) -> BackupBegunResult: ...
    @overload
    def send(self, verb: Literal["backup_delete"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["store_check"], *, corrId: str | None = ...) -> StoreCheckedResult: ...
    @overload
    def send(self, verb: Literal["contact_add"], *, whisperId: str | None = ..., link: str | None = ..., source: Literal["link", "scan"] | None = ..., name: str | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["contact_list"], *, after: str | None = ..., corrId: str | None = ...) -> ContactsResult: ...
    @overload
    def send(self, verb: Literal["contact_update"], *, whisperId: str, name: str | None = ..., notes: str | None = ..., pinned: bool | None = ..., muted: bool | None = ..., corrId: str | None = ...) -> ContactResult: ...
    @overload
    def send(self, verb: Literal["contact_remove"], *, whisperId: str, corrId: str | None = ...) -> RemovedResult: ...
    @overload
    def send(self, verb: Literal["contact_block"], *, whisperId: str, corrId: str | None = ...) -> ContactResult: ...
    @overload
    def send(self, verb: Literal["contact_unblock"], *, whisperId: str, corrId: str | None = ...) -> ContactResult: ...
    @overload
    def send(self, verb: Literal["contact_safety"], *, whisperId: str, corrId: str | None = ...) -> SafetyResult: ...
    @overload
    def send(self, verb: Literal["contact_link"], *, whisperId: str | None = ..., name: str | None = ..., form: Literal["app", "web"] | None = ..., corrId: str | None = ...) -> LinkResult: ...
    @overload
    def send(self, verb: Literal["contact_qr"], *, whisperId: str | None = ..., name: str | None = ..., form: Literal["app", "web"] | None = ..., corrId: str | None = ...) -> LinkResult: ...
    @overload
    def send(self, verb: Literal["link_read"], *, text: str, corrId: str | None = ...) -> LinkReadResult: ...
    @overload
    def send(self, verb: Literal["invitation_create"], *, expiresInSeconds: int | None = ..., form: Literal["app", "web"] | None = ..., name: str | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["invitation_revoke"], *, text: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["request_list"], *, after: str | None = ..., corrId: str | None = ...) -> RequestsResult: ...
    @overload
    def send(self, verb: Literal["request_accept"], *, whisperId: str, corrId: str | None = ...) -> ContactResult: ...
    @overload
    def send(self, verb: Literal["request_reject"], *, whisperId: str, corrId: str | None = ...) -> RejectedResult: ...
    @overload
    def send(self, verb: Literal["chat_list"], *, limit: int | None = ..., cursor: int | None = ..., corrId: str | None = ...) -> ChatsResult: ...
    @overload
    def send(self, verb: Literal["chat_get"], *, chat: str, before: int | None = ..., after: int | None = ..., around: int | None = ..., limit: int | None = ..., corrId: str | None = ...) -> MessagesResult: ...
    @overload
    def send(self, verb: Literal["chat_read"], *, chat: str, upTo: int, corrId: str | None = ...) -> ReadResult: ...
    @overload
    def send(self, verb: Literal["chat_draft"], *, chat: str, text: str, corrId: str | None = ...) -> DraftedResult: ...
    @overload
    def send(self, verb: Literal["chat_mark"], *, chat: str, pinned: bool | None = ..., muted: bool | None = ..., corrId: str | None = ...) -> ChatResult: ...
    @overload
    def send(self, verb: Literal["chat_timer"], *, chat: str, seconds: int, corrId: str | None = ...) -> ChatResult: ...
    @overload
    def send(self, verb: Literal["chat_clear"], *, chat: str, upTo: int | None = ..., corrId: str | None = ...) -> ClearedResult: ...
    @overload
    def send(self, verb: Literal["search"], *, text: str, chat: str | None = ..., limit: int | None = ..., cursor: int | None = ..., corrId: str | None = ...) -> FoundResult: ...
    @overload
    def send(self, verb: Literal["message_send"], *, to: str, text: str, replyTo: str | None = ..., replyFrom: str | None = ..., clientId: str | None = ..., expires: int | None = ..., mentions: list[Mention] | None = ..., corrId: str | None = ...) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["poll_send"], *, to: str, text: str, options: list[str], many: bool | None = ..., until: int | None = ..., clientId: str | None = ..., corrId: str | None = ...) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["poll_vote"], *, chat: str, messageId: str, choices: list[int], corrId: str | None = ..., **others: str) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["message_edit"], *, messageId: str, text: str, mentions: list[Mention] | None = ..., corrId: str | None = ...) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["message_delete"], *, messageId: str, corrId: str | None = ...) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["message_react"], *, chat: str, messageId: str, reaction: str, corrId: str | None = ..., **others: str) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["message_info"], *, messageId: str, corrId: str | None = ..., **others: str) -> MessageInfoMessageResult: ...
    @overload
    def send(self, verb: Literal["message_read"], *, messageId: str, corrId: str | None = ..., **others: str) -> ReadResult: ...
    @overload
    def send(self, verb: Literal["message_retry"], *, chat: str, corrId: str | None = ...) -> QueuedResult: ...
    @overload
    def send(self, verb: Literal["message_cancel"], *, chat: str, corrId: str | None = ...) -> CancelledResult: ...
    @overload
    def send(self, verb: Literal["message_unread"], *, chat: str | None = ..., after: int | None = ..., limit: int | None = ..., corrId: str | None = ...) -> UnreadResult: ...
    @overload
    def send(self, verb: Literal["outbox_status"], *, corrId: str | None = ...) -> OutboxResult: ...
    @overload
    def send(self, verb: Literal["outbox_resume"], *, corrId: str | None = ...) -> ResumedResult: ...
    @overload
    def send(self, verb: Literal["outbox_discard"], *, corrId: str | None = ...) -> DiscardedResult: ...
    @overload
    def send(self, verb: Literal["room_hold"], *, roomId: str, isEntered: bool | None = ..., corrId: str | None = ...) -> RoomHoldHeldResult: ...
    @overload
    def send(self, verb: Literal["room_create"], *, roomId: str | None = ..., participantsMax: int | None = ..., codeDigits: int | None = ..., codeTtlSeconds: int | None = ..., pin: str | None = ..., hasLink: bool | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_join"], *, code: str | None = ..., pin: str | None = ..., link: str | None = ..., roomId: str | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_list"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_get"], *, roomId: str, corrId: str | None = ...) -> RoomResult: ...
    @overload
    def send(self, verb: Literal["room_signal"], *, roomId: str, to: str, link: int, kind: Literal["offer", "answer", "candidate", "connected", "failed", "low"], sdp: str | None = ..., candidate: str | None = ..., sdpMLineIndex: int | None = ..., sdpMid: str | None = ..., corrId: str | None = ...) -> SignalledResult: ...
    @overload
    def send(self, verb: Literal["room_code"], *, roomId: str, codeDigits: int | None = ..., codeTtlSeconds: int | None = ..., pin: str | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_update"], *, roomId: str, host: str | None = ..., participantsMax: int | None = ..., isLocked: bool | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_remove"], *, roomId: str, participant: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_poke"], *, roomId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_say"], *, roomId: str, text: str, re: str | None = ..., isPartial: bool | None = ..., corrId: str | None = ...) -> SaidResult: ...
    @overload
    def send(self, verb: Literal["room_name"], *, name: str | None = ..., corrId: str | None = ...) -> NamedResult: ...
    @overload
    def send(self, verb: Literal["room_data"], *, roomId: str, to: str, link: int, channel: Literal["talk", "chat"] | None = ..., text: str | None = ..., base64: str | None = ..., corrId: str | None = ...) -> ReceivedResult: ...
    @overload
    def send(self, verb: Literal["room_turn"], *, roomId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_leave"], *, roomId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_close"], *, roomId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["room_purge"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_create"], *, name: str, title: str | None = ..., whisperer: str | None = ..., admission: Literal["knock", "passcode", "link"] | None = ..., passcode: str | None = ..., transcriptDays: int | None = ..., corrId: str | None = ...) -> ConversationResult: ...
    @overload
    def send(self, verb: Literal["live_update"], *, conversationId: str, title: str | None = ..., whisperer: str | None = ..., admission: Literal["knock", "passcode", "link"] | None = ..., passcode: str | None = ..., transcriptDays: int | None = ..., newLink: bool | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_delete"], *, conversationId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_list"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_known"], *, corrId: str | None = ...) -> KnownResult: ...
    @overload
    def send(self, verb: Literal["live_default"], *, conversationId: str | None = ..., corrId: str | None = ...) -> ConversationResult: ...
    @overload
    def send(self, verb: Literal["live_hold"], *, conversationId: str, corrId: str | None = ..., **others: str) -> LiveHoldHeldResult: ...
    @overload
    def send(self, verb: Literal["live_start"], *, conversationId: str | None = ..., corrId: str | None = ...) -> WhisperingResult: ...
    @overload
    def send(self, verb: Literal["live_type"], *, conversationId: str, text: str, corrId: str | None = ...) -> TypedResult: ...
    @overload
    def send(self, verb: Literal["live_line"], *, conversationId: str, text: str, corrId: str | None = ...) -> LiveLineTypedResult: ...
    @overload
    def send(self, verb: Literal["live_cue"], *, conversationId: str, sound: Literal["air-horn", "bike-horn", "bike-bell"] | None = ..., say: str | None = ..., to: str | None = ..., corrId: str | None = ...) -> CuedResult: ...
    @overload
    def send(self, verb: Literal["live_stop"], *, conversationId: str, lastWordsMs: int | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_get"], *, conversationId: str | None = ..., before: int | None = ..., corrId: str | None = ...) -> LiveResult: ...
    @overload
    def send(self, verb: Literal["live_roster"], *, conversationId: str, corrId: str | None = ...) -> RosterResult: ...
    @overload
    def send(self, verb: Literal["live_accept"], *, conversationId: str, listener: str, corrId: str | None = ...) -> AcceptedResult: ...
    @overload
    def send(self, verb: Literal["live_refuse"], *, conversationId: str, listener: str, corrId: str | None = ...) -> RefusedResult: ...
    @overload
    def send(self, verb: Literal["live_remove"], *, conversationId: str, listener: str, isBlocked: bool | None = ..., corrId: str | None = ...) -> LiveRemoveRemovedResult: ...
    @overload
    def send(self, verb: Literal["live_look"], *, link: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_listen"], *, name: str, link: str | None = ..., conversationId: str | None = ..., passcode: str | None = ..., note: str | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_leave"], *, conversationId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_attention"], *, conversationId: str, want: Literal["hand", "repeat", "slower"], corrId: str | None = ...) -> RaisedResult: ...
    @overload
    def send(self, verb: Literal["live_transcripts"], *, conversationId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_share"], *, conversationId: str, contentId: str, expiresInSeconds: int, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_unshare"], *, conversationId: str, shareId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["live_forget"], *, conversationId: str, contentId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_share"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_join"], *, link: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_get"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_remove"], *, whisperId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_leave"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_read"], *, name: Literal["user", "whisper", "listen", "settings", "favorites"], corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_write"], *, name: Literal["user", "whisper", "listen", "settings", "favorites"], version: int, content: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_renew"], *, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_repair"], *, name: Literal["user", "whisper", "listen", "settings", "favorites"], corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["profile_status"], *, corrId: str | None = ...) -> ProfileStatusResult: ...
    @overload
    def send(self, verb: Literal["user_set"], *, username: str | None = ..., device: str | None = ..., corrId: str | None = ...) -> UserResult: ...
    @overload
    def send(self, verb: Literal["favorite_set"], *, name: str, text: str, id: str | None = ..., place: int | None = ..., corrId: str | None = ...) -> FavoriteResult: ...
    @overload
    def send(self, verb: Literal["favorite_remove"], *, id: str, corrId: str | None = ...) -> FavoriteRemovedResult: ...
    @overload
    def send(self, verb: Literal["favorite_list"], *, corrId: str | None = ...) -> FavoritesResult: ...
    @overload
    def send(self, verb: Literal["group_create"], *, title: str, members: list[str], corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["group_update"], *, groupId: str, title: str | None = ..., add: list[str] | None = ..., remove: list[str] | None = ..., admins: list[str] | None = ..., members: list[str] | None = ..., corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["group_leave"], *, groupId: str, corrId: str | None = ...) -> Asked: ...
    @overload
    def send(self, verb: Literal["group_admit"], *, groupId: str, members: list[str], isAgreed: bool | None = ..., corrId: str | None = ...) -> GroupResult: ...
    @overload
    def send(self, verb: Literal["group_list"], *, after: str | None = ..., corrId: str | None = ...) -> GroupsResult: ...
    @overload
    def send(self, verb: Literal["group_members"], *, groupId: str, corrId: str | None = ...) -> MembersResult: ...
    @overload
    def send(self, verb: Literal["attachment_send"], *, chat: str, path: str | None = ..., file: str | None = ..., name: str | None = ..., mimeType: str | None = ..., text: str | None = ..., thumbnail: str | None = ..., voice: Voice | None = ..., image: Image | None = ..., replyTo: str | None = ..., replyFrom: str | None = ..., clientId: str | None = ..., corrId: str | None = ...) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["attachment_get"], *, messageId: str, to: str, corrId: str | None = ..., **others: str) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["attachment_keep"], *, messageId: str, corrId: str | None = ..., **others: str) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["attachment_cancel"], *, messageId: str, corrId: str | None = ..., **others: str) -> MessageResult: ...
    @overload
    def send(self, verb: Literal["backup_status"], *, corrId: str | None = ...) -> BackupStatusResult: ...
    @overload
    def send(self, verb: Literal["store_info"], *, corrId: str | None = ...) -> StoreInfoResult: ...
    @overload
    def send(self, verb: Literal["schema"], *, corrId: str | None = ...) -> SchemaResult: ...
    @overload
    def send(self, verb: Literal["command_parse"], *, text: str, chat: str | None = ..., corrId: str | None = ...) -> CommandResult: ...
    @overload
    def send(self, verb: Literal["host_get"], *, corrId: str | None = ...) -> HostResult: ...
    @overload
    def send(self, verb: Literal["host_set"], *, key: str, value: str, corrId: str | None = ...) -> HostSetResult: ...
    @overload
    def send(self, verb: Literal["answer_get"], *, of: str, corrId: str | None = ...) -> KeptResult: ...
    @overload
    def send(self, verb: Literal["events_subscribe"], *, consumer: str, after: int | None = ..., corrId: str | None = ...) -> SubscribedResult: ...
    @overload
    def send(self, verb: Literal["events_unsubscribe"], *, consumer: str, corrId: str | None = ...) -> UnsubscribedResult: ...
    @overload
    def send(self, verb: Literal["events_ack"], *, consumer: str, seq: int, corrId: str | None = ...) -> AckedResult: ...
    @overload
    def send(self, verb: Literal["events_list"], *, consumer: str, after: int | None = ..., limit: int | None = ..., corrId: str | None = ...) -> EventsResult: ...
    @overload
    def query(self, verb: Literal["identity_show"], *, corrId: str | None = ...) -> IdentityResult: ...
    @overload
    def query(self, verb: Literal["words_draw"], *, corrId: str | None = ...) -> WordsDrawnResult: ...
    @overload
    def query(self, verb: Literal["words_find"], *, prefix: str, corrId: str | None = ...) -> WordsFoundResult: ...
    @overload
    def query(self, verb: Literal["words_check"], *, words: str, corrId: str | None = ...) -> WordsCheckedResult: ...
    @overload
    def query(self, verb: Literal["push_match"], *, tag: str, wakeId: str, corrId: str | None = ...) -> PushMatchedResult: ...
    @overload
    def query(self, verb: Literal["settings_get"], *, corrId: str | None = ...) -> SettingsResult: ...
    @overload
    def query(self, verb: Literal["store_check"], *, corrId: str | None = ...) -> StoreCheckedResult: ...
    @overload
    def query(self, verb: Literal["contact_list"], *, after: str | None = ..., corrId: str | None = ...) -> ContactsResult: ...
    @overload
    def query(self, verb: Literal["contact_safety"], *, whisperId: str, corrId: str | None = ...) -> SafetyResult: ...
    @overload
    def query(self, verb: Literal["contact_link"], *, whisperId: str | None = ..., name: str | None = ..., form: Literal["app", "web"] | None = ..., corrId: str | None = ...) -> LinkResult: ...
    @overload
    def query(self, verb: Literal["contact_qr"], *, whisperId: str | None = ..., name: str | None = ..., form: Literal["app", "web"] | None = ..., corrId: str | None = ...) -> LinkResult: ...
    @overload
    def query(self, verb: Literal["link_read"], *, text: str, corrId: str | None = ...) -> LinkReadResult: ...
    @overload
    def query(self, verb: Literal["request_list"], *, after: str | None = ..., corrId: str | None = ...) -> RequestsResult: ...
    @overload
    def query(self, verb: Literal["chat_list"], *, limit: int | None = ..., cursor: int | None = ..., corrId: str | None = ...) -> ChatsResult: ...
    @overload
    def query(self, verb: Literal["chat_get"], *, chat: str, before: int | None = ..., after: int | None = ..., around: int | None = ..., limit: int | None = ..., corrId: str | None = ...) -> MessagesResult: ...
    @overload
    def query(self, verb: Literal["search"], *, text: str, chat: str | None = ..., limit: int | None = ..., cursor: int | None = ..., corrId: str | None = ...) -> FoundResult: ...
    @overload
    def query(self, verb: Literal["message_info"], *, messageId: str, corrId: str | None = ..., **others: str) -> MessageInfoMessageResult: ...
    @overload
    def query(self, verb: Literal["message_unread"], *, chat: str | None = ..., after: int | None = ..., limit: int | None = ..., corrId: str | None = ...) -> UnreadResult: ...
    @overload
    def query(self, verb: Literal["outbox_status"], *, corrId: str | None = ...) -> OutboxResult: ...
    @overload
    def query(self, verb: Literal["live_known"], *, corrId: str | None = ...) -> KnownResult: ...
    @overload
    def query(self, verb: Literal["favorite_list"], *, corrId: str | None = ...) -> FavoritesResult: ...
    @overload
    def query(self, verb: Literal["group_list"], *, after: str | None = ..., corrId: str | None = ...) -> GroupsResult: ...
    @overload
    def query(self, verb: Literal["group_members"], *, groupId: str, corrId: str | None = ...) -> MembersResult: ...
    @overload
    def query(self, verb: Literal["backup_status"], *, corrId: str | None = ...) -> BackupStatusResult: ...
    @overload
    def query(self, verb: Literal["store_info"], *, corrId: str | None = ...) -> StoreInfoResult: ...
    @overload
    def query(self, verb: Literal["schema"], *, corrId: str | None = ...) -> SchemaResult: ...
    @overload
    def query(self, verb: Literal["command_parse"], *, text: str, chat: str | None = ..., corrId: str | None = ...) -> CommandResult: ...
    @overload
    def query(self, verb: Literal["host_get"], *, corrId: str | None = ...) -> HostResult: ...
    @overload
    def query(self, verb: Literal["answer_get"], *, of: str, corrId: str | None = ...) -> KeptResult: ...
    @overload
    def query(self, verb: Literal["events_list"], *, consumer: str, after: int | None = ..., limit: int | None = ..., corrId: str | None = ...) -> EventsResult: ...
    @overload
    def ask(self, verb: Literal["logout"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> LoggedOutResult: ...
    @overload
    def ask(self, verb: Literal["account_delete"], timeout: float = ..., others: list[Envelope] | None = ..., *, confirm: str, sentMail: Literal["keep", "withdraw"] | None = ..., wipe: bool | None = ..., corrId: str | None = ...) -> AccountDeletedResult: ...
    @overload
    def ask(self, verb: Literal["account_export"], timeout: float = ..., others: list[Envelope] | None = ..., *, to: str, corrId: str | None = ...) -> AccountExportedResult: ...
    @overload
    def ask(self, verb: Literal["call_turn"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> RelaysResult: ...
    @overload
    def ask(self, verb: Literal["report_send"], timeout: float = ..., others: list[Envelope] | None = ..., *, whisperId: str, reason: Literal["spam", "abuse", "other"], note: str | None = ..., messageId: str | None = ..., corrId: str | None = ...) -> ReportedResult: ...
    @overload
    def ask(self, verb: Literal["backup_delete"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> BackupDeletedResult: ...
    @overload
    def ask(self, verb: Literal["contact_add"], timeout: float = ..., others: list[Envelope] | None = ..., *, whisperId: str | None = ..., link: str | None = ..., source: Literal["link", "scan"] | None = ..., name: str | None = ..., corrId: str | None = ...) -> ContactResult: ...
    @overload
    def ask(self, verb: Literal["invitation_create"], timeout: float = ..., others: list[Envelope] | None = ..., *, expiresInSeconds: int | None = ..., form: Literal["app", "web"] | None = ..., name: str | None = ..., corrId: str | None = ...) -> InvitationResult: ...
    @overload
    def ask(self, verb: Literal["invitation_revoke"], timeout: float = ..., others: list[Envelope] | None = ..., *, text: str, corrId: str | None = ...) -> InvitationRevokedResult: ...
    @overload
    def ask(self, verb: Literal["room_create"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str | None = ..., participantsMax: int | None = ..., codeDigits: int | None = ..., codeTtlSeconds: int | None = ..., pin: str | None = ..., hasLink: bool | None = ..., corrId: str | None = ...) -> RoomResult: ...
    @overload
    def ask(self, verb: Literal["room_join"], timeout: float = ..., others: list[Envelope] | None = ..., *, code: str | None = ..., pin: str | None = ..., link: str | None = ..., roomId: str | None = ..., corrId: str | None = ...) -> RoomResult: ...
    @overload
    def ask(self, verb: Literal["room_list"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> RoomsResult: ...
    @overload
    def ask(self, verb: Literal["room_code"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, codeDigits: int | None = ..., codeTtlSeconds: int | None = ..., pin: str | None = ..., corrId: str | None = ...) -> RoomCodeResult: ...
    @overload
    def ask(self, verb: Literal["room_update"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, host: str | None = ..., participantsMax: int | None = ..., isLocked: bool | None = ..., corrId: str | None = ...) -> RoomUpdateRoomResult: ...
    @overload
    def ask(self, verb: Literal["room_remove"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, participant: str, corrId: str | None = ...) -> RoomRemovedResult: ...
    @overload
    def ask(self, verb: Literal["room_poke"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, corrId: str | None = ...) -> RoomPokedResult: ...
    @overload
    def ask(self, verb: Literal["room_turn"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, corrId: str | None = ...) -> TurnResult: ...
    @overload
    def ask(self, verb: Literal["room_leave"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, corrId: str | None = ...) -> RoomLeftResult: ...
    @overload
    def ask(self, verb: Literal["room_close"], timeout: float = ..., others: list[Envelope] | None = ..., *, roomId: str, corrId: str | None = ...) -> RoomLeftResult: ...
    @overload
    def ask(self, verb: Literal["room_purge"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> RoomPurgedResult: ...
    @overload
    def ask(self, verb: Literal["live_update"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, title: str | None = ..., whisperer: str | None = ..., admission: Literal["knock", "passcode", "link"] | None = ..., passcode: str | None = ..., transcriptDays: int | None = ..., newLink: bool | None = ..., corrId: str | None = ...) -> ConversationResult: ...
    @overload
    def ask(self, verb: Literal["live_delete"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, corrId: str | None = ...) -> LiveDeletedResult: ...
    @overload
    def ask(self, verb: Literal["live_list"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> ConversationsResult: ...
    @overload
    def ask(self, verb: Literal["live_stop"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, lastWordsMs: int | None = ..., corrId: str | None = ...) -> LiveStoppedResult: ...
    @overload
    def ask(self, verb: Literal["live_look"], timeout: float = ..., others: list[Envelope] | None = ..., *, link: str, corrId: str | None = ...) -> LookResult: ...
    @overload
    def ask(self, verb: Literal["live_listen"], timeout: float = ..., others: list[Envelope] | None = ..., *, name: str, link: str | None = ..., conversationId: str | None = ..., passcode: str | None = ..., note: str | None = ..., corrId: str | None = ...) -> ListeningResult: ...
    @overload
    def ask(self, verb: Literal["live_leave"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, corrId: str | None = ...) -> LiveLeftResult: ...
    @overload
    def ask(self, verb: Literal["live_transcripts"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, corrId: str | None = ...) -> TranscriptsResult: ...
    @overload
    def ask(self, verb: Literal["live_share"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, contentId: str, expiresInSeconds: int, corrId: str | None = ...) -> ShareResult: ...
    @overload
    def ask(self, verb: Literal["live_unshare"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, shareId: str, corrId: str | None = ...) -> UnsharedResult: ...
    @overload
    def ask(self, verb: Literal["live_forget"], timeout: float = ..., others: list[Envelope] | None = ..., *, conversationId: str, contentId: str, corrId: str | None = ...) -> ForgottenResult: ...
    @overload
    def ask(self, verb: Literal["profile_share"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> ProfileResult: ...
    @overload
    def ask(self, verb: Literal["profile_join"], timeout: float = ..., others: list[Envelope] | None = ..., *, link: str, corrId: str | None = ...) -> ProfileResult: ...
    @overload
    def ask(self, verb: Literal["profile_get"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> ProfileResult: ...
    @overload
    def ask(self, verb: Literal["profile_remove"], timeout: float = ..., others: list[Envelope] | None = ..., *, whisperId: str, corrId: str | None = ...) -> ProfileRemoveRemovedResult: ...
    @overload
    def ask(self, verb: Literal["profile_leave"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> LeftResult: ...
    @overload
    def ask(self, verb: Literal["profile_read"], timeout: float = ..., others: list[Envelope] | None = ..., *, name: Literal["user", "whisper", "listen", "settings", "favorites"], corrId: str | None = ...) -> DocumentResult: ...
    @overload
    def ask(self, verb: Literal["profile_write"], timeout: float = ..., others: list[Envelope] | None = ..., *, name: Literal["user", "whisper", "listen", "settings", "favorites"], version: int, content: str, corrId: str | None = ...) -> WrittenResult: ...
    @overload
    def ask(self, verb: Literal["profile_renew"], timeout: float = ..., others: list[Envelope] | None = ..., *, corrId: str | None = ...) -> ProfileResult: ...
    @overload
    def ask(self, verb: Literal["profile_repair"], timeout: float = ..., others: list[Envelope] | None = ..., *, name: Literal["user", "whisper", "listen", "settings", "favorites"], corrId: str | None = ...) -> RepairedResult: ...
    @overload
    def ask(self, verb: Literal["group_create"], timeout: float = ..., others: list[Envelope] | None = ..., *, title: str, members: list[str], corrId: str | None = ...) -> GroupResult: ...
    @overload
    def ask(self, verb: Literal["group_update"], timeout: float = ..., others: list[Envelope] | None = ..., *, groupId: str, title: str | None = ..., add: list[str] | None = ..., remove: list[str] | None = ..., admins: list[str] | None = ..., members: list[str] | None = ..., corrId: str | None = ...) -> GroupResult: ...
    @overload
    def ask(self, verb: Literal["group_leave"], timeout: float = ..., others: list[Envelope] | None = ..., *, groupId: str, corrId: str | None = ...) -> GroupResult: ...
