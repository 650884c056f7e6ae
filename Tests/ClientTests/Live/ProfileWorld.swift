import Contract
import Foundation
import TestKit

@testable import WhisperClient

/// Devices of one profile with wrong clocks, each with its store on the disk, and a server that keeps one document. They
/// change it offline, lose races, answers, their processes and themselves. At the end those that are left are alike, and no
/// change is missing.
///
/// The stores are real (`LiveStore`, `ProfileTable`). The world plays the keeper's rule: write over what was merged, and
/// after a lost race read, merge and write again.
struct ProfileWorld {
    /// Faults of a device that the world must find.
    enum Mutation: CaseIterable {
        case mergesByArrival, forgetsTombstones, stampsByOwnClock, writesOverUnread, acceptUndoesBlock
        case owedOnlyInMemory, dropsUnknownMembers, forgetsChangesMeanwhile
    }

    private final class Device {
        let name: String
        let clock: Duration
        let path: String
        private(set) var live: LiveStore
        var isOnline = true

        init(number: Int, clock: Duration, template: String, in folder: String) throws {
            let id = WhisperID("WSP-AAAA-AAAA-AAA\(["A", "B", "C", "D", "E"][number])")!
            (self.name, self.clock) = (ProfileRegister.device(of: id), clock)
            self.path = "\(folder)/\(UUID().uuidString).sqlite"
            try FileManager.default.copyItem(atPath: template, toPath: self.path)
            self.live = try Self.open(self.path)
            try self.live.store.write { try SettingsTable.set("whisperId", to: "\(id)", in: $0) }
        }

        static func open(_ path: String) throws -> LiveStore {
            LiveStore(try ClientStore(path: path), keys: ProfileWorld.keys)
        }

        /// The process ends, and another one opens the store.
        func restart() throws {
            self.live.store.close()
            self.live = try Self.open(self.path)
        }

