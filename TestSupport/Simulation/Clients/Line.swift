import NIOCore

@testable import GatewayCore
@testable import TestKit

/// One TCP connection between a client and a gateway, WebSocket upgrade included. Bytes keep their order in each
/// direction.
final class Line {
    enum Heard {
        /// The upgrade was granted.
        case open
        case text([UInt8])
        case closing(code: UInt16)
        /// The connection is gone.
        case end
    }

    /// This line answers pings, as the network layer of a client does.
    private enum Stage { case upgrading, open, over }

    let gateway: GatewayHost
    private let socket: SimulatedSocket
    private let heard: (Heard) -> Void
    private var stage = Stage.upgrading
    private var buffer = ByteBuffer()
    private var lastUp: Int64 = 0
    private var lastDown: Int64 = 0
    /// A tunnel: bytes wait at both ends until this time, by the machine's clock.
    var silentUntil: Int64 = 0
    /// The connection carries no more bytes, and an end may not know it yet.
    private(set) var isBroken = false

    /// The app that opened it is gone: the line reads nothing, and answers no pings.
    var isAbandoned = false

    /// Nanoseconds of one way.
    private let delays: ClosedRange<Int64>

    init(
        to gateway: GatewayHost, address: String, delays: ClosedRange<Int64> = .milliseconds(1)...(.milliseconds(60)),
        heard: @escaping (Heard) -> Void
    ) {
        self.gateway = gateway
        self.delays = delays
        self.heard = heard
        // The address is our own, and well formed.
        self.socket = try! SimulatedSocket(loop: gateway.loop, address: address)
        self.socket.onBytes = { [weak self] bytes in self?.down { $0.receive(bytes) } }
        self.socket.onClose = { [weak self] in self?.down { $0.end() } }
        gateway.lines.append(self)
        self.up { line in
            // The socket is new, and has no handler yet.
            try! line.socket.open(with: line.gateway.makeHandler())
            line.socket.receive(Array(Self.request.utf8))
        }
    }

    private static let request =
        "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

    // MARK: To the gateway

    func send(_ text: [UInt8]) { self.send(.text, text) }

    private func send(_ opcode: ClientFraming.Opcode, _ payload: [UInt8]) {
        let bytes = ClientFraming.frame(opcode, payload)
        self.up { $0.socket.receive(bytes) }
    }

    private func up(_ body: @escaping (Line) -> Void) {
        let machine = Machine.current
        self.lastUp = max(self.lastUp, machine.now + self.delay(), self.silentUntil)
        machine.schedule(
            at: self.lastUp,
            .call { [self] in
                guard !self.isBroken, !self.gateway.host.isDead else { return }
                self.gateway.loop.perform { body(self) }
            }, for: self.gateway.host)
    }

    /// The client hangs up.
    func close() {
        guard self.stage != .over else { return }
        self.stage = .over
        self.up { $0.socket.end() }
    }

    /// The connection carries no more bytes. The gateway notices it after `delay` nanoseconds, the client at once.
    func lose(gatewayHearsAfter delay: Int64) {
        guard !self.isBroken else { return }
        self.stage = .over
        self.isBroken = true
        Machine.current.after(delay, for: self.gateway.host) { [self] in
            guard !self.gateway.host.isDead else { return }
            self.gateway.loop.perform { self.socket.end() }
        }
    }

    /// The gateway's process is gone.
    func gatewayDied() {
        self.isBroken = true
        // The handler ends at a gateway that is dead, which releases both.
        self.gateway.loop.perform { self.socket.end() }
        self.downAnyway { $0.end() }
    }

    // MARK: From the gateway

    private func down(_ body: @escaping (Line) -> Void) {
        guard !self.gateway.host.isDead, !self.isBroken else { return }
        self.downAnyway(body)
    }

    private func downAnyway(_ body: @escaping (Line) -> Void) {
        let machine = Machine.current
        self.lastDown = max(self.lastDown, machine.now + self.delay(), self.silentUntil)
        machine.schedule(at: self.lastDown, .call { [self] in body(self) }, for: nil)
    }

    private func delay() -> Int64 { Int64.random(in: self.delays, using: &Machine.current.random) }

    private func end() {
        self.gateway.lines.removeAll { $0 === self }
        guard self.stage != .over else { return }
        self.stage = .over
        self.heard(.end)
    }

    private func receive(_ bytes: [UInt8]) {
        guard self.stage != .over else { return }
        self.buffer.writeBytes(bytes)
        if self.stage == .upgrading {
            guard let end = self.buffer.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            let isGranted = self.buffer.readableBytesView.starts(with: Array("HTTP/1.1 101".utf8))
            self.buffer.moveReaderIndex(to: end.upperBound)
            guard isGranted else { return self.end() }
            self.stage = .open
            self.heard(.open)
        }
        // A malformed frame counts as the end.
        while self.stage == .open, let (opcode, payload) = try? IncomingFrame.next(&self.buffer) {
            switch opcode {
            case .text: if !self.isAbandoned { self.heard(.text(payload)) }
            case .ping: if !self.isAbandoned { self.send(.pong, payload) }
            case .close:
                self.heard(.closing(code: payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005))
                self.send(.close, payload)
            default: break
            }
        }
    }
}
