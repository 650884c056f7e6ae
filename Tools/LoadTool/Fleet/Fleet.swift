import Contract
import NIOCore
import NIOPosix
import TestKit

/// All simulated clients, on one thread and hardly anything else: they share the machine with what they measure.
actor Fleet {
    private nonisolated let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private nonisolated let eventLoop: any EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.eventLoop.executor.asUnownedSerialExecutor() }

    private nonisolated let ports: [Int]
    /// Last byte of 127.0.0.x, from where the first clients come.
    private nonisolated let firstAddress: Int
    private(set) var clients: [Client] = []
    var listener: (any FrameListener)?
    /// Problems, and how often each occurred.
    private(set) var troubles: [String: Int] = [:]

    private var dirty: [Client] = []
    private var isFlushScheduled = false
    private var maskState: UInt64 = .random(in: .min ... .max)

    /// One of the sockets that a client has had.
    struct Socket: Sendable {
        var client: Int
        var number: Int
    }

    /// - Parameter ports: of 127.0.0.1. Clients take them in turn; a pair of neighbours (0 and 1, 2 and 3, …) never
    ///   the same, if there are more than one.
    init(ports: [Int], firstAddress: Int = 1) {
        precondition(!ports.isEmpty)
        self.ports = ports
        self.firstAddress = firstAddress
        self.eventLoop = self.group.next()
    }

    // MARK: Coming and going

    /// A client that has not connected yet.
    func enlist() -> Client {
        let client = Client(number: self.clients.count)
        self.clients.append(client)
        return client
    }

    /// Clients of one source address, well below the ports it has.
    static let clientsPerAddress = 10_000

    /// Connects a client and upgrades to a WebSocket.
    func connect(_ number: Int) async throws {
        let client = self.clients[number]
        client.sockets += 1
        client.phase = .upgrading
        client.partial = nil
        let socket = Socket(client: number, number: client.sockets)
        var bootstrap = ClientBootstrap(group: self.eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SocketHandler(fleet: self, socket: socket))
                }
            }
        let address = self.firstAddress + number / Self.clientsPerAddress
        if address > 1 {
            bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: "127.0.0.\(address)", port: 0))
        }
        let port = self.ports[(number / self.ports.count + number) % self.ports.count]
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        // A server that is killed takes connections with it that it has never seen.
        guard client.phase == .upgrading, client.sockets == socket.number else { throw LoadError.closed }
        client.channel = channel
        let answer = try await self.ask(client) {
            $0.writeString(
                "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Key: d2hpc3Blci1sb2FkLXRvbw==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        }
        guard answer.starts(with: "HTTP/1.1 101 ".utf8) else {
            throw LoadError.refused("upgrade: \(String(decoding: answer.prefix(80), as: UTF8.self))")
        }
    }

    /// Says goodbye and closes the socket.
    func disconnect(_ client: Client) {
        guard let channel = client.channel else { return }
        if client.phase == .open {
            self.write(to: client, .close, count: 2) { $0.copyBytes(from: [0x03, 0xE8]) }
            self.flush()
        }
        client.phase = .away
        client.channel = nil
        client.sockets += 1
        channel.close(promise: nil)
    }

    /// Disconnects everybody. The fleet cannot be used afterwards.
    func leave() async {
        self.listener = nil
        for client in self.clients { self.disconnect(client) }
        try? await self.group.shutdownGracefully()
    }

    func closed(_ socket: Socket) {
        let client = self.clients[socket.client]
        guard client.sockets == socket.number else { return }
        let wasOpen = client.phase == .open
        client.phase = .away
        client.channel = nil
        if wasOpen, let listener = self.listener {
            listener.lost(client, of: self)
        } else if client.question == nil {
            // Else whoever asked is told.
            self.noteTrouble("connection closed")
        }
        client.answer(.failure(LoadError.closed))
    }

    /// Kinds of trouble told apart; the rest are counted together.
    private static let troubleKindsMax = 20

    func noteTrouble(_ what: String) {
        let isNew = self.troubles[what] == nil && self.troubles.count >= Self.troubleKindsMax
        self.troubles[isNew ? "other" : what, default: 0] += 1
    }

    // MARK: Asking

    /// Time a server has to answer a question.
    private static let timeout = TimeAmount.seconds(30)

    /// Writes something and returns the next text message, or the head of the upgrade response.
    func ask(_ client: Client, _ write: (inout ByteBuffer) -> Void) async throws -> [UInt8] {
        guard client.channel != nil else { throw LoadError.closed }
        precondition(client.question == nil, "one question at a time")
        self.append(to: client, write)
        let number = client.number
        let timeout = self.eventLoop.scheduleTask(in: Self.timeout) {
            self.assumeIsolated { $0.clients[number].answer(.failure(LoadError.noAnswer)) }
        }
        return try await withCheckedThrowingContinuation {
            client.question = Client.Question(continuation: $0, timeout: timeout)
        }
    }

    func ask(_ client: Client, _ frame: any ClientFrame) async throws -> [UInt8] {
        let (text, mask) = (client.text(frame), self.nextMask())
        return try await self.ask(client) { buffer in
            ClientFraming.write(.text, count: text.count, mask: mask, to: &buffer) { $0.copyBytes(from: text) }
        }
    }

    // MARK: Writing

    /// Appends a frame to what the client sends at the end of this turn.
    @inline(__always)
    func write(
        to client: Client, _ opcode: ClientFraming.Opcode = .text, count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        guard client.channel != nil else { return }
        let mask = self.nextMask()
        self.append(to: client) { ClientFraming.write(opcode, count: count, mask: mask, to: &$0, fill: fill) }
    }

    func write(to client: Client, _ frame: any ClientFrame) {
        let text = client.text(frame)
        self.write(to: client, count: text.count) { $0.copyBytes(from: text) }
    }

    @inline(__always)
    private func append(to client: Client, _ write: (inout ByteBuffer) -> Void) {
        if client.outgoing == nil {
            client.outgoing = ByteBuffer()
            self.dirty.append(client)
            if !self.isFlushScheduled {
                self.isFlushScheduled = true
                self.eventLoop.execute { self.assumeIsolated { $0.flush() } }
            }
        }
        write(&client.outgoing!)
    }

    private func flush() {
        self.isFlushScheduled = false
        for client in self.dirty {
            guard let outgoing = client.outgoing else { continue }
            client.outgoing = nil
            client.channel?.writeAndFlush(outgoing, promise: nil)
        }
        self.dirty.removeAll(keepingCapacity: true)
    }

    /// New for each frame. Not a secret: nobody here has to be protected from a proxy.
    private func nextMask() -> UInt32 {
        self.maskState = self.maskState &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt32(truncatingIfNeeded: self.maskState >> 32)
    }

    // MARK: Reading

    func read(_ buffer: ByteBuffer, from socket: Socket) {
        let client = self.clients[socket.client]
        guard client.sockets == socket.number else { return }
        var input = buffer
        if var partial = client.partial {
            client.partial = nil
            partial.writeBuffer(&input)
            input = partial
        }
        if client.phase == .upgrading, !self.readUpgrade(&input, of: client) {
            client.partial = input
            return
        }
        do throws(IncomingFrame.Malformed) {
            let taken = try self.readFrames(input, of: client)
            guard taken < input.readableBytes else { return }
            input.moveReaderIndex(forwardBy: taken)
            client.partial = input
        } catch {
            self.noteTrouble("frame not understood: \(error)")
            self.disconnect(client)
        }
    }

    private func readUpgrade(_ input: inout ByteBuffer, of client: Client) -> Bool {
        let end = input.withUnsafeReadableBytes { $0.end(of: "\r\n\r\n") }
        guard let end, let head = input.readBytes(length: end) else { return false }
        client.phase = .open
        client.answer(.success(head))
        return true
    }

    /// - Returns: how many bytes were complete frames.
    private func readFrames(_ input: ByteBuffer, of client: Client) throws(IncomingFrame.Malformed) -> Int {
        let result = input.withUnsafeReadableBytes { bytes in
            Result { () throws(IncomingFrame.Malformed) -> Int in
                var start = 0
                while client.phase == .open {
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                    guard let frame = try IncomingFrame(rest) else { break }
                    self.heard(frame.opcode, UnsafeRawBufferPointer(rebasing: rest[frame.payload]), on: client)
                    start += frame.payload.upperBound
                }
                return client.phase == .open ? start : bytes.count
            }
        }
        return try result.get()
    }

    private func heard(_ opcode: ClientFraming.Opcode, _ payload: UnsafeRawBufferPointer, on client: Client) {
        switch opcode {
        case .text:
            if client.question != nil { return client.answer(.success(Array(payload))) }
            self.listener?.heard(FrameBytes(bytes: payload), on: client, of: self)
        case .ping:
            self.write(to: client, .pong, count: payload.count) { $0.copyMemory(from: payload) }
        case .close:
            let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 0
            self.noteTrouble("closed by the server with \(code)")
        default: break
        }
    }

    // MARK: Time

    /// Calls back on the fleet's thread.
    func after(_ pause: TimeAmount, _ body: @escaping @Sendable (isolated Fleet) -> Void) {
        self.eventLoop.scheduleTask(in: pause) { self.assumeIsolated { body($0) } }
    }

    /// Has the listener called at that time.
    func setAlarm(at deadline: NIODeadline) {
        self.eventLoop.scheduleTask(deadline: deadline) {
            self.assumeIsolated { $0.listener?.alarmRang(on: $0) }
        }
    }
}

enum LoadError: Error, CustomStringConvertible {
    /// The server said no.
    case refused(String)
    case closed
    case noAnswer
    case noSuchProcess(String)

    var description: String {
        switch self {
        case .refused(let what): "refused: \(what)"
        case .closed: "the connection was closed"
        case .noAnswer: "no answer in time"
        case .noSuchProcess(let name): "the cluster has no process \(name)"
        }
    }
}
