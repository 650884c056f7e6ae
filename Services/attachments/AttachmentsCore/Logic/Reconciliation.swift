/// Walks two lists, both in the order of the bytes of their keys, and tells what stands in one only. Pages may end anywhere.
package struct Reconciliation: Sendable {
    package enum Step: Equatable, Sendable {
        /// More of this list is needed to go on.
        case needsObjects, needsRows
        /// In the store, and in no row.
        case leaked(StoredObject)
        /// In a row, and not in the store.
        case dangling(String)
        case finished
    }

    private var objects: ArraySlice<StoredObject> = []
    private var rows: ArraySlice<String> = []
    private var hasAllObjects = false
    private var hasAllRows = false
    package private(set) var objectsSeen = 0
    package private(set) var rowsSeen = 0

    package init() {}

    /// The next page; an empty one is the end.
    package mutating func add(objects page: [StoredObject]) {
        self.hasAllObjects = page.isEmpty
        self.objectsSeen += page.count
        self.objects = page[...]
    }

    /// The next page; an empty one is the end.
    package mutating func add(rows page: [String]) {
        self.hasAllRows = page.isEmpty
        self.rowsSeen += page.count
        self.rows = page[...]
    }

    package mutating func next() -> Step {
        while true {
            if self.objects.isEmpty, !self.hasAllObjects { return .needsObjects }
            if self.rows.isEmpty, !self.hasAllRows { return .needsRows }
            guard let object = self.objects.first else {
                return self.rows.popFirst().map { .dangling($0) } ?? .finished
            }
            guard let row = self.rows.first else {
                self.objects.removeFirst()
                return .leaked(object)
            }
            if object.key == row {
                self.objects.removeFirst()
                self.rows.removeFirst()
            } else if object.key.utf8.lexicographicallyPrecedes(row.utf8) {
                self.objects.removeFirst()
                return .leaked(object)
            } else {
                self.rows.removeFirst()
                return .dangling(row)
            }
        }
    }
}
