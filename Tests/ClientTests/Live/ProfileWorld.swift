import Contract
import TestKit

@testable import WhisperClient

/// Devices of one profile with wrong clocks, and a server that keeps one document: they change it offline, lose races,
/// answers, their memory and themselves. At the end those that are left are alike, and no change is missing.
struct ProfileWorld {
    /// Faults of a device that the world must find.
    enum Mutation: CaseIterable {
        case mergesByArrival, forgetsTombstones, stampsByOwnClock, writesOverUnread, acceptUndoesBlock
        case owedOnlyInMemory, dropsUnknownMembers
    }

    private struct Device {
        let name: String
        let clock: Duration
        var document = ProfileTable.Document()
        var isOnline = true
    }

    private struct Stamp: Hashable {
        var path: [String]
        var time: Int64
        var device: String
    }

    /// A change: what its writer saw there, and which values the server or a living device must still have.
    private struct Change {
        var stamp: Stamp
        var seen: ProfileRegister?
        var register: ProfileRegister
    }

    private var devices: [Device]
    private var stored: [UInt8]?
    private var version: Int64 = 0
    private var now = Timestamp(milliseconds: 1_730_000_000_000)
    private var changes: [Change] = []
    private var random: SeededGenerator
    private let mutation: Mutation?

    init(seed: UInt64, _ mutation: Mutation? = nil) {
        self.random = SeededGenerator(seed: seed)
        self.mutation = mutation
        let count = Int.random(in: 2...5, using: &self.random)
        self.devices = []
        for number in 0..<count {
            let skew = Duration.seconds(Int64.random(in: -3_600...3_600, using: &self.random))
            self.devices.append(Device(name: "D\(number)", clock: skew))
        }
    }

    /// - Returns: the promise that is broken; `nil` if none is.
    mutating func run(steps: Int = 120) -> String? {
        // A later release has a member more.
        for key in Self.kept { self.change(0) { $0.set(Self.path(key), to: Later(name: "first", later: 1)) } }
        self.settle()
        for _ in 0..<steps {
            self.now = self.now + .milliseconds(Int64.random(in: 1...5_000, using: &self.random))
            self.step(Int.random(in: 0..<self.devices.count, using: &self.random))
        }
        self.settle()
        return self.broken()
    }

    private struct Later: ProfileValue {
        enum CodingKeys: String, CodingKey, CaseIterable { case name, later }
        var name: String
        var later: Int
    }

    /// Values that nobody removes, and values that come and go.
    private static let kept = ["a", "b"]
    private static let passing = ["c", "d"]
    private static let people = ["p", "q"]
    private static func path(_ key: String) -> [String] { ["conversations", key] }

    private mutating func step(_ index: Int) {
        let name = "\(self.changes.count)"
        let key = (Self.kept + Self.passing).randomElement(using: &self.random)!
        let person = Self.people.randomElement(using: &self.random)!
        switch Int.random(in: 0..<13, using: &self.random) {
        case 0, 1: self.change(index) { $0.set(Self.path(key), to: SharedDevice(name: name)) }
        case 2: self.change(index) { $0.remove(Self.path(Self.passing[0])) }
        case 3: self.change(index) { $0.include(["blocked", person]) }
        case 4:
            let isKnown = self.devices[index].document.contents[["blocked", person]]?.value != nil
            self.change(index) { edit in
                edit.set(["listeners", person], to: SharedDevice(name: name))
                // The person who lets somebody in knows of the block.
                if isKnown { edit.remove(["blocked", person]) }
            }
        case 5: self.accept(person, index, name)
        case 6: self.devices[index].isOnline.toggle()
        case 7: self.crash(index)
        case 8: self.lose(index)
        case 9, 10: self.read(index)
        default: self.write(index, losesAnswer: Int.random(in: 0..<4, using: &self.random) == 0)
        }
    }

