/// Pending events in their order. A world has some ten thousand events: only plain numbers are compared and moved, and
/// the events stay in place.
struct EventQueue {
    struct Event {
        let host: Host?
        let work: Machine.Work
    }

    struct Place {
        var at: Int64
        /// The original time. Earlier than `at` if the host was frozen then: events that have waited keep their order.
        let due: Int64
        /// Events of one moment happen in the order of scheduling.
        let order: UInt64
        /// The slot of the event.
        fileprivate var slot = 0

        init(at: Int64, due: Int64, order: UInt64) {
            self.at = at
            self.due = due
            self.order = order
        }

        fileprivate static func < (a: Place, b: Place) -> Bool {
            if a.at != b.at { return a.at < b.at }
            if a.due != b.due { return a.due < b.due }
            return a.order < b.order
        }
    }

    /// A heap: the next event is first.
    private var places: ContiguousArray<Place> = []
    private var events: ContiguousArray<Event?> = []
    private var freeSlots: ContiguousArray<Int> = []

    var next: Place? { self.places.first }
    /// The host of the next event.
    var nextHost: Host? { self.events[self.places[0].slot]!.host }

    mutating func add(_ event: Event, at place: Place) {
        var place = place
        if let free = self.freeSlots.popLast() {
            self.events[free] = event
            place.slot = free
        } else {
            place.slot = self.events.count
            self.events.append(event)
        }
        self.places.append(place)
        self.rise(place)
    }

    mutating func takeNext() -> Event {
        let slot = self.places[0].slot
        // A slot in the heap holds an event.
        let event = self.events[slot].take()!
        self.freeSlots.append(slot)
        let last = self.places.removeLast()
        if !self.places.isEmpty { self.sink(last) }
        return event
    }

    mutating func putOffNext(until moment: Int64) {
        var place = self.places[0]
        place.at = moment
        self.sink(place)
    }

    /// Moves the last place towards the front.
    private mutating func rise(_ place: Place) {
        self.places.withUnsafeMutableBufferPointer { places in
            var child = places.count - 1
            while child > 0 {
                let parent = (child - 1) / 2
                guard place < places[parent] else { break }
                places[child] = places[parent]
                child = parent
            }
            places[child] = place
        }
    }

    /// Puts a place at the front, and moves it towards the end.
    private mutating func sink(_ place: Place) {
        self.places.withUnsafeMutableBufferPointer { places in
            var parent = 0
            while true {
                var child = 2 * parent + 1
                guard child < places.count else { break }
                if child + 1 < places.count, places[child + 1] < places[child] { child += 1 }
                guard places[child] < place else { break }
                places[parent] = places[child]
                parent = child
            }
            places[parent] = place
        }
    }
}
