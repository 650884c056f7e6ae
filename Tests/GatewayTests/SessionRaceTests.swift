import Bus
import ClusterContract
import Contract
import Testing

@testable import GatewayCore

private let sender = WhisperID("WSP-JBPU-D452-TLT4")!

private func session(epoch: Int64, token: String) -> Session { .of(identity: "\(sender)", token: token, epoch: epoch) }

extension NodeEvent {
    fileprivate static func loggedIn(_ request: ServiceRequest, _ session: Session) -> NodeEvent {
        .answer(question: request.answer.question, .loggedIn(session, type: "register_ack", payload: Array("{}".utf8)))
    }

}

extension GatewayBench {
    /// The next Job of the sender's partition is a fetch, of a session of this epoch.
    fileprivate func fetch(epoch: Int64, at place: SourceLocation = #_sourceLocation) async throws -> FetchRequest? {
        guard let fetch = try await self.fetchRequest(of: Partition(of: sender)) else {
            Issue.record("no fetch", sourceLocation: place)
            return nil
        }
        #expect(fetch.caller.epoch.value == epoch, sourceLocation: place)
        return fetch
    }
}

/// Answers overtake each other, come twice, and come when their subject has changed (contract §4).
/// `ConnectionSessionTests` show the effect of each order; these show that the gateway tells its sessions what happens.
@Suite(.timeLimit(.minutes(20))) struct SessionRaceTests {
    /// Two logins of one connection, of which the older is answered last, a refresh of the older, and a cache that is behind.
    @Test func aConnectionDoesNotGoBackToAnOlderSession() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient(session(epoch: 3, token: token))
            try await client.send(Frames.proof(requestID: "older"))
            let older = try await bench.request()
            try await client.send(Frames.proof(requestID: "newer"))
            let newer = try await bench.request()
            let (five, four) = (String(repeating: "5", count: 43), String(repeating: "4", count: 43))
            try await bench.tell(
                .loggedIn(newer, session(epoch: 5, token: five)), .loggedIn(older, session(epoch: 4, token: four)))
            #expect(try await client.json().requestID == "newer")
            #expect(try await client.json().requestID == "older")
            guard case .bound(let bound) = try await bench.job(of: Partition(of: sender)) else {
                return #expect(Bool(false))
            }
            #expect(bound.map(\.caller.epoch.value) == [5])

            try await bench.cache(session(epoch: 4, token: four))
            try await client.send(Frames.fetch(session: four))
            #expect(try await client.json().code == "NOT_REGISTERED")
            try await bench.tell(.replaced(connection, Epoch(value: 4)))
            try await client.send(Frames.fetch(session: five))
            guard let fetch = try await bench.fetchRequest(of: Partition(of: sender)) else {
                return #expect(Bool(false))
            }
            #expect(fetch.caller.epoch.value == 5)
        }
    }

    /// The older login, answered last, ends itself and not the newer one.
    @Test func aConnectionOfAnOlderSessionDoesNotEndTheNewerOne() async throws {
        try await GatewayBench.run { bench in
            let (newer, _) = try await bench.boundClient(session(epoch: 6, token: token))
            let older = try await bench.client()
            try await older.send(Frames.proof())
            let request = try await bench.request()
            try await bench.tell(.loggedIn(request, session(epoch: 5, token: String(repeating: "5", count: 43))))
            #expect(try await older.json().type == "register_ack")
            #expect(try await older.json().code == "AUTH_FAILED")
            #expect(try await older.closeCode() == 4001)

            // A token that the cache should have forgotten.
            let four = String(repeating: "4", count: 43)
            try await bench.cache(session(epoch: 4, token: four))
            let oldest = try await bench.client()
            try await oldest.send(Frames.fetch(session: four))
            #expect(try await oldest.json().code == "AUTH_FAILED")
            #expect(try await oldest.closeCode() == 4001)

            try await newer.send(Frames.fetch())
            _ = try await bench.fetch(epoch: 6)
        }
    }

    /// The answer to a frame beside it says that the session has ended. The answer to the farewell comes all the same, and then 1000.
    @Test func whoLeavesIsToldSoWhateverElseWasAsked() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient(session(epoch: 3, token: token))
            try await client.send(Frames.fetch(requestID: "beside"))
            let fetch = try #require(try await bench.fetch(epoch: 3))
            try await client.send(Frames.logout(session: token))
            let farewell = try await bench.request()
            try await bench.tell(
                .answer(question: fetch.answer.question, .stale), .replaced(connection, Epoch(value: 3)),
                .answer(question: farewell.answer.question, .loggedOut(type: "logout_ack", payload: Array("{}".utf8))))
            let refused = try await client.json()
            #expect(refused.requestID == "beside" && refused.code == "NOT_REGISTERED")
            let told = try await client.json()
            #expect(told.type == "logout_ack")
            #expect(try await client.closeCode() == 1000)
        }
    }

    /// While auth was away two connections have shown the same token. Their answers come in the wrong order.
    @Test func ofTwoConnectionsThatWaitedTheOneThatCameLastStays() async throws {
        try await GatewayBench.run { bench in
            let (older, newer) = (try await bench.client(), try await bench.client())
            try await older.send(Frames.fetch())
            let first = try await bench.request()
            let shown = bench.gateway.now
            while bench.gateway.now <= shown { await Task.yield() }
            try await newer.send(Frames.fetch())
            let second = try await bench.request()
            let found = session(epoch: 1, token: token)
            try await bench.tell(.answer(question: second.answer.question, .session(found)))
            guard case .bound(let bound) = try await bench.job(of: Partition(of: sender)) else {
                return #expect(Bool(false))
            }
            #expect(bound.map(\.connection) == [second.connection])
            _ = try await bench.fetch(epoch: 1)
            try await bench.tell(.answer(question: first.answer.question, .session(found)))
            #expect(try await older.json().code == "AUTH_FAILED")
            #expect(try await older.closeCode() == 4001)
            try await newer.send(Frames.fetch())
            _ = try await bench.fetch(epoch: 1)
        }
    }

    /// A stale session lives as long as a login is under way. If that fails, it ends as it would have.
    @Test func aStaleAnswerEndsAConnectionWhoseLoginFails() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            try await client.send(Frames.proof())
            let login = try await bench.request()
            try await client.send(Frames.fetch())
            let fetch = try #require(try await bench.fetch(epoch: 1))
            try await bench.tell(
                .answer(question: fetch.answer.question, .stale),
                .answer(question: login.answer.question, .refused(Refusal(.authFailed, "no"))))
            #expect(try await client.json().code == "NOT_REGISTERED")
            #expect(try await client.json().code == "AUTH_FAILED")
            guard case .bound = try await bench.job(of: Partition(of: sender)) else { return #expect(Bool(false)) }
            try await bench.tell(.replaced(connection, Epoch(value: 1)))
            #expect(try await client.json().code == "AUTH_FAILED")
            #expect(try await client.closeCode() == 4001)
        }
    }

    @Test func aLogoutOfAnOlderSessionDoesNotEndTheNewerOne() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            try await client.send(Frames.logout(session: token))
            let logout = try await bench.request()
            try await client.send(Frames.proof())
            let login = try await bench.request()
            let new = String(repeating: "b", count: 43)
            try await bench.tell(
                .loggedIn(login, session(epoch: 2, token: new)),
                .answer(question: logout.answer.question, .loggedOut(type: "logout_ack", payload: Array("{}".utf8))))
            #expect(try await client.json().type == "register_ack")
            #expect(try await client.json().type == "logout_ack")
            guard case .bound = try await bench.job(of: Partition(of: sender)) else { return #expect(Bool(false)) }
            try await client.send(Frames.fetch(session: new))
            _ = try await bench.fetch(epoch: 2)
        }
    }

    /// While one token is looked up all frames wait. The result concerns only the frames with that token.
    @Test(arguments: [true, false])
    func aTokenThatIsNobodysLeavesTheOthersAlone(isKnown: Bool) async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            let dead = String(repeating: "d", count: 43)
            try await client.send(Frames.fetch(requestID: "dead", session: dead))
            let request = try await bench.request()
            try await client.send(Frames.fetch(requestID: "waits"))
            let answer: Answer = isKnown ? .session(nil) : .refused(Refusal(.internalError, "away"))
            try await bench.tell(.answer(question: request.answer.question, answer))
            let refused = try await client.json()
            #expect(refused.requestID == "dead")
            #expect(refused.code == (isKnown ? "NOT_REGISTERED" : "INTERNAL_ERROR"))
            _ = try await bench.fetch(epoch: 1)
        }
    }

    /// Announcements are put together at the end of a turn, ends are told at once: one that ended in the same turn would be taken
    /// for connected as long as its gateway lives.
    @Test func aConnectionIsNotAnnouncedBehindItsOwnEnd() async throws {
        try await GatewayBench.run { bench in
            let (_, first) = try await bench.boundClient()
            await bench.gateway.announceAndEnd(first)
            guard case .unbound(sender, _, first) = try await bench.job(of: Partition(of: sender)) else {
                return #expect(Bool(false))
            }
            let (_, second) = try await bench.boundClient()
            #expect(second != first)
        }
    }

    /// Where the identity is has been lost with Redis' memory, or while Redis was away: it is written again for a connection that
    /// its router confirms, and for no other.
    @Test func presenceIsWrittenAgainWhenARouterConfirmsAConnection() async throws {
        try await GatewayBench.run { bench in
            let (_, connection) = try await bench.boundClient()
            try await bench.tell(.bound(connection, isCaughtUp: true))
            try await bench.tellAll(.partitionsAdopted([Partition(of: sender)]))
            guard case .bound = try await bench.job(of: Partition(of: sender)) else { return #expect(Bool(false)) }
            let key = Keyspace.presence(sender)
            try await bench.bus.delete([key])
            try await bench.tell(.bound(connection, isCaughtUp: true))
            while try await bench.bus.get(key) == nil {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }
}

extension Gateway {
    /// Both within one turn of its loop.
    fileprivate func announceAndEnd(_ id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        self.announcer.announce(connection, self)
        self.disconnected(id)
    }
}
