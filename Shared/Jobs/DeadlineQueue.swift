package import Contract

/// A queue of deadlines, earliest first. No entry is looked at before its deadline.
package struct DeadlineQueue<ID: Hashable & Sendable>: Sendable {
    private struct Entry {
        var time: Timestamp
        var id: ID
    }

    /// A binary heap. Entries that `times` contradicts count for nothing.
    private var entries: [Entry] = []
    private var times: [ID: Timestamp] = [:]

    package init() {}

    /// - Parameter time: takes the place of the one before; `nil`: never.
    package mutating func set(_ id: ID, to time: Timestamp?) {
        guard self.times[id] != time else { return }
        self.times[id] = time
        guard let time else { return self.dropOutdated() }
        // Entries that count for nothing are as many as those that count, or few.
        if self.entries.count >= 2 * self.times.count + Self.outdatedMax { return self.rebuild() }
        self.push(Entry(time: time, id: id))
    }

    /// The earliest.
    package var next: Timestamp? { self.entries.first?.time }

    /// The entries that are due, earliest first. They leave the queue.
    package mutating func take(at now: Timestamp) -> [ID] {
        var due: [ID] = []
        while let first = self.entries.first, first.time <= now {
            due.append(first.id)
            self.times[first.id] = nil
            self.dropOutdated()
        }
        return due
    }

    /// How many entries there are, those that count for nothing among them.
    package var size: Int { self.entries.count }

    package static var outdatedMax: Int { 64 }

    /// So the first entry always counts.
    private mutating func dropOutdated() {
        while let first = self.entries.first, self.times[first.id] != first.time { self.pop() }
    }

    private mutating func rebuild() {
        // Sorted, it is a heap.
        self.entries = self.times.map { Entry(time: $0.value, id: $0.key) }.sorted { $0.time < $1.time }
    }

    private mutating func push(_ entry: Entry) {
        self.entries.append(entry)
        var index = self.entries.count - 1
        while index > 0, self.entries[index].time < self.entries[(index - 1) / 2].time {
            self.entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
        self.dropOutdated()
    }

    private mutating func pop() {
        self.entries.swapAt(0, self.entries.count - 1)
        self.entries.removeLast()
        var index = 0
        while true {
            let children = (2 * index + 1...2 * index + 2).filter { $0 < self.entries.count }
            guard let least = children.min(by: { self.entries[$0].time < self.entries[$1].time }),
                self.entries[least].time < self.entries[index].time
            else { return }
            self.entries.swapAt(index, least)
            index = least
        }
    }
}
