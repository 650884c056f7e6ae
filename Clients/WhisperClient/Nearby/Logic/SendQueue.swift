package import Contract

/// Values that wait for one peer, packet by packet. A packet is sent when the previous one is confirmed.
package struct SendQueue: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package struct Packet: Equatable, Sendable {
        package var characteristic: UUIDText
        package var bytes: [UInt8]
    }

    /// The result of sending a value.
    package struct Fate: Equatable, Sendable {
        package var token: UInt64
        package var hasArrived: Bool
    }

    private enum Content {
        case greeting([UInt8])
        case bytes([UInt8])
        case text(String)
    }

    /// The value whose packets are being sent.
    private struct Current {
        let content: Content
        let token: UInt64?
        let transfer: UInt32
        /// Bytes of the value in one packet.
        let room: Int
        /// The parts of a text, one for each packet.
        var pieces: [[UInt8]] = []
        let count: Int
        var index = 0
        var attempts = 1
    }

    private enum State {
        case ready
        case sent(token: UInt64, until: Instant)
        /// The radio's queue is full.
        case noRoom(until: Instant)
    }

    /// The characteristic for texts: `NearbyService.toPeripheral` or `toCentral`.
    private let texts: UUIDText
    private var waiting: [(content: Content, token: UInt64?)] = []
    private var current: Current?
    private var state = State.ready
    private var transfers: UInt32 = 0

    package init(texts: UUIDText) { self.texts = texts }

    package var count: Int { self.waiting.count + (self.current == nil ? 0 : 1) }

    /// When the connection must be given up.
    package var nextWake: Instant? {
        switch self.state {
        case .ready: nil
        case .sent(_, let until), .noRoom(let until): until
        }
    }

    package mutating func greet(_ identity: [UInt8]) {
        self.waiting.append((.greeting(identity), nil))
    }

    /// - Returns: `false` if too many values wait.
    package mutating func add(_ value: NearbyValue, token: UInt64) -> Bool {
        guard self.count < NearbyLimits.sendsWaitingMax else { return false }
        switch value {
        case .text(let text): self.waiting.append((.text(text), token))
        case .bytes(let bytes): self.waiting.append((.bytes(bytes), token))
        }
        return true
    }

    /// The packet to send now, if there is one.
    /// - Parameter token: by which the radio reports the packet's result.
    package mutating func next(token: UInt64, mtu: Int, at now: Instant) -> Packet? {
        guard case .ready = self.state else { return nil }
        if self.current == nil {
            guard !self.waiting.isEmpty else { return nil }
            let (content, token) = self.waiting.removeFirst()
            self.begin(content, token, mtu: mtu)
        }
        guard let current else { return nil }
        self.state = .sent(token: token, until: now + NearbyLimits.confirmedWithin)
        return self.packet(of: current)
    }

    /// The radio's queue was full: the same packet is sent again when there is room.
    package mutating func refused(token: UInt64, at now: Instant) {
        guard case .sent(token, _) = self.state else { return }
        self.state = .noRoom(until: now + NearbyLimits.roomWithin)
    }

    package mutating func readyToIndicate() {
        if case .noRoom = self.state { self.state = .ready }
    }

    /// - Returns: the result of a value, if it is known now.
    package mutating func confirmed(token: UInt64, isDone: Bool) -> Fate? {
        guard case .sent(token, _) = self.state, var current else { return nil }
        self.state = .ready
        if isDone {
            current.index += 1
            current.attempts = 1
        } else {
            current.attempts += 1
        }
        let hasArrived = current.index == current.count
        guard hasArrived || current.attempts > NearbyLimits.packetAttemptsMax else {
            self.current = current
            return nil
        }
        self.current = nil
        return current.token.map { Fate(token: $0, hasArrived: hasArrived) }
    }

    /// The connection has ended.
    /// - Returns: tokens of values without a known result, the oldest first.
    package mutating func drain() -> [UInt64] {
        defer { self = SendQueue(texts: self.texts) }
        return [self.current?.token].compactMap { $0 } + self.waiting.compactMap(\.token)
    }

    // MARK: Parts

    private mutating func begin(_ content: Content, _ token: UInt64?, mtu: Int) {
        let room = Fragment.room(mtu: mtu)
        switch content {
        case .greeting:
            self.current = Current(content: content, token: token, transfer: 0, room: room, count: 1)
        case .bytes(let bytes):
            self.transfers &+= 1
            self.current = Current(
                content: content, token: token, transfer: self.transfers, room: room,
                count: Fragment.count(of: bytes, room: room))
        case .text(let text):
            let pieces = Self.pieces(of: text, bytesMax: Fragment.packetBytes(mtu: mtu))
            self.current = Current(
                content: content, token: token, transfer: 0, room: room, pieces: pieces, count: pieces.count)
        }
    }

    private func packet(of current: Current) -> Packet {
        switch current.content {
        case .greeting(let identity):
            let fragment = Fragment(isGreeting: true, transfer: 0, index: 0, count: 1, bytes: identity)
            return Packet(characteristic: NearbyService.fragments, bytes: fragment.packet)
        case .bytes(let bytes):
            let fragment = Fragment.part(current.index, of: bytes, transfer: current.transfer, room: current.room)
            return Packet(characteristic: NearbyService.fragments, bytes: fragment.packet)
        case .text: return Packet(characteristic: self.texts, bytes: current.pieces[current.index])
        }
    }

    /// Cuts a text between characters, and a character that is longer than a packet between its scalars.
    static func pieces(of text: String, bytesMax: Int) -> [[UInt8]] {
        var pieces: [[UInt8]] = [[]]
        for character in text {
            let bytes = Array(character.utf8)
            let parts = bytes.count <= bytesMax ? [bytes] : character.unicodeScalars.map { Array(String($0).utf8) }
            for part in parts {
                if let last = pieces.last, last.count + part.count > bytesMax { pieces.append([]) }
                pieces[pieces.count - 1] += part
            }
        }
        return pieces
    }
}
