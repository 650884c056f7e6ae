package import ClusterContract
package import Contract

/// An effect of a batch on somebody outside of it, after the commit.
package enum RoomEffect: Sendable {
    case frame(LiveConnection, RenderedFrame)
    case event(LiveConnection, LiveEvent)
    /// Other participants wait in the room for an identity that is away.
    case wake(WhisperID, room: UUIDText)
    /// A participant leaves all rooms, and this room, which another process may own.
    case purge(UUIDText, PrincipalID)

    static func frame<Frame: ServerFrame>(_ connection: LiveConnection, _ frame: Frame) -> RoomEffect {
        .frame(connection, RenderedFrame(frame))
    }

    func isEvent(for connection: LiveConnection) -> Bool {
        if case .event(connection, _) = self { true } else { false }
    }
}

/// A server frame as its readers get it. All of them share one rendering.
package struct RenderedFrame: Sendable {
    package let type: String
    package let payload: [UInt8]

    init<Frame: ServerFrame>(_ frame: Frame) {
        self.type = Frame.type
        self.payload = frame.json
    }

    /// - Parameter payload: of a signal that was kept.
    init(signal payload: [UInt8]) {
        self.type = RoomSignal.type
        self.payload = payload
    }

    var reply: Answer { .reply(type: self.type, payload: self.payload) }
}
