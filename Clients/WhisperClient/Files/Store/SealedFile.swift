import Glibc

/// Seals what comes piece by piece into a file. The tag stands in front, and is written last.
struct SealedWriter: Sendable {
    private let output: Int32
    private var pieces: SecretboxPieces
    private var number = 0
    /// Plain bytes so far.
    private(set) var size: Int64 = 0

    /// - Returns: `nil` for a secret of another size.
    init?(_ output: Int32, _ secret: FileSecret) {
        guard let pieces = SecretboxPieces(key: secret.key, nonce: secret.nonce) else { return nil }
        (self.output, self.pieces) = (output, pieces)
    }

    /// - Parameter plain: all pieces but the last have `SecretboxPieces.pieceBytes`.
    mutating func add(_ plain: [UInt8]) throws(FileFailure) {
        let sealed = self.pieces.crypt(plain, number: self.number)
        self.pieces.authenticate(sealed)
        let place = Int64(SecretboxPieces.tagBytes) + self.size
        guard TransferFiles.write(sealed, to: self.output, at: place) else { throw .unreadable }
        self.size += Int64(plain.count)
        self.number += 1
    }

    func finish() throws(FileFailure) {
        guard TransferFiles.write(self.pieces.tag(), to: self.output, at: 0), fsync(self.output) == 0 else {
            throw .unreadable
        }
    }

    func close() { Glibc.close(self.output) }
}

/// Reads a sealed file piece by piece, from its beginning.
struct SealedReader: Sendable {
    let input: Int32
    /// Plain bytes.
    let size: Int64
    private let tag: [UInt8]
    private var pieces: SecretboxPieces
    private var number = 0
    private var isChecked = false

    /// - Throws: `.damaged` if it is too short.
    init(_ input: Int32, sealedSize: Int64, _ secret: FileSecret) throws(FileFailure) {
        self.size = sealedSize - Int64(SecretboxPieces.tagBytes)
        guard self.size >= 0, let tag = TransferFiles.read(input, at: 0, count: SecretboxPieces.tagBytes),
            let pieces = SecretboxPieces(key: secret.key, nonce: secret.nonce)
        else { throw .damaged }
        (self.input, self.tag, self.pieces) = (input, tag, pieces)
    }

    /// The next piece, as it is or decrypted. The last one comes only if the tag of all is right.
    /// - Returns: `nil` at the end.
    mutating func next(decrypts: Bool) throws(FileFailure) -> [UInt8]? {
        let place = Int64(self.number) * Int64(SecretboxPieces.pieceBytes)
        let count = Int(max(0, min(self.size - place, Int64(SecretboxPieces.pieceBytes))))
        guard count > 0 || !self.isChecked else { return nil }
        guard let sealed = TransferFiles.read(input, at: Int64(SecretboxPieces.tagBytes) + place, count: count),
            sealed.count == count
        else { throw .unreadable }
        self.pieces.authenticate(sealed)
        if place + Int64(count) >= self.size {
            guard self.pieces.isTag(self.tag) else { throw .damaged }
            self.isChecked = true
        }
        defer { self.number += 1 }
        guard count > 0 else { return nil }
        return decrypts ? self.pieces.crypt(sealed, number: self.number) : sealed
    }
}

/// A sealed file that is open.
final class SealedFile: Sendable {
    let reader: SealedReader

    /// It closes the descriptor, also if it throws.
    init(_ input: Int32, _ secret: FileSecret) throws(FileFailure) {
        do throws(FileFailure) {
            self.reader = try SealedReader(input, sealedSize: Int64(lseek(input, 0, SEEK_END)), secret)
        } catch {
            Glibc.close(input)
            throw error
        }
    }

    deinit { Glibc.close(self.reader.input) }
}

/// The plain bytes of a sealed file whose tag was right, read by pieces. Memory is needed for one piece.
package actor PlainFile {
    private nonisolated let executor = QueueExecutor(label: "whisper-plain-file")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let file: SealedFile
    private var reader: SealedReader
    package nonisolated let size: Int64

    init(_ file: SealedFile) {
        (self.file, self.reader, self.size) = (file, file.reader, file.reader.size)
    }

    /// - Returns: `nil` at the end.
    /// - Throws: `.damaged` before the last piece if the file was changed meanwhile.
    package func next() throws(FileFailure) -> [UInt8]? { try self.reader.next(decrypts: true) }
}
