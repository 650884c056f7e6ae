import Bus
import ClusterContract
import Contract

/// Tells the other members of a profile what one has changed (contract §14.4), and live conversations who has left. It may be lost:
/// clients ask after each bind, and calls looks at its tables.
struct ProfileNews: Sendable {
    let bus: any Bus

    /// Does not wait. Reaches those who are connected.
    /// - Parameter members: without the one who did it.
    func tell(_ change: ProfileChanged.Change, of profile: UUIDText, to members: [WhisperID]) {
        guard !members.isEmpty else { return }
        let frame = ProfileChanged(profileID: profile, change: change)
        let bus = self.bus
        bus.getWithoutWaiting(members.map { Keyspace.presence($0) }) { found in
            guard case .success(let places) = found else { return }
            var notices = NoticeBatch(bus: bus) { _, _ in }
            for case let place? in places {
                guard let presence = try? Presence(decoding: place) else { continue }
                notices.add(.frame(presence.connection, frame), for: presence.node)
            }
            notices.send()
        }
    }

    /// The profile lost a member, or was deleted. Does not wait. Any share may hold its conversations.
    func tellConversations(of profile: UUIDText) {
        for share in LiveShare.all {
            self.bus.append(LiveJob.membersChanged(profile), to: Keyspace.live(share), failed: { _ in })
        }
    }
}
