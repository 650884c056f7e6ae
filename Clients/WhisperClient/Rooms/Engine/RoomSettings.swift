package import Contract

/// What a host changes about a room, and what concerns all rooms (contract §15.1).
extension WhisperClient {
    /// Changes a room that we host. At least one of the three is to be there.
    /// - Returns: the room after the change.
    @discardableResult
    package func updateRoom(
        _ id: UUIDText, host: PrincipalID? = nil, participantsMax: Int? = nil, isLocked: Bool? = nil
    ) async throws(LiveError) -> RoomState? {
        let frame = RoomUpdate(id, host: host, participantsMax: participantsMax, isLocked: isLocked)
        return (try await self.ask(frame) as? RoomEvent)?.room
    }

    /// Gives up all our seats, and ends the rooms that we host.
    package func purgeRooms() async throws(LiveError) -> RoomPurged? {
        guard self.token != nil else { throw .offline }
        // Whoever talks with us is told first.
        for id in self.visits.keys {
            if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id) }
        }
        return try await self.ask(RoomPurge()) as? RoomPurged
    }

    /// For the link of a room that is to be opened. One that was opened before keeps its own.
    package func roomSecret(of id: UUIDText?, isWanted: Bool) throws(LiveError) -> RoomSecret? {
        guard isWanted else { return nil }
        guard let id else { return .random() }
        do throws(ClientStoreError) { return try self.roomStore.secret(of: id) ?? .random() } catch {
            throw .store(error)
        }
    }

    /// Other credentials for the relays. Those of `room_joined` end some day.
    package func renewTurn(of id: UUIDText) async throws(LiveError) -> TurnCredentialsFrame {
        guard let turn = try await self.ask(RoomTurn(id)) as? TurnCredentialsFrame else { throw .noAnswer }
        self.visits[id]?.turn = turn
        return turn
    }
}
