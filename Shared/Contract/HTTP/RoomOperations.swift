/// Rooms over HTTP (contract §15.1).
package enum RoomOperations {
    package static let list = HTTPOperation(
        "getRooms", .get, "/rooms",
        about: """
            The rooms in which the caller has a seat, as `room_list` shows them. For an app that a push has woken. To come back to one, the \
            app sends `room_join` on a WebSocket.
            """,
        access: .principal, rate: Rates.roomControl,
        success: .json(Rooms.definition.schema, sample: Rooms.definition.samples[0]))
}
