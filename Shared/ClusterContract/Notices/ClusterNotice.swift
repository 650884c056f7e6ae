package import Contract

/// News for every gateway.
package enum ClusterNotice: Notice {
    /// A router has just begun to own these partitions and knows none of their connections:
    /// tell it (`MailboxJob.bound`).
    case partitionsAdopted([Partition])
    /// Sessions of this identity older than `epoch` are over.
    case sessionsEnded(WhisperID, before: Epoch, why: EndReason)
    /// Proofs of this guest older than `epoch` are worth nothing: their connections end.
    case guestEnded(GuestID, before: Epoch, why: EndReason)
    /// All identities with a class of rates, as they are now (contract §20.7). Nobody else has one. Auth repeats it.
    case rateClasses([RateClassGrant])

    package enum EndReason: UInt8, Sendable {
        /// A new login or proof (4001), or a logout elsewhere.
        case replaced = 1
        /// 4003.
        case banned = 2
    }

    package func encode(into writer: inout WireWriter) {
        switch self {
        case .partitionsAdopted(let partitions):
            writer.write(UInt8(5))
            writer.write(UInt16(partitions.count))
            for partition in partitions { writer.write(UInt16(partition.index)) }
        case .sessionsEnded(let identity, let epoch, let why):
            writer.write(UInt8(2))
            writer.write(identity)
            writer.write(epoch)
            writer.write(why.rawValue)
        case .guestEnded(let guest, let epoch, let why):
            writer.write(UInt8(3))
            writer.write(guest)
            writer.write(epoch)
            writer.write(why.rawValue)
        case .rateClasses(let grants):
            writer.write(UInt8(6))
            writer.write(list: grants)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 2:
            self = .sessionsEnded(try reader.read(), before: try reader.read(), why: try Self.reason(&reader))
        case 3: self = .guestEnded(try reader.read(), before: try reader.read(), why: try Self.reason(&reader))
        // 1 and 4 are of releases with 32 partitions, whose routers own nothing while one of ours does.
        case 5: self = .partitionsAdopted(try Self.partitions(&reader))
        case 6: self = .rateClasses(try reader.readList())
        case let other: throw .unknown(other)
        }
    }

    private static func partitions(_ reader: inout WireReader) throws(WireError) -> [Partition] {
        let count = Int(try reader.read(UInt16.self))
        guard count <= Partition.count else { throw .malformed }
        var partitions: [Partition] = []
        for _ in 0..<count {
            guard let partition = Partition(Int(try reader.read(UInt16.self))) else { throw .malformed }
            partitions.append(partition)
        }
        return partitions
    }

    private static func reason(_ reader: inout WireReader) throws(WireError) -> EndReason {
        let number: UInt8 = try reader.read()
        guard let reason = EndReason(rawValue: number) else { throw .unknown(number) }
        return reason
    }
}

/// An identity with its class of rates.
package struct RateClassGrant: Hashable, Sendable {
    package var identity: WhisperID
    package var name: RateClassName

    package init(_ identity: WhisperID, _ name: RateClassName) {
        self.identity = identity
        self.name = name
    }
}

extension RateClassGrant: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.identity)
        writer.write(self.name)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.identity = try reader.read()
        self.name = try reader.read()
    }
}
