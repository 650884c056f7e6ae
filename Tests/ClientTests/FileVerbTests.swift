import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Files as verbs, against a server in memory.
extension CoreTests {
    private static let size = 300_000

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(self.folder.path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func content(_ path: String) -> [UInt8]? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map { Array($0) }
    }

    /// Number of files in the folder of sealed files.
    private func sealed(_ name: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "\(self.folder.path)/\(name)/files").count) ?? 0
    }

    private func two() async throws -> (ann: Core, bob: Core, annID: String, bobID: String) {
        let (ann, bob) = (try self.open("ann"), try self.open("bob"))
        for core in [ann, bob] {
            try await self.perform(core, "identity_create")
            try await self.online(core)
        }
        let (annID, bobID) = (try await self.id(ann), try await self.id(bob))
        for (core, other) in [(ann, bobID), (bob, annID)] {
            try await self.perform(core, #"contact_add {"whisperId":"\#(other)"}"#)
            _ = try await self.next(core, "answer")
        }
        return (ann, bob, annID, bobID)
    }

    private func state(_ core: Core, _ event: String, _ state: String) async throws -> JSON {
        try await self.next(core, event) { $0["message"]?["attachment"]?["state"]?.string == state }.event["message"]!
    }

    @Test func aFileGoesOnWhereBothSidesWereKilled() async throws {
        var (ann, bob, annID, bobID) = try await self.two()
        let plain = Sodium.random(Self.size)
        let path = try self.file("tea.jpg", plain)
        let thumbnail = base64(Sodium.random(100))

        // Nothing of the upload moves until the sender is gone.
        self.server.objects.set { $0.holds = true }
        let command =
            #"attachment_send {"chat":"\#(bobID)","path":"\#(path)","mimeType":"image/jpeg","text":"tea","thumbnail":"\#(thumbnail)","clientId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#
        let sent = try await self.perform(ann, command)["message"]
        #expect(sent?["attachment"]?["state"]?.string == "waiting" && sent?["state"]?.string == "queued")
        #expect(try await self.perform(ann, command)["message"]?["messageId"] == sent?["messageId"])
        await ann.close()
        try FileManager.default.removeItem(atPath: path)
        #expect(self.sealed("ann") == 1 && self.server.accepted.isEmpty)
        self.server.objects.set { $0.holds = false }
        ann = try self.open("ann")
        try await self.online(ann)
        let received = try await self.next(bob, "messageReceived").event["message"]
        #expect(received?["text"]?.string == "tea" && received?["attachment"]?["state"]?.string == "offered")
        #expect(received?["attachment"]?["name"]?.string == "tea.jpg")
        #expect(received?["attachment"]?["size"]?.integer == Int64(Self.size))
        #expect(received?["attachment"]?["thumbnail"]?.string == thumbnail)
        _ = try await self.next(ann, "messageChanged") { $0["message"]?["state"]?.string == "delivered" }
        // Asked for once: its URL was still good.
        #expect(self.server.objects.state.withLock { $0.presigns } == 1)

        // The reader is killed in the middle, too.
        let target = "\(self.folder.path)/got.jpg"
        let messageID = received?["messageId"]?.string ?? ""
        let get = #"attachment_get {"messageId":"\#(messageID)","from":"\#(annID)","to":"\#(target)"}"#
        self.server.objects.set { $0.breaksAfter = [100_000, 0, 0, 0, 0, 0, 0, 0, 0] }
        try await self.perform(bob, get)
        _ = try await self.next(bob, "fileProgress") { $0["bytes"]?.integer ?? 0 >= 100_000 }
        await bob.close()
        #expect(self.content(target) == nil && self.sealed("bob") == 1)
        self.server.objects.set { $0.breaksAfter = [] }
        bob = try self.open("bob")
        try await self.online(bob)
        _ = try await self.state(bob, "messageChanged", "complete")
        #expect(self.content(target) == plain)
        let downloads = self.server.objects.state.withLock { $0.downloads }
        #expect(downloads.last?.start ?? 0 >= 100_000 && downloads.reduce(0) { $0 + $1.bytes } == Self.size + 16)
        // No event tells of it. The suite's time bounds the wait.
        while self.sealed("ann") + self.sealed("bob") > 0 { try await Task.sleep(for: .milliseconds(10)) }
        let chat = try await self.perform(bob, #"chat_get {"chat":"\#(annID)"}"#)["messages"]?.elements.last
        #expect(chat?["attachment"]?["state"]?.string == "complete")
        #expect(try await self.refusal(bob, get) == "file to")
        await ann.close()
        await bob.close()
    }

    @Test func aVoiceNoteArrivesWithItsLengthAndItsLoudness() async throws {
        let (ann, bob, _, bobID) = try await self.two()
        let path = try self.file("note.ogg", Sodium.random(500))
        func send(_ type: String, _ voice: String) -> String {
            #"attachment_send {"chat":"\#(bobID)","path":"\#(path)","mimeType":"\#(type)","voice":\#(voice)}"#
        }
        let voice = #"{"durationMs":2500,"waveform":"AP8="}"#
        #expect(try await self.refusal(ann, send("video/ogg", voice)) == "invalidField voice")
        for wrong in [#"{}"#, #"{"durationMs":0}"#, #"{"durationMs":3600001}"#, #"{"durationMs":1,"waveform":""}"#] {
            #expect(try await self.refusal(ann, send("audio/ogg", wrong)).hasPrefix("invalidField"), "\(wrong)")
        }
        let sent = try await self.perform(ann, send("audio/ogg", voice))["message"]
        let received = try await self.next(bob, "messageReceived").event["message"]
        for message in [sent, received] { #expect(message?["attachment"]?["voice"]?.text == voice) }
        #expect(self.server.messageTypes == ["voice"])
        // A restart keeps it.
        await bob.close()
        let again = try self.open("bob")
        let list = try await self.perform(again, #"chat_get {"chat":"\#(try await self.id(ann))"}"#)
        #expect(list["messages"]?.elements.last?["attachment"]?["voice"]?.text == voice)
        await ann.close()
        await again.close()
    }

    @Test func refusalsAreToldAndTriedAgain() async throws {
        let (ann, bob, annID, bobID) = try await self.two()
        let path = try self.file("a", Sodium.random(1_000))
        func send(_ more: String = "") -> String { #"attachment_send {"chat":"\#(bobID)","path":"\#(path)"\#(more)}"# }
        #expect(try await self.refusal(ann, send(#","name":"a/b""#)) == "invalidField name")
        #expect(try await self.refusal(ann, send(#","mimeType":"a b""#)) == "invalidField mimeType")
        #expect(try await self.refusal(ann, send(#","thumbnail":"?""#)) == "invalidField thumbnail")
        #expect(
            try await self.refusal(ann, #"attachment_send {"chat":"\#(bobID)","path":"/nowhere"}"#) == "file path")
        let large = try self.file("large", [])
        #expect(truncate(large, off_t(Limits.imageBytesMax)) == 0)
        #expect(
            try await self.refusal(
                ann, #"attachment_send {"chat":"\#(bobID)","path":"\#(large)","mimeType":"image/png"}"#)
                == "tooLarge path")
        #expect(self.sealed("ann") == 0)

        self.server.objects.set { $0.refusals = [403] }
        try await self.perform(ann, send())
        let failed = try await self.state(ann, "messageChanged", "failed")
        #expect(failed["attachment"]?["reason"]?.string == "quota" && failed["reason"]?.string == "fileNotUploaded")
        // A URL that has ended is asked for again.
        self.server.objects.set { $0.endsURLs = 1 }
        try await self.perform(ann, #"message_retry {"chat":"\#(bobID)"}"#)
        let received = try await self.next(bob, "messageReceived").event["message"]
        let id = received?["messageId"]?.string ?? ""
        #expect(self.server.objects.state.withLock { $0.presigns } == 2)

        // First the server's file differs from the sealed one, then the server has none.
        let target = "\(self.folder.path)/b"
        let get = #"attachment_get {"messageId":"\#(id)","from":"\#(annID)","to":"\#(target)"}"#
        self.server.objects.set { for key in $0.objects.keys { $0.objects[key]![500] ^= 1 } }
        try await self.perform(bob, get)
        let damaged = try await self.state(bob, "messageChanged", "failed")
        #expect(damaged["attachment"]?["reason"]?.string == "damaged" && self.content(target) == nil)
        self.server.objects.set { $0.objects = [:] }
        try await self.perform(bob, get)
        let gone = try await self.state(bob, "messageChanged", "failed")
        #expect(gone["attachment"]?["reason"]?.string == "gone" && self.sealed("bob") == 0)
        #expect(
            try await self.refusal(
                bob, #"attachment_get {"messageId":"\#(id)","from":"\#(annID)","to":"here"}"#) == "invalidField to")
        #expect(
            try await self.refusal(
                bob, #"attachment_get {"messageId":"\#(UUIDText.random())","from":"\#(annID)","to":"\#(target)"}"#)
                == "notFound messageId")
        await ann.close()
        await bob.close()
    }

    /// The file was uploaded, and its message not accepted: a program that is started again sends it.
    @Test func theMessageOfAnUploadedFileGoesAfterARestart() async throws {
        var (ann, bob, _, bobID) = try await self.two()
        let coming = try await ann.takeFile(bytes: 3)
        try await coming.add([1, 2, 3])
        try await coming.finish()
        self.server.set { $0.refusals = [("RATE_LIMITED", 600_000)] }
        try await self.perform(ann, #"attachment_send {"chat":"\#(bobID)","file":"\#(coming.id)"}"#)
        _ = try await self.state(ann, "messageChanged", "kept")
        // No event tells of a refusal that is tried again. The suite's time bounds the wait.
        while !self.server.state.withLock({ $0.faults.refusals.isEmpty }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        await ann.close()
        ann = try self.open("ann")
        try await self.online(ann)
        let received = try await self.next(bob, "messageReceived").event["message"]
        #expect(received?["attachment"]?["size"]?.integer == 3)
        await ann.close()
        await bob.close()
    }

    @Test func whatIsCancelledLeavesNothing() async throws {
        let (ann, bob, annID, bobID) = try await self.two()
        let path = try self.file("a", Sodium.random(Self.size))
        self.server.objects.set { $0.holds = true }
        let send = #"attachment_send {"chat":"\#(bobID)","path":"\#(path)"}"#
        let first = try await self.perform(ann, send)["message"]?["messageId"]?.string ?? ""
        let cancelled = try await self.perform(ann, #"attachment_cancel {"messageId":"\#(first)"}"#)["message"]
        #expect(cancelled?["state"]?.string == "failed" && cancelled?["reason"]?.string == "cancelled")
        #expect(self.sealed("ann") == 0)
        #expect(
            try await self.refusal(ann, #"attachment_cancel {"messageId":"\#(first)"}"#) == "notFound messageId")
        // A message that is deleted before its file is there does not go either.
        let second = try await self.perform(ann, send)["message"]?["messageId"]?.string ?? ""
        try await self.perform(ann, #"message_delete {"messageId":"\#(second)"}"#)
        let deleted = try await self.perform(ann, #"message_info {"messageId":"\#(second)"}"#)["message"]
        #expect(deleted?["attachment"] == nil && deleted?["state"]?.string == "failed")
        // No event tells of it. The suite's time bounds the wait.
        while self.sealed("ann") > 0 { try await Task.sleep(for: .milliseconds(10)) }
        self.server.objects.set { $0.holds = false }
        try await self.perform(ann, send)
        let received = try await self.next(bob, "messageReceived").event["message"]
        let id = received?["messageId"]?.string ?? ""
        #expect(id != first && id != second)

        self.server.objects.set { $0.breaksAfter = [100_000, 0, 0, 0, 0, 0, 0, 0, 0] }
        let target = "\(self.folder.path)/b"
        let get = #"attachment_get {"messageId":"\#(id)","from":"\#(annID)","to":"\#(target)"}"#
        try await self.perform(bob, get)
        _ = try await self.next(bob, "fileProgress")
        let stopped = try await self.perform(
            bob, #"attachment_cancel {"messageId":"\#(id)","from":"\#(annID)"}"#)["message"]
        #expect(stopped?["attachment"]?["state"]?.string == "offered")
        #expect(self.sealed("bob") == 0 && self.content(target) == nil)
        self.server.objects.set {
            $0.breaksAfter = []
            $0.ignoresRange = true
        }
        try await self.perform(bob, get)
        _ = try await self.state(bob, "messageChanged", "complete")
        #expect(self.content(target) == self.content(path))
        await ann.close()
        await bob.close()
    }

    /// A large file does not keep a small one waiting. Both directions share the bound.
    @Test func someFilesAreTransferredAtOnce() async throws {
        let (ann, bob, annID, bobID) = try await self.two()
        let objects = self.server.objects
        func held(_ count: Int) async throws {
            // No event tells of it. The suite's time bounds the wait.
            while objects.state.withLock({ $0.held.count }) < count { try await Task.sleep(for: .milliseconds(10)) }
        }
        let paths = try (0..<4).map { try self.file("file \($0)", Sodium.random(100 + $0)) }
        objects.set { $0.holds = true }
        for path in paths.dropLast() {
            try await self.perform(ann, #"attachment_send {"chat":"\#(bobID)","path":"\#(path)"}"#)
        }
        try await held(ClientLimits.transfersAtOnceMax)
        objects.set { $0.holds = false }
        var came: [String] = []
        for _ in paths.dropLast() {
            came.append(
                try await self.next(bob, "messageReceived").event["message"]?["messageId"]?.string ?? "")
        }
        objects.set { $0.holds = true }
        // Bob's upload, and his downloads.
        try await self.perform(bob, #"attachment_send {"chat":"\#(annID)","path":"\#(paths[3])"}"#)
        for (number, id) in came.enumerated() {
            let target = "\(self.folder.path)/got \(number)"
            try await self.perform(bob, #"attachment_get {"messageId":"\#(id)","from":"\#(annID)","to":"\#(target)"}"#)
        }
        try await held(ClientLimits.transfersAtOnceMax)
        objects.set { $0.holds = false }
        for _ in came {
            _ = try await self.next(bob, "messageChanged") { event in
                let message = event["message"]
                return message?["direction"]?.string == "in"
                    && message?["attachment"]?["state"]?.string == "complete"
            }
        }
        _ = try await self.next(ann, "messageReceived")
        #expect(objects.state.withLock { $0.atOnceMax } == ClientLimits.transfersAtOnceMax)
        #expect(Set((0..<3).map { self.content("\(self.folder.path)/got \($0)")?.count }) == [100, 101, 102])
        await ann.close()
        await bob.close()
    }

    /// Files that a host keeps by itself, for example downloaded ones.
    @Test func aHostSealsFilesOfItsOwn() async throws {
        let core = try self.open("ann")
        let plain = Sodium.random(Self.size)
        let path = try self.file("a", plain)
        func place(_ name: String) -> String { "\(self.folder.path)/\(name)" }
        func code(_ work: () throws -> Void) -> CoreError.Code? {
            do { try work() } catch { return (error as? CoreError)?.code }
            return nil
        }
        let answer = try JSON(parsing: try core.sealFile(from: path, to: place("s")))["result"]
        #expect(answer?["type"]?.string == "fileSealed" && answer?["bytes"]?.integer == Int64(Self.size))
        let key = try #require(answer?["key"]?.text)
        #expect(self.content(place("s"))?.count == Self.size + 16)
        _ = try core.openFile(from: place("s"), to: place("b"), key: Array(key.utf8))
        #expect(self.content(place("b")) == plain)

        let other = try JSON(parsing: try core.sealFile(from: path, to: place("t")))["result"]?["key"]?.text
        #expect(other != key)
        for wrong in [other ?? "", "{}", "x", key.replacing("\"key\"", with: "\"kay\"")] {
            let found = code { _ = try core.openFile(from: place("s"), to: place("c"), key: Array(wrong.utf8)) }
            #expect(found == (wrong == other ? .wrongKey : .invalidField))
        }
        #expect(code { _ = try core.sealFile(from: place("none"), to: place("c")) } == .file)
        #expect(code { _ = try core.sealFile(from: path, to: place("b")) } == .file)
        var damaged = try #require(self.content(place("s")))
        damaged[Self.size / 2] ^= 1
        _ = try self.file("d", damaged)
        #expect(code { _ = try core.openFile(from: place("d"), to: place("c"), key: Array(key.utf8)) } == .wrongKey)
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
        #expect(Set(names).isSubset(of: ["a", "b", "d", "s", "t", "ann"]))
        await core.close()
    }

    /// Nobody signs what a message points to.
    @Test func aServerCannotPutAFileIntoAnotherMessage() async throws {
        let (ann, bob, annID, bobID) = try await self.two()
        let path = try self.file("a", Sodium.random(100))
        let send = #"attachment_send {"chat":"\#(bobID)","path":"\#(path)"}"#
        try await self.perform(ann, send)
        _ = try await self.next(bob, "messageReceived")
        let first = self.server.state.withLock { $0.attachments.last }
        self.server.set { $0.falseAttachment = first }
        try await self.perform(ann, send)
        let second = try await self.next(bob, "messageReceived").event["message"]
        #expect(second?["attachment"]?["state"]?.string == "failed")
        #expect(second?["attachment"]?["reason"]?.string == "damaged")
        #expect(
            try await self.refusal(
                bob,
                #"attachment_get {"messageId":"\#(second?["messageId"]?.string ?? "")","from":"\#(annID)","to":"\#(path)2"}"#
            ) == "notFound messageId")
        await ann.close()
        await bob.close()
    }

    /// The first of them has made the group.
    private func threeInAGroup() async throws -> (cores: [Core], ids: [String], group: String) {
        var (cores, ids): ([Core], [String]) = ([], [])
        for name in ["ann", "bob", "carol"] {
            let core = try self.open(name)
            try await self.perform(core, "identity_create")
            try await self.online(core)
            cores.append(core)
            ids.append(try await self.id(core))
        }
        try await self.perform(cores[0], #"group_create {"title":"Hiking","members":["\#(ids[1])","\#(ids[2])"]}"#)
        let created = try await self.next(cores[0], "answer").event["result"]?["group"]
        let group = try #require(created?["groupId"]?.string)
        return (cores, ids, group)
    }

    @Test func eachMemberOfAGroupOpensTheFile() async throws {
        let (cores, ids, group) = try await self.threeInAGroup()
        let plain = Sodium.random(70_000)
        let path = try self.file("a", plain)
        try await self.perform(cores[0], #"attachment_send {"chat":"\#(group)","path":"\#(path)","text":"map"}"#)
        for (place, core) in cores.enumerated().dropFirst() {
            let message = try await self.next(core, "messageReceived").event["message"]
            #expect(message?["groupId"]?.string == group && message?["text"]?.string == "map")
            let target = "\(self.folder.path)/got\(place)"
            try await self.perform(
                core,
                #"attachment_get {"messageId":"\#(message?["messageId"]?.string ?? "")","from":"\#(ids[0])","to":"\#(target)"}"#
            )
            _ = try await self.state(core, "messageChanged", "complete")
            #expect(self.content(target) == plain)
        }
        // Uploaded once, for both.
        #expect(self.server.objects.state.withLock { $0.uploads } == [70_016])
        for core in cores { await core.close() }
    }

    /// The server drops a file to which no message points.
    @Test func whatNobodyInAGroupHasIsUploadedAgain() async throws {
        let (cores, ids, group) = try await self.threeInAGroup()
        let ann = cores[0]
        let plain = Sodium.random(1_000)
        let path = try self.file("a", plain)
        func uploads() -> Int { self.server.objects.state.withLock { $0.uploads.count } }
        func got(_ core: Core, _ id: String?) async throws {
            let message = try await self.next(core, "messageReceived").event["message"]
            #expect(message?["messageId"]?.string == id)
            let target = "\(self.folder.path)/\(UUIDText.random())"
            try await self.perform(
                core, #"attachment_get {"messageId":"\#(id ?? "")","from":"\#(ids[0])","to":"\#(target)"}"#)
            _ = try await self.state(core, "messageChanged", "complete")
            #expect(self.content(target) == plain)
        }

        self.server.set { $0.refusesCopiesTo = [ids[1], ids[2]] }
        let send = #"attachment_send {"chat":"\#(group)","path":"\#(path)"}"#
        let first = try await self.perform(ann, send)["message"]?["messageId"]?.string
        let failed = try await self.next(ann, "messageChanged") { $0["message"]?["state"]?.string == "failed" }
        #expect(failed.event["message"]?["failedMembers"]?.integer == 2 && uploads() == 1)
        self.server.set { $0.refusesCopiesTo = [] }
        self.server.objects.set { $0.objects = [:] }
        let retry = #"message_retry {"chat":"\#(group)"}"#
        #expect(try await self.perform(ann, retry)["count"]?.integer == 1)
        for core in cores.dropFirst() { try await got(core, first) }
        #expect(uploads() == 2 && self.sealed("ann") == 0)

        // A member whose copy has failed gets the file that another member already has.
        self.server.set { $0.refusesCopiesTo = [ids[2]] }
        let second = try await self.perform(ann, send)["message"]?["messageId"]?.string
        try await got(cores[1], second)
        _ = try await self.next(ann, "messageChanged") {
            $0["message"]?["messageId"]?.string == second && $0["message"]?["failedMembers"]?.integer == 1
                && $0["message"]?["state"]?.string != "queued"
        }
        self.server.set { $0.refusesCopiesTo = [] }
        #expect(try await self.perform(ann, retry)["count"]?.integer == 1)
        try await got(cores[2], second)
        #expect(uploads() == 3)
        for core in cores { await core.close() }
    }
}
