import CSealedFile
import Foundation
import SQLite
import Testing

/// A preamble's check of a key, and what the file system refuses.
@Suite struct KeyTests {
    private func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    private func made() throws -> SealedFolder {
        let folder = try SealedFolder()
        try folder.open().run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        return folder
    }

    @Test func thePreambleTellsWhatStandsThere() throws {
        let folder = try self.made()
        let right = self.key(SealedFolder.keyByte)
        #expect(sealed_file_check(folder.file, right) == SEALED_FILE_OPENS)
        #expect(sealed_file_check(folder.file, self.key(8)) == SEALED_FILE_WRONG_KEY)
        #expect(sealed_file_check(folder.path + "/none", right) == SEALED_FILE_MISSING)
        #expect(sealed_file_check(folder.path, right) == SEALED_FILE_UNREADABLE)
        let plain = folder.path + "/plain.db"
        try SealedFolder.open(plain).run("CREATE TABLE t (a)")
        #expect(sealed_file_check(plain, right) == SEALED_FILE_FOREIGN)
        try folder.write([1, 2, 3], to: folder.path + "/short")
        #expect(sealed_file_check(folder.path + "/short", right) == SEALED_FILE_FOREIGN)
        var bytes = folder.bytes(folder.file)
        bytes[16] = 2
        try folder.write(bytes, to: folder.path + "/new")
        #expect(sealed_file_check(folder.path + "/new", right) == SEALED_FILE_TOO_NEW)
        try folder.write([], to: folder.path + "/empty")
        #expect(sealed_file_check(folder.path + "/empty", right) == SEALED_FILE_MISSING)
    }

    /// No page is read after any change of the preamble.
    @Test func aDamagedPreambleOpensWithNoKey() throws {
        let folder = try self.made()
        let bytes = folder.bytes(folder.file)
        for place in 0..<Int(SEALED_FILE_PREAMBLE_BYTES) {
            var damaged = bytes
            damaged[place] ^= 1 << UInt8(place % 8)
            let file = folder.path + "/damaged.db"
            try folder.write(damaged, to: file)
            #expect(sealed_file_check(file, self.key(SealedFolder.keyByte)) != SEALED_FILE_OPENS, "byte \(place)")
            #expect(throws: DatabaseError.self, "byte \(place)") { try folder.open(file) }
        }
    }

    @Test func otherFilesAreRefusedAndStay() throws {
        let folder = try self.made()
        let wrong = try SealedFolder(keyByte: 8)
        let plain = folder.path + "/plain.db"
        try SealedFolder.open(plain, pragmas: "PRAGMA wal_checkpoint").run("CREATE TABLE t (a)")
        try folder.write([1, 2, 3], to: folder.path + "/short")
        for (opener, file) in [(wrong, folder.file), (folder, plain), (folder, folder.path + "/short")] {
            let before = folder.bytes(file)
            #expect(self.code { try opener.open(file) } == .notADatabase)
            #expect(folder.bytes(file) == before)
        }
        #expect(self.code { try SealedFolder.open("file:\(folder.file)?vfs=wsp&k=4000000000") } == .cannotOpen)
        #expect(self.code { try SealedFolder.open("file:\(folder.file)?vfs=wsp") } == .cannotOpen)
    }

    /// The code of SQLite's error, if opening fails.
    private func code(_ open: () throws -> DatabaseQueue) -> ResultCode? {
        do { _ = try open() } catch { return (error as? DatabaseError)?.resultCode }
        return nil
    }

    @Test func aPassphraseGivesTheKeyThatThePreambleDescribes() throws {
        let folder = try SealedFolder()
        var derivation = sealed_file_derivation()
        sealed_file_new_derivation(&derivation)
        #expect(derivation.kibibytes == 65_536 && derivation.operations == 3)
        var key = [UInt8](repeating: 0, count: 32)
        let phrase = Array("correct horse".utf8)
        try #require(sealed_file_derive(phrase, phrase.count, &derivation, &key) == 0)
        let handle = sealed_file_add_key(key, &derivation)
        defer { sealed_file_remove_key(handle) }
        try SealedFolder.open("file:\(folder.file)?vfs=wsp&k=\(handle)").run("CREATE TABLE t (a)")

        var read = sealed_file_derivation()
        try #require(sealed_file_read_derivation(folder.file, &read) == SEALED_FILE_OPENS)
        #expect(read.kind == SEALED_FILE_PASSPHRASE.rawValue)
        var again = [UInt8](repeating: 0, count: 32)
        try #require(sealed_file_derive(phrase, phrase.count, &read, &again) == 0)
        #expect(again == key)
        #expect(sealed_file_check(folder.file, again) == SEALED_FILE_OPENS)
        read.kibibytes = 1 << 30
        #expect(sealed_file_derive(phrase, phrase.count, &read, &again) != 0)
    }

    /// A rollback journal would be plain, and is in memory: what is worth something is in WAL mode and stays there.
    @Test func walModeStays() throws {
        let folder = try self.made()
        let queue = try folder.open()
        #expect(queue.answer("PRAGMA journal_mode = DELETE").hasPrefix("error"))
        #expect(try folder.open().answer("SELECT a FROM t") == "1")
        #expect(try folder.open().answer("PRAGMA journal_mode") == "\"wal\"")
    }

    @Test func pagesHaveOneSize() throws {
        let folder = try SealedFolder()
        let queue = try folder.open(pragmas: "PRAGMA page_size = 8192; PRAGMA mmap_size = 1000000")
        try queue.run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        #expect(queue.answer("PRAGMA page_size") == "4096")
        #expect(queue.answer("VACUUM") == "")
        #expect(queue.answer("SELECT a FROM t") == "1")
    }

    @Test func handlesAreNotUsedTwice() {
        var handles: [UInt32] = []
        for _ in 0..<20 {
            handles.append(sealed_file_add_key(self.key(1), nil))
            sealed_file_remove_key(handles.last!)
        }
        #expect(handles == handles.sorted() && Set(handles).count == 20 && handles[0] > 0)
    }
}
