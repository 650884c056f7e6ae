import Contract
import Synchronization

/// Rooms as participants were shown them, and what their WebRTC stacks were told. In the end the ledger lists what was
/// wrong (contract §15.1, §15.2).
package final class SeatLedger: Sendable {
    /// A seat as somebody was shown it.
    package struct Seat: Hashable, Sendable {
        package var room: String
        package var number: Int

        package init(_ number: Int, of room: String) {
            self.number = number
            self.room = room
        }
    }

    private struct Record {
        /// The participant in the seat, and since when.
        var holder: String
        var firstSeen: Int64
        var lastSeen: Int64
        /// The lowest later revision without it.
        var goneAt: Int64?
    }

    private struct State {
        var seats: [Seat: Record] = [:]
        var descriptions: Set<String> = []
        var count = Count()
        var remarks: [String] = []
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: What happens

    /// Somebody is shown a room.
    /// - Parameter holders: by seat; whoever comes in again is another one.
    package func shown(_ room: String, revision: Int64, _ holders: [Int: String], most: Int, to observer: String) {
        self.state.withLock { state in
            if holders.count > most { state.remarks.append("too many: \(observer) sees \(holders.count) in \(room)") }
            for (number, holder) in holders {
                let seat = Seat(number, of: room)
                var record =
                    state.seats[seat] ?? Record(holder: holder, firstSeen: revision, lastSeen: revision)
                if record.holder != holder {
                    state.remarks.append("seat given twice: \(number) of \(room), to \(record.holder) and \(holder)")
                }
                record.firstSeen = min(record.firstSeen, revision)
                record.lastSeen = max(record.lastSeen, revision)
                state.seats[seat] = record
            }
            for (seat, known) in state.seats where seat.room == room {
                var record = known
                if holders[seat.number] == nil, revision > record.firstSeen {
                    record.goneAt = min(record.goneAt ?? revision, revision)
                }
                state.seats[seat] = record
                if let goneAt = record.goneAt, record.lastSeen > goneAt {
                    state.remarks.append("seat comes back: \(seat.number) of \(room), as \(observer) sees it")
                }
            }
        }
    }

    /// A WebRTC stack is to take a description of another one.
    /// - Parameter description: names its connection, and that of the stack.
    package func takes(_ description: String, by member: String) {
        self.state.withLock { state in
            state.count.descriptions += 1
            if !state.descriptions.insert("\(member): \(description)").inserted {
                state.remarks.append("signal twice: \(member) is to take \(description)")
            }
        }
    }

    package func connected() { self.state.withLock { $0.count.connections += 1 } }

    package func remark(_ text: String) { self.state.withLock { $0.remarks.append(text) } }

    // MARK: What it came to

    package struct Count: Equatable, Sendable, Codable {
        package var seats = 0
        /// Offers and answers that reached a stack.
        package var descriptions = 0
        package var connections = 0
    }

    package var count: Count {
        self.state.withLock { state in
            var count = state.count
            count.seats = state.seats.count
            return count
        }
    }

    /// Promises that were not kept. Empty if all is well.
    ///
    /// - **Seat given twice:** to two participants, or to one that has left meanwhile.
    /// - **Seat comes back:** in a later revision than one without it.
    /// - **Too many:** more than the room takes.
    /// - **Signal twice:** a description that the same stack has taken already.
    ///
    /// Remarks are added: events of a room for a client that is not in it, and pairs that were not connected in the
    /// end.
    package func faults() -> [String] { self.state.withLock { $0.remarks } }
}
