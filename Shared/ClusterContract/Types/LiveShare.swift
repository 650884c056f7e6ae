package import Contract

/// A share of all live conversations. Everything that concerns one conversation goes through one share, in order. One
/// calls process at a time owns a share. Calls and rooms have shares of their own: neither a ring nor a signal waits for
/// a knock.
package struct LiveShare: Hashable, Comparable, Sendable {
    package let index: Int

    /// Also the largest number of calls processes that share the work.
    package static let count = 8
    package static let all = (0..<Self.count).map { LiveShare(index: $0) }

    private init(index: Int) { self.index = index }

    package init?(_ index: Int) {
        guard (0..<Self.count).contains(index) else { return nil }
        self.index = index
    }

    /// - Parameter id: a conversation, or a profile where a frame names no single conversation.
    package init(of id: UUIDText) {
        self.index = Int(CallShare.mixed(id.high ^ CallShare.mixed(id.low)) % UInt64(Self.count))
    }

    package init(of conversation: ConversationID) { self.init(of: conversation.uuid) }

    /// For frames that name no conversation.
    package init(of principal: PrincipalID) {
        let id =
            switch principal {
            case .identity(let identity): UUIDText(high: 0, low: identity.bits)
            case .guest(let guest): UUIDText(high: guest.high, low: guest.low)
            }
        self.init(of: id)
    }

    package static func < (a: LiveShare, b: LiveShare) -> Bool { a.index < b.index }
}

extension LiveShare: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(UInt8(self.index)) }

    package init(from reader: inout WireReader) throws(WireError) {
        guard let share = LiveShare(Int(try reader.read(UInt8.self))) else { throw .malformed }
        self = share
    }
}
