import Contract
import Foundation
import Glibc
import NIOHTTP1
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// Files at the door of `whisper app`.
extension AppDoorTests {
    /// A text that no file on the disk may have in it.
    private static let plain = String(repeating: "nobody else reads this. ", count: 20_000)

    private func fileHeaders(_ world: World) -> [String] {
        self.changed(world.headers(isPost: true), "Content-Type", "application/octet-stream")
    }

    /// Files of a profile that have a part of the plain text in them.
    private func plainFiles(in folder: String) throws -> [String] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { name in
            let bytes = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
            return bytes.range(of: Data("nobody else reads".utf8)) != nil
        }
    }

    private func sealedFiles(of name: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: self.hosts.folder.path + "/\(name)/files")) ?? []
    }

    /// - Returns: the id of the file.
    private func give(_ world: World, _ body: String) async throws -> String {
        let answer = try await self.exchange(world, "POST /files", self.fileHeaders(world), body)
        return try #require(answer.firstMatch(of: #/\{"file":"([^"]+)"\}$/#).map { String($0.1) }, "\(answer)")
    }

    @Test func filesHaveTheRulesOfTheDoor() async throws {
        let world = try await self.world()
        let (get, post) = (world.headers(isPost: false), self.fileHeaders(world))
        let other = try #require(world.door.sessions.begin(with: world.door.sessions.launch()))
        func expect(_ status: Int, _ change: ([String]) -> [String], _ name: String) async throws {
            for (start, headers, body) in [("POST /files", post, "abc"), ("GET /files?messageId=x", get, "")] {
                let found = try await self.status(world, start, change(headers), body)
                #expect(found == status, "\(name): \(start)")
            }
        }
        let evil = try await self.status(world, "POST /files", post, "abc", hosts: ["evil.example:\(world.port)"])
        #expect(evil == 421)
        for site in ["cross-site", "same-site", "none"] {
            try await expect(403, { self.changed($0, "Sec-Fetch-Site", site) }, site)
        }
        let document = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        try await expect(403, { self.changed($0, "Sec-Fetch-Site") + document }, "a document")
        for origin in ["http://evil.example", "null", "http://127.0.0.1:\(world.port)"] {
            try await expect(403, { self.changed($0, "Origin", origin) }, origin)
        }
        #expect(try await self.status(world, "POST /files", self.changed(post, "Origin"), "abc") == 403)
        for type in ["application/json", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"] {
            try await expect(415, { self.changed($0, "Content-Type", type) }, type)
        }
        #expect(try await self.status(world, "POST /files", self.changed(post, "Content-Type"), "abc") == 415)
        try await expect(401, { self.changed($0, "Cookie") }, "no cookie")
        try await expect(401, { self.changed($0, "Whisper-Key") }, "no key")
        try await expect(401, { self.changed($0, "Whisper-Key", other.key) }, "another session's key")
        // A programs' door has no files.
        let bearer = BearerDoor(token: BearerToken(Array("secret".utf8)))
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/files")
        head.headers = ["authorization": "Bearer secret"]
        #expect(bearer.refusal(of: head) == .notFound)
        #expect(self.sealedFiles(of: "ann") == [])
        await world.http.close()
        await world.core.close()
    }

    @Test func aFileIsSealedAsItComesAndNothingOfItIsPlain() async throws {
        let world = try await self.world()
        let post = self.fileHeaders(world)
        func status(_ more: String, _ body: String = "") async throws -> Int {
            try await self.status(world, "POST /files", post + [more], body)
        }
        #expect(try await status("Expect: nothing") == 411)
        #expect(try await status("Transfer-Encoding: chunked") == 411)
        #expect(try await status("Content-Length: \(Core.fileBounds.file + 1)") == 413)
        #expect(try await status("Content-Length: -1") >= 400)
        #expect(self.sealedFiles(of: "ann") == [])

        // Two at a time, and a third is told so. A file that has not come whole goes with its connection.
        let half = String(Self.plain.prefix(200_000))
        let begun = try await Blocking.run {
            Result {
                try (0..<2).map { _ in
                    let socket = try LoopbackSocket.connected(world.port)
                    let lines =
                        ["POST /files HTTP/1.1", "Host: \(world.door.address.authority)"] + post
                        + ["Content-Length: \(Self.plain.utf8.count)", "", half]
                    DaemonSession.write(Array(lines.joined(separator: "\r\n").utf8), to: socket.descriptor)
                    return socket
                }
            }
        }.get()
        let folder = self.hosts.folder.path + "/ann/files/"
        func areHalf() -> Bool {
            let names = self.sealedFiles(of: "ann")
            return names.count == 2
                && names.allSatisfy { FileManager.default.contents(atPath: folder + $0)?.count ?? 0 >= 3 * 65_536 }
        }
        // No event tells of it. The suite's time bounds the waits.
        while !areHalf() { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try await status("Accept: */*", "abc") == 429)
        #expect(try self.plainFiles(in: self.hosts.folder.path) == [])
        for socket in begun { Glibc.close(socket.descriptor) }
        while self.sealedFiles(of: "ann") != [] { try await Task.sleep(for: .milliseconds(10)) }
        _ = try await self.give(world, Self.plain)
        #expect(self.sealedFiles(of: "ann").count == 1)
        #expect(try self.plainFiles(in: self.hosts.folder.path) == [])
        await world.http.close()
        await world.core.close()
    }

    @Test func aGivenFileWaitsTenMinutesForItsMessage() async throws {
        let files = TransferFiles(folder: self.hosts.folder.path + "/files")
        let now = ContinuousClock.now
        func given(_ now: ContinuousClock.Instant) async throws -> UUIDText {
            let id = try await files.begin(bytes: 3)
            try await files.add([1, 2, 3], to: id)
            try await files.finish(id, at: now)
            return id
        }
        let first = try await given(now)
        #expect(await files.take(first, at: now + ClientLimits.fileGivenFor) == nil)
        let second = try await given(now)
        #expect(await files.take(second, at: now + ClientLimits.fileGivenFor - .seconds(1))?.size == 3)
        #expect(await files.take(second, at: now) == nil)
        // Bounds, and files that are not what was announced.
        for _ in 0..<ClientLimits.filesGivenMax { _ = try await given(now) }
        await #expect(throws: FileError.tooMany) { try await files.begin(bytes: 3) }
        await #expect(throws: FileError.file(.tooLarge)) { try await files.begin(bytes: Core.fileBounds.file + 1) }
        let other = TransferFiles(folder: self.hosts.folder.path + "/other")
        let long = try await other.begin(bytes: 3)
        await #expect(throws: FileFailure.unreadable) { try await other.add([1, 2, 3, 4], to: long) }
        await #expect(throws: FileFailure.unreadable) { try await other.finish(long) }
        await other.drop(long)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.hosts.folder.path + "/other") == [])
    }

    /// From one page to the other: given, sent, kept, read. The same bytes come out.
    @Test func aFileGoesFromOneDoorToTheOther() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let (annID, bobID) = (try await ann.id, try await bob.id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bobID)"}"#)
        try await bob.ask(#"contact_add {"whisperId":"\#(annID)"}"#)
        let (first, second) = (try await self.openDoor(ann.core), try await self.openDoor(bob.core))
        let file = try await self.give(first, Self.plain)
        let image = #""image":{"width":640,"height":480}"#
        func send(_ more: String) -> String { #"attachment_send {"chat":"\#(bobID)",\#(more)}"# }
        #expect(try await ann.refusal(send(#""file":"\#(file)","path":"/a""#)) == "invalidField path")
        #expect(try await ann.refusal(send(#""name":"a""#)) == "invalidField path")
        #expect(try await ann.refusal(send(#""file":"\#(file)",\#(image)"#)) == "invalidField image")
        let whole = #""file":"\#(file)","name":"a.png","mimeType":"image/png",\#(image)"#
        let sent = try await ann.perform(send(whole))["message"]
        #expect(try await ann.refusal(send(whole)) == "notFound file")
        let received = try await bob.next("messageReceived")["message"]
        let size = received?["attachment"]?["image"]
        #expect(size?["width"]?.integer == 640 && size?["height"]?.integer == 480)
        let id = try #require(received?["messageId"]?.string)
        #expect(sent?["messageId"]?.string == id)
        // Ours is kept; theirs must be asked for.
        try await ann.next("messageChanged") { $0["message"]?["attachment"]?["state"]?.string == "kept" }
        let theirs = "GET /files?messageId=\(id)&from=\(annID)"
        #expect(try await self.status(second, theirs, second.headers(isPost: false)) == 404)
        try await bob.perform(#"attachment_keep {"messageId":"\#(id)","from":"\#(annID)"}"#)
        try await bob.next("messageChanged") { $0["message"]?["attachment"]?["state"]?.string == "kept" }
        for (world, start) in [(first, "GET /files?messageId=\(id)"), (first, theirs), (second, theirs)] {
            let answer = try await self.exchange(world, start, world.headers(isPost: false))
            #expect(answer.hasSuffix("\r\n\r\n" + Self.plain), "\(start)")
            let head = answer.prefix(2_000).lowercased()
            for line in ["content-type: application/octet-stream", "content-security-policy: sandbox"] {
                #expect(head.contains("\r\n" + line), "\(line)")
            }
        }
        for query in ["", "?messageId=\(id)&from=x", "?messageId=\(id)&from=\(bobID)", "?from=\(annID)"] {
            let found = try await self.status(second, "GET /files" + query, second.headers(isPost: false))
            #expect(found == 404, "\(query)")
        }
        #expect(try self.plainFiles(in: self.hosts.folder.path) == [])
        // A byte that was changed on the disk: nothing of the file is given out.
        let path = self.hosts.folder.path + "/bob/files/" + (self.sealedFiles(of: "bob").first ?? "")
        var sealed = try Data(contentsOf: URL(filePath: path))
        sealed[sealed.count - 10] ^= 1
        try sealed.write(to: URL(filePath: path))
        #expect(try await self.status(second, theirs, second.headers(isPost: false)) == 409)
        // A message that is deleted takes its file along.
        try await ann.perform(#"message_delete {"messageId":"\#(id)"}"#)
        #expect(try await self.status(first, "GET /files?messageId=\(id)", first.headers(isPost: false)) == 404)
        for (world, host) in [(first, ann), (second, bob)] {
            await world.http.close()
            await host.core.close()
        }
    }
}
