/// One packet between two Whisper phones, of the characteristic `NearbyService.fragments`: a part of a value, or a
/// greeting.
///
/// `version | flags | transfer u32 | index u16 | count u16 | bytes`, big endian. Bit 0 of the flags marks a greeting.
package struct Fragment: Equatable, Sendable {
    package static let headBytes = 10
    /// Random bytes of a greeting, which show that two connections lead to one phone. They fit into the smallest
    /// packet.
    package static let greetingBytes = 7

    private static let version: UInt8 = 1
    private static let greetingFlag: UInt8 = 1

    package var isGreeting = false
    /// Counts the values of one side of a connection.
    package var transfer: UInt32
    package var index: UInt16
    package var count: UInt16
    package var bytes: [UInt8]

    package init(isGreeting: Bool = false, transfer: UInt32, index: UInt16, count: UInt16, bytes: [UInt8]) {
        (self.isGreeting, self.transfer, self.index, self.count) = (isGreeting, transfer, index, count)
        self.bytes = bytes
    }

    /// - Returns: `nil` for an invalid packet: another version, unknown flags, or contradictory numbers.
    package init?(packet: [UInt8]) {
        guard packet.count >= Self.headBytes, packet[0] == Self.version, packet[1] & ~Self.greetingFlag == 0 else {
            return nil
        }
        func number(_ range: Range<Int>) -> UInt32 { packet[range].reduce(0) { $0 << 8 | UInt32($1) } }
        self.init(
            isGreeting: packet[1] == Self.greetingFlag, transfer: number(2..<6), index: UInt16(number(6..<8)),
            count: UInt16(number(8..<10)), bytes: Array(packet[Self.headBytes...]))
        guard self.index < self.count else { return nil }
        if self.isGreeting {
            guard self.count == 1, self.bytes.count == Self.greetingBytes else { return nil }
        } else {
            // Only an empty value has an empty part. So a transfer has no more parts than bytes.
            guard self.count == 1 || !self.bytes.isEmpty else { return nil }
        }
    }

    package var packet: [UInt8] {
        var packet: [UInt8] = [Self.version, self.isGreeting ? Self.greetingFlag : 0]
        packet.reserveCapacity(Self.headBytes + self.bytes.count)
        packet += (0..<4).map { UInt8(truncatingIfNeeded: self.transfer >> (24 - 8 * $0)) }
        for number in [self.index, self.count] {
            packet += [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
        }
        return packet + self.bytes
    }

    // MARK: Parts of a value

    /// Bytes of a value that one packet carries.
    package static func room(mtu: Int) -> Int { self.packetBytes(mtu: mtu) - self.headBytes }

    /// Bytes of one packet.
    package static func packetBytes(mtu: Int) -> Int {
        min(max(mtu, NearbyLimits.mtus.lowerBound) - NearbyLimits.packetOverhead, NearbyLimits.packetBytesMax)
    }

    package static func count(of value: [UInt8], room: Int) -> Int { max((value.count + room - 1) / room, 1) }

    package static func part(_ index: Int, of value: [UInt8], transfer: UInt32, room: Int) -> Fragment {
        let start = min(index * room, value.count)
        return Fragment(
            transfer: transfer, index: UInt16(index), count: UInt16(Self.count(of: value, room: room)),
            bytes: Array(value[start..<min(start + room, value.count)]))
    }
}

/// Reassembles the values of one peer. Fragments may arrive in any order, and repeatedly.
package struct Reassembly: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private struct Transfer {
        let count: UInt16
        var parts: [UInt16: [UInt8]] = [:]
        var bytes = 0
        let begun: Instant
        var heard: Instant

        var until: Instant {
            min(self.begun + NearbyLimits.transferWithin, self.heard + NearbyLimits.fragmentWithin)
        }
    }

    private var transfers: [UInt32: Transfer] = [:]
    /// Transfers that are complete, contradictory, expired or crowded out, the oldest first.
    private var over: [UInt32] = []

    package init() {}

    /// Transfers that have begun.
    package var count: Int { self.transfers.count }
    /// Bytes that are held.
    package var bytes: Int { self.transfers.values.reduce(0) { $0 + $1.bytes } }
    package var nextWake: Instant? { self.transfers.values.map(\.until).min() }

    /// - Returns: the value, if this was its last missing part.
    package mutating func take(_ fragment: Fragment, at now: Instant) -> [UInt8]? {
        self.expire(at: now)
        guard !fragment.isGreeting, !self.over.contains(fragment.transfer) else { return nil }
        if self.transfers[fragment.transfer] == nil {
            if self.transfers.count >= NearbyLimits.transfersMax,
                let oldest = self.transfers.min(by: { $0.value.heard < $1.value.heard })
            {
                self.end(oldest.key)
            }
            self.transfers[fragment.transfer] = Transfer(count: fragment.count, begun: now, heard: now)
        }
        guard var transfer = self.transfers[fragment.transfer] else { return nil }
        if let known = transfer.parts[fragment.index], known == fragment.bytes, transfer.count == fragment.count {
            return nil
        }
        guard transfer.count == fragment.count, transfer.parts[fragment.index] == nil,
            transfer.bytes + fragment.bytes.count <= NearbyLimits.valueBytesMax
        else {
            self.end(fragment.transfer)
            return nil
        }
        transfer.parts[fragment.index] = fragment.bytes
        transfer.bytes += fragment.bytes.count
        transfer.heard = now
        guard transfer.parts.count == Int(transfer.count) else {
            self.transfers[fragment.transfer] = transfer
            return nil
        }
        self.end(fragment.transfer)
        var value: [UInt8] = []
        value.reserveCapacity(transfer.bytes)
        for index in 0..<transfer.count { value += transfer.parts[index] ?? [] }
        return value
    }

    package mutating func expire(at now: Instant) {
        for (number, transfer) in self.transfers where transfer.until <= now { self.end(number) }
    }

    private mutating func end(_ transfer: UInt32) {
        self.transfers[transfer] = nil
        self.over.append(transfer)
        if self.over.count > NearbyLimits.transfersRememberedMax { self.over.removeFirst() }
    }
}
