import Chaos
import LocalStack
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// The conditions of a proxy take effect. Otherwise a plan would contain faults that never happen.
@Suite struct FaultyProxyTests {
    @Test func whatIsHeldComesLaterAndWhole() async throws {
        try await self.withEcho { proxy, client in
            client.say("before")
            try await client.hears("before")
            await proxy.set(.init(held: [.there]))
            client.say("held")
            // Another connection is asked, so that there was time for the first to be passed on.
            try await self.echoes(through: proxy, "other", expecting: false)
            #expect(client.heard == "before")
            await proxy.set(.init())
            try await client.hears("beforeheld")
        }
    }

    @Test func whatIsDelayedKeepsItsOrder() async throws {
        try await self.withEcho { proxy, client in
            await proxy.set(.init(delay: .milliseconds(100)))
            let before = ContinuousClock.now
            client.say("a")
            await proxy.set(.init(delay: .milliseconds(10)))
            client.say("b")
            try await client.hears("ab")
            #expect(ContinuousClock.now - before >= .milliseconds(10))
        }
    }

    /// Else answers of Redis would change places just when a delay is over.
    @Test func whoseTimeHasComeIsNotOvertakenBeforeItHasLeft() {
        var lane = FaultyProxy.Lane()
        let start = NIODeadline.uptimeNanoseconds(1_000)
        let later = start + .milliseconds(2)
        #expect(lane.enter(at: start, delay: .zero) == nil)
        #expect(lane.enter(at: start, delay: .milliseconds(1)) == start + .milliseconds(1))
        #expect(lane.enter(at: later, delay: .zero) == later)
        lane.left()
        #expect(lane.enter(at: later, delay: .zero) == later)
        lane.left()
        lane.left()
        #expect(lane.enter(at: later, delay: .zero) == nil)
    }

    /// Several talk, so that the proxy has other work at that moment.
    @Test func nothingOvertakesWhenADelayEnds() async throws {
        try await self.withEcho { proxy, _ in
            let changing = Task {
                while !Task.isCancelled {
                    await proxy.set(.init(delay: .milliseconds(1)))
                    await proxy.set(.init())
                    try await Task.sleep(for: .milliseconds(2))
                }
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        let client = try await Talker.connect(to: proxy.port)
                        var said = ""
                        for round in 0..<50 {
                            for piece in 0..<20 {
                                let text = "\(round).\(piece),"
                                client.say(text)
                                said += text
                                await Task.yield()
                            }
                            try await waitUntil("round \(round) is back", within: .seconds(10)) {
                                client.heard.utf8.count >= said.utf8.count
                            }
                        }
                        #expect(client.heard == said)
                        client.leave()
                    }
                }
                try await group.waitForAll()
            }
            changing.cancel()
        }
    }

    @Test func whatIsCutEnds() async throws {
        try await self.withEcho { proxy, client in
            client.say("x")
            try await client.hears("x")
            #expect(await proxy.cut(percent: 0) == 0)
            #expect(await proxy.cut(percent: 100) == 1)
            try await waitUntil("the connection ends", within: .seconds(10)) { client.hasEnded }
            await proxy.set(.init(isClosed: true))
            try await self.echoes(through: proxy, "nobody", expecting: false)
            await proxy.set(.init())
            try await self.echoes(through: proxy, "again", expecting: true)
        }
    }

    @Test func whoeverComesFromAnAddressIsShutOut() async throws {
        try await self.withEcho { proxy, client in
            client.say("x")
            try await client.hears("x")
            await proxy.set(.init(isClosedTo: ["127.0.1.1"]))
            await proxy.cutUnwanted()
            try await self.echoes(through: proxy, "from elsewhere", expecting: true)
            await proxy.set(.init(isClosedTo: ["127.0.0.1"]))
            try await self.echoes(through: proxy, "new", expecting: false)
            #expect(!client.hasEnded)
            await proxy.cutUnwanted()
            try await waitUntil("the connection ends", within: .seconds(10)) { client.hasEnded }
        }
    }

    /// Else a connection that is cut here would end for its peer when the program has ended.
    @Test func aProgramInheritsNoConnection() async throws {
        try await self.withEcho { _, client in
            client.say("x")
            try await client.hears("x")
            let open = try Run("/bin/sh", "-c", "exec ls -l /proc/self/fd").output
            #expect(open.contains("0 -> /dev/null"))
            #expect(!open.contains("socket:"))
        }
    }

    private func echoes(through proxy: FaultyProxy, _ text: String, expecting: Bool) async throws {
        let client = try await Talker.connect(to: proxy.port)
        client.say(text)
        if expecting {
            try await client.hears(text)
        } else {
            try? await waitUntil("an echo", within: .milliseconds(100)) { !client.heard.isEmpty || client.hasEnded }
            #expect(client.heard == "")
        }
        client.leave()
    }

    private func withEcho(_ body: (FaultyProxy, Talker) async throws -> Void) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let proxy = FaultyProxy(to: server.localAddress!.port!)
        try await proxy.open()
        let client = try await Talker.connect(to: proxy.port)
        do {
            try await body(proxy, client)
        } catch {
            Issue.record(error)
        }
        client.leave()
        await proxy.close()
        try await server.close()
    }
}

private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
}

/// Says and hears text over one connection.
private final class Talker: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private struct State {
        var heard = ""
        var hasEnded = false
        var channel: (any Channel)?
    }
    private let state = Mutex(State())

    static func connect(to port: Int) async throws -> Talker {
        let talker = Talker()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(talker) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        talker.state.withLock { $0.channel = channel }
        return talker
    }

    var heard: String { self.state.withLock { $0.heard } }
    var hasEnded: Bool { self.state.withLock { $0.hasEnded } }

    func say(_ text: String) {
        self.state.withLock { $0.channel }?.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }
    func leave() { self.state.withLock { $0.channel }?.close(promise: nil) }

    func hears(_ text: String) async throws {
        try await waitUntil("it hears \(text)", within: .seconds(10)) { self.heard == text }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: self.unwrapInboundIn(data))
        self.state.withLock { $0.heard += text }
    }

    func channelInactive(context: ChannelHandlerContext) { self.state.withLock { $0.hasEnded = true } }
}
