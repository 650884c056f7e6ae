/// What a share holds one of for each id.
package protocol BookedMachine: Equatable, Sendable {
    associatedtype ID: Hashable, Sendable
    var id: ID { get }
}

extension LiveMachine: BookedMachine {}

/// The live conversations that one process has in memory, of the shares that it owns.
package typealias LiveBook = MachineBook<LiveMachine>

/// What one process has in memory, of the shares that it owns. A batch changes it, and is then either committed or taken back.
package struct MachineBook<Machine: BookedMachine>: Sendable {
    package struct Change: Sendable {
        package var before: Machine?
        package var after: Machine?
    }

    private var machines: [Machine.ID: Machine] = [:]
    /// As they were before the batch.
    private var undo: [Machine.ID: Machine?] = [:]

    package init() {}

    package var all: some Collection<Machine> { self.machines.values }
    package subscript(id: Machine.ID) -> Machine? { self.machines[id] }

    /// Changes a machine, or adds it, or with nil deletes it. Can be taken back until `commit`.
    package mutating func put(_ machine: Machine?, at id: Machine.ID) {
        if self.undo.index(forKey: id) == nil { self.undo.updateValue(self.machines[id], forKey: id) }
        self.machines[id] = machine
    }

    package var changes: [Change] {
        self.undo.compactMap { id, before in
            let after = self.machines[id]
            return before == after ? nil : Change(before: before, after: after)
        }
    }

    package mutating func commit() { self.undo = [:] }

    package mutating func takeBack() {
        for (id, before) in self.undo { self.machines[id] = before }
        self.undo = [:]
    }

    /// From the tables.
    package mutating func load(_ machine: Machine) { self.machines[machine.id] = machine }

    /// Forgets what is somebody else's now, or quiet. It stays in the tables.
    package mutating func keep(_ isKept: (Machine) -> Bool) {
        for (id, machine) in self.machines where !isKept(machine) { self.machines[id] = nil }
    }
}
