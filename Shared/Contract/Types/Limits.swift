/// The limits that clients can see (spec §11, contract §2–§10, §13). Each stands here once.
package enum Limits {
    /// Largest WebSocket message a client may send, in bytes.
    package static let frameBytesMax = 512_000
    /// Decoded ciphertext of a `text` message, in bytes.
    package static let textCiphertextBytesMax = 12_288
    /// Decoded ciphertext of any other message, in bytes.
    package static let ciphertextBytesMax = 256 * 1_024
    package static let nonceBytes = 24
    package static let signatureBytes = 64
    package static let publicKeyBytes = 32
    /// The same as ranges, for fields of exactly that size.
    package static let nonce = Self.nonceBytes...Self.nonceBytes
    package static let signature = Self.signatureBytes...Self.signatureBytes
    package static let publicKey = Self.publicKeyBytes...Self.publicKeyBytes
    package static let ciphertext = 1...Self.ciphertextBytesMax
    package static let challengeBytes = 32
    package static let sessionTokenCharacters = 32...64
    package static let pushTokenCharacters = 1...512
    package static let requestIDCharacters = 1...64
    package static let contentTypeCharacters = 1...100
    /// Nested arrays and objects in one frame.
    package static let jsonDepthMax = 16

    package static let fetchPendingDefault = 50
    package static let fetchPendingMax = 100
    /// The whole `pending_messages` frame, in bytes.
    package static let pageBytesMax = 480_000
    package static let cursorCharacters = 1...64
    /// `GET /mail`: messages of one answer, and their bytes together.
    package static let mailPeekMessages: ClosedRange<Int64> = 1...50
    package static let mailPeekBytes: ClosedRange<Int64> = 1...262_144

    package static let pendingTTL = Duration.seconds(72 * 3_600)
    /// How long the ledger remembers a message.
    package static let ledgerTTL = Duration.seconds(14 * 86_400)
    /// The longest that routers may be told to keep mail. A day less than the ledger remembers: without its row there no receipt counts,
    /// and mail that is due may have to wait until its partition has a router again.
    package static let pendingTTLMax = Duration.seconds(13 * 86_400)
    /// Texts of `GET /server` (contract §20.6).
    package static let serverNameCharacters = 1...64
    package static let serverLinkCharacters = 1...200
    /// Live mail without a receipt is sent again within this (contract §5).
    package static let resendWithin = Duration.seconds(30)
    package static let sessionTTL = Duration.seconds(7 * 86_400)
    package static let guestTokenTTL = Duration.seconds(24 * 3_600)
    /// A guest is forgotten so long after it was last seen (contract §14.3).
    package static let guestTTL = Duration.seconds(90 * 86_400)
    package static let challengeTTL = Duration.seconds(60)
    /// How long a person may think before an erasure is signed (contract §20.2).
    package static let erasureChallengeTTL = Duration.seconds(300)
    /// Erasures that operators may order within an hour, all together.
    package static let erasuresPerHour: Int64 = 20
    /// Entries of each list in an export (contract §20.5).
    package static let exportEntriesMax = 10_000
    /// How long a refreshed token lives on beside its successor, if the successor is not used earlier.
    package static let refreshOverlap = Duration.seconds(120)
    package static let timestampSkewMilliseconds: Int64 = 600_000
    /// Every time on the wire, in milliseconds since 1970: before the year 10000 (contract §13b).
    package static let timestamps = Int64(1)...253_402_300_799_999
    /// The greatest number that every reader of JSON keeps exactly (RFC 8259 §6). No count or revision on the wire is greater.
    package static let numberMax: Int64 = 9_007_199_254_740_991
    /// The longest wait after an error that a client keeps to, in milliseconds: a day.
    package static let retryAfterMillisecondsMax: Int64 = 86_400_000
    /// The longest life of credentials for relays, in seconds: a day.
    package static let turnSecondsMax: Int64 = 86_400

    /// The most that may wait in one mailbox, in messages and in bytes of stored payload (contract §13a): in all, from
    /// one sender who is not the recipient's peer, and from all such senders together.
    package static let mailboxMessagesMax = 100_000
    package static let mailboxBytesMax = 1 << 30
    package static let strangerMessagesMax = 500
    package static let strangerBytesMax = 16 << 20
    package static let strangersMessagesMax = 20_000
    package static let strangersBytesMax = 256 << 20
    /// Bytes that all identities without any peer, and guests, together may keep in one store (contract §13b).
    package static let strangersStoreBytesMax = 10 << 30
    /// When a message that a mailbox has no room for may be tried again (contract §13a: at least 60 s).
    package static let mailboxRetryAfter = Duration.seconds(60)

    /// No frame, ping or pong from the client for this long closes its connection (4008).
    package static let idleTimeout = Duration.seconds(90)
    package static let serverPingInterval = Duration.seconds(25)
    /// Frames answered with INVALID_PAYLOAD in one minute before the connection is closed (1008).
    package static let invalidFramesPerMinuteMax = 20
    package static let framesPerSecond = 100
    package static let framesBurst = 200
    package static let connectionsPerAddressMax = 500
    package static let newConnectionsPerMinutePerAddress = 60
    package static let registerPerMinutePerAddress = 30

    /// Reactions of one message: keys, ids per key, and characters of a key.
    package static let reactionsMax = 64
    package static let reactionIdentitiesMax = 256
    package static let reactionCharacters = 1...32
    package static let groupMembersMax = 256
    package static let groupTitleCharacters = 1...64
    /// Groups in one `groups` frame, also if no limit was asked for (contract §6).
    package static let groupListMax = 100
    /// Groups that one identity owns, and groups that it is in (contract §13a). Operators may change these four.
    package static let groupsOwnedMax = 200
    package static let groupsJoinedMax = 1_000
    /// Groups that an identity is in because somebody added it who was not its peer (contract §13a).
    package static let groupsByStrangersMax = 100
    /// Additions, in 24 hours, by one identity of identities that are not its peers (contract §13a).
    package static let groupStrangersPerDayMax = 50
    /// How long a `group_event` waits for a member who is away (contract §13a).
    package static let groupEventTTL = Duration.seconds(30 * 86_400)
    /// Payloads of `group_event`, in bytes, that a client is sent before it confirms some. A larger one goes alone.
    package static let groupEventsBytesMax = 64_000

    /// How long a call rings before both sides are told `timeout` (contract §7).
    package static let callRingTime = Duration.seconds(45)
    /// How long a call is remembered, counted from its beginning, if nobody answers; and if somebody does.
    package static let callUnansweredTTL = Duration.seconds(60)
    package static let callAnsweredTTL = Duration.seconds(12 * 3_600)
    /// Candidates kept for a side that is not connected.
    package static let callCandidatesBufferedMax = 64
    /// Life of TURN credentials.
    package static let turnCredentialsTTL = Duration.seconds(12 * 3_600)

    package static let reportNoteCharacters = 0...1_000
    package static let banReasonCharacters = 1...1_000
    /// Invitations (contract §20.6): uses and life of one, and how many may be open at a time.
    package static let invitationUses: ClosedRange<Int64> = 1...1_000
    package static let invitationLifeSeconds: ClosedRange<Int64> = 60...7_776_000
    package static let invitationLifeSecondsUsual: Int64 = 7 * 86_400
    package static let invitationLabelCharacters = 1...64
    package static let openInvitationsMax: Int64 = 10_000
    /// Invitations of people: the rest is for operators. The oldest ended ones make room for new ones.
    package static let peoplesInvitationsMax: Int64 = 9_000
    /// With so many open ones of people, new ones of theirs live for `crowdedInvitationLifeSeconds` at most. A member
    /// who hoards long ones holds half of the places, and the other half only while the hoarding goes on.
    package static let peoplesInvitationsCrowd: Int64 = 4_500
    package static let crowdedInvitationLifeSeconds: Int64 = 7 * 86_400
    /// Days without a login or renewal after which a server may erase an identity (contract §20.9).
    package static let inactiveDays: ClosedRange<Int64> = 90...3_650
    /// Classes of rates (contract §20.7): a name, classes in the settings, and how often its default a class may make a rate. Identities
    /// with a class are counted with open uses of invitations that give one.
    package static let rateClassCharacters = 1...32
    package static let rateClassesMax = 8
    package static let rateClassFactorMax = 100
    package static let rateClassGrantsMax = 1_000
    /// Reports of one reporter that nobody has reviewed yet: bounds what one can make operators keep (contract §13a).
    package static let openReportsMax = 20
    /// Evidence of one report about a message that the ledger does not know, and of one reporter's open reports, in bytes (contract §13b).
    package static let unknownEvidenceBytesMax = 64 * 1_024
    package static let openEvidenceBytesMax = 1_024 * 1_024

    /// Encrypted attachments, in bytes, by the class of their content type.
    package static let imageBytesMax: Int64 = 15_000_000
    package static let audioBytesMax: Int64 = 25_000_000
    package static let fileBytesMax: Int64 = 50_000_000
    /// Live uploads of one identity, in bytes.
    package static let attachmentQuotaBytes: Int64 = 1_000_000_000
    /// Free space of the store below which nothing more is taken (contract §13b): in percent of its size, or in bytes if that is less.
    package static let storeFloorPercent: Int64 = 5
    package static let storeFloorBytes: Int64 = 2 << 30
    /// How long a URL may be used to begin an upload, and a download.
    package static let uploadURLLife = Duration.seconds(15 * 60)
    package static let downloadURLLife = Duration.seconds(5 * 60)
    package static let objectKeyCharacters = 1...128
    /// Every part of an upload in parts but the last, in bytes: the least that S3 takes (Amazon S3 User Guide, "Multipart
    /// upload limits").
    package static let uploadPartBytes: Int64 = 5 * 1_024 * 1_024
    /// Parts of the largest attachment.
    package static let uploadPartsMax = Int((fileBytesMax + uploadPartBytes - 1) / uploadPartBytes)

    /// Ciphertext of a contacts backup, in bytes.
    package static let backupBytesMax = 1_024 * 1_024
    /// The same for an identity without any peer: whoever makes many identities cannot store much (contract §13a).
    package static let strangerBackupBytesMax = 64 * 1_024
    /// `If-Match` and `If-None-Match`, with all the versions that they name.
    package static let ifMatchCharacters = 1...1_000

    /// Devices of one profile, and profiles that one device is in (contract §14.4).
    package static let profileMembersMax = 8
    package static let profilesJoinedMax = 8
    /// Ciphertext of a profile's document, in bytes.
    package static let profileDocumentBytesMax = 262_144
    /// Ciphertext of all documents of one profile, in bytes; and of one none of whose members has a peer (contract §13b).
    package static let profileBytesMax = 1_024 * 1_024
    package static let strangerProfileBytesMax = 64 * 1_024
    /// A profile goes so long after a member last did something with it (contract §13b).
    package static let profileTTL = Duration.seconds(400 * 86_400)
    /// Size of the key that devices join a profile with, and of its SHA-256, in bytes.
    package static let profileJoinKey = 32...32

    /// AES-256-GCM: the nonce, and the shortest ciphertext, which is one byte and its tag (contract §14.2, SEALED).
    package static let sealedNonce = 12...12
    package static let sealedBytesMin = 17
}

extension Duration {
    /// Whole milliseconds, for keys and columns that count so. A duration that overflows becomes the longest there is.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000)
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return isTooLong || overflow ? (seconds < 0 ? .min : .max) : sum
    }
}
