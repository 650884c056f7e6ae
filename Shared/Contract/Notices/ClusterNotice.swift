/// News for every gateway.
package enum ClusterNotice: Notice {
    /// A router has just begun to own this partition and knows none of its connections:
    /// tell it (`MailboxJob.bound`).
    case partitionAdopted(Partition)
    /// Sessions of this identity older than `epoch` are over.
    case sessionsEnded(WhisperID, before: Epoch, why: EndReason)

    package enum EndReason: UInt8, Sendable {
        /// A new login (4001), or a logout elsewhere.
        case replaced = 1
        /// 4003.
        case banned = 2
    }

    package func encode(into writer: inout WireWriter) {
        switch self {
        case .partitionAdopted(let partition):
            writer.write(UInt8(1))
            writer.write(UInt8(partition.index))
        case .sessionsEnded(let identity, let epoch, let why):
            writer.write(UInt8(2))
            writer.write(identity)
            writer.write(epoch)
            writer.write(why.rawValue)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1:
            guard let partition = Partition(Int(try reader.read(UInt8.self))) else { throw .malformed }
            self = .partitionAdopted(partition)
        case 2:
            let identity: WhisperID = try reader.read()
            let epoch: Epoch = try reader.read()
            let why: UInt8 = try reader.read()
            guard let why = EndReason(rawValue: why) else { throw .unknown(why) }
            self = .sessionsEnded(identity, before: epoch, why: why)
        case let other: throw .unknown(other)
        }
    }
}