        func close() {
            self.live.store.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: self.path + suffix) }
        }

        var document: ProfileTable.Document {
            get throws {
                try self.live.store.read { try self.live.documents.document(.settings, in: $0) }
                    ?? ProfileTable.Document()
            }
        }

        func set(_ document: ProfileTable.Document) throws {
            try self.live.store.write { try self.live.documents.set(document, as: .settings, in: $0) }
        }
    }

    private static let keys = IdentityKeys(aliceWords)

    /// A store that devices begin with.
    static func template(in folder: String) throws -> String {
        let path = folder + "/template.sqlite"
        try ClientStore(path: path).close()
        return path
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
    private(set) var lostRaces = 0
    private var random: SeededGenerator
    private let mutation: Mutation?

    init(seed: UInt64, _ mutation: Mutation? = nil, template: String, in folder: String) throws {
        self.random = SeededGenerator(seed: seed)
        self.mutation = mutation
        let count = Int.random(in: 2...5, using: &self.random)
        self.devices = []
        for number in 0..<count {
            let skew = Duration.seconds(Int64.random(in: -3_600...3_600, using: &self.random))
            self.devices.append(try Device(number: number, clock: skew, template: template, in: folder))
        }
    }

    /// - Returns: the promise that is broken; `nil` if none is.
    mutating func run(steps: Int = 120) throws -> String? {
        defer { for device in self.devices { device.close() } }
        // A later release has a member more.
        for key in Self.kept { try self.change(0) { $0.set(Self.path(key), to: Later(name: "first", later: 1)) } }
        try self.settle()
        for _ in 0..<steps {
            self.now = self.now + .milliseconds(Int64.random(in: 1...5_000, using: &self.random))
            try self.step(Int.random(in: 0..<self.devices.count, using: &self.random))
        }
        try self.settle()
        return try self.broken()
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

    private mutating func step(_ index: Int) throws {
        switch Int.random(in: 0..<13, using: &self.random) {
        case 0...5: try self.edit(index)
        case 6: self.devices[index].isOnline.toggle()
        case 7: try self.crash(index)
        case 8: try self.lose(index)
        case 9: try self.read(index)
        default: try self.write(index)
        }
    }

    private mutating func edit(_ index: Int) throws {
        let name = "\(self.changes.count)"
        let key = (Self.kept + Self.passing).randomElement(using: &self.random)!
        let person = Self.people.randomElement(using: &self.random)!
        switch Int.random(in: 0..<6, using: &self.random) {
        case 0, 1: try self.change(index) { $0.set(Self.path(key), to: SharedDevice(name: name)) }
        case 2: try self.change(index) { $0.remove(Self.path(Self.passing[0])) }
        case 3: try self.change(index) { $0.include(["blocked", person]) }
        case 4:
            let isKnown = try self.devices[index].document.contents[["blocked", person]]?.value != nil
            try self.change(index) { edit in
                edit.set(["listeners", person], to: SharedDevice(name: name))
                // The person who lets somebody in knows of the block.
                if isKnown { edit.remove(["blocked", person]) }
            }
        default: try self.accept(person, index, name)
        }
    }

    private mutating func change(_ index: Int, _ body: (inout ProfileEdit) -> Void) throws {
        let device = self.devices[index]
        let before = try device.document.contents
        try device.live.change(.settings, at: self.now + device.clock, body)
        var document = try device.document
        for (path, register) in document.contents.registers() where before[path] != register {
            var register = register
            if self.mutation == .stampsByOwnClock { register.time = (self.now + device.clock).milliseconds }
            if self.mutation == .dropsUnknownMembers, register.value != nil, before[path] != nil,
                path[0] == "conversations"
            {
                register.value = SharedDevice(name: "x").json(over: nil)
            }
            document.contents[path] = register
            let stamp = Stamp(path: path, time: register.time, device: device.name)
            self.changes.append(Change(stamp: stamp, seen: before[path], register: register))
        }
        if self.mutation == .stampsByOwnClock || self.mutation == .dropsUnknownMembers { try device.set(document) }
    }

    /// Somebody is let in, without knowing of a block elsewhere.
    private mutating func accept(_ person: String, _ index: Int, _ name: String) throws {
        let device = self.devices[index]
        guard try device.document.contents[["blocked", person]]?.value == nil else { return }
        try self.change(index) { $0.set(["listeners", person], to: SharedDevice(name: name)) }
        guard self.mutation == .acceptUndoesBlock else { return }
        let register = ProfileRegister(value: nil, time: self.now.milliseconds, device: device.name)
        let stamp = Stamp(path: ["blocked", person], time: register.time, device: register.device)
        var document = try device.document
        document.contents[stamp.path] = register
        try device.set(document)
        self.changes.append(Change(stamp: stamp, seen: nil, register: register))
    }

    /// The process ends: between a change and its writing, or between a writing and its answer.
    private func crash(_ index: Int) throws {
        let device = self.devices[index]
        try device.restart()
        guard self.mutation == .owedOnlyInMemory else { return }
        var document = try device.document
        document.changes = 0
        try device.set(document)
    }

    /// A device that owes nothing is lost for ever.
    private mutating func lose(_ index: Int) throws {
        let device = self.devices[index]
        guard self.devices.count > 2, self.changes.count > 20, try device.document.changes == 0 else { return }
        device.close()
        self.devices.remove(at: index)
    }

    // MARK: The server

    private func read(_ index: Int) throws {
        let device = self.devices[index]
        guard device.isOnline, let stored, var remote = ProfileContents(stored) else { return }
        var before = try device.document
        guard before.version != self.version else { return }
        if self.mutation == .forgetsTombstones {
            for (path, register) in remote.registers() where register.value == nil { remote[path] = nil }
            for (path, register) in before.contents.registers() where register.value == nil {
                before.contents[path] = nil
            }
            try device.set(before)
        }
        _ = try device.live.take(remote, as: .settings, version: self.version, at: self.now)
        guard self.mutation == .mergesByArrival else { return }
        var document = try device.document
        for (path, register) in remote.registers() { document.contents[path] = register }
        try device.set(document)
    }

    /// Writes what is owed. Others may write, and the person may change something, between each two steps.
    private mutating func write(_ index: Int, isAlone: Bool = false) throws {
        let device = self.devices[index]
        for _ in 0..<ClientLimits.documentAttemptsMax {
            guard device.isOnline, let document = try device.live.documentToWrite(.settings, at: self.now)?.document,
                document.changes > 0
            else { return }
            if !isAlone, Int.random(in: 0..<3, using: &self.random) == 0 {
                let other = Int.random(in: 0..<self.devices.count, using: &self.random)
                if other != index { try self.write(other, isAlone: true) }
            }
            guard document.version == self.version || self.mutation == .writesOverUnread else {
                self.lostRaces += 1
                try self.read(index)
                continue
            }
            self.version += 1
            self.stored = document.contents.text
            switch isAlone ? 3 : Int.random(in: 0..<6, using: &self.random) {
            case 0: return
            case 1: return try self.crash(index)
            case 2: try self.edit(index)
            default: break
            }
            try device.live.written(.settings, changes: document.changes, as: self.version)
            guard self.mutation == .forgetsChangesMeanwhile else { return }
            var later = try device.document
            later.changes = 0
            return try device.set(later)
        }
    }

    /// Everybody comes back, and reads and writes until nothing is owed.
    private mutating func settle() throws {
        for device in self.devices { device.isOnline = true }
        for _ in 0..<3 * self.devices.count {
            for index in self.devices.indices {
                try self.read(index)
                try self.write(index, isAlone: true)
            }
        }
    }

    private func broken() throws -> String? {
        let contents = try self.devices[0].document.contents
        for device in self.devices {
            let document = try device.document
            guard document.contents == contents, document.changes == 0 else { return "the devices differ" }
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
