package import Contract

/// News about an identity for its peers. Goes to the partition of all of them.
package struct PresenceNews: Hashable, Sendable {
    package var about: WhisperID
    package var state: PresenceState
    package var to: [WhisperID]

    package init(about: WhisperID, state: PresenceState, to: [WhisperID]) {
        self.about = about
        self.state = state
        self.to = to
    }
}

extension PresenceNews: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.about)
        writer.write(self.state)
        writer.write(list: self.to)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.about = try reader.read()
        self.state = try reader.read()
        self.to = try reader.readList()
    }
}

/// Somebody has just connected and is to learn which of these peers are online. Goes to the partition of all of them;
/// the answer is news.
package struct PresenceQuestion: Hashable, Sendable {
    package var asker: WhisperID
    package var about: [WhisperID]

    package init(asker: WhisperID, about: [WhisperID]) {
        self.asker = asker
        self.about = about
    }
}

extension PresenceQuestion: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.asker)
        writer.write(list: self.about)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.asker = try reader.read()
        self.about = try reader.readList()
    }
}

/// An identity that is connecting or leaving, or was told about a moment ago. Times are milliseconds since 1970.
package struct PendingTransition: Hashable, Sendable {
    package let identity: WhisperID
    package var isPresent: Bool
    /// When the last connection ended. Valid only while it is not present.
    package var leftAt: Int64
    /// The state announced to peers last.
    package var isToldOnline: Bool
    /// Peers are told nothing before.
    package var notBefore: Int64

    package init(_ identity: WhisperID, isPresent: Bool, leftAt: Int64, isToldOnline: Bool, notBefore: Int64) {
        self.identity = identity
        self.isPresent = isPresent
        self.leftAt = leftAt
        self.isToldOnline = isToldOnline
        self.notBefore = notBefore
    }
}

extension PendingTransition: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.identity)
        writer.write(self.isPresent)
        writer.write(self.leftAt)
        writer.write(self.isToldOnline)
        writer.write(self.notBefore)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.identity = try reader.read()
        self.isPresent = try reader.readBool()
        self.leftAt = try reader.read()
        self.isToldOnline = try reader.readBool()
        self.notBefore = try reader.read()
    }
}

/// Somebody is writing, or has stopped.
package struct TypingNews: Hashable, Sendable {
    package var from: WhisperID
    package var to: WhisperID
    package var isTyping: Bool

    package init(from: WhisperID, to: WhisperID, isTyping: Bool) {
        self.from = from
        self.to = to
        self.isTyping = isTyping
    }
}

extension TypingNews: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.from)
        writer.write(self.to)
        writer.write(self.isTyping)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.from = try reader.read()
        self.to = try reader.read()
        self.isTyping = try reader.readBool()
    }
}
