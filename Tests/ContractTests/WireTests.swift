import ClusterContract
import Contract
import Testing
import TestKit

@Suite struct WireTests {
    @Test(arguments: Prove.seeds(0..<100))
    func everyMessageComesBackWhole(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for job in try random.oneOfEach(MailboxJob.self) { try expectWhole(job) }
        for job in try random.oneOfEach(CallJob.self) { try expectWhole(job) }
        for job in try random.oneOfEach(LiveJob.self) { try expectWhole(job) }
        for job in try random.oneOfEach(RoomJob.self) { try expectWhole(job) }
        for request in try random.oneOfEach(ServiceRequest.self) { try expectWhole(request) }
        for wake in try random.oneOfEach(Wake.self) { try expectWhole(wake) }
        for answer in try random.oneOfEach(Answer.self) { try expectWhole(answer) }
        for event in try random.oneOfEach(LiveEvent.self) { try expectWhole(event) }
        try expectWhole(FeedNotice(from: random.node(), events: random.oneOfEach(FeedEvent.self)))
        try expectWhole(NodeNotice(events: random.oneOfEach(NodeEvent.self)))
        for notice in try random.oneOfEach(ClusterNotice.self) { try expectWhole(notice) }
        try expectWhole(
            RejectedToken(
                identity: random.whisperID(), kind: random.one(of: [.push, .voip]), tokenHash: random.bytes32(),
                asOf: random.timestamp()))
        try expectWhole(random.ringingCall())
        try expectWhole(random.session())
        try expectWhole(random.guest())
        try expectWhole(
            Presence(node: random.node(), connection: random.connection(), epoch: Epoch(value: random.int64())))
    }

    /// Number 3 is a `fetch_pending` to routers of every release. A peek has another: one that does not know it drops the Job.
    @Test func aPeekHasANumberOfItsOwn() {
        var random = SeededGenerator(seed: 1)
        var request = FetchRequest(
            answer: random.answerAddress(), connection: random.connection(), caller: random.caller(), after: 0,
            limit: 1)
        #expect(MailboxJob.fetch(request).encoded()[1] == 3)
        request.peekBytes = 1
        #expect(MailboxJob.fetch(request).encoded()[1] == 7)
    }

    @Test(arguments: UInt64(0)..<25)
    func aTruncatedOrLongerMessageIsAnError(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for job in try random.oneOfEach(MailboxJob.self) { expectExactLength(job) }
        for job in try random.oneOfEach(CallJob.self) { expectExactLength(job) }
        for job in try random.oneOfEach(LiveJob.self) { expectExactLength(job) }
        for job in try random.oneOfEach(RoomJob.self) { expectExactLength(job) }
        for request in try random.oneOfEach(ServiceRequest.self) { expectExactLength(request) }
        for wake in try random.oneOfEach(Wake.self) { expectExactLength(wake) }
        for event in try random.oneOfEach(LiveEvent.self) { expectExactLength(event) }
        for event in try random.oneOfEach(FeedEvent.self) {
            expectExactLength(FeedNotice(from: random.node(), events: [event]))
        }
        for event in try random.oneOfEach(NodeEvent.self) { expectExactLength(NodeNotice(events: [event])) }
        for notice in try random.oneOfEach(ClusterNotice.self) { expectExactLength(notice) }
        expectExactLength(random.session())
    }

