import Glibc
import LocalStack
import NIOCore
import NIOPosix
import PushPeers
import Synchronization
import Testing

@testable import PushCore

/// The client against a real server of HTTP/2 over TLS that misbehaves as it is told.
@Suite(.timeLimit(.minutes(20))) struct HTTP2ClientTests {
    @Test func aRequestArrivesWholeAndItsAnswerComesBack() async throws {
        try await Peers.with(answer: { _ in .answer(status: 418, headers: [("retry-after", "3")], body: "teapot") }) {
            peer in
            let client = try Peers.client(of: peer)
            let response = try await client.send(hello, within: .seconds(20))
            #expect(response.status == 418 && response.retryAfter == .seconds(3))
            #expect(String(decoding: response.body, as: UTF8.self) == "teapot")
            let request = try #require(peer.requests.first)
            #expect(request.method == "POST" && request.scheme == "https" && request.path == "/hello")
            #expect(request.authority == "localhost:\(peer.port)" && request.headers["x-test"] == "1")
            #expect(request.headers["content-length"] == "5" && request.body == Array("hello".utf8))
            await client.close()
        }
    }

    @Test func manyRequestsShareOneConnectionWithinThePeersBound() async throws {
        try await Peers.with(streamsMax: 7) { peer in
            let client = try Peers.client(of: peer)
            let answered = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<500 {
                    group.addTask { (try? await client.send(hello, within: .seconds(20)))?.status == 200 }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(answered == 500 && peer.requests.count == 500)
            #expect(peer.connections == 1 && (2...7).contains(peer.streamsMost))
            await client.close()
        }
    }

    @Test func aBodyLongerThanTheWindowArrives() async throws {
        try await Peers.with { peer in
            let client = try Peers.client(of: peer)
            let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
            let response = try await client.send(HTTP2Request(path: "/", headers: [], body: body), within: .seconds(20))
            #expect(response.status == 200 && peer.requests.first?.body == body)
            await client.close()
        }
    }

    @Test func anAnswerThatIsTooLongIsNone() async throws {
        try await Peers.with(answer: { _ in .answer(status: 200, body: String(repeating: "x", count: 100_000)) }) {
            peer in
            let client = try Peers.client(of: peer)
            await #expect(throws: HTTP2Error.unavailable) { try await client.send(hello, within: .seconds(20)) }
            await client.close()
        }
    }

    @Test func afterAGoAwayWhatIsUnderWayEndsAndTheRestGoesElsewhere() async throws {
        try await Peers.with { peer in
            let client = try Peers.client(of: peer)
            peer.answer { _ in .answerAndGoAway(status: 200) }
            #expect(try await client.send(hello, within: .seconds(20)).status == 200)
            peer.answer { _ in .answer(status: 201) }
            #expect(try await client.send(hello, within: .seconds(20)).status == 201)
            #expect(peer.requests.map(\.connection) == [1, 2])
            await client.close()
        }
    }

    @Test func aRequestThatThePeerDidNotLookAtIsSentAgain() async throws {
        try await Peers.with { peer in
            let client = try Peers.client(of: peer)
            for (reply, what) in [(PeerReply.goAway, "goaway"), (.reset(7), "refused"), (.drop, "dropped")] {
                let once = Once()
                peer.answer { _ in once.isFirst() ? reply : .answer(status: 200) }
                #expect(try await client.send(hello, within: .seconds(20)).status == 200, "\(what)")
            }
            #expect(peer.requests.count == 6)
            await client.close()
        }
    }

    @Test func whatFailsAgainFails() async throws {
        try await Peers.with(answer: { _ in .drop }) { peer in
            let client = try Peers.client(of: peer)
            await #expect(throws: HTTP2Error.unavailable) { try await client.send(hello, within: .seconds(20)) }
            #expect(peer.requests.count == 1 + HTTP2Limits.resendsMax)
            await client.close()
        }
    }

    @Test func aPeerThatStallsCostsItsTimeAndNotTheConnection() async throws {
        try await Peers.with(answer: { $0.path == "/stall" ? .stall : .answer(status: 200) }) { peer in
            let client = try Peers.client(of: peer)
            await #expect(throws: HTTP2Error.timedOut) {
                try await client.send(HTTP2Request(path: "/stall", headers: [], body: []), within: .milliseconds(300))
            }
            #expect(try await client.send(hello, within: .seconds(20)).status == 200)
            #expect(peer.connections == 1)
            await client.close()
        }
    }

    @Test func whoGivesWayIsServedBehindOthersAndHasNotAllPlaces() async throws {
        func request(_ path: String) -> HTTP2Request { HTTP2Request(path: path, headers: [], body: []) }
        let allWait = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
        defer { allWait.succeed() }
        let moment = allWait.futureResult
        try await Peers.with(
            streamsMax: 2, answer: { $0.path == "/stall" ? .answerWhen(moment) : .answer(status: 200) }
        ) { peer in
            let client = try Peers.client(of: peer)
            #expect(try await client.send(request("/hello"), within: .seconds(20)).status == 200)
            try await withThrowingDiscardingTaskGroup { group in
                // Both streams, until everything else waits.
                for _ in 0..<2 {
                    group.addTask {
                        _ = try? await client.send(request("/stall"), within: .seconds(60), givesWay: true)
                    }
                }
                try await waitUntil("both are taken", within: .seconds(20)) { peer.requests.count == 3 }
                // Nothing of it was sent.
                await #expect(throws: HTTP2Error.full) {
                    try await client.send(request("/late"), within: .milliseconds(200))
                }
                for _ in 2..<HTTP2Limits.givingWayMax {
                    group.addTask { _ = try? await client.send(request("/mail"), within: .seconds(60), givesWay: true) }
                }
                try await waitUntil("the rest waits", within: .seconds(20)) {
                    await client.underWay == HTTP2Limits.givingWayMax
                }
                await #expect(throws: HTTP2Error.full) {
                    try await client.send(request("/mail"), within: .seconds(60), givesWay: true)
                }
                async let call = client.send(request("/call"), within: .seconds(60))
                try await waitUntil("the call waits, too", within: .seconds(20)) {
                    await client.underWay > HTTP2Limits.givingWayMax
                }
                allWait.succeed()
                #expect(try await call.status == 200)
            }
            #expect(peer.requests.count == HTTP2Limits.givingWayMax + 2)
            #expect(peer.requests.firstIndex { $0.path == "/call" } == 3)
            // Their places are free again.
            #expect(try await client.send(request("/mail"), within: .seconds(20), givesWay: true).status == 200)
            await client.close()
        }
    }

    /// It is the peer that fails then, and no crowd of ours: whoever tries is not to try for ever.
    @Test func whoAlwaysDropsOrOffersNoStreamIsNotFullOfUs() async throws {
        try await Peers.with(streamsMax: 0) { peer in
            let client = try Peers.client(of: peer)
            await #expect(throws: HTTP2Error.timedOut) { try await client.send(hello, within: .seconds(1)) }
            await client.close()
        }
        try await Peers.with(streamsMax: 1, answer: { _ in .drop }) { peer in
            let client = try Peers.client(of: peer)
            // The second waits for a connection again when its time is up.
            let errors = await withTaskGroup(of: HTTP2Error?.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        do throws(HTTP2Error) {
                            _ = try await client.send(hello, within: .seconds(1))
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(!errors.contains(nil) && !errors.contains(.full))
            await client.close()
        }
    }

    @Test func aConnectionThatEndedIsMadeAgain() async throws {
        try await Peers.with { peer in
            let client = try Peers.client(of: peer)
            for _ in 0..<5 {
                #expect(try await client.send(hello, within: .seconds(20)).status == 200)
                peer.dropAll()
            }
            #expect(peer.connections >= 2)
            await client.close()
        }
    }

    @Test func nobodyElseIsTakenForTheProvider() async throws {
        try await Peers.with { peer in
            let stranger = try Peers.client(of: peer, trusting: false)
            await #expect(throws: HTTP2Error.unavailable) { try await stranger.send(hello, within: .seconds(20)) }
            #expect(peer.requests.isEmpty)
        }
    }

    @Test func aPeerThatDoesNotSpeakHTTP2IsLeftAlone() async throws {
        try await Peers.with(agrees: ["http/1.1"]) { peer in
            let client = try Peers.client(of: peer)
            await #expect(throws: HTTP2Error.unavailable) { try await client.send(hello, within: .seconds(20)) }
            #expect(peer.requests.isEmpty)
        }
    }

    @Test func afterAFailureTheNextAttemptWaits() async throws {
        try await Peers.with(agrees: ["http/1.1"]) { peer in
            let client = try Peers.client(of: peer)
            for _ in 0..<50 { _ = try? await client.send(hello, within: .seconds(20)) }
            // A slow machine sends for longer than the first pauses last; each is twice as long as the one before.
            #expect(await client.connectionsMade <= 10)
        }
    }

    /// A peer that takes whoever comes, and goes without having answered anybody, is not called again and again.
    @Test func afterAConnectionThatAnsweredNobodyTheNextWaits() async throws {
        try await Peers.with(streamsMax: 1, answer: { _ in .drop }) { peer in
            let client = try Peers.client(of: peer)
            await withDiscardingTaskGroup { group in
                for _ in 0..<50 { group.addTask { _ = try? await client.send(hello, within: .seconds(1)) } }
            }
            // At 0, 250 and 750 ms, give or take a quarter.
            #expect(await client.connectionsMade <= 5)
            await client.close()
        }
    }

    /// It lets nobody have a stream: nothing is ever sent again, and nothing but its time ends a request.
    @Test func aPeerWithoutStreamsIsNotCalledAgainAndAgain() async throws {
        try await Peers.with(streamsMax: 0) { peer in
            let client = try Peers.client(of: peer)
            await withDiscardingTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: .milliseconds(50))
                        peer.dropAll()
                    }
                }
                await #expect(throws: HTTP2Error.self) { try await client.send(hello, within: .seconds(3)) }
                group.cancelAll()
            }
            // At 0, 250 and 750 ms and 1.75 s, and a while later each time.
            #expect(await client.connectionsMade <= 7)
            await client.close()
        }
    }

    @Test func whoWaitsWhileAConnectionIsGoneIsServedByTheNext() async throws {
        try await Peers.with(streamsMax: 1) { peer in
            let once = Once()
            peer.answer { _ in once.isFirst() ? .stall : .answer(status: 200) }
            let client = try Peers.client(of: peer)
            let answered = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<10 {
                    group.addTask { (try? await client.send(hello, within: .seconds(60)))?.status == 200 }
                }
                // A request in the pause behind a connection that answered none is refused at once.
                try await waitUntil("all wait", within: .seconds(60)) {
                    await client.underWay == 10 && peer.requests.count == 1
                }
                peer.dropAll()
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(answered == 10 && peer.connections == 2)
            await client.close()
        }
    }

    @Test func aPrivateAddressIsNotConnectedToForAClient() async throws {
        try await Peers.with { peer in
            for host in ["localhost", "127.0.0.1"] {
                for names in [nil, ClientNames()] {
                    let client = try Peers.client(of: peer, allowsPrivateAddresses: false, host: host, names: names)
                    await #expect(throws: HTTP2Error.unavailable) { try await client.send(hello, within: .seconds(20)) }
                }
            }
            #expect(peer.connections == 0)
        }
    }

    /// CPU time of the client's own thread for a push-sized request, without the peer. Printed, not judged.
    @Test func whatARequestCosts() async throws {
        try await Peers.with(streamsMax: 1_000) { peer in
            let client = try Peers.client(of: peer)
            _ = try await client.send(hello, within: .seconds(20))
            let body = [UInt8](repeating: UInt8(ascii: "x"), count: 200)
            let request = HTTP2Request(
                path: "/3/device/" + String(repeating: "ab", count: 32),
                headers: [
                    ("authorization", "bearer " + String(repeating: "x", count: 200)),
                    ("apns-topic", "org.whisper.app"),
                    ("apns-push-type", "alert"), ("apns-priority", "10"), ("apns-expiration", "1700000000"),
                    ("apns-collapse-id", "mail"),
                ], body: body)
            let count = 20_000
            let (cpu, clock) = (try await client.threadCPU(), ContinuousClock.now)
            let answered = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<256 {
                    group.addTask {
                        var answered = 0
                        for _ in 0..<count / 256
                        where (try? await client.send(request, within: .seconds(30)))?.status == 200 {
                            answered += 1
                        }
                        return answered
                    }
                }
                return await group.reduce(0, +)
            }
            let (spent, passed) = (try await client.threadCPU() - cpu, ContinuousClock.now - clock)
            #expect(answered == count / 256 * 256 && peer.connections == 1)
            print(
                "one HTTP/2 connection: \(answered) requests, \(spent / answered) of CPU each on the client's thread"
                    + " (\(Int(Double(answered) / (spent / .seconds(1)))) per second and core), \(Int(Double(answered) / (passed / .seconds(1)))) per second by the clock"
            )
            await client.close()
        }
    }
}

private final class Once: Sendable {
    private let used = Mutex(false)

    func isFirst() -> Bool {
        self.used.withLock { used in
            defer { used = true }
            return !used
        }
    }
}

extension HTTP2Client {
    /// CPU that the thread of the client's event loop has used so far.
    fileprivate func threadCPU() throws -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
