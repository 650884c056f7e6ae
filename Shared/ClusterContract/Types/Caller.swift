package import Contract

/// One gateway process, from start to end. Random: a restarted gateway is another node.
package struct NodeID: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64
    package init(value: UInt64) { self.value = value }
    package static func random() -> NodeID { NodeID(value: .random(in: 1 ... .max)) }
    package var description: String {
        let digits = String(self.value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension NodeID: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.value) }
    package init(from reader: inout WireReader) throws(WireError) { self.value = try reader.read() }
}

/// One client connection of one node. Never used again by that node.
package struct ConnectionID: Hashable, Sendable {
    package let value: UInt64
    package init(value: UInt64) { self.value = value }
}

extension ConnectionID: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.value) }
    package init(from reader: inout WireReader) throws(WireError) { self.value = try reader.read() }
}

/// Where the answer to a Job goes: the node that asked, and its number for the question.
package struct AnswerAddress: Hashable, Sendable {
    package var node: NodeID
    package var question: UInt64

    package init(node: NodeID, question: UInt64) {
        self.node = node
        self.question = question
    }
}

extension AnswerAddress: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.node)
        writer.write(self.question)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.node = try reader.read()
        self.question = try reader.read()
    }
}

/// Counts the logins of an identity, or the proofs of a guest. The session with the highest one is the only live one; what an older one
/// writes is refused (contract §4).
package struct Epoch: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(value: Int64) { self.value = value }
    package static func < (a: Epoch, b: Epoch) -> Bool { a.value < b.value }
}

extension Epoch: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.value) }
    package init(from reader: inout WireReader) throws(WireError) { self.value = try reader.read() }
}

/// The sender of a frame, as its session says.
package struct Caller: Hashable, Sendable {
    package var identity: WhisperID
    package var epoch: Epoch

    package init(identity: WhisperID, epoch: Epoch) {
        self.identity = identity
        self.epoch = epoch
    }
}

extension Caller: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.identity)
        writer.write(self.epoch)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.identity = try reader.read()
        self.epoch = try reader.read()
    }
}
