import Contract

/// A file that the host has given, sealed in the folder.
struct GivenFile: Sendable {
    var local: String
    var secret: FileSecret
    /// Plain bytes.
    var size: Int64
}

/// Files that the host gives by pieces: those that come, and those that wait for a message.
struct FileIntake {
    typealias Instant = ContinuousClock.Instant

    private var coming: [UUIDText: (file: GivenFile, writer: SealedWriter)] = [:]
    private var given: [UUIDText: (file: GivenFile, until: Instant)] = [:]

    var hasRoom: Bool {
        self.coming.count < ClientLimits.filesComingMax
            && self.coming.count + self.given.count < ClientLimits.filesGivenMax
    }

    mutating func begin(_ file: GivenFile, _ writer: SealedWriter) -> UUIDText {
        let id = UUIDText.random()
        self.coming[id] = (file, writer)
        return id
    }

    mutating func add(_ plain: [UInt8], to id: UUIDText) throws(FileFailure) {
        guard let coming = self.coming[id], coming.writer.size + Int64(plain.count) <= coming.file.size else {
            throw .unreadable
        }
        var writer = coming.writer
        try writer.add(plain)
        self.coming[id]?.writer = writer
    }

    mutating func finish(_ id: UUIDText, at now: Instant) throws(FileFailure) {
        guard let (file, writer) = self.coming[id], writer.size == file.size else { throw .unreadable }
        try writer.finish()
        writer.close()
        self.coming[id] = nil
        self.given[id] = (file, now + ClientLimits.fileGivenFor)
    }

    /// - Returns: the name of the file, which nobody needs any more.
    mutating func drop(_ id: UUIDText) -> String? {
        guard let (file, writer) = self.coming.removeValue(forKey: id) else { return nil }
        writer.close()
        return file.local
    }

    mutating func take(_ id: UUIDText) -> GivenFile? { self.given.removeValue(forKey: id)?.file }

    /// - Returns: the names of files whose time is over.
    mutating func dropOverdue(at now: Instant) -> [String] {
        let overdue = self.given.filter { $0.value.until <= now }
        for id in overdue.keys { self.given[id] = nil }
        return overdue.values.map(\.file.local)
    }
}
