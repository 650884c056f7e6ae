import Contract

/// Changes of this device to the contents of one document. A value that stands there already is no change.
struct ProfileEdit {
    private(set) var contents: ProfileContents
    private(set) var isChanged = false
    /// The changes that follow are of this time.
    var time: Timestamp
    private let device: String

    init(_ contents: ProfileContents, at now: Timestamp, by device: String) {
        (self.contents, self.time, self.device) = (contents, now, device)
    }

    mutating func set(_ path: [String], to value: some ProfileValue) {
        self.set(path, json: value.json(over: self.contents[path]?.value))
    }

    mutating func set(_ path: [String], to text: String) {
        var json: [UInt8] = []
        JSONWriter.append(string: text, to: &json)
        self.set(path, json: json)
    }

    /// - Returns: `nil` if the value is no text.
    static func text(_ value: [UInt8]) -> String? {
        guard case .object(let members)? = JSONText(Array(#"{"v":"#.utf8) + value + Array("}".utf8)) else { return nil }
        return members.string("v")
    }

    /// Somebody is in a set of names.
    mutating func include(_ path: [String]) { self.set(path, json: Array("true".utf8)) }

    /// A value that was never there is not removed.
    mutating func remove(_ path: [String]) {
        if self.contents[path]?.value != nil { self.stamp(path, nil) }
    }

    mutating func removeAll(below path: [String]) {
        for (place, _) in self.contents.registers(below: path) { self.remove(place) }
    }

    private mutating func set(_ path: [String], json: [UInt8]) {
        if self.contents[path]?.value != json { self.stamp(path, json) }
    }

    private mutating func stamp(_ path: [String], _ value: [UInt8]?) {
        let time = ProfileMerge.stamp(over: self.contents[path], at: self.time)
        self.contents[path] = ProfileRegister(value: value, time: time, device: self.device)
        self.isChanged = true
    }
}
