import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient

/// Files of messages, less the network: sealed and opened on disk, pointed to, named.
@Suite struct FileTests {
    private static let piece = SecretboxPieces.pieceBytes

    let folder: TemporaryFolder
    let files: TransferFiles

    init() throws {
        self.folder = try TemporaryFolder()
        self.files = TransferFiles(folder: self.folder.path + "/files")
    }

    private func path(_ name: String) -> String { "\(self.folder.path)/\(name)" }
    private func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    // MARK: On disk

    @Test(arguments: [0, 1, 15, 16, 31, 32, 33, 63, 64, 65, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 17])
    func aSealedFileIsOneSecretbox(_ size: Int) async throws {
        let (plain, secret) = (Sodium.random(size), FileSecret.random())
        try self.write(plain, to: self.path("a"))
        #expect(try await self.files.seal(self.path("a"), as: "s", secret, sizeMax: Int64(size)) == size)
        let sealed = try self.bytes(self.files.folder + "/s")
        #expect(sealed == Sodium.secretbox(plain, nonce: secret.nonce, key: secret.key.bytes))
        try await self.files.open("s", to: self.path("b"), secret)
        #expect(try self.bytes(self.path("b")) == plain)
        await #expect(throws: FileFailure.tooLarge) {
            try await self.files.seal(self.path("a"), as: "t", secret, sizeMax: Int64(size) - 1)
        }
    }

    /// Lengths and pieces as they come, from seeds.
    @Test(arguments: 0..<40) func anyFileComesBack(_ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let size = Int.random(in: 0...4 * Self.piece, using: &random)
        let (plain, secret) = (Sodium.random(size), FileSecret.random())
        let sealed = Sodium.secretbox(plain, nonce: secret.nonce, key: secret.key.bytes)
        var place = 0
        while place < sealed.count {
            let end = min(place + Int.random(in: 1...100_000, using: &random), sealed.count)
            #expect(await self.files.append(Array(sealed[place..<end]), to: "s", at: Int64(place)))
            // A piece that leaves a gap is refused.
            #expect(await !self.files.append([0], to: "s", at: Int64(end + 1)))
            place = end
        }
        try await self.files.open("s", to: self.path("b"), secret)
        #expect(try self.bytes(self.path("b")) == plain)
        var upload: [UInt8] = []
        while let piece = await self.files.piece(of: "s", at: Int64(upload.count)), !piece.isEmpty { upload += piece }
        #expect(upload == sealed)
    }

    @Test(arguments: [0, 15, 16, 70_000]) func damageLeavesNothingAtTheTarget(_ place: Int) async throws {
        let secret = FileSecret.random()
        var sealed = Sodium.secretbox(Sodium.random(100_000), nonce: secret.nonce, key: secret.key.bytes)
        sealed[place] ^= 1
        #expect(await self.files.append(sealed, to: "s", at: 0))
        await #expect(throws: FileFailure.damaged) {
            try await self.files.open("s", to: self.path("b"), secret)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["files"])
        #expect(await self.files.append(Array(sealed[..<10]), to: "short", at: 0))
        await #expect(throws: FileFailure.damaged) {
            try await self.files.open("short", to: self.path("b"), secret)
        }
    }

    @Test func onlyFilesAreSealedAndWhatIsHeldStays() async throws {
        let secret = FileSecret.random()
        for path in [self.path("missing"), self.folder.path, "/dev/null"] {
            await #expect(throws: FileFailure.unreadable) {
                try await self.files.seal(path, as: "x", secret, sizeMax: 10)
            }
        }
        try self.write([1], to: self.path("a"))
        for name in ["held", "named", "left"] {
            _ = try await self.files.seal(self.path("a"), as: name, secret, sizeMax: 1)
            if name != "held" { await self.files.release(name) }
        }
        await self.files.sweep(keeping: ["named"])
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: self.files.folder)) == ["held", "named"])
        #expect(TransferFiles.wipe(self.files.folder) && TransferFiles.wipe(self.files.folder))
    }

    // MARK: In messages

    @Test func whatASenderSaysOfAFileIsReadAgain() {
        let nonce = Sodium.random(24)
        let thumbnail = Sodium.random(ClientLimits.thumbnailBytesMax)
        let reference = MessageReference(id: .random(), author: WhisperID("WSP-AAAA-AAAA-AAAA")!)
        for details in [
            FileDetails(name: "a \"b\".jpg", type: "image/jpeg", size: 0),
            FileDetails(
                name: String(repeating: "\"", count: ClientLimits.fileNameBytesMax),
                type: String(repeating: "\"", count: ClientLimits.fileTypeBytesMax), size: Limits.fileBytesMax,
                thumbnail: thumbnail),
            FileDetails(name: nil, type: "x", size: 1),
            FileDetails(
                name: nil, type: "audio/ogg", size: 1,
                voice: VoiceNote(durationMs: 3_600_000, waveform: (0..<64).map { $0 * 4 })),
            FileDetails(name: nil, type: "audio/ogg", size: 1, voice: VoiceNote(durationMs: 1, waveform: nil)),
        ] {
            let body = MessageBody.file(details, nonce: nonce, text: "see\0this", .init(replyTo: reference))
            #expect(MessageBody(body.bytes, id: .random()) == body)
        }
        for name in ["..", "a/b", "a\nb", "", String(repeating: "x", count: 256)] {
            let details = FileDetails(name: name, type: "x", size: 1)
            let read = MessageBody(
                MessageBody.file(details, nonce: nonce, text: "", .init()).bytes, id: .random())
            let unnamed = FileDetails(name: nil, type: "x", size: 1)
            #expect(read == .file(unnamed, nonce: nonce, text: "", .init()), "\(name)")
        }
        for wrong in [
            FileDetails(name: nil, type: "a b", size: 1), FileDetails(name: nil, type: "x", size: -1),
            FileDetails(name: nil, type: "x", size: Limits.fileBytesMax + 1),
            FileDetails(name: nil, type: "x", size: 1, thumbnail: thumbnail + [0]),
        ] {
            #expect(
                MessageBody(MessageBody.file(wrong, nonce: nonce, text: "", .init()).bytes, id: .random()) == nil)
        }
    }

    @Test func aVoiceNoteIsAFileForEverybodyElse() throws {
        let voice = try #require(VoiceNote(durationMs: 11_001, waveform: [0, 255]))
        let details = FileDetails(name: "note.ogg", type: "audio/ogg", size: 9, voice: voice)
        let body = MessageBody.file(details, nonce: Sodium.random(24), text: "", .init())
        #expect(body.messageType == "voice")
        let text = String(decoding: body.bytes, as: UTF8.self)
        #expect(text.contains(#""voice":{"durationMs":11001,"waveform":"AP8="}"#))
        // Bounds of the other side's word: what is beyond them is left out, and the file stays.
        for (was, wrong) in [
            ("11001", "0"), ("11001", "3600001"), (#""AP8=""#, #""""#), (#""AP8=""#, #""?""#),
            ("audio/ogg", "video/ogg"),
            (#""AP8=""#, #""\#(base64([UInt8](repeating: 1, count: 65)))""#),
        ] {
            let read = MessageBody(Array(text.replacing(was, with: wrong).utf8), id: .random())
            guard case .file(let details, _, _, _)? = read else {
                Issue.record("\(wrong): no file")
                continue
            }
            #expect(details.voice == nil && details.size == 9, "\(wrong)")
        }
        #expect(VoiceNote(durationMs: 1, waveform: []) == nil && VoiceNote(durationMs: 0, waveform: nil) == nil)
    }

    @Test func aPointerOpensForItsReaderAlone() throws {
        let (ann, bob, eve) = (
            IdentityKeys(Mnemonic.random()), IdentityKeys(Mnemonic.random()), IdentityKeys(Mnemonic.random())
        )
        let secret = FileSecret.random()
        let details = FileDetails(name: nil, type: "image/png", size: 84)
        let pointer = try FilePointer(
            details, secret, objectKey: "att/2026/01/x.bin", reader: bob.publicKeys, keys: ann)
        #expect(pointer.ciphertextSize == 100 && pointer.contentType == "image/png")
        let opened = try #require(pointer.secret(from: ann.publicKeys, keys: bob))
        #expect(opened.key.bytes == secret.key.bytes && opened.nonce == secret.nonce)
        #expect(opened.objectKey == "att/2026/01/x.bin")
        #expect(pointer.secret(from: eve.publicKeys, keys: bob) == nil)
        #expect(pointer.secret(from: ann.publicKeys, keys: eve) == nil)
        for key in ["", "a b", "a\r\nb", "a?b", "%2e", String(repeating: "x", count: 129)] {
            var other = pointer
            other.objectKey = key
            #expect(other.secret(from: ann.publicKeys, keys: bob) == nil, "\(key)")
        }
    }

    @Test func urlsAreTakenApartAsTheyWereSigned() throws {
        let url = try #require(FileURL("https://objects.example/b/att/x.bin?a=%2F&b=c"))
        #expect(url.authority == "objects.example" && url.path == "/b/att/x.bin?a=%2F&b=c")
        #expect(url.server.port == 443 && url.server.isSecure)
        #expect(try #require(FileURL("http://127.0.0.1:9000?x")).path == "/?x")
        for wrong in ["", "ftp://x/y", "http://a b/", "http://x/\r\nhost: y", "http:///x", "/x"] {
            #expect(FileURL(wrong) == nil, "\(wrong)")
        }
    }

    @Test(arguments: [1, 10, 19, 20, 21, 65_552, 50_000_000] as [Int64]) func progressIsToldSoOften(_ total: Int64) {
        var steps = ProgressSteps(total: total)
        let told = stride(from: 0, through: total, by: Int(max(total / 997, 1))).filter { steps.isStep($0) }
        let (last, again) = (steps.isStep(total), steps.isStep(total))
        #expect(told.count + (last ? 1 : 0) <= ClientLimits.progressStepsMax + 1)
        #expect(last || told.last == total)
        #expect(!again)
        var resumed = ProgressSteps(total: total, from: total - 1)
        let (before, after) = (resumed.isStep(total - 1), resumed.isStep(total))
        #expect(!before && after)
    }
}
