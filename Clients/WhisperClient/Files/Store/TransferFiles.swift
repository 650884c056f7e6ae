package import Contract
import Glibc

/// Sealed files in the profile's folder, while they are uploaded or downloaded. It reads and writes on its own thread.
///
/// Only the host's own file is ever plain. Memory is needed for one piece (`SecretboxPieces.pieceBytes`).
package actor TransferFiles {
    private nonisolated let executor = QueueExecutor(label: "whisper-files")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    package nonisolated let folder: String
    /// Files that no row names yet.
    private var held: Set<String> = []
    /// Files that the host gives by pieces.
    private var intake = FileIntake()

    /// Suffix of the partial file beside a host's target, until it is complete.
    static let targetSuffix = ".whisper-part"

    package init(folder: String) { self.folder = folder }

    private func path(_ name: String) -> String { "\(self.folder)/\(name)" }

    /// Seals a file of the host's into the folder. `release` or `remove` must follow.
    /// - Returns: its plain size.
    package func seal(
        _ source: String, as name: String, _ secret: FileSecret, sizeMax: Int64
    ) throws(FileFailure) -> Int64 {
        let (input, size) = try Self.source(source)
        defer { close(input) }
        guard size <= sizeMax else { throw .tooLarge }
        let output = try self.create(name)
        defer { close(output) }
        try Self.seal(input, size: size, to: output, secret)
        StoreFiles.sync(self.folder)
        return size
    }

    /// A new file of the folder, which stays until `release` or `remove`.
    private func create(_ name: String) throws(FileFailure) -> Int32 {
        mkdir(self.folder, 0o700)
        self.held.insert(name)
        let output = glibcOpen(self.path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw .unreadable }
        return output
    }

    /// Seals a file of the host's into another one. It has its name only when it is whole.
    /// - Returns: its plain size.
    package static func seal(_ source: String, to target: String, _ secret: FileSecret) throws(FileFailure) -> Int64 {
        let (input, size) = try Self.source(source)
        defer { close(input) }
        try Self.make(target) { output throws(FileFailure) in
            try Self.seal(input, size: size, to: output, secret)
        }
        return size
    }

    /// The other way. Nothing is written of what is not what was sealed.
    package static func open(
        sealed source: String, to target: String, _ secret: FileSecret
    ) throws(FileFailure) {
        let (input, size) = try Self.source(source)
        defer { close(input) }
        try Self.open(input, sealedSize: size, to: target, secret)
    }

    private static func source(_ path: String) throws(FileFailure) -> (file: Int32, size: Int64) {
        let input = glibcOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        guard input >= 0 else { throw .unreadable }
        var status = stat()
        guard fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(input)
            throw .unreadable
        }
        return (input, Int64(status.st_size))
    }

    private static func seal(
        _ input: Int32, size: Int64, to output: Int32, _ secret: FileSecret
    ) throws(FileFailure) {
        guard var writer = SealedWriter(output, secret) else { throw .unreadable }
        while writer.size < size {
            let count = Int(min(size - writer.size, Int64(SecretboxPieces.pieceBytes)))
            guard let plain = Self.read(input, at: writer.size, count: count), !plain.isEmpty else {
                throw .unreadable
            }
            try writer.add(plain)
        }
        try writer.finish()
    }

    // MARK: By pieces

    /// Begins a file that the host gives by pieces. `finish` or `drop` must follow.
    /// - Parameter bytes: of the whole.
    /// - Throws: `.file(.tooLarge)`, `.tooMany`, `.file(.unreadable)` if it cannot be written.
    package func begin(bytes: Int64) throws(FileError) -> UUIDText {
        self.dropOverdue()
        guard bytes <= Transfers.sizeMax(ofType: "") else { throw .file(.tooLarge) }
        guard self.intake.hasRoom else { throw .tooMany }
        let (local, secret) = ("\(UUIDText.random())", FileSecret.random())
        let output: Int32
        do throws(FileFailure) { output = try self.create(local) } catch {
            self.remove(local)
            throw .file(error)
        }
        guard let writer = SealedWriter(output, secret) else { throw .file(.unreadable) }
        return self.intake.begin(GivenFile(local: local, secret: secret, size: bytes), writer)
    }

    /// - Parameter plain: all pieces but the last have `SecretboxPieces.pieceBytes`.
    package func add(_ plain: [UInt8], to id: UUIDText) throws(FileFailure) { try self.intake.add(plain, to: id) }

    /// The file waits for its message.
    /// - Throws: `.unreadable` if it is not whole, or cannot be written.
    package func finish(_ id: UUIDText, at now: ContinuousClock.Instant = .now) throws(FileFailure) {
        try self.intake.finish(id, at: now)
        Task { [weak self] in
            try? await Task.sleep(for: ClientLimits.fileGivenFor)
            await self?.dropOverdue()
        }
    }

    package func drop(_ id: UUIDText) { if let local = self.intake.drop(id) { self.remove(local) } }

    /// A file that was given, for a message. `release` or `remove` must follow.
    func take(_ id: UUIDText, at now: ContinuousClock.Instant = .now) -> GivenFile? {
        self.dropOverdue(at: now)
        return self.intake.take(id)
    }

    private func dropOverdue(at now: ContinuousClock.Instant = .now) {
        for local in self.intake.dropOverdue(at: now) { self.remove(local) }
    }

    /// Opens a sealed file to be read by pieces.
    /// - Throws: `.damaged` if it is not what was sealed; `.unreadable`.
    func plain(_ name: String, _ secret: FileSecret) throws(FileFailure) -> PlainFile {
        let input = glibcOpen(self.path(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard input >= 0 else { throw .unreadable }
        let sealed = try SealedFile(input, secret)
        // Nothing is decrypted before the tag of the whole is right.
        try Self.pass(over: sealed.reader, write: nil)
        return PlainFile(sealed)
    }

    /// A row names it now.
    package func release(_ name: String) { self.held.remove(name) }

    package func remove(_ name: String) {
        self.held.remove(name)
        unlink(self.path(name))
    }

    /// Whether nothing stands at a path of the host's, and its folder can be written.
    package static func canBeMade(at path: String) -> Bool {
        access(path, F_OK) != 0 && errno == ENOENT && access(StoreFiles.folder(of: path), W_OK | X_OK) == 0
    }

    /// Removes the folder.
    /// - Returns: whether it is gone.
    static func wipe(_ folder: String) -> Bool {
        for name in Self.names(in: folder) { unlink("\(folder)/\(name)") }
        return rmdir(folder) == 0 || errno == ENOENT
    }

    private static func names(in folder: String) -> [String] {
        guard let open = opendir(folder) else { return [] }
        defer { closedir(open) }
        var names: [String] = []
        while let entry = readdir(open) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Removes what no row names.
    package func sweep(keeping names: Set<String>) {
        for name in Self.names(in: self.folder) where !names.contains(name) && !self.held.contains(name) {
            unlink(self.path(name))
        }
    }

    /// - Returns: `nil` if there is no such file.
    package func size(of name: String) -> Int64? {
        var status = stat()
        guard lstat(self.path(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// A piece of a sealed file.
    /// - Returns: `nil` if it cannot be read.
    package func piece(of name: String, at place: Int64) -> [UInt8]? {
        let file = glibcOpen(self.path(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return Self.read(file, at: place, count: SecretboxPieces.pieceBytes)
    }

    /// Adds what came to a sealed file. At 0 it begins anew.
    /// - Returns: `false` if it cannot be written, or the file has another length.
    package func append(_ bytes: [UInt8], to name: String, at place: Int64) -> Bool {
        mkdir(self.folder, 0o700)
        let file = glibcOpen(self.path(name), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        if place == 0 { guard ftruncate(file, 0) == 0 else { return false } }
        guard lseek(file, 0, SEEK_END) == off_t(place) else { return false }
        return Self.write(bytes, to: file, at: place)
    }

    /// Opens a sealed file into one of the host's. It has its name only when all of it is the sender's.
    /// - Throws: `.damaged` if it is not what was sealed; `.unreadable` if a file cannot be read or written.
    package func open(_ name: String, to target: String, _ secret: FileSecret) throws(FileFailure) {
        let input = glibcOpen(self.path(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard input >= 0 else { throw .unreadable }
        defer { close(input) }
        try Self.open(input, sealedSize: Int64(lseek(input, 0, SEEK_END)), to: target, secret)
    }

    private static func open(
        _ input: Int32, sealedSize: Int64, to target: String, _ secret: FileSecret
    ) throws(FileFailure) {
        let reader = try SealedReader(input, sealedSize: sealedSize, secret)
        // Nothing is decrypted before the tag of the whole is right.
        try Self.pass(over: reader, write: nil)
        try Self.make(target) { output throws(FileFailure) in
            // Somebody may have written to the sealed file meanwhile.
            try Self.pass(over: reader, write: output)
        }
    }

    /// Makes a file of the host's, which has its name only when all of it is written.
    private static func make(_ target: String, _ write: (Int32) throws(FileFailure) -> Void) throws(FileFailure) {
        let partial = target + Self.targetSuffix
        unlink(partial)
        let output = glibcOpen(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw .unreadable }
        defer { close(output) }
        do throws(FileFailure) {
            try write(output)
            guard fsync(output) == 0, rename(partial, target) == 0 else { throw .unreadable }
            StoreFiles.sync(StoreFiles.folder(of: target))
        } catch {
            unlink(partial)
            throw error
        }
    }

    /// Removes the partial file that a killed process may have left beside the target.
    package func removePartial(of target: String) { unlink(target + Self.targetSuffix) }

    /// Reads a sealed file once, and decrypts it if it is to be written.
    private static func pass(over reader: SealedReader, write output: Int32?) throws(FileFailure) {
        var reader = reader
        var place: Int64 = 0
        while let piece = try reader.next(decrypts: output != nil) {
            if let output, !Self.write(piece, to: output, at: place) { throw .unreadable }
            place += Int64(piece.count)
        }
    }

    /// - Returns: fewer bytes only at the end of the file.
    static func read(_ file: Int32, at place: Int64, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes {
                pread(file, $0.baseAddress! + done, count - done, off_t(place) + off_t(done))
            }
            guard got >= 0 else { return nil }
            if got == 0 { break }
            done += got
        }
        return done == count ? bytes : Array(bytes[..<done])
    }

    static func write(_ bytes: [UInt8], to file: Int32, at place: Int64) -> Bool {
        var done = 0
        while done < bytes.count {
            let put = bytes.withUnsafeBytes {
                pwrite(file, $0.baseAddress! + done, bytes.count - done, off_t(place) + off_t(done))
            }
            guard put > 0 else { return false }
            done += put
        }
        return true
    }
}

/// `open` of the system: within the actor the name is another function's.
private func glibcOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