    @Test(arguments: Prove.seeds(0..<100))
    func corruptBytesNeverCrash(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<5 {
            for job in try random.oneOfEach(MailboxJob.self) {
                tryToDecode(MailboxJob.self, random.corrupted(job.encoded()))
            }
            for job in try random.oneOfEach(CallJob.self) { tryToDecode(CallJob.self, random.corrupted(job.encoded())) }
            for job in try random.oneOfEach(LiveJob.self) { tryToDecode(LiveJob.self, random.corrupted(job.encoded())) }
            for job in try random.oneOfEach(RoomJob.self) { tryToDecode(RoomJob.self, random.corrupted(job.encoded())) }
            for request in try random.oneOfEach(ServiceRequest.self) {
                tryToDecode(ServiceRequest.self, random.corrupted(request.encoded()))
            }
            for event in try random.oneOfEach(LiveEvent.self) {
                tryToDecode(LiveEvent.self, random.corrupted(event.encoded()))
            }
            for event in try random.oneOfEach(FeedEvent.self) {
                let notice = FeedNotice(from: random.node(), events: [event])
                tryToDecode(FeedNotice.self, random.corrupted(notice.encoded()))
            }
            for event in try random.oneOfEach(NodeEvent.self) {
                tryToDecode(NodeNotice.self, random.corrupted(NodeNotice(events: [event]).encoded()))
            }
            for notice in try random.oneOfEach(ClusterNotice.self) {
                tryToDecode(ClusterNotice.self, random.corrupted(notice.encoded()))
            }
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
        #expect(throws: WireError.malformed) { try ClusterNotice(decoding: [1, 5, 1, 0, 0, 1]) }
    }

    /// Partitions were larger then.
    @Test(arguments: [[1, 1, 3], [1, 4, 1, 0, 3, 0]] as [[UInt8]]) func anEarlierReleasesTakeoverIsNotMisread(
        _ bytes: [UInt8]
    ) {
        #expect(throws: WireError.unknown(bytes[1])) { try ClusterNotice(decoding: bytes) }
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
        #expect(throws: WireError.self, "\(count) of \(bytes.count) bytes of \(T.self)") {
            try T(decoding: Array(bytes.prefix(count)))
        }
    }
    #expect(throws: WireError.trailing) { try T(decoding: bytes + [0]) }
}

/// Bytes that still decode must give a value that can be written and read again.
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
            default:
                bytes[self.upTo(bytes.count)] = self.chance(2) ? 255 : UInt8.random(in: .min ... .max, using: &self)
            }
        }
        return bytes
    }

    fileprivate mutating func ringingCall() -> RingingCall {
        RingingCall(
            callID: self.uuid(), caller: self.whisperID(), callee: self.whisperID(), isVideo: self.chance(2),
            wakeID: self.uuid(), ringsUntil: self.timestamp())
    }

    /// A few, or none.
    fileprivate mutating func few<T>(_ make: (inout SeededGenerator) -> T) -> [T] {
        (0..<self.upTo(4)).map { _ in make(&self) }
    }

    /// - Throws: if a value is not of the kind that it was made for.
    fileprivate mutating func oneOfEach<T: ManyKinds>(_: T.Type) throws -> [T] {
        var values: [T] = []
        for kind in T.Kind.allCases {
            let value = T.random(kind, &self)
            try #require(value.kind == kind)
            values.append(value)
        }
        return values
    }
}

/// A value that travels in several kinds. A case that is added does not compile before `kind` names it; and then
/// `random` must make one.
private protocol ManyKinds: WireCodable {
    associatedtype Kind: CaseIterable & Equatable
    var kind: Kind { get }
    static func random(_ kind: Kind, _ random: inout SeededGenerator) -> Self
}

extension MailboxJob: ManyKinds {
    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> MailboxJob {
        switch kind {
        case .accept:
            .accept(
                AcceptEnvelope(
                    answer: random.answerAddress(), sender: random.caller(), senderKey: random.bytes32(),
                    messageID: random.uuid(), to: random.whisperID(), group: random.chance(2) ? nil : random.uuid(),
                    timestamp: random.timestamp(), signature: random.bytes64(), digest: random.bytes32(),
                    payload: random.bytes(random.upTo(100)), receivedAt: random.timestamp(),
                    overRateFor: random.chance(2) ? nil : Int64(1 + random.upTo(60_000)),
                    attachmentKey: random.chance(2) ? nil : "att/2026/01/\(random.uuid()).bin"))
        case .receipt:
            .receipt(
                ReceiptReport(
                    recipient: random.caller(), sender: random.whisperID(), messageID: random.uuid(),
                    status: random.chance(2) ? .read : .delivered, timestamp: random.timestamp()))
        case .fetch:
            .fetch(
                FetchRequest(
                    answer: random.answerAddress(), connection: random.connection(), caller: random.caller(),
                    after: random.int64(), limit: 1 + random.upTo(Limits.fetchPendingMax),
                    peekBytes: random.chance(2) ? nil : 1 + random.upTo(Int(Limits.mailPeekBytes.upperBound))))
        case .bound:
            .bound(
                random.few { random in
                    let through = random.int64()
                    return BoundConnection(
                        caller: random.caller(), node: random.node(), connection: random.connection(),
                        boundAt: random.timestamp(),
                        progress: random.one(of: [.fresh, .paging, .live(through: through)]),
                        state: random.one(of: [.new, .unconfirmed, .confirmed]), number: UInt32(random.upTo(1_000)))
                })
        case .unbound:
            .unbound(identity: random.whisperID(), node: random.node(), connection: random.connection())
        case .outcomesConfirmed: .outcomesConfirmed(random.few { $0.int64() })
        case .presence:
            .presence(
                random.few { random in
                    PresenceNews(
                        about: random.whisperID(),
                        state: random.chance(2) ? .online : .offline(lastSeen: random.timestamp()),
                        to: random.few { $0.whisperID() })
                })
        case .presenceAsked:
            .presenceAsked(
                random.few { random in
                    PresenceQuestion(asker: random.whisperID(), about: random.few { $0.whisperID() })
                })
        case .presenceHandedOver:
            .presenceHandedOver(
                random.few { random in
                    PendingTransition(
                        random.whisperID(), isPresent: random.chance(2), leftAt: random.int64(),
                        isToldOnline: random.chance(2), notBefore: random.int64())
                })
        case .typing:
            .typing(TypingNews(from: random.whisperID(), to: random.whisperID(), isTyping: random.chance(2)))
        }
    }
}

