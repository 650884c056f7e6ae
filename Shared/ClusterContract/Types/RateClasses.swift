package import Contract

/// Classes of rates (contract §20.7), as the settings name them: an identity that operators have put into one may send some frames
/// more often than others may. Rates that a class does not name are everybody's, and so are all that addresses share.
package struct RateClasses: Equatable, Sendable {
    package struct RateClass: Equatable, Sendable {
        package let name: RateClassName
        /// By `Rate.action`.
        package let changes: [String: RateTable.Change]
    }

    /// In the order of the settings.
    package let all: [RateClass]

    package static let none = RateClasses(all: [])
    package static let usual = RateClasses(Self.usualText)!
    package static let usualText = """
        bot: send_message=1200/1200, group_send_message=3000/3000, delivery_receipt=3000/3000, fetch_pending=300/300, \
        update_tokens=10, calls=20
        """

    /// Rates that bound what strangers are made to bear: codes of rooms that are used up, knocks, reports.
    private static let ofStrangers = [RenewRoomCode.definition, LiveKnock.definition, Report.definition].map {
        $0.rate?.action
    }

    /// Rates of frames that a gateway counts for each identity. Rates that fail closed bound guesses and erasures.
    package static let rates: [Rate] = Dictionary(
        FrameCatalogue.frames.compactMap { $0.definition.rate }.filter {
            $0.per != .address && !$0.failsClosed && !Self.ofStrangers.contains($0.action)
        }
        .map { ($0.action, $0) }, uniquingKeysWith: { $1 }
    ).values.sorted { $0.action < $1.action }

    private init(all: [RateClass]) { self.all = all }

    /// `bot: send_message=1200/1200, calls=20; feed: send_message=600`, or `none`.
    package init?(_ text: String) {
        guard text != RateClassName.none else {
            self = .none
            return
        }
        var all: [RateClass] = []
        for part in text.split(separator: ";", omittingEmptySubsequences: false) {
            let halves = part.split(separator: ":", omittingEmptySubsequences: false)
            let words = halves[0].split(whereSeparator: \.isWhitespace)
            guard halves.count == 2, words.count == 1, let name = RateClassName(String(words[0])),
                !all.contains(where: { $0.name == name }), let changes = Self.changes(halves[1])
            else { return nil }
            all.append(RateClass(name: name, changes: changes))
        }
        guard all.count <= Limits.rateClassesMax else { return nil }
        self.all = all
    }

    private static func changes(_ text: Substring) -> [String: RateTable.Change]? {
        guard let changes = RateTable.changes(in: text, of: Self.rates), !changes.isEmpty else { return nil }
        let isBounded = Self.rates.allSatisfy { rate in
            guard let change = changes[rate.action] else { return true }
            return change.uses <= rate.uses * Limits.rateClassFactorMax
                && change.burst <= rate.burst * Limits.rateClassFactorMax
        }
        return isBounded ? changes : nil
    }

    package subscript(name: RateClassName) -> RateClass? { self.all.first { $0.name == name } }

    /// The class that counts: one that the settings do not name is none.
    package func known(_ name: RateClassName?) -> RateClassName? { name.flatMap { self[$0] }?.name }
}

extension RateTable {
    /// `send_message=240/60, report=5`: each rate once.
    package static func changes(in text: Substring, of rates: [Rate]) -> [String: Change]? {
        var changes: [String: Change] = [:]
        for pair in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, rates.contains(where: { $0.action == parts[0] }), changes[String(parts[0])] == nil
            else { return nil }
            let numbers = parts[1].split(separator: "/", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
            guard (1...2).contains(numbers.count), numbers.allSatisfy((1...1_000_000).contains) else { return nil }
            changes[String(parts[0])] = Change(uses: numbers[0], burst: numbers.last ?? numbers[0])
        }
        return changes
    }
}
