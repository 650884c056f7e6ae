import Contract
import Testing
import TestKit

@Suite struct WireTests {
    @Test(arguments: UInt64(0)..<100)
    func everyMessageComesBackWhole(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try expectWhole(random.mailboxJob())
        try expectWhole(random.serviceRequest())
        for job in random.callJobs() { try expectWhole(job) }
        try expectWhole(random.ringingCall())
        let reasons: [Wake.Reason] = [.message, .call(isVideo: true, until: random.timestamp()), .callOver]
        for reason in reasons {
            try expectWhole(
                Wake(recipient: random.whisperID(), reason: reason, wakeID: random.uuid(), queuedAt: random.timestamp()))
        }
        try expectWhole(NodeNotice(events: (0..<random.upTo(4)).map { _ in random.nodeEvent() }))
        try expectWhole(random.clusterNotice())
        try expectWhole(random.session())
        try expectWhole(Presence(node: random.node(), connection: random.connection(), epoch: Epoch(value: random.int64())))
    }

    @Test(arguments: UInt64(0)..<25)
    func aTruncatedOrLongerMessageIsAnError(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        expectExactLength(random.mailboxJob())
        expectExactLength(random.serviceRequest())
        for job in random.callJobs() { expectExactLength(job) }
        expectExactLength(NodeNotice(events: [random.nodeEvent(), random.nodeEvent()]))
        expectExactLength(random.clusterNotice())
        expectExactLength(random.session())
    }

    @Test(arguments: UInt64(0)..<100)
    func corruptBytesNeverCrash(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            tryToDecode(MailboxJob.self, random.corrupted(random.mailboxJob().encoded()))
            for job in random.callJobs() { tryToDecode(CallJob.self, random.corrupted(job.encoded())) }
            tryToDecode(ServiceRequest.self, random.corrupted(random.serviceRequest().encoded()))
            tryToDecode(NodeNotice.self, random.corrupted(NodeNotice(events: [random.nodeEvent()]).encoded()))
            tryToDecode(ClusterNotice.self, random.corrupted(random.clusterNotice().encoded()))
            tryToDecode(NodeNotice.self, random.bytes(random.upTo(60)))
            tryToDecode(MailboxJob.self, random.bytes(random.upTo(60)))
        }
    }

    // Every whole message starts with the format's number.

    @Test func anotherFormatIsNotRead() {
        #expect(throws: WireError.unknown(2)) { try ClusterNotice(decoding: [2, 1, 0]) }
        #expect(throws: WireError.truncated) { try ClusterNotice(decoding: []) }
    }

    @Test func unknownDiscriminatorsSayWhich() {
        #expect(throws: WireError.unknown(200)) { try MailboxJob(decoding: [1, 200]) }
        #expect(throws: WireError.unknown(0)) { try ClusterNotice(decoding: [1, 0]) }
        #expect(throws: WireError.unknown(99)) { try NodeNotice(decoding: [1, 1, 0, 0, 0, 99]) }
        #expect(throws: WireError.malformed) { try ClusterNotice(decoding: [1, 1, UInt8(Partition.count)]) }
    }

    @Test func aCountBeyondTheBytesIsTruncated() {
        #expect(throws: WireError.truncated) { try NodeNotice(decoding: [1, 255, 255, 255, 255, 1]) }
        #expect(throws: WireError.truncated) { try MailboxJob(decoding: [1, 6, 255, 255, 255, 255, 0]) }
    }

    @Test func textThatIsNotUTF8IsMalformed() {
        var writer = WireWriter()
        writer.write(UInt8(1))
        writer.write(ErrorCode.notFound)
        writer.write(bytes: [0xC3, 0x28])
        writer.write(Int64(-1))
        #expect(throws: WireError.malformed) { try Refusal(decoding: writer.bytes) }
    }
}

/// The bytes survive, and so does every field in its place: descriptions name all of them.
private func expectWhole<T: WireCodable>(_ value: T) throws {
    let decoded = try T(decoding: value.encoded())
    #expect(decoded.encoded() == value.encoded())
    #expect(String(describing: decoded) == String(describing: value))
}

private func expectExactLength<T: WireCodable>(_ value: T) {
    let bytes = value.encoded()
    for count in 0..<bytes.count {
        #expect(throws: WireError.self, "\(count) of \(bytes.count) bytes of \(T.self)") { try T(decoding: Array(bytes.prefix(count))) }
    }
    #expect(throws: WireError.trailing) { try T(decoding: bytes + [0]) }
}

/// Whatever still decodes must be a value that can be written and read again.
private func tryToDecode<T: WireCodable>(_: T.Type, _ bytes: [UInt8]) {
    guard let value = try? T(decoding: bytes) else { return }
    #expect(throws: Never.self) { try T(decoding: value.encoded()) }
}

extension SeededGenerator {
    fileprivate mutating func corrupted(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...self.upTo(3) where !bytes.isEmpty {
            switch self.upTo(4) {
            case 0: bytes.remove(at: self.upTo(bytes.count))
            case 1: bytes.insert(UInt8.random(in: .min ... .max, using: &self), at: self.upTo(bytes.count))
            default: bytes[self.upTo(bytes.count)] = self.chance(2) ? 255 : UInt8.random(in: .min ... .max, using: &self)
            }
        }
        return bytes
    }

