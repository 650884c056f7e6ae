/// A frame that clients send, in both directions: clients write it, services read it, documents describe it.
/// Each frame is one file, and one line in `FrameCatalogue`.
package protocol ClientFrame: Sendable {
    static var definition: FrameDefinition { get }

    /// Reads a payload that satisfies the schema.
    init(_ payload: Payload) throws(Payload.Corrupted)

    /// Writes the frame's own members. The versions and the token stand before them.
    func write(to json: inout JSONWriter)
}

extension ClientFrame {
    package static var type: String { Self.definition.type }

    /// The frame as a client sends it.
    /// - Parameter token: is written if the frame has a field for it.
    package func text(requestID: String?, token: ClientToken? = nil) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.add("type", Self.type)
        json.add("requestId", requestID)
        json.add("payload", object: self) { frame, json in
            Self.definition.writeHead(token, to: &json)
            frame.write(to: &json)
        }
        return json.finished()
    }
}

/// By what a client shows who it is.
package enum ClientToken: Sendable {
    case session(String)
    case guest(String)
}

extension FrameDefinition {
    /// The versions and the token, in frames that have them.
    fileprivate func writeHead(_ token: ClientToken?, to json: inout JSONWriter) {
        if self.schema.index(of: CommonFields.versions[0]) != nil {
            for version in CommonFields.versions { json.add(version, json: "1".utf8) }
        }
        switch token {
        case .session(let token)? where self.sessionField != nil: json.add(CommonFields.sessionToken, text: token)
        case .guest(let token)? where self.guestField != nil: json.add(CommonFields.guestToken, text: token)
        default: break
        }
    }
}

/// A frame that has no members of its own.
package protocol BareFrame: ClientFrame { init() }

extension BareFrame {
    package init(_ payload: Payload) { self.init() }
    package func write(to json: inout JSONWriter) {}
}

/// A frame that names a room, and says no more.
package protocol BareRoomFrame: ClientFrame {
    var room: UUIDText { get }
    init(_ room: UUIDText)
}

extension BareRoomFrame {
    package init(_ payload: Payload) throws(Payload.Corrupted) { self.init(try payload[RoomFields.room]) }
    package func write(to json: inout JSONWriter) { json.add(RoomFields.room, self.room) }
}
