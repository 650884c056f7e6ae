import ClusterContract
import Contract

/// The classes of the settings, then those that the settings have lost, each with the identities that have it.
struct RateClassMembers {
    struct Entry {
        var name: RateClassName
        /// The settings have it.
        var isKnown: Bool
        var rates: [(name: String, change: RateTable.Change)]
        var identities: [WhisperID]
    }

    let all: [Entry]

    init(_ classes: RateClasses, _ grants: [RateClassGrant]) {
        let members = Dictionary(grouping: grants, by: \.name).mapValues { $0.map(\.identity) }
        let lost = members.keys.filter { classes[$0] == nil }.sorted { $0.description < $1.description }
        self.all = (classes.all.map(\.name) + lost).map { name in
            Entry(
                name: name, isKnown: classes[name] != nil,
                rates: (classes[name]?.changes ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                identities: members[name] ?? [])
        }
    }
}
