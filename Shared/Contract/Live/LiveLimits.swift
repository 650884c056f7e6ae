/// The limits of live conversations (contract §14). Each stands here once.
package enum LiveLimits {
    /// The nonce of AES-256-GCM, in bytes.
    package static let nonceBytes = 12
    package static let nonce = Self.nonceBytes...Self.nonceBytes
    /// The tag of AES-256-GCM, in bytes. It stands behind the ciphertext.
    package static let tagBytes = 16
    /// Bytes by which a BOX is longer than its plaintext: the sender's public key and the tag.
    package static let boxOverheadBytes = Limits.publicKeyBytes + Self.tagBytes

    /// Ciphertexts in bytes, tags included.
    package static let packetCiphertext = Self.sealed(upTo: 12_288)
    package static let infoCiphertext = Self.sealed(upTo: 2_048)
    package static let shareCiphertext = Self.sealed(upTo: 16_384)
    package static let knockCiphertext = Self.boxed(upTo: 1_024)
    package static let grantCiphertext = Self.boxed(upTo: 256)
    package static let refusalCiphertext = Self.boxed(upTo: 512)

    /// Names and the like inside sealed JSON, in Unicode scalars.
    package static let nameScalars = 1...64
    package static let noteScalars = 0...200
    package static let linkSecretBytes = 16
    package static let shareSecretBytes = 16
    package static let secretBytes = 32
    package static let secret = Self.secretBytes...Self.secretBytes

    package static let conversationsPerProfileMax = 100
    package static let transcriptDays = Int64(0)...365
    package static let generations = Int64(1)...2_147_483_647
    /// Listeners of one conversation that are admitted, and that wait.
    package static let listenersMax = 500
    package static let waitingMax = 50
    /// Listeners of one conversation that were refused, and that are blocked. Beyond it the oldest is forgotten, and may knock as
    /// if it never had (contract §13b). A roster names those who are blocked.
    package static let refusedMax = 1_000
    package static let blockedMax = Self.listenersMax
    /// Listeners of one address that wait for one conversation (contract §13b).
    package static let waitingOfAddressMax = 10
    /// Grants in one frame.
    package static let grantsMax = 250
    /// Streams that have not ended, of one holder, and of the conversations of one profile (contract §13b).
    package static let streamsOfIdentityMax = 16
    package static let streamsOfProfileMax = 32
    /// Streams that one connection holds, and conversations that it has joined.
    package static let streamsPerConnectionMax = 4
    package static let joinedPerConnectionMax = 8
    /// How long a knock waits, and how long after its connection went.
    package static let knockTTL = Duration.seconds(600)
    package static let knockOfAbsentTTL = Duration.seconds(60)
    /// A holder is told again of those who wait for it.
    package static let knockToldEvery = Duration.seconds(15)
    /// How long a holder or a listener without a connection still counts.
    package static let absenceMax = Duration.seconds(15)
    /// A whisperer whose packets are refused asks who holds the stream, and not more often than this.
    package static let holderAskedEvery = Duration.seconds(5)
    /// A paused stream ends after this.
    package static let pauseMax = Duration.seconds(48 * 3_600)
    /// A conversation without a stream is deleted after this.
    package static let conversationTTL = Duration.seconds(400 * 86_400)
    /// A listener that has not joined, or was refused, is forgotten after this.
    package static let listenerTTL = Duration.seconds(90 * 86_400)

    /// Live text as it stands in JSON with the shortest escapes, in bytes. A line is never longer.
    package static let textBytesMax = 8_000
    /// Packets of one `diff`.
    package static let editsPerDiff = 1...64
    /// The plaintext of a packet is padded to a multiple of this, in bytes, so that its size says little.
    package static let paddingBytes = 32
    /// Numbers of packets and lines.
    package static let sequence = Int64(1)...9_007_199_254_740_991
    package static let lines = 0...2_147_483_647
    package static let lineNumbers = Int64(1)...2_147_483_647
    /// Lines told as stored in one frame.
    package static let linesToldMax = 1_024

    /// How long the whisperer gathers what is typed before it sends a packet.
    package static let gatherTime = Duration.milliseconds(40)
    package static let packetsPerSecondMax = 25
    /// A snapshot takes the place of a diff after so many diffs, and stands behind this much time of typing.
    package static let diffsPerSnapshotMax = 32
    package static let snapshotInterval = Duration.seconds(5)
    /// A snapshot that the server wants goes out within this.
    package static let wantedSnapshotWithin = Duration.milliseconds(250)
    /// A line that is not told as stored is sent again after this.
    package static let lineStoredWithin = Duration.seconds(5)
    /// One content key seals no more packets than this. The contract's bound is four times as high.
    package static let packetsPerGenerationMax = Int64(1) << 30

    /// How often a whisperer is asked for a snapshot, for all its listeners together.
    package static let wantedSnapshotsPerSecond = 4
    /// A whisperer is asked for lines no more often than this, for each listener.
    package static let wantedLinesInterval = Duration.seconds(5)

    /// A listener sends `live_resync` no more often than this.
    package static let resyncInterval = Duration.seconds(1)
    /// A listener asks this long for lines that are missing, then it shows that they are.
    package static let missingLinesShownAfter = Duration.seconds(10)
    /// The newest lines of a stream that a gateway remembers, and that a whisperer sends to one listener at once.
    package static let linesRememberedMax = 64

    /// Lines that are kept, in bytes of ciphertext and of a row for each line (contract §13b): of one identity without a peer, in all; of any
    /// other, in one profile.
    package static let strangerLineBytesMax = 8 << 20
    package static let profileLineBytesMax = 64 << 20
    /// Shares of one transcript that have not expired.
    package static let sharesMax = 20
    /// The same of all transcripts of a profile, and their bytes of ciphertext (contract §13b).
    package static let profileSharesMax = 64
    package static let profileShareBytesMax = 1 << 20
    package static let shareSeconds = Int64(60)...31_536_000
    /// Transcripts and lines in one page.
    package static let transcriptPage = Int64(1)...100
    package static let linePage = Int64(1)...500

    private static func sealed(upTo most: Int) -> ClosedRange<Int> { Self.tagBytes + 1...most }
    private static func boxed(upTo most: Int) -> ClosedRange<Int> { Self.boxOverheadBytes + 1...most }
}
