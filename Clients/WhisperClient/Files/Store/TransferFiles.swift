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
        mkdir(self.folder, 0o700)
        self.held.insert(name)
        let output = glibcOpen(self.path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw .unreadable }
        defer { close(output) }
        try Self.seal(input, size: size, to: output, secret)
        StoreFiles.sync(self.folder)
        return size
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
        guard var pieces = SecretboxPieces(key: secret.key, nonce: secret.nonce) else { throw .unreadable }
        var place: Int64 = 0
        var number = 0
        while place < size {
            let plain = Self.read(input, at: place, count: Int(min(size - place, Int64(SecretboxPieces.pieceBytes))))
            guard let plain, !plain.isEmpty else { throw .unreadable }
            let sealed = pieces.crypt(plain, number: number)
            pieces.authenticate(sealed)
            guard Self.write(sealed, to: output, at: Int64(SecretboxPieces.tagBytes) + place) else {
                throw .unreadable
            }
            place += Int64(plain.count)
            number += 1
        }
        guard Self.write(pieces.tag(), to: output, at: 0), fsync(output) == 0 else { throw .unreadable }
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
        let size = sealedSize - Int64(SecretboxPieces.tagBytes)
        guard size >= 0, let tag = Self.read(input, at: 0, count: SecretboxPieces.tagBytes) else { throw .damaged }
        // Nothing is decrypted before the tag of the whole is right.
        try Self.pass(over: input, size: size, tag: tag, secret, write: nil)
        try Self.make(target) { output throws(FileFailure) in
            // Somebody may have written to the sealed file meanwhile.
            try Self.pass(over: input, size: size, tag: tag, secret, write: output)
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
    private static func pass(
        over input: Int32, size: Int64, tag: [UInt8], _ secret: FileSecret, write output: Int32?
    ) throws(FileFailure) {
        guard var pieces = SecretboxPieces(key: secret.key, nonce: secret.nonce) else { throw .damaged }
        var place: Int64 = 0
        var number = 0
        while place < size {
            let count = Int(min(size - place, Int64(SecretboxPieces.pieceBytes)))
            guard let sealed = Self.read(input, at: Int64(SecretboxPieces.tagBytes) + place, count: count),
                sealed.count == count
            else { throw .unreadable }
            pieces.authenticate(sealed)
            if let output {
                guard Self.write(pieces.crypt(sealed, number: number), to: output, at: place) else {
                    throw .unreadable
                }
            }
            place += Int64(count)
            number += 1
        }
        guard pieces.isTag(tag) else { throw .damaged }
    }

    /// - Returns: fewer bytes only at the end of the file.
    private static func read(_ file: Int32, at place: Int64, count: Int) -> [UInt8]? {
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

    private static func write(_ bytes: [UInt8], to file: Int32, at place: Int64) -> Bool {
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
