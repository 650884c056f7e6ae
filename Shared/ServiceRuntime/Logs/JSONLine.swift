import Logging

/// Builds one JSON object, key by key, and the newline behind it.
struct JSONLine {
    private var bytes: [UInt8] = []

    init() {
        self.bytes.reserveCapacity(256)
        self.bytes.append(UInt8(ascii: "{"))
    }

    mutating func add(_ key: String, text: String) {
        self.begin(key)
        self.append(quoted: text)
    }

    mutating func add(_ key: String, number: some FixedWidthInteger) {
        self.begin(key)
        self.bytes.append(contentsOf: "\(number)".utf8)
    }

    mutating func add(_ key: String, _ value: Logger.MetadataValue) {
        self.begin(key)
        self.append(value)
    }

    func finished() -> [UInt8] {
        self.bytes + [UInt8(ascii: "}"), UInt8(ascii: "\n")]
    }

    private mutating func begin(_ key: String) {
        if self.bytes.count > 1 { self.bytes.append(UInt8(ascii: ",")) }
        self.append(quoted: key)
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text):
            self.append(quoted: text)
        case .stringConvertible(let value as Int64):
            self.bytes.append(contentsOf: "\(value)".utf8)
        case .stringConvertible(let value as Int):
            self.bytes.append(contentsOf: "\(value)".utf8)
        case .stringConvertible(let value as Bool):
            self.bytes.append(contentsOf: "\(value)".utf8)
        case .stringConvertible(let value):
            self.append(quoted: value.description)
        case .array(let values):
            self.bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { self.bytes.append(UInt8(ascii: ",")) }
                self.append(value)
            }
            self.bytes.append(UInt8(ascii: "]"))
        case .dictionary(let members):
            self.bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { self.bytes.append(UInt8(ascii: ",")) }
                self.append(quoted: member.key)
                self.bytes.append(UInt8(ascii: ":"))
                self.append(member.value)
            }
            self.bytes.append(UInt8(ascii: "}"))
        }
    }

    private mutating func append(quoted text: String) {
        self.bytes.append(UInt8(ascii: "\""))
        var written = 0
        for scalar in text.unicodeScalars {
            guard written < RuntimeLimits.logValueBytesMax else {
                self.bytes.append(contentsOf: "…".utf8)
                break
            }
            written += scalar.utf8.count
            self.append(escaped: scalar)
        }
        self.bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaped scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": self.bytes.append(contentsOf: #"\""#.utf8)
        case "\\": self.bytes.append(contentsOf: #"\\"#.utf8)
        case "\n": self.bytes.append(contentsOf: #"\n"#.utf8)
        case "\r": self.bytes.append(contentsOf: #"\r"#.utf8)
        case "\t": self.bytes.append(contentsOf: #"\t"#.utf8)
        // Control characters, DEL, and the two line separators that some readers of lines split at.
        case "\0"..<" ", "\u{7F}", "\u{2028}", "\u{2029}":
            let hex = String(scalar.value, radix: 16)
            self.bytes.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - hex.count))\(hex)".utf8)
        default:
            self.bytes.append(contentsOf: scalar.utf8)
        }
    }
}
