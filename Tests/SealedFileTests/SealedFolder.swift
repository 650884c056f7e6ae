import CSealedFile
import Foundation
import SQLite

/// A folder with a sealed database, and the key to it.
final class SealedFolder: Sendable {
    static let keyByte: UInt8 = 7

    let path: String
    let handle: UInt32

    init(keyByte: UInt8 = SealedFolder.keyByte) throws {
        guard sealed_file_register() == 0 else { throw CocoaError(.featureUnsupported) }
        self.path = NSTemporaryDirectory() + "whisper-sealed-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        self.handle = sealed_file_add_key([UInt8](repeating: keyByte, count: 32), nil)
    }

    deinit {
        sealed_file_remove_key(self.handle)
        try? FileManager.default.removeItem(atPath: self.path)
    }

    var file: String { self.path + "/sealed.db" }
    var wal: String { self.file + "-wal" }

    /// How SQLite is asked for a sealed file.
    func uri(_ file: String? = nil) -> String {
        "file:\(file ?? self.file)?vfs=\(SEALED_FILE_VFS)&k=\(self.handle)"
    }

    func open(_ file: String? = nil, pragmas: String = "") throws -> DatabaseQueue {
        try Self.open(self.uri(file), pragmas: pragmas)
    }

    static func open(_ path: String, pragmas: String = "") throws -> DatabaseQueue {
        try DatabaseQueue(path: path) { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + pragmas)
        }
    }

    func bytes(_ file: String) -> [UInt8] { [UInt8](FileManager.default.contents(atPath: file) ?? Data()) }

    func write(_ bytes: [UInt8], to file: String) throws { try Data(bytes).write(to: URL(filePath: file)) }
}

extension DatabaseQueue {
    /// All rows of all statements as text; the code of SQLite's error instead, if there is one.
    func answer(_ sql: String) -> String {
        do {
            return try self.writeWithoutTransaction { database in
                try Row.fetchAll(database, sql: sql).map { row in
                    row.databaseValues.map { "\($0)" }.joined(separator: "|")
                }.joined(separator: "\n")
            }
        } catch let error as DatabaseError {
            return "error \(error.extendedResultCode.rawValue)"
        } catch {
            return "\(error)"
        }
    }

    func run(_ sql: String) throws { try self.writeWithoutTransaction { try $0.execute(sql: sql) } }
}

/// SplitMix64: the same numbers from the same seed.
struct SeededNumbers {
    private var state: UInt64

    init(_ seed: UInt64) { self.state = seed }

    mutating func below(_ bound: Int) -> Int {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(bound))
    }
}
