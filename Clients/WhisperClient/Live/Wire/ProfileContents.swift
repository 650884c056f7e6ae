package import Contract

/// One value of a document, with the stamp of its writing. A later stamp wins, whichever device sees it first.
package struct ProfileRegister: Equatable, Sendable {
    /// JSON as it was written. `nil`: a tombstone, which says that the value was removed.
    package var value: [UInt8]?
    /// By the server's clock, in milliseconds; greater than that of the value it replaces.
    package var time: Int64
    /// The writer: its Whisper ID without `WSP-` and dashes. Empty until the server has given the id.
    package var device: String
    /// Numbers that stood in values of before, and are greater than those in this one (`ProfileMerge.counts`).
    package var most: [String: Int64] = [:]

    package init(value: [UInt8]?, time: Int64, device: String) {
        self.value = value
        self.time = time
        self.device = device
    }

    package static func device(of id: WhisperID?) -> String {
        id.map { String("\($0)".dropFirst("WSP-".count).filter { $0 != "-" }) } ?? ""
    }
}

/// A place in a document: a register, a map of places, or something else of a later release, which is kept as it is.
package indirect enum ProfileNode: Equatable, Sendable {
    case plain([UInt8])
    case map([String: ProfileNode])
    case register(ProfileRegister)
}

/// The content of a document that devices of a profile share. Members that this release does not know are kept as they
/// were written, byte for byte.
package struct ProfileContents: Equatable, Sendable {
    package static let knownVersion: Int64 = 1

    package var version = Self.knownVersion
    package var sections: [String: ProfileNode] = [:]

    package init() {}

    /// A later release has written it: it may be read, and must not be written over.
    package var isNewer: Bool { self.version > Self.knownVersion }

    /// - Returns: `nil` for a document of another kind, such as a host's.
    package init?(_ text: [UInt8]) {
        guard case .object(let members)? = JSONText(text), let version = Self.integer(members["version"]), version > 0
        else { return nil }
        self.version = version
        for name in members.names where name != "version" {
            guard let text = members[name], let node = ProfileNode(text, depth: 0) else { return nil }
            self.sections[name] = node
        }
    }

    fileprivate static func integer(_ text: [UInt8]?) -> Int64? {
        text.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }

    /// The members of an object that are numbers to be believed.
    static func integers(_ text: [UInt8]) -> [String: Int64] {
        guard case .object(let members)? = JSONText(text) else { return [:] }
        var integers: [String: Int64] = [:]
        for name in members.names {
            if let number = Self.integer(members[name]), ProfileLimits.times.contains(number) {
                integers[name] = number
            }
        }
        return integers
    }

    /// With sorted names: equal contents are equal texts.
    package var text: [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.add("version", self.version)
        for (name, node) in self.sections.sorted(by: { $0.key < $1.key }) { json.add(name) { node.append(to: &$0) } }
        return json.finished()
    }

    /// The register under a path of names. Setting it makes the maps around it.
    package subscript(path: [String]) -> ProfileRegister? {
        get {
            guard case .register(let register)? = ProfileNode.map(self.sections)[path[...]] else { return nil }
            return register
        }
        set {
            var root = ProfileNode.map(self.sections)
            // Without a second owner the maps are changed in place.
            self.sections = [:]
            root.set(path[...], to: newValue)
            if case .map(let sections) = root { self.sections = sections }
        }
    }

    /// The registers below a path, tombstones among them, each with its whole path.
    package func registers(below path: [String] = []) -> [(path: [String], register: ProfileRegister)] {
        var found: [(path: [String], register: ProfileRegister)] = []
        ProfileNode.map(self.sections)[path[...]]?.collect(at: path, into: &found)
        return found
    }

    /// Values that are not removed, directly below a path, by name.
    package func values(below path: [String]) -> [String: [UInt8]] {
        var values: [String: [UInt8]] = [:]
        for (place, register) in self.registers(below: path) where place.count == path.count + 1 {
            values[place[path.count]] = register.value
        }
        return values
    }
}

extension ProfileNode {
    fileprivate init?(_ text: [UInt8], depth: Int) {
        // Most values are no objects, and the text around has been read already.
        guard text.first == UInt8(ascii: "{"), case .object(let members)? = JSONText(text) else {
            self = .plain(text)
            return
        }
        if let time = ProfileContents.integer(members["t"]), let device = members.string("d"),
            ProfileLimits.times.contains(time)
        {
            var register = ProfileRegister(value: members["v"], time: time, device: device)
            if let most = members["n"] { register.most = ProfileContents.integers(most) }
            self = .register(register)
            return
        }
        guard depth < ProfileLimits.depthMax else { return nil }
        var map: [String: ProfileNode] = [:]
        for name in members.names {
            guard let text = members[name], let node = ProfileNode(text, depth: depth + 1) else { return nil }
            map[name] = node
        }
        self = .map(map)
    }

    fileprivate func append(to output: inout [UInt8]) {
        switch self {
        case .plain(let text): output += text
        case .map(let map):
            var json = JSONWriter()
            for (name, node) in map.sorted(by: { $0.key < $1.key }) { json.add(name) { node.append(to: &$0) } }
            output += json.finished()
        case .register(let register):
            var json = JSONWriter()
            if let value = register.value { json.add("v", json: value) }
            json.add("t", register.time)
            json.add("d", register.device)
            if !register.most.isEmpty {
                json.add("n") { output in
                    var most = JSONWriter()
                    for (name, number) in register.most.sorted(by: { $0.key < $1.key }) {
                        most.add(name) { $0 += Array("\(number)".utf8) }
                    }
                    output += most.finished()
                }
            }
            output += json.finished()
        }
    }

    fileprivate subscript(path: ArraySlice<String>) -> ProfileNode? {
        guard let name = path.first else { return self }
        guard case .map(let map) = self else { return nil }
        return map[name]?[path.dropFirst()]
    }

    fileprivate mutating func set(_ path: ArraySlice<String>, to register: ProfileRegister?) {
        guard let name = path.first, case .map(var map) = self else { return }
        self = .plain([])
        if path.count == 1 {
            map[name] = register.map { .register($0) }
        } else {
            var node = map.removeValue(forKey: name) ?? .map([:])
            node.set(path.dropFirst(), to: register)
            map[name] = node == .map([:]) ? nil : node
        }
        self = .map(map)
    }

    fileprivate func collect(at path: [String], into found: inout [(path: [String], register: ProfileRegister)]) {
        switch self {
        case .plain: break
        case .register(let register): found.append((path, register))
        case .map(let map): for (name, node) in map { node.collect(at: path + [name], into: &found) }
        }
    }
}
