package import Contract

/// A share of all rooms. Everything that concerns one room goes through one share, in order. One calls process at a
/// time owns a share. Rooms are divided as live conversations are: tables keep the number.
package struct RoomShare: Hashable, Comparable, Sendable {
    package let index: Int

    package static let count = LiveShare.count
    package static let all = LiveShare.all.map { RoomShare($0) }

    /// The share of a stream that rooms and live conversations had in common in the release before.
    package init(_ live: LiveShare) { self.index = live.index }

    package init?(_ index: Int) {
        guard let share = LiveShare(index) else { return nil }
        self.init(share)
    }

    package init(of room: UUIDText) { self.init(LiveShare(of: room)) }

    /// For frames that name no room.
    package init(of principal: PrincipalID) { self.init(LiveShare(of: principal)) }

    package static func < (a: RoomShare, b: RoomShare) -> Bool { a.index < b.index }
}
