package import Contract

/// A machine of which a share has one for each id.
package protocol BookedMachine: Equatable, Sendable {
    associatedtype ID: Hashable, Sendable
    var id: ID { get }
}

/// The machines that one process has in memory, of the shares that it owns. A batch changes the book, and is then
/// either committed or taken back.
package struct MachineBook<Machine: BookedMachine>: Sendable {
    package struct Change: Sendable {
        package var before: Machine?
        package var after: Machine?
    }

    private var machines: [Machine.ID: Machine] = [:]
    /// As they were before the batch.
    private var undo: [Machine.ID: Machine?] = [:]
    private var deadlines = DeadlineQueue<Machine.ID>()
    /// Machines in memory whose deadline may differ from the one in the queue.
    private var retimed: Set<Machine.ID> = []

    package init() {}

    package var all: some Collection<Machine> { self.machines.values }
    package subscript(id: Machine.ID) -> Machine? { self.machines[id] }

    /// Changes a machine, or adds it, or with nil deletes it. Can be taken back until `commit`.
    package mutating func put(_ machine: Machine?, at id: Machine.ID) {
        if self.undo.index(forKey: id) == nil { self.undo.updateValue(self.machines[id], forKey: id) }
        self.set(machine, at: id)
    }

    private mutating func set(_ machine: Machine?, at id: Machine.ID) {
        self.machines[id] = machine
        if machine == nil { self.forgetTime(of: id) } else { self.retimed.insert(id) }
    }

    private mutating func forgetTime(of id: Machine.ID) {
        self.retimed.remove(id)
        self.deadlines.set(id, to: nil)
    }

    package var changes: [Change] {
        self.undo.compactMap { id, before in
            let after = self.machines[id]
            return before == after ? nil : Change(before: before, after: after)
        }
    }

    package mutating func commit() { self.undo = [:] }

    package mutating func takeBack() {
        for (id, before) in self.undo { self.set(before, at: id) }
        self.undo = [:]
    }

    /// From the tables.
    package mutating func load(_ machine: Machine) { self.set(machine, at: machine.id) }

    /// Forgets the machines that are not kept: another owner's, or quiet ones. They stay in the tables.
    package mutating func keep(_ isKept: (Machine) -> Bool) {
        for (id, machine) in self.machines where !isKept(machine) { self.set(nil, at: id) }
    }

    /// The same of these alone.
    package mutating func keep(_ isKept: (Machine) -> Bool, of ids: [Machine.ID]) {
        for id in ids where self.machines[id].map({ !isKept($0) }) ?? false { self.set(nil, at: id) }
    }

    // MARK: Time

    /// Machines that are due. They are looked at again, whatever becomes of them.
    /// - Parameter deadline: when time changes a machine next; the same in all calls.
    package mutating func due(at now: Timestamp, _ deadline: (Machine) -> Timestamp?) -> [Machine] {
        self.retime(deadline)
        let due = self.deadlines.take(at: now)
        self.retimed.formUnion(due)
        return due.compactMap { self.machines[$0] }
    }

    /// The earliest deadline.
    package mutating func nextDeadline(_ deadline: (Machine) -> Timestamp?) -> Timestamp? {
        self.retime(deadline)
        return self.deadlines.next
    }

    private mutating func retime(_ deadline: (Machine) -> Timestamp?) {
        for id in self.retimed { self.deadlines.set(id, to: self.machines[id].flatMap(deadline)) }
        self.retimed = []
    }
}
