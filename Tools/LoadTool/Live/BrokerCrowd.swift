import NIOCore
import NIOPosix

/// Clients of a broker in the shape of live conversations, on one thread: rooms, each with one that publishes at a steady rate
/// and some that listen.
actor BrokerCrowd {
    private nonisolated let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private nonisolated let eventLoop: any EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.eventLoop.executor.asUnownedSerialExecutor() }

    private nonisolated let broker: Broker
    private nonisolated let port: Int
    private var publishers: [any Channel] = []
    private var listeners: [any Channel] = []
    private var schedule: SteadySchedule?
    private var turn = 0
    private var isStopped = false
    private(set) var published = 0
    private(set) var delivered = 0
    private(set) var heard = Latency("due until heard")
    private let filling: [UInt8]

    /// A payload begins with this and the time at which it was due, so that it is found without reading the protocol.
    fileprivate static let mark: [UInt8] = [0x01] + Array("due:".utf8)
    fileprivate static let digits = 20

    /// - Parameter payload: bytes of each packet.
    init(_ broker: Broker, port: Int, payload: Int) {
        self.broker = broker
        self.port = port
        self.eventLoop = self.group.next()
        self.filling = Array(repeating: UInt8(ascii: "x"), count: max(0, payload - Self.mark.count - Self.digits))
    }

    func connect(rooms: Int, listeners: Int) async throws {
        for room in 0..<rooms {
            for _ in 0..<listeners {
                let channel = try await self.connect()
                channel.writeAndFlush(ByteBuffer(bytes: self.broker.subscribe(to: room)), promise: nil)
                self.listeners.append(channel)
            }
            self.publishers.append(try await self.connect())
        }
    }

    private func connect() async throws -> any Channel {
        let number = self.publishers.count + self.listeners.count
        let isNATS = self.broker == .nats
        let channel = try await ClientBootstrap(group: self.eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BrokerHandler(crowd: self, answersPings: isNATS))
                }
            }
            .connect(host: "127.0.0.1", port: self.port).get()
        channel.writeAndFlush(ByteBuffer(bytes: self.broker.hello(of: number)), promise: nil)
        return channel
    }

    /// Publishes so many packets a second over all rooms, until `stop`.
    func start(rate: Int) {
        self.schedule = SteadySchedule(rate: rate)
        self.publish()
    }

    private func publish() {
        guard !self.isStopped, var schedule = self.schedule else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        while let due = schedule.next(by: now) {
            let digits = String(due)
            let zeros = Array(repeating: UInt8(ascii: "0"), count: Self.digits - digits.utf8.count)
            let payload = Self.mark + zeros + Array(digits.utf8) + self.filling
            self.publishers[self.turn].writeAndFlush(
                ByteBuffer(bytes: self.broker.publish(payload, to: self.turn)), promise: nil)
            self.published += 1
            self.turn = (self.turn + 1) % self.publishers.count
        }
        self.schedule = schedule
        self.eventLoop.scheduleTask(deadline: .uptimeNanoseconds(schedule.due)) {
            self.assumeIsolated { $0.publish() }
        }
    }

    func stop() { self.isStopped = true }

    func forgetLatencies() { self.heard.reset() }

    fileprivate func hear(dueAt time: UInt64) {
        self.delivered += 1
        self.heard.record(nanoseconds: NIODeadline.now().uptimeNanoseconds - time)
    }

    func leave() async {
        for channel in self.publishers + self.listeners { channel.close(promise: nil) }
        try? await self.group.shutdownGracefully()
    }
}

/// Finds packets in what one listener reads.
private final class BrokerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let crowd: BrokerCrowd
    private let answersPings: Bool
    private var rest: [UInt8] = []

    init(crowd: BrokerCrowd, answersPings: Bool) {
        self.crowd = crowd
        self.answersPings = answersPings
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.rest + Array(self.unwrapInboundIn(data).readableBytesView)
        let length = BrokerCrowd.mark.count + BrokerCrowd.digits
        var place = 0
        while let start = bytes[place...].firstIndex(of: BrokerCrowd.mark[0]) {
            guard start + length <= bytes.count else {
                place = start
                break
            }
            place = start + 1
            guard bytes[start..<start + BrokerCrowd.mark.count].elementsEqual(BrokerCrowd.mark) else { continue }
            let due = bytes[start + BrokerCrowd.mark.count..<start + length].reduce(UInt64(0)) {
                $0 &* 10 &+ UInt64($1 & 0x0F)
            }
            place = start + length
            self.crowd.assumeIsolated { $0.hear(dueAt: due) }
        }
        // Only the beginning of a mark is kept.
        self.rest = bytes[place...].firstIndex(of: BrokerCrowd.mark[0]).map { Array(bytes[$0...]) } ?? []
        if self.answersPings, bytes.starts(with: "PING".utf8) {
            context.writeAndFlush(NIOAny(ByteBuffer(string: "PONG\r\n")), promise: nil)
        }
    }
}
