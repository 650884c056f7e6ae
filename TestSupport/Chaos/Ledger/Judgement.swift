extension Ledger {
    /// Promises that were not kept (contract §5). Empty if all is well.
    ///
    /// - **Lost:** accepted, and neither seen by its recipient, who has read its mailbox to the end, nor told as expired.
    /// - **Untold:** arrived and acknowledged, and its sender was not told, or was told a lower mark.
    /// - **Made up:** its sender was told of a delivery that never happened.
    /// - **Twice:** mail is delivered at least once until its receipt is honoured; clients drop what they know. A repetition
    ///   is wrong only when the receipt had been honoured before, which is certain once the sender has been told. A page
    ///   asked for after that must not show the message, nor must a connection opened after that. On an older connection,
    ///   what was on its way in that moment is forgiven for `onTheWay`. Receipts that a crash destroyed were never told to
    ///   the sender, so they do not count.
    /// - **Out of order:** of two messages of a pair, the first was accepted before the second was sent at all, or each was
    ///   sent once, in this order, on the same connection, and accepted in this order; yet the second arrived first.
    ///   Messages whose attempts overlap otherwise were accepted in an order that no client can know.
    ///
    /// Remarks are added: sessions lost, wake-ups missing, mail for another recipient.
    package func faults(onTheWay: Duration) -> [String] {
        self.state.withLock { state in
            var faults = state.remarks
            for letter in state.order {
                let record = state.records[letter]!
                if record.isPending { faults.append("lost: \(letter)") }
                guard let told = record.told else {
                    if !record.arrivals.isEmpty { faults.append("untold: \(letter)") }
                    continue
                }
                guard let marked = record.marked, let toldMark = record.toldMark else {
                    faults.append("made up: \(letter) was never delivered")
                    continue
                }
                if toldMark < marked {
                    faults.append("untold: \(letter) is \(marked), and its sender knows \(toldMark)")
                }
                for arrival in record.arrivals.dropFirst() {
                    if let why = Self.repetition(arrival, after: told, onTheWay) {
                        faults.append("twice: \(letter) \(why)")
                    }
                }
            }
            return faults + Self.disorder(state)
        }
    }

    private static func repetition(
        _ arrival: Arrival, after told: (moment: Int, time: ContinuousClock.Instant), _ onTheWay: Duration
    ) -> String? {
        switch arrival.way {
        case .page(let askedAt) where askedAt > told.moment: "in a page asked for after its receipt was honoured"
        case .live(let openedAt) where openedAt > told.moment: "on a connection opened after its receipt was honoured"
        case .live where arrival.time > told.time + onTheWay:
            "live, \(arrival.time - told.time) after its receipt was honoured"
        default: nil
        }
    }

    private struct Pair: Hashable {
        var sender: String
        var recipient: String
    }

    private static func disorder(_ state: State) -> [String] {
        var faults: [String] = []
        let pairs = Dictionary(grouping: state.order) { Pair(sender: state.records[$0]!.sender, recipient: $0.to) }
        for letters in pairs.values {
            let arrived = letters.map { (letter: $0, record: state.records[$0]!) }
                .filter { !$0.record.arrivals.isEmpty && $0.record.acceptedAt != nil }
            for (position, later) in arrived.enumerated() {
                for earlier in arrived[..<position]
                where later.record.arrivals[0].moment < earlier.record.arrivals[0].moment {
                    let wasAcceptedBefore = earlier.record.acceptedAt! < later.record.sentAt[0]
                    let wereSentOnceEach =
                        earlier.record.onlyConnection != nil
                        && earlier.record.onlyConnection == later.record.onlyConnection
                        && earlier.record.acceptedAt! < later.record.acceptedAt!
                    if wasAcceptedBefore || wereSentOnceEach {
                        faults.append("out of order (\(later.record.sender)): \(later.letter) before \(earlier.letter)")
                    }
                }
            }
        }
        return faults
    }
}
