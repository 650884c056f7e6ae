import Bus
import ClusterContract
import Contract
import Store

/// Group work of the mailboxes' routers: they send members the events that these have not received yet.
extension Router {
    /// Tells those of the members who are connected here. The others will be told when they bind.
    /// - Parameter read: reads the events.
    func tell(
        _ news: [GroupNews], _ notices: inout NoticeBatch,
        reading read: (Statement<[GroupNewsTable.StoredEvent]>) async throws(StoreError) -> [GroupNewsTable.StoredEvent]
    ) async throws(StoreError) {
        var reachable: [GroupNews.Event: [GroupNews]] = [:]
        // As they were first named: a member's own groups come first.
        var events: [GroupNews.Event] = []
        for item in news where self.memory.sessions[item.member] != nil {
            if reachable[item.event] == nil { events.append(item.event) }
            reachable[item.event, default: []].append(item)
        }
        for start in stride(from: 0, to: events.count, by: RouterLimits.groupEventsPerReadMax) {
            let part = Array(events[start..<min(start + RouterLimits.groupEventsPerReadMax, events.count)])
            for stored in try await read(GroupNewsTable.payloads(of: part)) {
                var readers: [NodeID: [GroupReader]] = [:]
                for item in reachable[stored.event] ?? [] {
                    // Gone while we were reading.
                    guard let session = self.memory.sessions[item.member] else { continue }
                    readers[session.node, default: []].append(
                        GroupReader(connection: session.connection, number: item.number))
                }
                for (node, list) in readers { notices.add(.groupEvent(payload: stored.payload, list), for: node) }
            }
        }
    }
}