    private mutating func change(_ index: Int, _ body: (inout ProfileEdit) -> Void) {
        var device = self.devices[index]
        let before = device.document.contents
        var edit = ProfileEdit(before, at: self.now + device.clock, by: device.name)
        body(&edit)
        guard edit.isChanged else { return }
        device.document.contents = edit.contents
        for (path, register) in edit.contents.registers() where before[path] != register {
            var register = register
            if self.mutation == .stampsByOwnClock {
                register.time = (self.now + device.clock).milliseconds
                device.document.contents[path] = register
            }
            if self.mutation == .dropsUnknownMembers, register.value != nil, before[path] != nil,
                path[0] == "conversations"
            {
                register.value = SharedDevice(name: "x").json(over: nil)
                device.document.contents[path] = register
            }
            let stamp = Stamp(path: path, time: register.time, device: device.name)
            self.changes.append(Change(stamp: stamp, seen: before[path], register: register))
        }
        device.document.changes += 1
        self.devices[index] = device
    }

    /// Somebody is let in, without knowing of a block elsewhere.
    private mutating func accept(_ person: String, _ index: Int, _ name: String) {
        guard self.devices[index].document.contents[["blocked", person]]?.value == nil else { return }
        self.change(index) { $0.set(["listeners", person], to: SharedDevice(name: name)) }
        guard self.mutation == .acceptUndoesBlock else { return }
        let register = ProfileRegister(
            value: nil, time: self.now.milliseconds, device: self.devices[index].name)
        let stamp = Stamp(path: ["blocked", person], time: register.time, device: register.device)
        self.devices[index].document.contents[stamp.path] = register
        self.changes.append(Change(stamp: stamp, seen: nil, register: register))
    }

    private mutating func crash(_ index: Int) {
        if self.mutation == .owedOnlyInMemory { self.devices[index].document.changes = 0 }
    }

    /// A device that owes nothing is lost for ever.
    private mutating func lose(_ index: Int) {
        guard self.devices.count > 2, self.devices[index].document.changes == 0, self.changes.count > 20 else { return }
        self.devices.remove(at: index)
    }

    // MARK: The server

    private mutating func read(_ index: Int) {
        var device = self.devices[index]
        guard device.isOnline, let stored, device.document.version != self.version,
            var remote = ProfileContents(stored)
        else { return }
        if self.mutation == .forgetsTombstones {
            for (path, register) in remote.registers() where register.value == nil { remote[path] = nil }
            for (path, register) in device.document.contents.registers() where register.value == nil {
                device.document.contents[path] = nil
            }
        }
        var merged = ProfileMerge.merged(device.document.contents, remote)
        if self.mutation == .mergesByArrival {
            for (path, register) in remote.registers() { merged[path] = register }
        }
        _ = ProfileMerge.bound(&merged, .whisper, at: self.now)
        let isOwed = ProfileMerge.owes(merged, to: remote)
        device.document = ProfileTable.Document(
            contents: merged, version: self.version, changes: isOwed ? max(device.document.changes, 1) : 0)
        self.devices[index] = device
    }

    private mutating func write(_ index: Int, losesAnswer: Bool) {
        let device = self.devices[index]
        guard device.isOnline, device.document.changes > 0 else { return }
        guard device.document.version == self.version || self.mutation == .writesOverUnread else {
            return self.read(index)
        }
        self.version += 1
        self.stored = device.document.contents.text
        guard !losesAnswer else { return }
        self.devices[index].document.version = self.version
        self.devices[index].document.changes = 0
    }

    /// Everybody comes back, and reads and writes until nothing is owed.
    private mutating func settle() {
        for index in self.devices.indices { self.devices[index].isOnline = true }
        for _ in 0..<3 * self.devices.count {
            for index in self.devices.indices {
                self.read(index)
                self.write(index, losesAnswer: false)
            }
        }
    }

    private func broken() -> String? {
        let contents = self.devices[0].document.contents
        guard self.devices.allSatisfy({ $0.document.contents == contents && $0.document.changes == 0 }) else {
            return "the devices differ"
        }
        for change in self.changes {
            let path = change.stamp.path
            guard let last = contents[path] else { return "a value is missing" }
            if let seen = change.seen, last == seen { return "what a device replaced has come back" }
            let isLater = (last.time, last.device) >= (change.stamp.time, change.stamp.device)
            guard isLater else { return "a change is lost" }
            if path[0] == "blocked", last.value == nil, last == change.register, change.seen?.value == nil {
                return "somebody who was blocked was let in unknowingly"
            }
        }
        for key in Self.kept {
            let value = contents[Self.path(key)]?.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
            guard value.contains(#""later":1"#) else { return "a member of a later release is lost" }
        }
        return nil
    }
}
