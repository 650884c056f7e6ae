import ClusterContract
import Contract
import ServerCrypto
import Testing

@testable import GatewayCore

/// Guests through a real socket (contract §14.3); the test plays auth.
@Suite(.timeLimit(.minutes(20))) struct GatewayGuestTests {
    @Test func aProofMakesTheConnectionTheGuests() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await client.send(Frames.guestBegin())
            let begin = try await bench.request()
            guard case .frame("guest_begin", _) = begin.body else { return #expect(Bool(false)) }
            #expect(begin.session == nil && begin.presentedToken.isEmpty)
            try await bench.tell(
                .answer(
                    question: begin.answer.question, .reply(type: "guest_challenge", payload: Array("{}".utf8))))
            #expect(try await client.json().type == "guest_challenge")

            try await bench.prove(.test(), on: client)
            let presence = try await bench.bus.get(Keyspace.presence(Guest.test().id))
            #expect(try Presence(decoding: #require(presence)).epoch == Guest.test().epoch)
            #expect(await bench.gateway.isBound(Guest.test().id))
            await client.close()
            while await bench.gateway.isBound(Guest.test().id) {
                try Task.checkCancellation()
                await Task.yield()
            }
            #expect(try await bench.bus.get(Keyspace.presence(Guest.test().id)) == nil)
        }
    }

    /// A newer proof, wherever: auth tells all gateways.
    @Test(arguments: [ClusterNotice.EndReason.replaced, .banned])
    func whatAuthEndsIsClosed(why: ClusterNotice.EndReason) async throws {
        try await GatewayBench.run { bench in
            let guest = Guest.test(epoch: 2)
            let client = try await bench.guest(guest)
            // A notice of this very proof, and one about another guest.
            try await bench.tellAll(.guestEnded(guest.id, before: Epoch(value: 2), why: why))
            try await bench.tellAll(.guestEnded(GuestID(high: 7, low: 7), before: Epoch(value: 9), why: why))
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
            try await bench.tellAll(.guestEnded(guest.id, before: Epoch(value: 3), why: why))
            #expect(try await client.json().code == (why == .banned ? "USER_BANNED" : "AUTH_FAILED"))
            #expect(try await client.closeCode() == (why == .banned ? 4003 : 4001))
        }
    }

    @Test func theNewerConnectionOfAGuestClosesTheOlderOne() async throws {
        try await GatewayBench.run { bench in
            let older = try await bench.guest(.test())
            let newer = try await bench.guest(.test(epoch: 2, token: "newer"))
            #expect(try await older.json().code == "AUTH_FAILED")
            #expect(try await older.closeCode() == 4001)
            // The answer to an older proof comes late.
            let late = try await bench.client()
            try await bench.prove(.test(), on: late)
            #expect(try await late.json().code == "AUTH_FAILED")
            #expect(try await late.closeCode() == 4001)
            try await newer.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await newer.json().type == "pong")
        }
    }

    /// At two gateways, by one token: the gateway of the newer one asks auth to tell the other.
    @Test func theNewerConnectionAtAnotherGatewayClosesTheOlderOne() async throws {
        try await GatewayBench.run(gateways: 2) { benches in
            let (older, newer, move) = try await self.twoConnections(benches)
            #expect(move.from.node == benches[0].gateway.node && move.epoch == Guest.test().epoch && move.age >= 0)
            try await benches[0].tell(.guestMoved(move.from.connection, epoch: move.epoch, age: move.age))
            #expect(try await older.json().code == "AUTH_FAILED")
            #expect(try await older.closeCode() == 4001)
            try await newer.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await newer.json().type == "pong")
            #expect(await benches[1].gateway.isBound(Guest.test().id))
        }
    }

    /// The news comes late, or was told by a gateway that the guest had left: Redis says where it is by now.
    @Test func whoeverRedisNamesStays() async throws {
        try await GatewayBench.run(gateways: 2) { benches in
            let (older, newer, move) = try await self.twoConnections(benches)
            let place = try #require(try await benches[0].bus.get(Keyspace.presence(Guest.test().id)))
            #expect(try Presence(decoding: place).node == benches[1].gateway.node)
            // The newer one hears the same of itself: it is where Redis says.
            let own = try Presence(decoding: place).connection
            try await benches[1].tell(.guestMoved(own, epoch: move.epoch, age: 0))
            try await newer.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await newer.json().type == "pong")
            // The older one is told that another one was there before it: it says again that the guest is here.
            try await benches[0].tell(.guestMoved(move.from.connection, epoch: move.epoch, age: 3_600_000))
            let again = try await self.move(at: benches[1])
            #expect(again.from == (try Presence(decoding: place)))
            try await benches[1].tell(.guestMoved(again.from.connection, epoch: again.epoch, age: 0))
            #expect(try await newer.json().code == "AUTH_FAILED")
            #expect(try await newer.closeCode() == 4001)
            try await older.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await older.json().type == "pong")
        }
    }

    /// The news was lost, or Redis' memory: the gateway looks where Redis says that the guest is.
    @Test func aGuestsPlaceIsSaidAgain() async throws {
        try await GatewayBench.run { bench in
            _ = try await bench.guest(.test())
            let key = Keyspace.presence(Guest.test().id)
            let own = try #require(try await bench.bus.get(key))
            try await bench.bus.delete([key])
            while try await bench.bus.get(key) != own {
                try Task.checkCancellation()
                await Task.yield()
            }
            let other = Presence(
                node: NodeID(value: 7), connection: ConnectionID(value: 7), epoch: Guest.test().epoch)
            try await bench.bus.set(key, to: other.encoded(), for: .seconds(60))
            #expect(try await self.move(at: bench).from == other)
            #expect(try await bench.bus.get(key) == own)
        }
    }

    /// A guest's connection at the first gateway, and then one at the second, and what that one says of it.
    private func twoConnections(
        _ benches: [GatewayBench]
    ) async throws -> (older: TestClient, newer: TestClient, GuestMove) {
        let older = try await benches[0].guest(.test())
        let newer = try await benches[1].client()
        // Answered: the connection is there.
        try await newer.send(#"{"type":"ping","payload":{}}"#)
        #expect(try await newer.json().type == "pong")
        try await benches[1].gateway.receiveOfEither("token")
        #expect(try await newer.json().type == "pong")
        return (older, newer, try await self.move(at: benches[1]))
    }

    /// The next news for auth that a guest has moved.
    private func move(at bench: GatewayBench) async throws -> GuestMove {
        while true { if case .guestMoved(let move) = try await bench.request().body { return move } }
    }

    /// Contract §19.16: at once, and auth does not hear of it.
    /// Auth gets the token, by which it finds the guest. Its answer ends the connection.
    @Test func aGuestIsForgottenByItsToken() async throws {
        try await GatewayBench.run { bench in
            let token = String(repeating: "A", count: 43)
            let client = try await bench.guest(.test(token: token))
            try await client.send(
                #"{"type":"guest_forget","payload":{"protocolVersion":1,"cryptoVersion":1,"guestToken":"\#(token)"}}"#)
            let request = try await bench.request()
            guard case .frame("guest_forget", let payload) = request.body else { throw TestClient.Unexpected.end }
            #expect(request.presentedToken == Array(token.utf8) && request.session == nil)
            #expect(!String(decoding: payload, as: UTF8.self).contains(token))
            try await bench.tell(.answer(question: request.answer.question, .loggedOut(GuestForgotten())))
            #expect(try await client.json().type == "guest_forgotten")
            #expect(try await client.closeCode() == 1000)
        }
    }

    @Test(arguments: [false, true]) func aProofOnAConnectionThatIsBoundOtherwiseEndsIt(isBegun: Bool) async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(isBegun ? Frames.guestBegin() : Frames.guestProof())
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
            let guest = try await bench.guest(.ofSample)
            // The same keys again.
            try await guest.send(Frames.guestBegin())
            guard case .frame("guest_begin", _) = try await bench.request().body else { return #expect(Bool(false)) }
            let other = try await bench.guest(.test())
            try await other.send(Frames.guestBegin())
            #expect(try await other.json().code == "AUTH_FAILED")
            #expect(try await other.closeCode() == 4001)
        }
    }

    @Test func aGuestSendsNothingThatNeedsASession() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.guest(.test())
            try await client.send(Frames.fetch(session: nil))
            #expect(try await client.json().code == "NOT_REGISTERED")
            // Somebody's token makes it a connection of both.
            try await bench.cache(.of(identity: "WSP-JBPU-D452-TLT4", token: token))
            try await client.send(Frames.fetch())
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    /// Live conversations count by address who waits (contract §13b).
    @Test func aKnockNamesItsAddressByADigest() async throws {
        try await GatewayBench.run { bench in
            let guest = Guest.test(token: token)
            let client = try await bench.guest(guest)
            let sample = LiveKnock.definition.samples[0]
            let knock = try LiveKnock(
                try FrameDecoder.payload(bare: Array(sample.utf8), schema: LiveKnock.definition.schema))
            func next() async throws -> LiveRequest {
                while true {
                    let job = try await bench.liveJob(of: LiveShare(of: knock.conversation))
                    if case .frame(let request) = job { return request }
                }
            }
            let own = sample.replacing("\(knock.knock.from)", with: "\(guest.id)")
            try await client.send(Frames.frame("live_knock", own, requestID: "k1", session: nil))
            let request = try await next()
            #expect(request.type == "live_knock" && request.origin != 0)
            try await client.send(
                Frames.frame("live_join", LiveJoin.definition.samples[0], requestID: "k2", session: nil))
            let other = try await next()
            #expect(other.type == "live_join" && other.origin == 0, "it is told where it counts, and nowhere else")
        }
    }

    @Test func aConnectionEndsWithItsGuestsToken() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.guest(.test(expiresAt: .now + .seconds(5)))
            #expect(try await client.json().code == "NOT_REGISTERED")
            #expect(try await client.closeCode() == 1000)
        }
    }

    /// The Notice of a newer proof comes before the answer to the older one, or is lost: the connection is looked at.
    @Test(arguments: [true, false]) func aGuestIsCheckedWhenItIsBound(isBanned: Bool) async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            try await bench.prove(.test(), on: client, isCached: false)
            let question = try await bench.request()
            guard case .guest(Guest.test().tokenHash) = question.body else { return #expect(Bool(false)) }
            let found = isBanned ? Guest.test(isBanned: true) : nil
            try await bench.tell(.answer(question: question.answer.question, .guest(found)))
            #expect(try await client.json().code == (isBanned ? "USER_BANNED" : "AUTH_FAILED"))
            #expect(try await client.closeCode() == (isBanned ? 4003 : 4001))
        }
    }

    /// And again and again, because any Notice may be lost.
    @Test func aGuestIsCheckedFromTimeToTime() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.guest(.test())
            try await bench.bus.delete([Keyspace.guest(Guest.test().tokenHash)])
            let question = try await bench.request()
            // Auth is away: that ends nobody.
            try await bench.tell(.answer(question: question.answer.question, .refused(.unavailable)))
            try await bench.cache(.test(isBanned: true))
            #expect(try await client.json().code == "USER_BANNED")
            #expect(try await client.closeCode() == 4003)
        }
    }

    /// A frame of either principal that is answered by the gateway alone: a `ping` that needs a session or a guest.
    @Test(arguments: [true, false]) func aGuestsTokenBindsTheConnection(isCached: Bool) async throws {
        try await GatewayBench.run { bench in
            let guest = Guest.test()
            if isCached { try await bench.cache(guest) }
            let client = try await bench.client()
            try await client.send(#"{"type":"ping","payload":{}}"#)
            #expect(try await client.json().type == "pong")
            try await bench.gateway.receiveOfEither("token")
            if !isCached {
                let question = try await bench.request()
                guard case .guest(guest.tokenHash) = question.body else { return #expect(Bool(false)) }
                try await bench.cache(guest)
                try await bench.tell(.answer(question: question.answer.question, .guest(guest)))
            }
            #expect(try await client.json().type == "pong")
            #expect(await bench.gateway.isBound(guest.id))
            // Without a look-up this time.
            try await bench.gateway.receiveOfEither("token")
            #expect(try await client.json().type == "pong")
        }
    }

    @Test func challengesOfGuestsAreCountedForAnAddress() async throws {
        // One a minute.
        try await GatewayBench.run(scale: 1.0 / 60) { bench in
            let client = try await bench.client()
            try await client.send(Frames.guestBegin())
            guard case .frame("guest_begin", _) = try await bench.request().body else { return #expect(Bool(false)) }
            try await client.send(Frames.guestBegin())
            #expect(try await client.json().code == "RATE_LIMITED")
        }
    }
}

extension Guest {
    static func test(
        epoch: Int64 = 1, token: String = "token", expiresAt: Timestamp = Timestamp(milliseconds: 9_000_000_000_000),
        isBanned: Bool = false
    ) -> Guest {
        Guest(
            id: GuestID(high: 1, low: 2), epoch: Epoch(value: epoch), tokenHash: SHA256.hash(Array(token.utf8)),
            expiresAt: expiresAt, signPublicKey: Bytes32(), isBanned: isBanned)
    }

    /// The guest with the keys of the sample of `guest_begin`.
    fileprivate static let ofSample: Guest = {
        var guest = Guest.test(token: "sample")
        let sample = GuestBegin.definition.samples[0]
        let payload = try! FrameDecoder.payload(bare: Array(sample.utf8), schema: GuestBegin.definition.schema)
        let begin = try! GuestBegin(payload)
        guest.id = .derived(signPublicKey: begin.signPublicKey.bytes, encPublicKey: begin.encPublicKey.bytes) {
            SHA256.hash($0).bytes
        }
        return guest
    }()
}

extension Frames {
    fileprivate static func guestBegin() -> String {
        self.frame("guest_begin", GuestBegin.definition.samples[0], requestID: "g1", session: nil)
    }

    fileprivate static func guestProof() -> String {
        self.frame("guest_proof", GuestProof.definition.samples[0], requestID: "g2", session: nil)
    }
}

extension GatewayBench {
    fileprivate func cache(_ guest: Guest) async throws {
        try await self.bus.set(Keyspace.guest(guest.tokenHash), to: guest.encoded(), for: .seconds(60))
    }

    /// A client that proves, and auth's answer.
    fileprivate func prove(_ guest: Guest, on client: TestClient, isCached: Bool = true) async throws {
        if isCached { try await self.cache(guest) }
        try await client.send(Frames.guestProof())
        let proof = try await self.request()
        guard case .frame("guest_proof", _) = proof.body else { throw TestClient.Unexpected.end }
        try await self.tell(
            .answer(
                question: proof.answer.question, .guestProved(guest, type: "guest_ack", payload: Array("{}".utf8))))
        let ack = try await client.json()
        #expect(ack.type == "guest_ack" && ack.requestID == "g2")
    }

    /// A connected client that has proved to be this guest.
    fileprivate func guest(_ guest: Guest) async throws -> TestClient {
        let client = try await self.client()
        try await self.prove(guest, on: client)
        return client
    }
}

extension Gateway {
    fileprivate func isBound(_ guest: GuestID) -> Bool { self.guests[guest] != nil }

    /// Receives a frame of either principal on the only connection there is.
    fileprivate func receiveOfEither(_ guestToken: String) throws {
        let definition = FrameDefinition(
            Ping.definition.type, about: "", route: .gateway, principal: .either,
            fields: CommonFields.versions + [CommonFields.sessionToken, CommonFields.guestToken, Ping.timestamp.field],
            samples: [])
        let payload = try FrameDecoder.payload(
            bare: Array(#"{"protocolVersion":1,"cryptoVersion":1}"#.utf8), schema: definition.schema)
        let frame = ReceivedFrame(
            definition: definition, payload: payload, bytes: 100,
            token: .guest(SHA256.hash(Array(guestToken.utf8))))
        let connection = try #require(self.connections.values.first)
        self.handle(frame, connection.machine.received(frame, at: self.now, wallClock: .now), on: connection)
    }
}
