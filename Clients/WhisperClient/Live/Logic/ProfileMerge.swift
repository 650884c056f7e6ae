package import Contract

/// Joins contents of a document that several devices have changed.
///
/// The result depends neither on the order nor on repetitions: the merge is commutative, associative and idempotent. So
/// devices that have seen the same changes have the same contents.
package enum ProfileMerge {
    package static func merged(_ one: ProfileContents, _ other: ProfileContents) -> ProfileContents {
        var merged = ProfileContents()
        merged.version = max(one.version, other.version)
        merged.sections = Self.merged(one.sections, other.sections)
        return merged
    }

    private static func merged(
        _ one: [String: ProfileNode], _ other: [String: ProfileNode]
    ) -> [String: ProfileNode] { one.merging(other) { Self.merged($0, $1) } }

    /// A register stands above a map, and a map above anything else.
    private static func merged(_ one: ProfileNode, _ other: ProfileNode) -> ProfileNode {
        switch (one, other) {
        case (.register(let one), .register(let other)): .register(Self.merged(one, other))
        case (.register, _): one
        case (_, .register): other
        case (.map(let one), .map(let other)): .map(Self.merged(one, other))
        case (.map, _): one
        case (_, .map): other
        case (.plain(let one), .plain(let other)): .plain(Self.greater(one, other) ? one : other)
        }
    }

    /// The later value stays as it was written, with the greater numbers of the other one beside it.
    private static func merged(_ one: ProfileRegister, _ other: ProfileRegister) -> ProfileRegister {
        guard one != other else { return one }
        var later = Self.later(one, other)
        let own = Self.counts(in: later.value)
        later.most = Self.counts(of: one).merging(Self.counts(of: other), uniquingKeysWith: max)
            .filter { $0.value > own[$0.key] ?? -1 }
        return later
    }

    /// The greatest numbers that a register has seen: when a conversation was listened to, and which documents a device has
    /// seen. An earlier one never comes back, not even with a later change of something else.
    static func counts(of register: ProfileRegister) -> [String: Int64] {
        Self.counts(in: register.value).merging(register.most, uniquingKeysWith: max)
    }

    private static func counts(in value: [UInt8]?) -> [String: Int64] {
        guard let value, value.first == UInt8(ascii: "{"), case .object(let members)? = JSONText(value) else {
            return [:]
        }
        if let seen = members["seen"] { return ProfileContents.integers(seen) }
        return ProfileContents.integers(value).filter { $0.key == "lastListened" }
    }

    private static func later(_ one: ProfileRegister, _ other: ProfileRegister) -> ProfileRegister {
        if one.time != other.time { return one.time > other.time ? one : other }
        if one.device != other.device { return one.device > other.device ? one : other }
        guard let value = one.value, let theirs = other.value else { return one.value == nil ? other : one }
        let (sorted, theirsSorted) = (Self.sorted(value), Self.sorted(theirs))
        return sorted == theirsSorted
            ? (Self.greater(value, theirs) ? one : other) : (Self.greater(sorted, theirsSorted) ? one : other)
    }

    private static func greater(_ one: [UInt8], _ other: [UInt8]) -> Bool { other.lexicographicallyPrecedes(one) }

    /// The same JSON with sorted names.
    private static func sorted(_ text: [UInt8]) -> [UInt8] {
        switch JSONText(text) {
        case .object(let members)?:
            var json = JSONWriter()
            for name in members.names.sorted() { json.add(name) { $0 += Self.sorted(members[name] ?? []) } }
            return json.finished()
        case .array(let elements)?:
            var output: [UInt8] = []
            JSONWriter.append(array: elements, to: &output) { $1 += Self.sorted($0) }
            return output
        default: return text
        }
    }

    // MARK: Bounds

    /// The stamp of a change. It beats the value that its writer saw, whatever the clocks say.
    package static func stamp(over register: ProfileRegister?, at now: Timestamp) -> Int64 {
        min(max(now.milliseconds, (register?.time ?? 0) + 1), ProfileLimits.times.upperBound)
    }

    /// Leaves out what no device keeps: old tombstones, and values beyond `ProfileLimits.keptTimes`.
    package static func bound(_ contents: inout ProfileContents, _ name: ProfileDocumentName, at now: Timestamp) {
        if name == .whisper { Self.dropListenersOfDeleted(in: &contents) }
        let all = contents.registers()
        let oldest = (now - ProfileLimits.tombstonesFor).milliseconds
        let tombstones = all.filter { $0.register.value == nil }
            .sorted { ($0.register.time, $0.path.joined()) > ($1.register.time, $1.path.joined()) }
        for (index, tombstone) in tombstones.enumerated()
        where index >= ProfileLimits.tombstonesMax || tombstone.register.time < oldest {
            contents[tombstone.path] = nil
        }
        let surplus = Self.surplus(of: contents, name) { $0 * ProfileLimits.keptTimes }
        for path in surplus { contents[path] = nil }
    }

    /// The part of what a device keeps for which a document has room. It is the same on devices that keep the same.
    /// - Parameter halvings: how often the number of listeners is halved, since the document was too long.
    /// - Returns: whether values are left out.
    package static func shared(
        _ contents: ProfileContents, _ name: ProfileDocumentName, halvings: Int = 0
    ) -> (contents: ProfileContents, isFull: Bool) {
        let surplus = Self.surplus(of: contents, name) { name == .whisper ? $0 >> halvings : $0 }
        var shared = contents
        for path in surplus { shared[path] = nil }
        return (shared, !surplus.isEmpty)
    }

    /// A conversation that was deleted takes its listeners with it. Their tombstones would displace its own.
    private static func dropListenersOfDeleted(in contents: inout ProfileContents) {
        let deleted = contents.registers(below: ["conversations"]).filter { $0.register.value == nil }
        for conversation in deleted {
            for section in ["listeners", "blocked"] {
                for listener in contents.registers(below: [section] + conversation.path.dropFirst()) {
                    contents[listener.path] = nil
                }
            }
        }
    }

    /// Values beyond a bound: those with the oldest stamps. Somebody who is blocked stays.
    /// - Parameter most: makes the bound from the one of a document.
    private static func surplus(
        of contents: ProfileContents, _ name: ProfileDocumentName, _ most: (Int) -> Int
    ) -> [[String]] {
        let bound: (section: String, most: Int)? =
            switch name {
            case .whisper: ("listeners", ProfileLimits.listenersSharedMax)
            case .listen: ("conversations", ProfileLimits.heardMax)
            case .favorites: ("favorites", ProfileLimits.favoritesMax)
            case .user, .settings: nil
            }
        guard let bound else { return [] }
        let most = most(bound.most)
        let values = contents.registers(below: [bound.section]).filter { $0.register.value != nil }
        guard values.count > most else { return [] }
        let free = values.filter { contents[["blocked"] + $0.path.dropFirst()]?.value == nil }
            .sorted { ($0.register.time, $0.path.joined()) < ($1.register.time, $1.path.joined()) }
        return free.prefix(values.count - most).map(\.path)
    }

    /// Whether a device with these contents has anything that a document lacks. Tombstones that were left out are none.
    package static func owes(_ contents: ProfileContents, to document: ProfileContents) -> Bool {
        contents.registers().contains { document[$0.path] != $0.register }
    }
}
