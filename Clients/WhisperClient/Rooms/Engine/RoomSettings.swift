package import Contract

/// Commands of a room's host, and commands for all rooms (contract §15.1).
extension WhisperClient {
    /// Changes a room that we host. At least one of the three must be set.
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
        // Send `bye` to the connected participants first.
        for id in self.visits.keys {
            if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id) }
        }
        return try await self.ask(RoomPurge()) as? RoomPurged
    }

    /// The secret for the link of a room to open. A room that was opened before keeps its secret.
    package func roomSecret(of id: UUIDText?, isWanted: Bool) throws(LiveError) -> RoomSecret? {
        guard isWanted else { return nil }
        guard let id else { return .random() }
        do throws(ClientStoreError) { return try self.roomStore.secret(of: id) ?? .random() } catch {
            throw .store(error)
        }
    }

    /// Fetches new credentials for the relays. The credentials of `room_joined` expire.
    package func renewTurn(of id: UUIDText) async throws(LiveError) -> TurnCredentialsFrame {
        guard let turn = try await self.ask(RoomTurn(id)) as? TurnCredentialsFrame else { throw .noAnswer }
        self.visits[id]?.turn = turn
        return turn
    }
}
