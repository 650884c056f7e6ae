import Contract

/// One sender, one recipient, and what became of each message between them.
final class Conversation {
    let sender: Client
    let recipient: Client
    /// Messages sent so far; the next one's sequence.
    private(set) var sent = 0
    /// The sequence that the recipient should receive next.
    private(set) var expected = 0
    /// Nanoseconds of `NIODeadline` at which each was sent, or should have been.
    private(set) var sentAt: [UInt64] = []
    private var marks: [Mark] = []

    /// How far a message has come.
    struct Mark: OptionSet {
        let rawValue: UInt8
        static let accepted = Mark(rawValue: 1)
        static let received = Mark(rawValue: 2)
        static let delivered = Mark(rawValue: 4)
    }

    private let letter: Letter
    private let message: FrameTemplate
    private let receipt: FrameTemplate
    private var signatures: [UInt8] = []

    init(
        _ number: Int, from sender: Client, to recipient: Client, in group: String? = nil, payload: Int, seed: UInt64
    ) {
        self.sender = sender
        self.recipient = recipient
        let now = Timestamp.now.milliseconds
        func base64(_ count: Int) -> String {
            String(decoding: Base64.encode(SigningKeys.random(count)), as: UTF8.self)
        }
        self.letter = Letter(
            conversation: number, seed: seed, from: sender.whisperID, to: recipient.whisperID, group: group,
            timestamp: now,
            nonce: base64(Limits.nonceBytes), ciphertext: base64(payload), keys: sender.keys)
        self.message = .sendMessage(self.letter, token: sender.token)
        self.receipt = .deliveryReceipt(
            from: recipient.whisperID, to: sender.whisperID, token: recipient.token, timestamp: now)
    }

    /// Signs the first `count` messages of each conversation, on all cores.
    static func sign(_ count: Int, for conversations: [Conversation], on fleet: isolated Fleet) async {
        let letters = conversations.map(\.letter)
        let signatures = await withTaskGroup(of: (Int, [UInt8]).self) { group in
            for letter in letters { group.addTask { (letter.conversation, letter.signatures(count: count)) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for conversation in conversations {
            conversation.signatures = signatures[conversation.letter.conversation] ?? []
            conversation.sentAt.reserveCapacity(count)
            conversation.marks.reserveCapacity(count)
        }
    }

    /// - Returns: whether its signature had been prepared.
    @inline(__always)
    func send(at time: UInt64, on fleet: isolated Fleet) -> Bool {
        let sequence = self.sent
        self.sent += 1
        self.sentAt.append(time)
        self.marks.append([])
        let number = MessageNumber(conversation: self.letter.conversation, sequence: sequence)
        let length = FrameTemplate.signatureLength
        let isPrepared = (sequence + 1) * length <= self.signatures.count
        let late = isPrepared ? [] : self.letter.signature(of: sequence)
        fleet.write(to: self.sender, count: self.message.bytes.count) { output in
            output.copyBytes(from: self.message.bytes)
            number.write(seed: self.letter.seed, to: .init(rebasing: output[self.message.idAt...]))
            let place = UnsafeMutableRawBufferPointer(rebasing: output[self.message.signatureAt...].prefix(length))
            if isPrepared {
                self.signatures.withUnsafeBytes {
                    place.copyMemory(from: .init(rebasing: $0[(sequence * length)...].prefix(length)))
                }
            } else {
                place.copyBytes(from: late)
            }
        }
        return isPrepared
    }

    @inline(__always)
    func acknowledge(_ sequence: Int, on fleet: isolated Fleet) {
        let number = MessageNumber(conversation: self.letter.conversation, sequence: sequence)
        fleet.write(to: self.recipient, count: self.receipt.bytes.count) { output in
            output.copyBytes(from: self.receipt.bytes)
            number.write(seed: self.letter.seed, to: .init(rebasing: output[self.receipt.idAt...]))
        }
    }

    /// - Returns: whether this is news, and came in order (always so, except when received).
    func mark(_ sequence: Int, _ mark: Mark) -> (isNew: Bool, isInOrder: Bool) {
        guard self.marks[sequence].insert(mark).inserted else { return (false, true) }
        guard mark == .received else { return (true, true) }
        let isInOrder = sequence == self.expected
        self.expected = max(self.expected, sequence + 1)
        return (true, isInOrder)
    }

    /// Messages that have `mark`.
    func count(_ mark: Mark) -> Int { self.marks.count { $0.contains(mark) } }
    /// Messages that were accepted and never reached the recipient.
    var lost: Int { self.marks.count { $0.contains(.accepted) && !$0.contains(.received) } }
}