extension CallJob: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case frame, bound, delivered, erased
    }

    fileprivate var kind: Kind {
        switch self {
        case .frame: .frame
        case .bound: .bound
        case .delivered: .delivered
        case .erased: .erased
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> CallJob {
        switch kind {
        case .frame:
            .frame(
                CallRequest(
                    answer: random.answerAddress(), connection: random.connection(), session: random.session(),
                    requestID: random.chance(2) ? nil : "r", type: random.anyText(0...12),
                    payload: random.bytes(random.upTo(50)), receivedAt: random.timestamp()))
        case .bound:
            .bound(CallConnection(identity: random.whisperID(), node: random.node(), connection: random.connection()))
        case .delivered:
            .delivered(
                CallReceipt(
                    call: random.uuid(), number: random.int64(), node: random.node(), connection: random.connection(),
                    isWritten: random.chance(2)))
        case .erased: .erased(random.whisperID())
        }
    }
}

extension RoomJob: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case frame, left, report, purge, erased
    }

    fileprivate var kind: Kind {
        switch self {
        case .frame: .frame
        case .left: .left
        case .report: .report
        case .purge: .purge
        case .erased: .erased
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> RoomJob {
        switch kind {
        case .frame: .frame(random.liveRequest(type: "room_a" + random.anyText(0...12)))
        case .left: .left(random.uuid(), LiveConnection(node: random.node(), connection: random.connection()))
        case .report:
            .report(
                random.node(),
                random.few { random in
                    RoomReportEntry(
                        room: random.uuid(), connection: random.connection(), participant: random.principal())
                })
        case .purge: .purge(random.uuid(), random.principal())
        case .erased: .erased(random.uuid(), random.principal())
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func liveRequest(type: String) -> LiveRequest {
        LiveRequest(
            answer: self.answerAddress(), connection: self.connection(),
            principal: self.chance(2) ? .guest(self.guest()) : .session(self.session()),
            requestID: self.chance(2) ? nil : "r", type: type, payload: self.bytes(self.upTo(50)),
            receivedAt: self.timestamp(), origin: self.next())
    }
}

extension LiveJob: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case frame, left, report, line, membersChanged, erased, leftRoom, roomReport, purge, roomErased, roomFrame
    }

    fileprivate var kind: Kind {
        switch self {
        case .frame: .frame
        case .left: .left
        case .report: .report
        case .line: .line
        case .membersChanged: .membersChanged
        case .erased: .erased
        case .ofRooms(.erased): .roomErased
        case .ofRooms(.left): .leftRoom
        case .ofRooms(.report): .roomReport
        case .ofRooms(.purge): .purge
        case .ofRooms(.frame): .roomFrame
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> LiveJob {
        switch kind {
        case .frame:
            .frame(random.liveRequest(type: random.anyText(0...12)))
        case .leftRoom: .ofRooms(.random(.left, &random))
        case .roomReport: .ofRooms(.random(.report, &random))
        case .purge: .ofRooms(.random(.purge, &random))
        case .roomFrame: .ofRooms(.random(.frame, &random))
        case .membersChanged: .membersChanged(random.uuid())
        case .erased: .erased(random.conversation(), random.principal())
        case .roomErased: .ofRooms(.random(.erased, &random))
        case .left:
            .left(random.conversation(), LiveConnection(node: random.node(), connection: random.connection()))
        case .report:
            .report(
                random.node(),
                random.few { random in
                    LiveReportEntry(
                        conversation: random.conversation(), connection: random.connection(),
                        principal: random.principal(), role: random.one(of: LiveReportEntry.Role.allCases),
                        epoch: random.int64(), generation: random.upTo(1_000))
                })
        case .line:
            .line(
                LiveLine(
                    conversation: random.conversation(), content: random.uuid(),
                    connection: LiveConnection(node: random.node(), connection: random.connection()),
                    position: random.livePosition(), line: random.upTo(1_000), generation: random.upTo(1_000),
                    seal: .init(nonce: random.bytes(12), ciphertext: random.bytes(random.upTo(40)))))
        }
    }
}

extension LiveEvent: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case holds, holdsNoLonger, attends, attendsNoLonger, stream, entered, left
    }

    fileprivate var kind: Kind {
        switch self {
        case .holds: .holds
        case .holdsNoLonger: .holdsNoLonger
        case .attends: .attends
        case .attendsNoLonger: .attendsNoLonger
        case .stream: .stream
        case .entered: .entered
        case .left: .left
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> LiveEvent {
        switch kind {
        case .holds: .holds(random.liveStream())
        case .holdsNoLonger: .holdsNoLonger(random.conversation(), epoch: random.int64())
        case .attends:
            .attends(
                LiveAttendance(
                    stream: random.liveStream(), since: random.timestamp(),
                    after: random.chance(2)
                        ? nil
                        : LivePoint(
                            content: random.uuid(),
                            position: LivePosition(epoch: random.int64(), seq: random.int64()),
                            line: random.upTo(1_000)),
                    requestID: random.chance(2) ? nil : "r", isAnswer: random.chance(2),
                    grant: random.chance(2) ? nil : random.bytes(1 + random.upTo(40))))
        case .attendsNoLonger: .attendsNoLonger(random.conversation())
        case .stream: .stream(random.liveStream())
        case .entered: .entered(room: random.uuid())
        case .left: .left(room: random.uuid())
        }
    }
}

extension FeedEvent: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case packet, attends, attendsNoLonger, memory, wantedSnapshot, wantedLines, attention
    }

    fileprivate var kind: Kind {
        switch self {
        case .packet: .packet
        case .attends: .attends
        case .attendsNoLonger: .attendsNoLonger
        case .memory: .memory
        case .wanted(let wish): if case .snapshot = wish.want { .wantedSnapshot } else { .wantedLines }
        case .attention: .attention
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> FeedEvent {
        switch kind {
        case .packet: .packet(random.feedPacket(), previous: random.int64())
        case .attends:
            .attends(
                random.few {
                    FeedAttendance(
                        conversation: $0.conversation(), position: $0.livePosition(), wantsMemory: $0.chance(2))
                })
        case .attendsNoLonger: .attendsNoLonger(random.conversation())
        case .memory:
            .memory(
                FeedMemory(
                    stream: random.liveStream(), position: random.livePosition(),
                    completed: random.chance(2) ? nil : random.upTo(1_000),
                    snapshot: random.chance(2) ? nil : random.feedPacket(), behind: random.few { $0.feedPacket() },
                    lines: random.few { $0.feedPacket() }))
        case .wantedSnapshot: .wanted(FeedWish(conversation: random.conversation(), want: .snapshot))
        case .wantedLines:
            .wanted(
                FeedWish(
                    conversation: random.conversation(),
                    want: .lines(
                        listener: random.principal(), from: random.upTo(1_000), since: random.timestamp())))
        case .attention:
            .attention(
                random.conversation(), listener: random.principal(),
                want: random.one(of: LiveAttention.Want.allCases))
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func livePosition() -> LivePosition {
        LivePosition(epoch: self.int64(), seq: self.int64())
    }

    fileprivate mutating func feedPacket() -> FeedPacket {
        FeedPacket(
            header: LivePacketHeader(
                conversation: self.conversation(), position: self.livePosition(),
                kind: self.one(of: LivePacketKind.allCases), line: self.upTo(1_000), generation: self.upTo(1_000),
                to: self.chance(2) ? nil : self.principal()),
            at: self.timestamp(), frame: self.bytes(self.upTo(40)))
    }

    fileprivate mutating func conversation() -> ConversationID { ConversationID(high: self.next(), low: self.next()) }

    fileprivate mutating func principal() -> PrincipalID {
        self.chance(2) ? .identity(self.whisperID()) : .guest(GuestID(high: self.next(), low: self.next()))
    }

    fileprivate mutating func liveStream() -> LiveStream {
        LiveStream(
            conversation: self.conversation(), content: self.chance(2) ? nil : self.uuid(), epoch: self.int64(),
            generation: self.upTo(1_000), state: self.one(of: LiveStreamState.allCases),
            home: self.chance(2) ? nil : self.node(), isTranscribed: self.chance(2),
            ending: self.chance(2) ? nil : self.one(of: LiveEnding.allCases), changedAt: self.timestamp())
    }
}

extension ServiceRequest: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case frame, session, sessionUsed, guest, guestMoved
    }

    fileprivate var kind: Kind {
        switch self.body {
        case .frame: .frame
        case .session: .session
        case .sessionUsed: .sessionUsed
        case .guest: .guest
        case .guestMoved: .guestMoved
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> ServiceRequest {
        let body: ServiceRequest.Body =
            switch kind {
            case .frame: .frame(type: random.anyText(0...12), payload: random.bytes(random.upTo(50)))
            case .session: .session(tokenHash: random.bytes32())
            case .sessionUsed: .sessionUsed(tokenHash: random.bytes32())
            case .guest: .guest(tokenHash: random.bytes32())
            case .guestMoved:
                .guestMoved(
                    GuestMove(
                        from: Presence(
                            node: random.node(), connection: random.connection(), epoch: Epoch(value: random.int64())),
                        epoch: Epoch(value: random.int64()), age: random.int64()))
            }
        return ServiceRequest(
            answer: random.answerAddress(), connection: random.connection(),
            session: random.chance(2) ? nil : random.session(), presentedToken: random.bytes(random.upTo(50)),
            body: body)
    }
}

extension Wake: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case message, call, callOver, knock, room
    }

    fileprivate var kind: Kind {
        switch self.reason {
        case .message: .message
        case .call: .call
        case .callOver: .callOver
        case .knock: .knock
        case .room: .room
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> Wake {
        let reason: Wake.Reason =
            switch kind {
            case .message: .message
            case .call: .call(isVideo: random.chance(2), until: random.timestamp())
            case .callOver: .callOver
            case .knock: .knock(until: random.timestamp())
            case .room: .room(until: random.timestamp())
            }
        return Wake(
            recipient: random.whisperID(), reason: reason, wakeID: random.uuid(), queuedAt: random.timestamp())
    }
}

extension NodeEvent: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case answer, bound, replaced, mail, connectionSnapshot, outcomes, groupEvent, presence, call, live, guestMoved,
            frame
    }

    fileprivate var kind: Kind {
        switch self {
        case .answer: .answer
        case .bound: .bound
        case .replaced: .replaced
        case .mail: .mail
        case .connectionSnapshot: .connectionSnapshot
        case .outcomes: .outcomes
        case .groupEvent: .groupEvent
        case .presence: .presence
        case .call: .call
        case .live: .live
        case .guestMoved: .guestMoved
        case .frame: .frame
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> NodeEvent {
        switch kind {
        case .answer:
            .answer(question: random.next(), .random(random.one(of: Answer.Kind.allCases), &random))
        case .bound: .bound(random.connection(), isCaughtUp: random.chance(2), answering: UInt32(random.upTo(1_000)))
        case .replaced: .replaced(random.connection(), Epoch(value: random.int64()))
        case .guestMoved:
            .guestMoved(random.connection(), epoch: Epoch(value: random.int64()), age: random.int64())
        case .mail: .mail(random.connection(), random.mail(), again: random.chance(2))
        case .connectionSnapshot:
            .connectionSnapshot(
                random.few { ConnectionSnapshotEntry(identity: $0.whisperID(), connection: $0.connection()) })
        case .outcomes:
            .outcomes(
                random.connection(),
                random.few { random in
                    Outcome(
                        number: random.int64(), kind: random.one(of: [.delivered, .read, .expired]),
                        messageID: random.uuid(), peer: random.whisperID(),
                        group: random.chance(2) ? nil : random.uuid(), timestamp: random.timestamp())
                })
        case .groupEvent:
            .groupEvent(
                payload: random.bytes(random.upTo(40)),
                random.few { GroupReader(connection: $0.connection(), number: $0.int64()) })
        case .presence:
            .presence(
                random.connection(), about: random.whisperID(),
                random.chance(2) ? .online : .offline(lastSeen: random.timestamp()))
        case .call:
            .call(
                CallDelivery(
                    connection: random.connection(), share: random.one(of: CallShare.all), call: random.uuid(),
                    number: random.int64(), requestID: random.chance(2) ? nil : "r", type: random.anyText(0...12),
                    payload: random.bytes(random.upTo(40))))
        case .live:
            .live(random.connection(), .random(random.one(of: LiveEvent.Kind.allCases), &random))
        case .frame:
            .frame(random.connection(), type: random.anyText(0...12), payload: random.bytes(random.upTo(40)))
        }
    }
}

extension Answer: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case accepted, refused, stale, reply, done, groupEvent, loggedIn, refreshed, loggedOut, session, page
        case guestProved, guest
    }

    fileprivate var kind: Kind {
        switch self {
        case .accepted: .accepted
        case .refused: .refused
        case .stale: .stale
        case .reply: .reply
        case .done: .done
        case .groupEvent: .groupEvent
        case .loggedIn: .loggedIn
        case .refreshed: .refreshed
        case .loggedOut: .loggedOut
        case .session: .session
        case .page: .page
        case .guestProved: .guestProved
        case .guest: .guest
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> Answer {
        let type = random.anyText(0...12)
        let payload = random.bytes(random.upTo(40))
        return switch kind {
        case .accepted: .accepted
        case .refused: .refused(random.refusal())
        case .stale: .stale
        case .reply: .reply(type: type, payload: payload)
        case .done: .done
        case .groupEvent: .groupEvent(number: random.int64(), payload: payload)
        case .loggedIn: .loggedIn(random.session(), type: type, payload: payload)
        case .refreshed: .refreshed(random.session(), type: type, payload: payload)
        case .loggedOut: .loggedOut(type: type, payload: payload)
        case .session: .session(random.chance(2) ? nil : random.session())
        case .page: .page(random.mail(), next: random.chance(2) ? nil : Cursor(after: Int64(random.upTo(.max))))
        case .guestProved: .guestProved(random.guest(), type: type, payload: payload)
        case .guest: .guest(random.chance(2) ? nil : random.guest())
        }
    }
}

extension ClusterNotice: ManyKinds {
    fileprivate enum Kind: CaseIterable {
        case partitionsAdopted, sessionsEnded, guestEnded, rateClasses
    }

    fileprivate var kind: Kind {
        switch self {
        case .partitionsAdopted: .partitionsAdopted
        case .sessionsEnded: .sessionsEnded
        case .guestEnded: .guestEnded
        case .rateClasses: .rateClasses
        }
    }

    fileprivate static func random(_ kind: Kind, _ random: inout SeededGenerator) -> ClusterNotice {
        switch kind {
        case .partitionsAdopted:
            .partitionsAdopted((0..<random.upTo(4)).map { _ in random.one(of: Partition.all) })
        case .sessionsEnded:
            .sessionsEnded(
                random.whisperID(), before: Epoch(value: random.int64()),
                why: random.chance(2) ? .replaced : .banned)
        case .guestEnded:
            .guestEnded(
                random.guest().id, before: Epoch(value: random.int64()),
                why: random.chance(2) ? .replaced : .banned)
        case .rateClasses:
            .rateClasses(
                (0..<random.upTo(4)).map { _ in RateClassGrant(random.whisperID(), random.rateClass()) })
        }
    }
}
