package import Contract

/// Bounds and times of the client.
package enum ClientLimits {
    /// How long a person who leaves waits for queued messages to go out, and between two looks.
    package static let leavingPatience = Duration.seconds(30)
    package static let leavingLook = Duration.milliseconds(100)
    /// Plain text of one message, in bytes (spec §11).
    package static let textBytesMax = 8_000
    /// The object behind the text of a sealed message, and the NUL before it. A thumbnail is most of it.
    package static let annexBytesMax = 16_384
    /// A small picture that goes with a file, in bytes. Its Base64 fits into the object behind the text.
    package static let thumbnailBytesMax = 8_192
    /// Milliseconds of a voice note: up to an hour.
    package static let voiceDuration: ClosedRange<Int64> = 1...3_600_000
    /// Slices of a voice note of which the loudness is told.
    package static let waveformSlices = 1...64
    /// Width and height of a picture, in pixels.
    package static let imageSide: ClosedRange<Int64> = 1...65_535
    /// The name of a file, in bytes.
    package static let fileNameBytesMax = 255
    /// The MIME type of a file, in bytes.
    package static let fileTypeBytesMax = 100
    /// A path of the host's, in bytes.
    package static let pathBytesMax = 4_096
    /// Files of ours that wait for their upload, or whose messages wait. Each has a sealed copy in the folder.
    package static let uploadsMax = 64
    /// Files of others that wait for their download.
    package static let downloadsMax = 256
    /// Files that are uploaded or downloaded at once.
    package static let transfersAtOnceMax = 2
    /// Files that the host gives by pieces at once; with those that wait for their message; and how long they wait.
    package static let filesComingMax = 2
    package static let filesGivenMax = 8
    package static let fileGivenFor = Duration.seconds(600)
    /// Sealed bytes of the files that are kept for the host. Files unused longest go first.
    package static let keptBytesMax: Int64 = 500_000_000
    /// A file of a contact up to so many bytes is worth fetching unasked.
    package static let fileUnaskedBytesMax: Int64 = 2_000_000
    /// Attempts to write one document of a profile that other devices write, too.
    package static let documentAttemptsMax = 5
    /// Attempts to transfer one file. A download that has got further begins to count anew.
    package static let transferAttemptsMax = 10
    /// A URL that is good for less is asked for again.
    package static let uploadURLLeftMin = Duration.seconds(60)
    /// Events of the progress of one file.
    package static let progressStepsMax = 20
    /// One reaction: an emoji of several parts, or a short word.
    package static let reactionBytesMax = 64
    /// Options of a poll, and the bytes of one.
    package static let pollOptions = 2...10
    package static let optionBytesMax = 100
    /// People who are named in one text.
    package static let mentionsMax = 32
    /// People whose reactions to one message are kept. A group has no more members.
    package static let reactionsMax = 256
    /// Changes of one sender whose messages have not come yet. Beyond it that sender's oldest go.
    package static let changesWaitingPerSenderMax = 100
    /// The same of all senders together. Beyond it the oldest go.
    package static let changesWaitingMax = 10_000
    /// Changes of ours that the server does not have.
    package static let changesQueuedMax = 10_000
    /// Groups that are known here. The server lets an identity be in fewer; those that were left count too.
    package static let groupsMax = 10_000
    /// Pages of one list of groups.
    package static let groupPagesMax = 100
    /// Members of groups whose keys are asked for in one go, of those without any answer.
    package static let groupMembersLookedUpMax = 256
    /// Between questions for keys of members, when the server does not want to answer now.
    package static let memberLookupPause = Duration.seconds(5)
    /// Words of one search. The rest is not looked for.
    package static let searchWordsMax = 16
    /// Seconds after which a message may disappear: up to four weeks.
    package static let timerSeconds: ClosedRange<Int64> = 30...2_419_200
    /// After somebody got a chat's timer, a message of theirs without a time is of an app that does not know timers.
    package static let timerKnownAfter = Duration.seconds(86_400)
    /// Calls, and changes of the timer and of the group, that a chat's history shows, together: the latest.
    package static let chatNotesMax = 100
    /// People whom a change of a group names. It also has the count of all.
    package static let noteMembersMax = 20
    /// Messages that disappear in one transaction.
    package static let expiredAtOnceMax = 128
    /// The clock of expiries is looked at so often at least: it may be set.
    package static let expiryLookedAtWithin = Duration.seconds(3_600)
    /// Between a deletion and the rewriting of the files that still have the text.
    package static let erasureAfter = Duration.seconds(1)
    package static let erasureAfterFailure = Duration.seconds(60)
    /// Rewriting takes at most this part of the time: one of twenty.
    package static let erasurePauseFactor = 20
    /// Messages of a conversation that are forgotten in one transaction.
    package static let clearedAtOnceMax = 1_000
    /// Removed contacts that are remembered, so that an old backup does not bring them back. Beyond it the oldest go.
    package static let removedContactsMax = 1_000
    /// Notes on one contact, in bytes. The backup has room for some hundred of this length.
    package static let notesBytesMax = 4_000
    /// Attempts to get one message accepted (spec §5.4).
    package static let attemptsMax = 10
    /// Messages to one person that are queued again at once, at the wish of the person here.
    package static let retriesMax = 1_000
    /// The longest ban whose end is believed: a hundred years.
    package static let banTermMax = Duration.seconds(3_155_760_000)
    /// Chats with waiting messages that are listed at once.
    package static let waitingChatsMax = 200
    /// Messages under way at once, over all conversations. Within one conversation there is one, for order.
    package static let messagesUnderWayMax = 32
    /// Ids remembered per conversation against duplicates (spec §5.5).
    package static let rememberedIDsMax = 10_000
    /// Messages of one unknown sender that wait for its keys. More are left to the server, which sends again.
    package static let parkedPerSenderMax = 100
    /// Unknown senders whose keys are being asked for.
    package static let parkedSendersMax = 64
    /// Receipts that go in a second, in the long run. With the burst, any minute has fewer than the server takes.
    package static let receiptsPerSecond = 8
    /// Receipts at once after a pause. It leaves room for other frames in the burst of a connection.
    package static let receiptsBurst = 100
    /// Read marks written, and not known to have arrived.
    package static let readMarksUnderWayMax = 50
    /// Messages of which a stranger is told at last that they were read, when the request is accepted. The latest are enough.
    package static let readMarksOnAcceptMax = 100
    /// Receipts of delivery that wait for their turn. More are left to the server, which sends the messages again.
    package static let receiptsWaitingMax = 10_000
    /// Messages that are kept apart because nobody can verify them. Evidence for a person: the latest are enough.
    package static let quarantinedMax = 1_000
    /// Bytes of them together: eight of the largest frames that a server may relay.
    package static let quarantinedBytesMax = 4_096_000
    /// The latest messages of one sender that are kept as they came, for a report.
    package static let evidencePerSenderMax = 20
    /// Evidence of all senders together: 45 MB, if each message is as large as a server may relay.
    package static let evidenceMax = 500
    /// People whose shared key is kept in memory. It takes some 100 bytes each.
    package static let sharedKeysMax = 1_024
    /// Events a subscriber may leave waiting; beyond it the oldest go, because the store has the truth.
    package static let eventsWaitingMax = 1_024
    /// Programs that are told events until they acknowledge them.
    package static let consumersMax = 16
    /// Texts that a host keeps on this device, characters of their names, and bytes of each.
    package static let hostValuesMax = 64
    package static let hostKeyCharactersMax = 64
    package static let hostValueBytesMax = 4_096
    /// Events that wait for their acknowledgement. Beyond it the oldest go, and their consumers are told so.
    package static let eventsKeptMax = 100_000
    package static let eventsKeptFor = Duration.seconds(14 * 24 * 3_600)
    /// Requests about live conversations that have not begun. A whisperer has no more callers and grants at once.
    package static let liveTasksWaitingMax = 1_024

    /// The oldest signed time of mail that may be shown as new: the server keeps mail for its TTL, and takes messages
    /// whose time is off by the tolerance (contract §3, §5).
    package static let mailAgeMax = Limits.pendingTTL + .milliseconds(Limits.timestampSkewMilliseconds)
    /// A clock that goes back by more, against the server's, was set.
    package static let clockStepMin = Duration.seconds(60)

    /// The server drops more than one typing frame to a person in 2 s, as they arrive. The rest is for the way.
    package static let typingPause = Duration.milliseconds(2_250)
    /// A peer that says nothing more has stopped typing.
    package static let typingShownFor = Duration.seconds(6)
    /// People to whom typing was said, and people who type. More are not told, or not shown.
    package static let typingPeersMax = 64
    /// Contacts whose presence is kept in memory. Presence of further contacts is dropped.
    package static let presencesMax = 10_000

    /// The server ends a ringing after 45 s. Later than that it is over without the server.
    package static let ringingMax = Duration.seconds(50)
    /// The server forgets a call after this time, and so does the client.
    package static let callMax = Duration.seconds(12 * 3_600)
    /// Network paths of one call that are told, and as many that are shown.
    package static let callCandidatesMax = 256
    /// Bytes of network paths that are kept of a call that rings here. A stack tells a few hundred bytes for each.
    package static let candidateBytesKeptMax = 65_536
    /// Calls that are over and do not ring again.
    package static let callsRememberedMax = 256
    /// Relays that are good for less are asked for again.
    package static let turnLeftMin = Duration.seconds(3_600)

    /// An answer to a frame later than this is no answer.
    package static let answerTimeout = Duration.seconds(15)
    /// The whole login, from the open socket on.
    package static let loginTimeout = Duration.seconds(20)
    /// A ping goes out this long after the one before; the client draws a time in between.
    package static let pingInterval = Duration.seconds(25)...Duration.seconds(30)
    /// Nothing heard for this long after a ping: the peer is dead.
    package static let pongTimeout = Duration.seconds(10)
    /// A session is renewed when it has less than this left (spec §3.3).
    package static let refreshAhead = Duration.seconds(24 * 3_600)
    /// Logins refused in a row before the client gives up.
    package static let loginsRefusedMax = 3
    /// The longest reconnect delay a server can ask for (1001).
    package static let drainDelayMax = Duration.seconds(60)

    package static let reconnect = Backoff(first: .milliseconds(300), longest: .seconds(15))
    package static let resend = Backoff(first: .milliseconds(500), longest: .seconds(60))
}
