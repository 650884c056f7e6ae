import ClusterContract
import Contract
import Foundation
import ServerCrypto
import Testing

@testable import GatewayCore

/// Messages on their way through a gateway, both directions. The test plays router and auth.
@Suite(.timeLimit(.minutes(20))) struct GatewayMailTests {
    private let sender = WhisperID("WSP-JBPU-D452-TLT4")!
    private let recipient = WhisperID("WSP-AAAA-AAAA-AAAA")!

    private func mail(_ number: Int64) -> Mail {
        Mail(number: number, payload: Array(#"{"messageId":"\#(number)"}"#.utf8))
    }

    private func accepted(_ bench: GatewayBench) async throws -> AcceptEnvelope {
        guard case .accept(let envelope) = try await bench.job(of: Partition(of: self.recipient)) else {
            throw TestClient.Unexpected.end
        }
        return envelope
    }

    @Test func aMessageBecomesAJobOfItsRecipientsPartition() async throws {
        try await GatewayBench.run { bench in
            let session = Session.of(identity: "\(self.sender)", token: token)
            let (client, _) = try await bench.boundClient(session)
            try await client.send(Frames.message())
            let envelope = try await self.accepted(bench)
            #expect(envelope.answer.node == bench.gateway.node)
            #expect(envelope.sender == session.caller)
            #expect(envelope.senderKey == session.signPublicKey)
            #expect(envelope.to == self.recipient)
            // The vector of contract §12.
            #expect(envelope.digest == SHA256.hash(self.canonical.bytes))
            #expect(envelope.digest.bytes.prefix(4) == [0xA3, 0xF5, 0xCB, 0x63])
            let payload = try #require(try JSONSerialization.jsonObject(with: Data(envelope.payload)) as? [String: Any])
            #expect(payload["sessionToken"] == nil)
            #expect(payload["messageId"] as? String == "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10")

            try await bench.tell(.answer(question: envelope.answer.question, .accepted))
            let reply = try await client.json()
            #expect(reply.type == "message_accepted")
            #expect(reply.requestID == "m1")
            #expect(reply.payload == ["messageId": "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", "status": "sent"])
            // The same answer again is nobody's.
            try await bench.tell(.answer(question: envelope.answer.question, .accepted))
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
        }
    }

    private var canonical: CanonicalMessage {
        CanonicalMessage(
            type: "send_message", messageID: "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", from: "\(self.sender)",
            toOrGroupID: "\(self.recipient)", timestamp: 1_730_000_000_000, nonce: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
            ciphertext: "Y2lwaGVydGV4dA==")
    }

    @Test(arguments: ErrorCode.allCases)
    func aRefusalReachesTheSender(code: ErrorCode) async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(Frames.message())
            let question = try await self.accepted(bench).answer.question
            let wait: Int64? = code == .rateLimited ? 1_234 : nil
            try await bench.tell(
                .answer(question: question, .refused(Refusal(code, "why", retryAfterMilliseconds: wait))))
            let reply = try await client.json()
            #expect(reply.code == code.rawValue)
            #expect(reply.requestID == "m1")
            #expect(reply.payload["retryAfterMs"] as? Int64 == wait)
            if code == .userBanned { #expect(try await client.closeCode() == 4003) }
        }
    }

    @Test func aStaleSessionEnds() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(Frames.message())
            try await bench.tell(.answer(question: try await self.accepted(bench).answer.question, .stale))
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    @Test func fromMustBeTheSessionsOwnID() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            for frame in [
                Frames.message().replacing(#""from":"WSP-JBPU-D452-TLT4""#, with: #""from":"WSP-7777-7777-7777""#),
                Frames.receipt(from: self.recipient),
            ] {
                try await client.send(frame)
                #expect(try await client.json().code == "FORBIDDEN")
            }
        }
    }

    @Test func withoutTheBusNothingIsAccepted() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await bench.bus.goAway()
            try await client.send(Frames.message())
            let reply = try await client.json()
            #expect(reply.code == "INTERNAL_ERROR")
            #expect(reply.requestID == "m1")
            try await bench.bus.comeBack()
            try await client.send(Frames.message(requestID: "m2"))
            let question = try await self.accepted(bench).answer.question
            try await bench.tell(.answer(question: question, .accepted))
            #expect(try await client.json().requestID == "m2")
        }
    }

    @Test func withoutTheBusAnUnknownTokenIsAnInternalError() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await bench.bus.goAway()
            try await client.send(Frames.message())
            #expect(try await client.json().code == "INTERNAL_ERROR")
        }
    }

    @Test func mailIsWrittenOnceInOrderUnlessItIsToComeAgain() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(
                .bound(connection, isCaughtUp: true), .mail(connection, [self.mail(1), self.mail(3)], again: false))
            // A router that took over sends what its predecessor sent.
            try await bench.tell(
                .mail(connection, [self.mail(1), self.mail(2), self.mail(3), self.mail(4)], again: false))
            try await bench.tell(
                .mail(connection, [self.mail(1)], again: true), .mail(connection, [self.mail(5)], again: false))
            for number in ["1", "3", "4", "1", "5"] {
                let frame = try await client.json()
                #expect(frame.type == "message_received")
                #expect(frame.payload["messageId"] as? String == number)
            }
        }
    }

    /// For mail that went out in a page the router awaits no receipt: it would lie there until the client binds anew.
    @Test func aReceiptThatTheBusDidNotTakeHasTheConnectionAnnounced() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            bench.bus.refuseNextAppend()
            try await client.send(Frames.receipt(from: self.sender))
            guard case .bound(let announced) = try await bench.job(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(announced.map(\.connection) == [connection])
            #expect(announced.first?.state == .confirmed)
        }
    }

    /// The router may read the page all the same, and send live what is newer than what the client has yet to read.
    @Test func nothingGoesLiveBeforeAPageThatFailed() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: false))
            bench.bus.refuseNextAppend()
            try await client.send(Frames.fetch())
            #expect(try await client.json().code == "INTERNAL_ERROR")
            // It was announced before, more than once perhaps, and that is answered late.
            try await bench.tell(
                .bound(connection, isCaughtUp: false, answering: 1), .mail(connection, [self.mail(9)], again: false))
            guard case .bound(let announced) = try await bench.job(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(announced.map(\.connection) == [connection])
            #expect(announced.first?.progress == .paging)
            #expect(announced.first?.number == 2)
            try await bench.tell(.bound(connection, isCaughtUp: false, answering: 2))
            try await client.send(Frames.fetch(requestID: "f2"))
            guard let request = try await bench.fetchRequest(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            try await bench.tell(
                .answer(question: request.answer.question, .page([self.mail(8), self.mail(9)], next: nil)))
            // The first that it sees.
            #expect(try await client.json().payload == ["messages": [["messageId": "8"], ["messageId": "9"]]])
        }
    }

    /// Redis may have lost the departure. As long as the router believes in the connection, mail wakes nobody.
    @Test func reconciliationReportsConnectionsThatHaveEnded() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            let (other, gone) = (WhisperID("WSP-7777-7777-7777")!, ConnectionID(value: connection.value + 1_000))
            let partition = Partition(of: self.sender)
            try await bench.tell(
                .connectionSnapshot([
                    ConnectionSnapshotEntry(identity: self.sender, connection: connection),
                    ConnectionSnapshotEntry(identity: self.sender, connection: gone),
                    ConnectionSnapshotEntry(identity: other, connection: connection),
                ]))
            #expect(
                try await bench.departure(in: partition)
                    == ConnectionSnapshotEntry(identity: self.sender, connection: gone))
            #expect(
                try await bench.departure(in: Partition(of: other))
                    == ConnectionSnapshotEntry(identity: other, connection: connection))

            await client.close()
            #expect(
                try await bench.departure(in: partition)
                    == ConnectionSnapshotEntry(identity: self.sender, connection: connection))
            try await bench.tell(
                .connectionSnapshot([ConnectionSnapshotEntry(identity: self.sender, connection: connection)]))
            #expect(
                try await bench.departure(in: partition)
                    == ConnectionSnapshotEntry(identity: self.sender, connection: connection))
        }
    }

    @Test func aPageIsAnsweredUnderItsRequestID() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await client.send(Frames.fetch())
            guard let request = try await bench.fetchRequest(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(request.connection == connection)
            #expect(request.after == 0)
            #expect(request.limit == 50)
            try await bench.tell(
                .answer(question: request.answer.question, .page([self.mail(1), self.mail(2)], next: Cursor(after: 2))))
            let page = try await client.json()
            #expect(page.type == "pending_messages")
            #expect(page.requestID == "f1")
            #expect(page.payload == ["messages": [["messageId": "1"], ["messageId": "2"]], "nextCursor": "p1-2"])

            let next = Frames.fetch(requestID: "f2").replacing("}}", with: #","cursor":"p1-2","limit":1}}"#)
            try await client.send(next)
            guard let second = try await bench.fetchRequest(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(second.after == 2)
            #expect(second.limit == 1)
            try await bench.tell(.answer(question: second.answer.question, .page([], next: nil)))
            #expect(try await client.json().payload == ["messages": [NSDictionary]()])
            // A message that was in a page is not sent live any more.
            try await bench.tell(
                .bound(connection, isCaughtUp: true), .mail(connection, [self.mail(2), self.mail(3)], again: false))
            #expect(try await client.json().payload["messageId"] as? String == "3")
        }
    }

    @Test func aReceiptBecomesAJobOfTheReceiversPartition() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(Frames.receipt(from: self.sender).replacing("delivered", with: "read"))
            guard case .receipt(let report) = try await bench.job(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(report.recipient.identity == self.sender)
            #expect(report.sender.description == "WSP-7777-7777-7777")
            #expect(report.status == .read)
            #expect(report.timestamp.milliseconds == 1_730_000_000_000)
        }
    }

    @Test func aNewerSessionElsewhereEndsThisOne() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            // Older news about the same identity changes nothing.
            try await bench.tellAll(.sessionsEnded(self.sender, before: Epoch(value: 1), why: .replaced))
            try await bench.tellAll(.sessionsEnded(self.recipient, before: Epoch(value: 9), why: .replaced))
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
            try await bench.tellAll(.sessionsEnded(self.sender, before: Epoch(value: 2), why: .replaced))
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    /// A router's notice about an older session of this very connection comes late.
    @Test func aConnectionThatHasLoggedInAgainIsNotReplacedByItself() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            // The router is faster than auth: the older session is said to be over while the proof is being checked.
            try await client.send(Frames.proof())
            let request = try await bench.request()
            try await bench.tell(.replaced(connection, Epoch(value: 1)))
            let newer = Session.of(identity: "\(self.sender)", token: String(repeating: "b", count: 43), epoch: 2)
            try await bench.tell(
                .answer(
                    question: request.answer.question, .loggedIn(newer, type: "register_ack", payload: Array("{}".utf8))
                ))
            #expect(try await client.json().type == "register_ack")
            // And once more, as late as can be.
            try await bench.tell(.replaced(connection, Epoch(value: 1)))
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
            try await bench.tell(.replaced(connection, Epoch(value: 2)))
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    @Test func anAnswerToAnOlderSessionDoesNotEndTheNewerOne() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(Frames.fetch())
            guard let fetch = try await bench.fetchRequest(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            try await client.send(Frames.proof())
            let request = try await bench.request()
            let newer = Session.of(identity: "\(self.sender)", token: String(repeating: "b", count: 43), epoch: 2)
            try await bench.tell(
                .answer(
                    question: request.answer.question, .loggedIn(newer, type: "register_ack", payload: Array("{}".utf8))
                ),
                .answer(question: fetch.answer.question, .stale))
            #expect(try await client.json().type == "register_ack")
            #expect(try await client.json().code == "NOT_REGISTERED")
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
        }
    }

    /// A login that fails does not shield a connection from being replaced: the router is asked again.
    @Test func aConnectionIsAnnouncedAgainIfItWasReplacedDuringALogin() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            try await client.send(Frames.proof())
            let request = try await bench.request()
            try await bench.tell(
                .replaced(connection, Epoch(value: 1)),
                .answer(question: request.answer.question, .refused(Refusal(.authFailed, "no"))))
            #expect(try await client.json().code == "AUTH_FAILED")
            guard case .bound(let bound) = try await bench.job(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(bound.map(\.connection) == [connection])
            try await bench.tell(.replaced(connection, Epoch(value: 1)))
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    @Test func aBanEndsTheConnection() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await bench.tellAll(.sessionsEnded(self.sender, before: Epoch(value: 2), why: .banned))
            #expect(try await client.json().code == "USER_BANNED")
            #expect(try await client.closeCode() == 4003)
        }
    }

    /// A router that has taken over does not know what the one before has told.
    @Test func aClientIsNotToldTwiceThatAPeerIsOnline() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(
                .presence(connection, about: self.recipient, .online),
                .presence(connection, about: self.recipient, .online))
            #expect(try await client.json().payload == ["whisperId": "\(self.recipient)", "status": "online"])
            let gone = PresenceState.offline(lastSeen: Timestamp(milliseconds: 5))
            try await bench.tell(
                .presence(connection, about: self.recipient, gone),
                .presence(connection, about: self.recipient, .online))
            #expect(
                try await client.json().payload == [
                    "whisperId": "\(self.recipient)", "status": "offline", "lastSeen": 5,
                ])
            #expect(try await client.json().payload["status"] as? String == "online")
        }
    }

    @Test func aDisconnectIsToldAndPresenceGoes() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            let presence = try #require(try await bench.bus.get(Keyspace.presence(self.sender)))
            #expect(try Presence(decoding: presence).connection == connection)
            await client.close()
            guard
                case .unbound(self.sender, bench.gateway.node, connection) = try await bench.job(
                    of: Partition(of: self.sender))
            else { return #expect(Bool(false)) }
            #expect(try await bench.bus.get(Keyspace.presence(self.sender)) == nil)
        }
    }

    /// Otherwise its router would take it for connected, and mail for it would wake nobody.
    @Test func aDisconnectWhileTheBusIsAwayIsToldLater() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.bus.goAway()
            await client.close()
            while await bench.gateway.isBound(self.sender) { await Task.yield() }
            try await bench.bus.comeBack()
            guard
                case .unbound(self.sender, bench.gateway.node, connection) = try await bench.job(
                    of: Partition(of: self.sender))
            else { return #expect(Bool(false)) }
            #expect(try await bench.bus.get(Keyspace.presence(self.sender)) == nil)
        }
    }

    @Test func aNewRouterHearsOfTheConnectionsOfItsPartition() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true), .mail(connection, [self.mail(7)], again: false))
            _ = try await client.json()
            try await bench.tellAll(.partitionsAdopted([Partition(of: self.sender)]))
            guard case .bound(let bound) = try await bench.job(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(bound.map(\.connection) == [connection])
            #expect(bound.map(\.progress) == [.live(through: 7)])
        }
    }

    @Test func connectionsOfOtherPartitionsAreNotToldOfAgain() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            let own = Partition(of: self.sender)
            try await bench.tellAll(.partitionsAdopted(Partition.all.filter { $0 != own }))
            // The Notice has been handled when this is answered.
            try await bench.tell(.mail(connection, [self.mail(7)], again: false))
            _ = try await client.json()
            #expect(try await bench.bus.depth(of: [Keyspace.mailbox(own).name]) == [2])
            try await bench.tellAll(.partitionsAdopted(Partition.all))
            guard case .bound(let bound) = try await bench.job(of: own) else { return #expect(Bool(false)) }
            #expect(bound.map(\.connection) == [connection])
        }
    }

    @Test func outcomesAreConfirmedOnlyByThePongBehindThem() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            let message = try #require(UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"))
            func outcome(_ number: Int64, _ kind: Outcome.Kind) -> Outcome {
                Outcome(
                    number: number, kind: kind, messageID: message, peer: self.recipient,
                    timestamp: Timestamp(milliseconds: 5))
            }
            let outcomes = [outcome(11, .delivered), outcome(12, .read), outcome(13, .expired)]
            // The second time changes nothing: they are on their way.
            try await bench.tell(.outcomes(connection, outcomes), .outcomes(connection, outcomes))
            #expect(
                try await client.json().payload
                    == ["messageId": "\(message)", "status": "delivered", "timestamp": 5, "from": "\(self.recipient)"])
            #expect(try await client.json().payload["status"] as? String == "read")
            let expired = try await client.json()
            #expect(expired.type == "message_expired")
            #expect(expired.payload == ["messageId": "\(message)", "to": "\(self.recipient)"])

            // Any other pong proves nothing.
            try await client.send(ClientFrame(opcode: 10, payload: [9]))
            let ping = try await client.anyFrame()
            #expect(ping.opcode == 9)
            let stream = Partition.all[Int(bench.gateway.node.value % UInt64(Partition.count))]
            try await client.send(ClientFrame(opcode: 10, payload: ping.payload))
            while true {
                if case .outcomesConfirmed(let numbers) = try await bench.job(of: stream) {
                    #expect(numbers == [11, 12, 13])
                    break
                }
            }
        }
    }

    /// One that answers an earlier ping, or the same a second time, says nothing of what was written since.
    @Test func aPongThatComesLateConfirmsNothing() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.outcomes(connection, [self.outcome(11)]))
            let first = try await self.ping(client, behind: 1)
            try await client.send(ClientFrame(opcode: 10, payload: first))
            #expect(try await self.confirmed(bench) == [11])
            try await bench.tell(.outcomes(connection, [self.outcome(12)]))
            let second = try await self.ping(client, behind: 1)
            try await client.send(ClientFrame(opcode: 10, payload: first))
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
            #expect(await bench.gateway.waitsForPong(connection))
            try await client.send(ClientFrame(opcode: 10, payload: second))
            #expect(try await self.confirmed(bench) == [12])
        }
    }

    /// A router reads them before it hears that they were confirmed, when it takes over, say.
    @Test func whatAClientHasConfirmedIsNotToldAgain() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.outcomes(connection, [self.outcome(11)]))
            try await self.answerPing(client, behind: 1)
            #expect(try await self.confirmed(bench) == [11])
            try await bench.tell(.outcomes(connection, [self.outcome(11), self.outcome(12)]))
            // Only the second is told; but whoever told the first had not heard that it was confirmed.
            try await self.answerPing(client, behind: 1)
            var numbers: [Int64] = []
            while !numbers.contains(12) { numbers += try await self.confirmed(bench) }
            #expect(numbers.sorted() == [11, 12])
        }
    }

    @Test func behindAFullPageOfOutcomesIsAskedForMore() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            let page = (1...Int64(ClusterLimits.outcomesPerBindMax)).map { self.outcome($0) }
            try await bench.tell(.bound(connection, isCaughtUp: true), .outcomes(connection, page))
            try await self.answerPing(client, behind: page.count)
            #expect(try await self.confirmed(bench) == page.map(\.number))
            try await self.expectsAnnouncement(bench, of: connection)
            // Read again before it was removed: nothing is told twice, and the rest is not forgotten.
            try await bench.tell(.bound(connection, isCaughtUp: true), .outcomes(connection, page))
            #expect(try await self.confirmed(bench) == page.map(\.number))
            try await self.expectsAnnouncement(bench, of: connection)
            try await bench.tell(.bound(connection, isCaughtUp: true), .outcomes(connection, [self.outcome(2_000)]))
            try await self.answerPing(client, behind: 1)
            #expect(try await self.confirmed(bench) == [2_000])
        }
    }

    /// A client whose stack never answers pings receives no more than a page, and the store keeps the rest.
    @Test func aClientThatConfirmsNothingIsToldAPage() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            let most = Int64(ClusterLimits.outcomesPerBindMax)
            for start in stride(from: 1, through: 3 * most, by: 100) {
                try await bench.tell(.outcomes(connection, (start..<start + 100).map { self.outcome($0) }))
            }
            var told: Int64 = 0
            var ping: [UInt8] = []
            // The first are under way to be confirmed while others are written.
            while told < most || ping.isEmpty {
                let frame = try await client.anyFrame()
                if frame.opcode == 1 { told += 1 } else { ping = frame.payload }
            }
            #expect(await bench.gateway.unconfirmed(on: connection) <= 2 * Int(most))
            try await client.send(ClientFrame(opcode: 10, payload: ping))
            #expect(try await self.confirmed(bench).count <= Int(most))
            while await bench.gateway.waitsForPong(connection) {
                let frame = try await client.anyFrame()
                if frame.opcode == 9 { try await client.send(ClientFrame(opcode: 10, payload: frame.payload)) }
            }
            try await self.expectsAnnouncement(bench, of: connection)
        }
    }

    /// Whichever router sends them, and however many: the store keeps events beyond the bound until some are confirmed.
    @Test func groupEventsBeyond64kBWaitUntilSomeAreConfirmed() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            let large = Array(#"{"x":"\#(String(repeating: "x", count: 20_000 - 8))"}"#.utf8)
            try await bench.tell(
                .groupEvent(payload: large, (1...20).map { GroupReader(connection: connection, number: $0) }))
            try await self.answerPing(client, behind: 3, "group_event")
            #expect(try await self.confirmed(bench) == [1, 2, 3])
            try await self.expectsAnnouncement(bench, of: connection)
            // One that is larger than all that may be under way goes alone.
            let larger = Array(#"{"x":"\#(String(repeating: "x", count: 70_000))"}"#.utf8)
            try await bench.tell(
                .groupEvent(payload: larger, (4...5).map { GroupReader(connection: connection, number: $0) }))
            try await self.answerPing(client, behind: 1, "group_event")
            #expect(try await self.confirmed(bench) == [4])
            try await self.expectsAnnouncement(bench, of: connection)
        }
    }

    private func outcome(_ number: Int64) -> Outcome {
        Outcome(
            number: number, kind: .delivered, messageID: UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10")!,
            peer: self.recipient, timestamp: Timestamp(milliseconds: 5))
    }

    /// Reads so many outcomes and nothing else, and answers the ping behind them.
    private func answerPing(_ client: TestClient, behind count: Int, _ type: String = "message_delivered") async throws
    {
        try await client.send(ClientFrame(opcode: 10, payload: try await self.ping(client, behind: count, type)))
    }

    /// - Returns: what the ping holds.
    private func ping(
        _ client: TestClient, behind count: Int, _ type: String = "message_delivered"
    ) async throws -> [UInt8] {
        for _ in 0..<count {
            let frame = try await client.anyFrame()
            #expect(frame.opcode == 1 && String(decoding: frame.payload, as: UTF8.self).contains(type))
        }
        let ping = try await client.anyFrame()
        #expect(ping.opcode == 9)
        return ping.payload
    }

    /// Numbers of the next confirmation to routers.
    private func confirmed(_ bench: GatewayBench) async throws -> [Int64] {
        let stream = Partition.all[Int(bench.gateway.node.value % UInt64(Partition.count))]
        while true {
            if case .outcomesConfirmed(let numbers) = try await bench.job(of: stream) { return numbers }
        }
    }

    private func expectsAnnouncement(_ bench: GatewayBench, of connection: ConnectionID) async throws {
        while true {
            guard case .bound(let bound) = try await bench.job(of: Partition(of: self.sender)) else { continue }
            return #expect(bound.map(\.connection) == [connection])
        }
    }

    // MARK: Auth's answers

    @Test func aLoginBindsTheConnection() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(
                Frames.frame("register_proof", RegisterProof.definition.samples[0], requestID: "r1", session: nil))
            let request = try await bench.request()
            guard case .frame("register_proof", _) = request.body else { return #expect(Bool(false)) }
            let session = Session.of(identity: "\(self.sender)", token: token)
            try await bench.tell(
                .answer(
                    question: request.answer.question,
                    .loggedIn(session, type: "register_ack", payload: Array("{}".utf8))))
            let reply = try await client.json()
            #expect(reply.type == "register_ack")
            #expect(reply.requestID == "r1")
            guard case .bound(let bound) = try await bench.job(of: Partition(of: self.sender)) else {
                return #expect(Bool(false))
            }
            #expect(bound.map(\.progress) == [.fresh])
            // Bound: no lookup is needed for the next frame.
            try await client.send(Frames.fetch())
            guard try await bench.fetchRequest(of: Partition(of: self.sender)) != nil else {
                return #expect(Bool(false))
            }
        }
    }

    @Test func aFrameForAServiceCarriesNoTokenUnlessItSaysSo() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(
                Frames.frame("update_tokens", UpdateTokens.definition.samples[0], requestID: "u1", session: token))
            let update = try await bench.request()
            guard case .frame("update_tokens", let payload) = update.body else { return #expect(Bool(false)) }
            #expect(!String(decoding: payload, as: UTF8.self).contains(token))
            #expect(update.presentedToken.isEmpty)
            #expect(update.session?.caller.identity == self.sender)
            try await client.send(
                Frames.frame("session_refresh", SessionRefresh.definition.samples[0], requestID: "s1", session: token))
            let refresh = try await bench.request()
            #expect(refresh.presentedToken == Array(token.utf8))
        }
    }

    @Test func theOldTokenDiesWithTheFirstUseOfTheNewOne() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(
                Frames.frame("session_refresh", SessionRefresh.definition.samples[0], requestID: "s1", session: token))
            let refresh = try await bench.request()
            let next = String(repeating: "N", count: 43)
            let successor = Session.of(identity: "\(self.sender)", token: next)
            try await bench.tell(
                .answer(
                    question: refresh.answer.question,
                    .refreshed(successor, type: "session_refresh_ack", payload: Array("{}".utf8))))
            #expect(try await client.json().type == "session_refresh_ack")
            // Until then both live.
            try await client.send(Frames.fetch())
            guard try await bench.fetchRequest(of: Partition(of: self.sender)) != nil else {
                return #expect(Bool(false))
            }
            try await client.send(Frames.fetch(session: next))
            guard case .sessionUsed(successor.tokenHash) = try await bench.request().body else {
                return #expect(Bool(false))
            }
            guard try await bench.fetchRequest(of: Partition(of: self.sender)) != nil else {
                return #expect(Bool(false))
            }
            // At once, although the cache still knows the old one.
            try await client.send(Frames.fetch(requestID: "f9"))
            let reply = try await client.json()
            #expect(reply.code == "NOT_REGISTERED")
            #expect(reply.requestID == "f9")
        }
    }

    @Test func aLogoutIsAcknowledgedAndClosed() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(Frames.logout(session: token))
            let request = try await bench.request()
            try await bench.tell(
                .answer(
                    question: request.answer.question,
                    .loggedOut(type: "logout_ack", payload: Array(#"{"success":true}"#.utf8))))
            #expect(try await client.json().type == "logout_ack")
            #expect(try await client.closeCode() == 1000)
        }
    }

    @Test func aDrainMovesClientsAway() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
            await bench.gateway.drain()
            let frame = try await client.frame()
            #expect(frame.opcode == 8)
            #expect(frame.payload.prefix(2) == [3, 233])
            let delay = Int64(String(decoding: frame.payload.dropFirst(2), as: UTF8.self))
            #expect((0...GatewayLimits.drainJitterMaxMilliseconds).contains(try #require(delay)))
        }
    }
}