    fileprivate mutating func mailboxJob() -> MailboxJob {
        switch self.upTo(6) {
        case 0:
            return .accept(
                AcceptEnvelope(
                    answer: self.answerAddress(), sender: self.caller(), senderKey: self.bytes32(), messageID: self.uuid(),
                    to: self.whisperID(), timestamp: self.timestamp(), signature: self.bytes64(), digest: self.bytes32(),
                    payload: self.bytes(self.upTo(100)), receivedAt: self.timestamp(),
                    attachmentKey: self.chance(2) ? nil : "att/2026/01/\(self.uuid()).bin"))
        case 1:
            return .receipt(
                ReceiptReport(
                    recipient: self.caller(), sender: self.whisperID(), messageID: self.uuid(),
                    status: self.chance(2) ? .read : .delivered, timestamp: self.timestamp()))
        case 2:
            return .fetch(
                FetchRequest(
                    answer: self.answerAddress(), connection: self.connection(), caller: self.caller(), after: self.int64(),
                    limit: 1 + self.upTo(Limits.fetchPendingMax)))
        case 3:
            return .bound(
                (0..<self.upTo(4)).map { _ in
                    let through = self.int64()
                    return BoundConnection(
                        caller: self.caller(), node: self.node(), connection: self.connection(), boundAt: self.timestamp(),
                        progress: self.one(of: [.fresh, .paging, .live(through: through)]),
                        state: self.one(of: [.new, .unconfirmed, .confirmed]), number: UInt32(self.upTo(1_000)))
                })
        case 4: return .unbound(identity: self.whisperID(), node: self.node(), connection: self.connection())
        default: return .outcomesConfirmed((0..<self.upTo(5)).map { _ in self.int64() })
        }
    }

    fileprivate mutating func serviceRequest() -> ServiceRequest {
        let body: ServiceRequest.Body =
            switch self.upTo(3) {
            case 0: .frame(type: self.anyText(0...12), payload: self.bytes(self.upTo(50)))
            case 1: .session(tokenHash: self.bytes32())
            default: .sessionUsed(tokenHash: self.bytes32())
            }
        return ServiceRequest(
            answer: self.answerAddress(), connection: self.connection(), session: self.chance(2) ? nil : self.session(),
            presentedToken: self.bytes(self.upTo(50)), body: body)
    }

    /// One of each kind.
    fileprivate mutating func callJobs() -> [CallJob] {
        [
            .frame(
                CallRequest(
                    answer: self.answerAddress(), connection: self.connection(), session: self.session(),
                    requestID: self.chance(2) ? nil : "r", type: self.anyText(0...12), payload: self.bytes(self.upTo(50)),
                    receivedAt: self.timestamp())),
            .bound(CallConnection(identity: self.whisperID(), node: self.node(), connection: self.connection())),
            .delivered(
                CallReceipt(
                    call: self.uuid(), number: self.int64(), node: self.node(), connection: self.connection(),
                    isWritten: self.chance(2))),
        ]
    }

    fileprivate mutating func ringingCall() -> RingingCall {
        RingingCall(
            callID: self.uuid(), caller: self.whisperID(), callee: self.whisperID(), isVideo: self.chance(2),
            wakeID: self.uuid(), ringsUntil: self.timestamp())
    }

    fileprivate mutating func nodeEvent() -> NodeEvent {
        switch self.upTo(8) {
        case 0: return .answer(question: self.next(), self.answer())
        case 1: return .bound(self.connection(), isCaughtUp: self.chance(2), answering: UInt32(self.upTo(1_000)))
        case 2: return .replaced(self.connection(), Epoch(value: self.int64()))
        case 3: return .mail(self.connection(), self.mail(), again: self.chance(2))
        case 4:
            return .presence(
                self.connection(), about: self.whisperID(),
                self.chance(2) ? .online : .offline(lastSeen: self.timestamp()))
        case 5:
            return .call(
                CallDelivery(
                    connection: self.connection(), share: self.one(of: CallShare.all), call: self.uuid(),
                    number: self.int64(), requestID: self.chance(2) ? nil : "r", type: self.anyText(0...12),
                    payload: self.bytes(self.upTo(40))))
        case 6:
            return .connectionSnapshot(
                (0..<self.upTo(4)).map { _ in ConnectionSnapshotEntry(identity: self.whisperID(), connection: self.connection()) })
        default:
            return .outcomes(
                self.connection(),
                (0..<self.upTo(4)).map { _ in
                    Outcome(
                        number: self.int64(), kind: self.one(of: [.delivered, .read, .expired]), messageID: self.uuid(),
                        peer: self.whisperID(), timestamp: self.timestamp())
                })
        }
    }

    fileprivate mutating func answer() -> Answer {
        let type = self.anyText(0...12)
        let payload = self.bytes(self.upTo(40))
        switch self.upTo(10) {
        case 0: return .accepted
        case 9: return .done
        case 1: return .refused(self.refusal())
        case 2: return .stale
        case 3: return .reply(type: type, payload: payload)
        case 4: return .loggedIn(self.session(), type: type, payload: payload)
        case 5: return .refreshed(self.session(), type: type, payload: payload)
        case 6: return .loggedOut(type: type, payload: payload)
        case 7: return .session(self.chance(2) ? nil : self.session())
        default: return .page(self.mail(), next: self.chance(2) ? nil : Cursor(after: Int64(self.upTo(.max))))
        }
    }

    fileprivate mutating func clusterNotice() -> ClusterNotice {
        self.chance(2)
            ? .partitionAdopted(self.one(of: Partition.all))
            : .sessionsEnded(
                self.whisperID(), before: Epoch(value: self.int64()), why: self.chance(2) ? .replaced : .banned)
    }
}
