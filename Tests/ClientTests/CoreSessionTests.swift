import Contract
import Foundation
import Synchronization
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Session, push tokens, settings, typing and presence through the facade, against a server in memory.
@Suite(.timeLimit(.minutes(20))) struct CoreSessionTests {
    let kit: CoreTests

    init() throws { self.kit = try CoreTests() }

    /// Two cores that are online and know each other.
    func friends() async throws -> (ann: Core, annID: String, bob: Core, bobID: String) {
        let (ann, bob) = (try self.kit.open("ann"), try self.kit.open("bob"))
        for core in [ann, bob] {
            try await self.kit.perform(core, "identity_create")
            try await self.kit.online(core)
        }
        let (annID, bobID) = (try await self.kit.id(ann), try await self.kit.id(bob))
        for (core, other) in [(ann, bobID), (bob, annID)] {
            try await self.kit.perform(core, #"contact_add {"whisperId":"\#(other)"}"#)
            _ = try await self.kit.next(core, "answer")
        }
        return (ann, annID, bob, bobID)
    }

    @Test func aLogoutEndsTheSessionAndAnotherConnectLogsIn() async throws {
        let core = try self.kit.open("ann")
        try await self.kit.perform(core, "identity_create")
        try await self.kit.perform(core, "logout")
        #expect(try await self.kit.next(core, "answer").event["error"]?["code"]?.string == "offline")
        try await self.kit.online(core)
        self.kit.server.refuseNext("logout", "INTERNAL_ERROR")
        try await self.kit.perform(core, "logout")
        #expect(try await self.kit.next(core, "answer").event["error"]?["code"]?.string == "server")
        try await self.kit.perform(core, "logout")
        var (isAnswered, isStopped) = (false, false)
        while !isAnswered || !isStopped {
            let text = try #require(await core.nextEvent(within: .seconds(30)))
            let event = try JSON(parsing: Array(text.utf8))["event"]
            if event?["type"]?.string == "answer" {
                isAnswered = true
                #expect(event?["result"]?["type"]?.string == "loggedOut")
            }
            if event?["state"]?.string == "stopped" {
                isStopped = true
                #expect(event?["reason"]?.string == "closed")
            }
        }
        // It does not come back by itself, nor with the old token.
        try await self.kit.perform(core, "disconnect")
        #expect(self.kit.server.logins == 1)
        try await self.kit.online(core)
        #expect(self.kit.server.logins == 2)
        await core.close()
    }

    /// - Returns: the answer to `account_delete`, and the reason for which the connection ends.
    private func leave(_ core: Core, _ parameters: String) async throws -> (answer: JSON, reason: String) {
        try await self.kit.perform(core, "account_delete \(parameters)")
        var (answer, reason): (JSON?, String?)
        while true {
            if let answer, let reason { return (answer, reason) }
            let text = try #require(await core.nextEvent(within: .seconds(30)))
            let event = try JSON(parsing: Array(text.utf8))["event"]
            if event?["type"]?.string == "answer" { answer = event }
            if event?["state"]?.string == "stopped" { reason = event?["reason"]?.string }
        }
    }

    /// Queued mail goes out before the erasure is asked for. The signature is over the server's challenge, the own id and the fate of sent mail.
    @Test func leavingIsSignedForTheOwnIDAndLeavesTheStore() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let server = self.kit.server
        server.set { $0.refusals = [("RATE_LIMITED", 500)] }
        try await self.kit.perform(ann, #"message_send {"to":"\#(bobID)","text":"Farewell."}"#)
        let (end, reason) = try await self.leave(ann, #"{"confirm":"\#(annID)","sentMail":"withdraw"}"#)
        let answer = end["result"]
        #expect(answer?["type"]?.string == "accountDeleted" && answer?["erasureId"]?.string?.count == 36)
        #expect(reason == "erased")
        let seen = server.seen
        let (sent, begun) = (seen.lastIndex(of: "send_message"), seen.firstIndex(of: "account_delete_begin"))
        #expect(try #require(sent) < #require(begun))
        #expect(server.accepted.count == 1)
        let frame = try #require(server.frames("account_delete").last)
        #expect(frame["whisperId"]?.string == annID && frame["sentMail"]?.string == "withdraw")
        let statement = AccountDelete.statement(
            challengeID: try #require(frame["challengeId"]?.string.flatMap { UUIDText($0) }),
            whisperID: try #require(WhisperID(annID)), sentMail: .withdraw,
            challenge: server.state.withLock { $0.faults.erasureChallenge })
        let keys = try #require(server.state.withLock { $0.keys[annID] })
        let signature = try #require(frame["signature"]?.string.flatMap { Base64.decode($0) })
        #expect(Sodium.verify(signature, of: Sodium.sha256(statement), publicKey: keys.sign.bytes))
        // The store stays on the device.
        #expect(try await self.kit.perform(ann, "contact_list")["contacts"]?.elements.count == 1)
        #expect(try await self.kit.next(bob, "messageReceived").event["message"]?["text"]?.string == "Farewell.")
        await ann.close()
        await bob.close()
    }

    @Test func nothingButAnErasureOfTheOwnIDIsSignedAtLeaving() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let server = self.kit.server
        func refusal(_ confirm: String) async throws -> JSON? {
            try await self.kit.perform(ann, #"account_delete {"confirm":"\#(confirm)"}"#)
            return try await self.kit.next(ann, "answer").event["error"]
        }
        let foreign = try await refusal(bobID)
        #expect(foreign?["code"]?.string == "invalidField" && foreign?["field"]?.string == "confirm")
        await #expect(throws: CoreError.self) { try await ann.deleteAccount(confirming: bobID) }
        #expect(server.frames("account_delete_begin").isEmpty)
        server.refuseNext("account_delete_begin", "RATE_LIMITED")
        #expect(try await refusal(annID)?["code"]?.string == "tooMany")
        // The signature of a login's challenge would let the server log in elsewhere.
        server.set { $0.erasureChallenge = Array("whisper-register".utf8) + Sodium.random(16) }
        let (answer, reason) = try await self.leave(ann, #"{"confirm":"\#(annID)"}"#)
        #expect(answer["error"]?["code"]?.string == "offline" && reason == "foreignChallenge")
        #expect(server.frames("account_delete").isEmpty)
        try await self.kit.perform(ann, "disconnect")
        try await self.kit.online(ann)
        server.set { $0.erasureChallenge = AccountDeleteChallenge.prefix + Sodium.random(16) }
        try await ann.deleteAccount(confirming: annID.lowercased())
        #expect(server.frames("account_delete").last?["sentMail"]?.string == "keep")
        await ann.close()
        await bob.close()
    }

    /// As after an answer that was lost: the server refuses the login.
    @Test func anIdentityThatWasErasedBeforeIsWiped() async throws {
        let (ann, annID, bob, _) = try await self.friends()
        _ = try await self.leave(ann, #"{"confirm":"\#(annID)"}"#)
        try await self.kit.perform(ann, #"account_delete {"confirm":"\#(annID)","wipe":true}"#)
        let answer = try await self.kit.next(ann, "answer").event["result"]
        #expect(answer?["type"]?.string == "accountDeleted" && answer?["erasureId"] == nil)
        #expect(answer?["isWiped"] == .bool(true))
        #expect(self.kit.server.frames("account_delete_begin").count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.kit.folder.path + "/ann").isEmpty)
        await ann.close()
        await bob.close()
    }

    /// The folder is then free for another identity, whose events come as those of the first did.
    @Test func leavingWithAWipeLeavesNothingInTheFolder() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let folder = self.kit.folder.path + "/ann"
        try await self.kit.perform(ann, #"events_subscribe {"consumer":"app"}"#)
        try await self.kit.perform(ann, #"account_delete {"confirm":"\#(annID)","wipe":true}"#)
        let answer = try await self.kit.next(ann, "answer").event["result"]
        #expect(answer?["isWiped"] == .bool(true) && answer?["erasureId"]?.string?.count == 36)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        #expect(try await self.kit.perform(ann, "identity_show")["hasIdentity"] == .bool(false))
        #expect(try await self.kit.refusal(ann, "contact_list") == "noIdentity")
        try await self.kit.perform(ann, "identity_create")
        try await self.kit.perform(ann, #"events_subscribe {"consumer":"app"}"#)
        try await self.kit.online(ann)
        let newID = try await self.kit.id(ann)
        #expect(newID != annID)
        try await self.kit.perform(bob, #"contact_add {"whisperId":"\#(newID)"}"#)
        _ = try await self.kit.next(bob, "answer")
        try await self.kit.perform(bob, #"message_send {"to":"\#(newID)","text":"Hello again."}"#)
        let request = try await self.kit.next(ann, "requestReceived")
        #expect(request.event["contact"]?["whisperId"]?.string == bobID && request.number != nil)
        await ann.close()
        await bob.close()
    }

    /// The first refusal cancels what waits. Keys and history stay, and a server that knows the person again ends it.
    @Test func aContactThatTheServerDoesNotKnowIsNoLongerThere() async throws {
        let (ann, _, bob, bobID) = try await self.friends()
        func contact() async throws -> JSON? {
            try await self.kit.perform(ann, "contact_list")["contacts"]?.elements.first
        }
        let pinned = try await contact()
        #expect(pinned?["isGone"] == nil && pinned?["encPublicKey"] != nil)
        try await self.kit.perform(ann, "disconnect")
        var messages: [String] = []
        for number in 1...3 {
            let sent = try await self.kit.perform(ann, #"message_send {"to":"\#(bobID)","text":"Number \#(number)"}"#)
            messages.append(try #require(sent["message"]?["messageId"]?.string))
        }
        let before = self.kit.server.seen.count { $0 == "send_message" }
        self.kit.server.set { $0.refusals = [("NOT_FOUND", nil)] }
        try await self.kit.online(ann)
        let news = try await self.kit.next(ann, "contactChanged")
        #expect(news.event["contact"]?["isGone"] == .bool(true))
        for id in messages {
            while true {
                let kept = try await self.kit.perform(ann, #"message_info {"messageId":"\#(id)"}"#)["message"]
                guard ["queued", "sending"].contains(kept?["state"]?.string) else {
                    #expect(kept?["state"]?.string == "failed" && kept?["reason"]?.string == "noSuchPerson")
                    break
                }
                await Task.yield()
            }
        }
        #expect(self.kit.server.seen.count { $0 == "send_message" } == before + 1)
        let gone = try await contact()
        #expect(gone?["isGone"] == .bool(true) && gone?["encPublicKey"] == pinned?["encPublicKey"])
        let chat = try await self.kit.perform(ann, "chat_list")["chats"]?.elements.first
        #expect(chat?["isGone"] == .bool(true) && chat?["chat"]?.string == bobID)

        func add() async throws -> JSON {
            try await self.kit.perform(ann, #"contact_add {"whisperId":"\#(bobID)"}"#)
            return try await self.kit.next(ann, "answer").event
        }
        // Nobody else's keys under the id.
        let foreign = IdentityKeys(Mnemonic.random()).publicKeys
        self.kit.server.set { $0.falseKeys = [bobID: foreign] }
        #expect(try await add()["error"]?["code"]?.string == "foreignKeys")
        #expect(try await contact() == gone)
        self.kit.server.set { $0.falseKeys = [:] }
        #expect(try await add()["result"]?["contact"]?["isGone"] == nil)
        #expect(try await contact() == pinned)
        // A look at the keys finds it as well.
        self.kit.server.state.withLock { $0.keys[bobID] = nil }
        #expect(try await add()["error"]?["code"]?.string == "notFound")
        #expect(try await contact() == gone)
        await ann.close()
        await bob.close()
    }

    @Test func anExportIsAFileForTheOwnerAlone() async throws {
        let core = try self.kit.open("ann")
        try await self.kit.perform(core, "identity_create")
        let file = self.kit.folder.path + "/held.json"
        func export(_ path: String) async throws -> JSON {
            try await self.kit.perform(core, #"account_export {"to":"\#(path)"}"#)
            return try await self.kit.next(core, "answer").event
        }
        #expect(try await export(file)["error"]?["code"]?.string == "offline")
        try await self.kit.online(core)
        self.kit.server.state.withLock { $0.isExportRefused = true }
        #expect(try await export(file)["error"]?["code"]?.string == "tooMany")
        #expect(!FileManager.default.fileExists(atPath: file))
        self.kit.server.state.withLock { $0.isExportRefused = false }
        for path in ["held.json", "/nowhere/at/all"] {
            #expect(try await export(path)["error"]?["field"]?.string == "to")
        }
        let written = try await export(file)["result"]
        let content = try #require(FileManager.default.contents(atPath: file))
        #expect(written?["type"]?.string == "accountExported" && written?["sizeBytes"]?.integer == Int64(content.count))
        #expect(try await String(decoding: content, as: UTF8.self) == #"{"whisperId":"\#(self.kit.id(core))"}"#)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // A file that is there stays, and so does one that appears while the server answers: the name is taken first.
        #expect(try await export(file)["error"]?["code"]?.string == "file")
        #expect(FileManager.default.contents(atPath: file) == content)
        let new = self.kit.folder.path + "/new.json"
        let isTaken = Mutex(false)
        self.kit.server.state.withLock { state in
            state.onExport = { isTaken.withLock { $0 = FileManager.default.fileExists(atPath: new) } }
        }
        #expect(try await export(new)["result"] != nil && isTaken.withLock { $0 })
        await core.close()
    }

    @Test func anInvitationIsALinkOfOurServer() async throws {
        let core = try self.kit.open("ann")
        try await self.kit.perform(core, "identity_create")
        func ask(_ verb: String) async throws -> JSON {
            try await self.kit.perform(core, verb)
            return try await self.kit.next(core, "answer").event
        }
        #expect(try await ask("invitation_create")["error"]?["code"]?.string == "offline")
        try await self.kit.online(core)
        let wish = #"invitation_create {"expiresInSeconds":60,"form":"web","name":"Ann"}"#
        let made = try #require(try await ask(wish)["result"])
        #expect(made["type"]?.string == "invitation" && made["expiresAt"]?.integer == 60)
        let (text, token) = (made["text"]?.string ?? "", made["token"]?.string ?? "")
        let id = try await self.kit.id(core)
        #expect(text.contains("/invite#\(token)&add=\(id)&") && InvitationToken(token) != nil)
        let read = try await self.kit.perform(core, #"link_read {"text":"\#(text)"}"#)
        let add = try #require(read["add"]?.string)
        let inviter = try await self.kit.perform(core, #"link_read {"text":"\#(add)"}"#)
        #expect(read["kind"]?.string == "invite" && inviter["whisperId"]?.string == id)
        #expect(inviter["name"]?.string == "Ann" && inviter["isOurs"] == .bool(true))
        let usual = try await ask("invitation_create")["result"]
        #expect(
            usual?["text"]?.string?.hasPrefix("whisper://invite/") == true && usual?["expiresAt"]?.integer == 604_800)
        for (status, code) in [(403, "forbidden"), (429, "tooMany"), (500, "server")] {
            self.kit.server.state.withLock { $0.invitationStatus = status }
            #expect(try await ask("invitation_create")["error"]?["code"]?.string == code)
        }
        for text in [text, token] {
            let revoked = try await ask(#"invitation_revoke {"text":"\#(text)"}"#)["result"]
            #expect(revoked?["type"]?.string == "invitationRevoked")
        }
        for (text, code) in [("hello", "invalidField"), ("whisper://invite/other.example#\(token)", "otherServer")] {
            #expect(try await ask(#"invitation_revoke {"text":"\#(text)"}"#)["error"]?["code"]?.string == code)
        }
        #expect(self.kit.server.state.withLock { $0.revokedInvitations } == [token, token])
        await core.close()
    }

    @Test func pushTokensReachTheServerAndComeAgainWithEachLogin() async throws {
        let core = try self.kit.open("ann")
        try await self.kit.perform(core, "identity_create")
        func isOwed() async throws -> Bool {
            try await self.kit.perform(core, "settings_get")["owesPushTokens"] == .bool(true)
        }
        try await self.kit.perform(core, "push_set")
        #expect(try await !isOwed())
        try await self.kit.perform(core, #"push_set {"pushToken":"made-up"}"#)
        #expect(try await isOwed())
        self.kit.server.refuseNext("update_tokens", "RATE_LIMITED")
        try await self.kit.online(core)
        while try await isOwed() { await Task.yield() }
        var frames = self.kit.server.frames("update_tokens")
        #expect(frames.count == 2 && frames.last?["pushToken"]?.string == "made-up")
        #expect(frames.last?.members["voipToken"] == nil)
        try await self.kit.perform(core, #"push_set {"pushToken":null,"voipToken":"other"}"#)
        while try await isOwed() { await Task.yield() }
        frames = self.kit.server.frames("update_tokens")
        #expect(frames.last?.members["pushToken"] == .null && frames.last?["voipToken"]?.string == "other")
        self.kit.server.forgetSessions()
        self.kit.server.breakConnections()
        _ = try await self.kit.next(core, "connection") { $0["state"]?.string == "online" }
        while self.kit.server.frames("update_tokens").count < 4 { await Task.yield() }
        await core.close()
    }

    /// A host with several accounts asks each of them whose a push is. The secret stays with each login, and is another after a logout.
    @Test func eachAccountKnowsItsPushes() async throws {
        func isOwed(_ core: Core) async throws -> Bool {
            try await self.kit.perform(core, "settings_get")["owesPushTokens"] == .bool(true)
        }
        func shown(by core: Core) async throws -> WakeSecret {
            while try await isOwed(core) { await Task.yield() }
            let text = try #require(self.kit.server.frames("update_tokens").last?["wakeSecret"]?.string)
            return try #require(Base64.decode(text).flatMap { WakeSecret($0) })
        }
        let wakeID = try #require(UUIDText("0F8FAD5B-d9cb-469f-a165-70867728950e"))
        func isMine(_ tag: String, _ core: Core) async throws -> Bool {
            let answer = try await self.kit.perform(core, #"push_match {"tag":"\#(tag)","wakeId":"\#(wakeID)"}"#)
            return answer["isMine"] == .bool(true)
        }
        func tag(_ secret: WakeSecret) -> String { secret.tag(of: wakeID, hmacSHA256: Sodium.hmacSHA256) }
        let (ann, bob) = (try self.kit.open("ann"), try self.kit.open("bob"))
        var secrets: [WakeSecret] = []
        for core in [ann, bob] {
            try await self.kit.perform(core, "identity_create")
            #expect(try await isMine("ov1gMzhV5YQ", core) == false)
            try await self.kit.perform(core, #"push_set {"pushToken":"the phone's"}"#)
            try await self.kit.online(core)
            secrets.append(try await shown(by: core))
        }
        #expect(secrets[0] != secrets[1])
        for (index, secret) in secrets.enumerated() {
            #expect(try await isMine(tag(secret), ann) == (index == 0))
            #expect(try await isMine(tag(secret), bob) == (index == 1))
        }
        #expect(try await isMine(tag(secrets[0]) + "A", ann) == false)
        await bob.close()

        self.kit.server.forgetSessions()
        self.kit.server.breakConnections()
        _ = try await self.kit.next(ann, "connection") { $0["state"]?.string == "online" }
        while self.kit.server.frames("update_tokens").count < 3 { await Task.yield() }
        #expect(try await shown(by: ann) == secrets[0])
        try await self.kit.perform(ann, "logout")
        _ = try await self.kit.next(ann, "connection") { $0["state"]?.string == "stopped" }
        #expect(try await isMine(tag(secrets[0]), ann) == false)
        try await self.kit.perform(ann, "disconnect")
        try await self.kit.online(ann)
        while self.kit.server.frames("update_tokens").count < 4 { await Task.yield() }
        let next = try await shown(by: ann)
        #expect(!secrets.contains(next))
        #expect(try await isMine(tag(next), ann) == true)
        await ann.close()
    }

    /// A store of a release without secrets gives its server one, without a login or another token.
    @Test func tokensOfAStoreOfBeforeGetASecret() async throws {
        let core = try self.kit.open("ann")
        try await self.kit.perform(core, "identity_create")
        try await self.kit.perform(core, #"push_set {"pushToken":"the phone's"}"#)
        try await self.kit.online(core)
        while self.kit.server.frames("update_tokens").isEmpty { await Task.yield() }
        while try await self.kit.perform(core, "settings_get")["owesPushTokens"] == .bool(true) { await Task.yield() }
        await core.close()
        let profile = try Profile.open(at: self.kit.folder.path + "/ann")
        try profile.store.forgetWakeSecret()
        profile.close()
        let again = try self.kit.open("ann")
        try #require(try await self.kit.perform(again, "settings_get")["owesPushTokens"] == .bool(true))
        try await self.kit.online(again)
        while self.kit.server.frames("update_tokens").count < 2 { await Task.yield() }
        let (old, new) = (self.kit.server.frames("update_tokens")[0], self.kit.server.frames("update_tokens")[1])
        #expect(new["pushToken"]?.string == "the phone's" && new["wakeSecret"]?.string != nil)
        #expect(new["wakeSecret"] != old["wakeSecret"] && self.kit.server.logins == 1)
        await again.close()
    }

    @Test func readReceiptsAreKeptBackIfThePersonWantsIt() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let off = try await self.kit.perform(bob, #"settings_set {"readReceipts":false}"#)["settings"]
        #expect(off?["readReceipts"] == .bool(false) && off?["typing"] == .bool(true))
        #expect(try await self.kit.next(bob, "settingsChanged").event["settings"] == off)
        #expect(try await self.kit.perform(bob, "settings_get")["settings"] == off)
        func say(_ text: String) async throws {
            try await self.kit.perform(ann, #"message_send {"to":"\#(bobID)","text":"\#(text)"}"#)
            _ = try await self.kit.next(bob, "messageReceived")
            let number = try await self.kit.perform(bob, #"chat_get {"chat":"\#(annID)"}"#)["messages"]?
                .elements.last?["number"]?.integer
            try await self.kit.perform(bob, #"chat_read {"chat":"\#(annID)","upTo":\#(number ?? 0)}"#)
            // Read marks go before it.
            try await self.kit.perform(bob, #"message_send {"to":"\#(annID)","text":"back"}"#)
            _ = try await self.kit.next(ann, "messageReceived")
        }
        try await say("one")
        #expect(!self.kit.server.receipts.contains { $0.hasPrefix("read") })
        #expect(try await self.kit.perform(bob, "message_unread")["count"]?.integer == 0)
        try await self.kit.perform(bob, #"settings_set {"readReceipts":true}"#)
        try await say("two")
        while self.kit.server.receipts.count(where: { $0.hasPrefix("read") }) == 0 { await Task.yield() }
        #expect(self.kit.server.receipts.count { $0.hasPrefix("read") } == 1)
        await ann.close()
        await bob.close()
    }

    @Test func typingIsToldShownAndKeptBack() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        func type(_ isTyping: Bool) async throws -> String? {
            try await self.kit.perform(ann, #"typing {"chat":"\#(bobID)","isTyping":\#(isTyping)}"#)["state"]?.string
        }
        #expect(try await type(false) == "known")
        #expect(try await type(true) == "now")
        #expect(try await type(true) == "known")
        var event = try await self.kit.next(bob, "typing").event
        #expect(event["chat"]?.string == annID && event["isTyping"] == .bool(true))
        #expect(try await type(false) == "later")
        event = try await self.kit.next(bob, "typing").event
        #expect(event["isTyping"] == .bool(false))
        #expect(self.kit.server.frames("typing").count == 2)
        try await self.kit.perform(ann, #"settings_set {"typing":false}"#)
        #expect(try await type(true) == "off")
        #expect(
            try await self.kit.refusal(ann, #"typing {"chat":"WSP-AAAA-AAAA-AAAA","isTyping":true}"#)
                == "unknownContact chat")
        await bob.close()
        try await self.kit.perform(ann, "disconnect")
        #expect(try await self.kit.refusal(ann, #"typing {"chat":"\#(bobID)","isTyping":true}"#) == "offline")
        await ann.close()
    }

    @Test func presenceOfContactsIsKnownWhileThereIsAConnection() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let stranger = "WSP-AAAA-AAAA-AAAA"
        for id in [stranger, bobID] {
            self.kit.server.tell("presence_update", #"{"whisperId":"\#(id)","status":"online"}"#, to: annID)
        }
        #expect(try await self.kit.next(ann, "presence").event["whisperId"]?.string == bobID)
        var list = try await self.kit.perform(ann, "presence_list")["presences"]?.elements ?? []
        #expect(list.count == 1 && list[0]["status"]?.string == "online")
        let offline = #"{"whisperId":"\#(bobID)","status":"offline","lastSeen":1730000000000}"#
        self.kit.server.tell("presence_update", offline, to: annID)
        #expect(try await self.kit.next(ann, "presence").event["lastSeen"]?.integer == 1_730_000_000_000)
        list = try await self.kit.perform(ann, #"presence_list {"after":"\#(bobID)"}"#)["presences"]?.elements ?? []
        #expect(list.isEmpty)
        try await self.kit.perform(ann, #"settings_set {"presence":false}"#)
        list = try await self.kit.perform(ann, "presence_list")["presences"]?.elements ?? []
        #expect(list.isEmpty)
        try await self.kit.perform(ann, #"settings_set {"presence":true}"#)
        self.kit.server.tell("presence_update", offline, to: annID)
        _ = try await self.kit.next(ann, "presence")
        try await self.kit.perform(ann, "disconnect")
        list = try await self.kit.perform(ann, "presence_list")["presences"]?.elements ?? []
        #expect(list.isEmpty)
        await ann.close()
        await bob.close()
    }

    @Test func peopleAreAddedByLinksThatVouchForTheirKeys() async throws {
        let (ann, bob) = (try self.kit.open("ann"), try self.kit.open("bob"))
        for core in [ann, bob] {
            try await self.kit.perform(core, "identity_create")
            try await self.kit.online(core)
        }
        let bobID = try await self.kit.id(bob)
        let link = try #require(try await self.kit.perform(bob, #"contact_link {"name":"Bob"}"#)["text"]?.string)
        let web = try #require(try await self.kit.perform(bob, #"contact_link {"form":"web"}"#)["text"]?.string)
        let read = try await self.kit.perform(ann, #"link_read {"text":"\#(link)"}"#)
        #expect(read["kind"]?.string == "add" && read["whisperId"]?.string == bobID && read["name"]?.string == "Bob")
        #expect(read["isOurs"] == .bool(false) && read["isOtherServer"] == .bool(false))
        #expect(try await self.kit.perform(bob, #"link_read {"text":"\#(web)"}"#)["isOurs"] == .bool(true))
        #expect(try await self.kit.refusal(ann, #"link_read {"text":"hello"}"#) == "invalidField text")

        func answer(_ core: Core, _ parameters: String) async throws -> JSON {
            try await self.kit.perform(core, "contact_add " + parameters)
            return try await self.kit.next(core, "answer").event
        }
        func code(_ parameters: String) async throws -> String? {
            try await answer(ann, parameters)["error"]?["code"]?.string
        }
        // Another server is asked nothing, and neither is ours.
        let asked = self.kit.server.keyQuestions
        let elsewhere = "whisper://add/\(bobID)?v=1&o=other.example&f=AAAAAAAAAAAAAAAAAAAAAA"
        #expect(try await code(#"{"link":"\#(elsewhere)"}"#) == "otherServer")
        #expect(try await code(#"{"link":"\#(link.replacing("v=1", with: "v=2"))"}"#) == "newerLink")
        #expect(try await code(#"{"link":"\#(link)","whisperId":"\#(bobID)"}"#) == "invalidField")
        #expect(try await answer(bob, #"{"link":"\#(link)"}"#)["error"]?["code"]?.string == "toSelf")
        #expect(self.kit.server.keyQuestions == asked)
        // The server's keys fit the id, and not the link: nothing is pinned.
        let forged = link.replacing(/f=[^&]*/, with: "f=AAAAAAAAAAAAAAAAAAAAAA")
        #expect(try await code(#"{"link":"\#(forged)"}"#) == "foreignKeys")
        #expect(try await self.kit.perform(ann, "contact_list")["contacts"]?.elements.isEmpty == true)
        // A link that came by some way verifies nobody; one read off the other's screen does.
        let added = try await answer(ann, #"{"link":"\#(link)"}"#)["result"]?["contact"]
        #expect(added?["whisperId"]?.string == bobID && added?["name"] == nil && added?["isVerified"] == nil)
        #expect(added?["verification"]?.string == "linked")
        let scanned = try await answer(ann, #"{"link":"\#(web)","source":"scan","name":"Bob"}"#)["result"]?["contact"]
        #expect(scanned?["name"]?.string == "Bob" && scanned?["isVerified"] == .bool(true))
        #expect(scanned?["verification"]?.string == "scanned")
        // Keys in a link of the first releases need no server.
        let keys = try #require(scanned)
        let old =
            "whisper:\(bobID)?s=\(Self.base64URL(keys["signPublicKey"]))&e=\(Self.base64URL(keys["encPublicKey"]))"
        let before = self.kit.server.keyQuestions
        let known = try await answer(ann, #"{"link":"\#(old)"}"#)["result"]?["contact"]
        // A link takes nothing from keys that were scanned.
        #expect(known?["whisperId"]?.string == bobID && known?["verification"]?.string == "scanned")
        #expect(self.kit.server.keyQuestions == before)
        // A link with other keys changes nothing of a known contact.
        let otherKeys = old.replacing(/s=[^&]*/, with: "s=" + Base64URL.encode([UInt8](repeating: 7, count: 32)))
        try await self.kit.perform(ann, #"contact_add {"link":"\#(forged)","source":"scan","name":"Eve"}"#)
        #expect(try await self.kit.next(ann, "alarm").event["kind"]?.string == "changedKeys")
        #expect(try await self.kit.next(ann, "answer").event["error"]?["code"]?.string == "changedKeys")
        #expect(try await code(#"{"link":"\#(otherKeys)","source":"scan","name":"Eve"}"#) == "changedKeys")
        #expect(try await self.kit.perform(ann, "contact_list")["contacts"]?.elements == [try #require(known)])
        await ann.close()
        await bob.close()
    }

    private static func base64URL(_ key: JSON?) -> String {
        Base64URL.encode(Base64.decode(key?.string ?? "") ?? [])
    }

    @Test func contactsAreVerifiedByTheNumberThatBothSee() async throws {
        let (ann, _, bob, bobID) = try await self.friends()
        let number = try await self.kit.perform(ann, #"contact_safety {"whisperId":"\#(bobID)"}"#)["number"]?.string
        let wrong = String((number ?? "").reversed())
        #expect(
            try await self.kit.refusal(
                ann, #"contact_verify {"whisperId":"\#(bobID)","isVerified":true,"number":"\#(wrong)"}"#)
                == "changedKeys number")
        try await self.kit.perform(
            ann, #"contact_verify {"whisperId":"\#(bobID)","isVerified":true,"number":"\#(number ?? "")"}"#)
        _ = try await self.kit.next(ann, "contactChanged") { $0["contact"]?["isVerified"] == .bool(true) }
        await ann.close()
        let again = try self.kit.open("ann")
        let contact = try await self.kit.perform(again, "contact_list")["contacts"]?.elements.first
        #expect(contact?["isVerified"] == .bool(true))
        #expect(try await self.kit.perform(again, "store_check")["isWhole"] == .bool(true))
        await again.close()
        await bob.close()
    }

    @Test func chatsTellOfDraftsReadingAndClearing() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        for number in 1...5 {
            try await self.kit.perform(ann, #"message_send {"to":"\#(bobID)","text":"\#(number)"}"#)
            _ = try await self.kit.next(bob, "messageReceived")
        }
        let all = try await self.kit.perform(bob, #"chat_get {"chat":"\#(annID)"}"#)["messages"]?.elements ?? []
        let numbers = all.compactMap { $0["number"]?.integer }
        func texts(_ more: String) async throws -> [String] {
            try await self.kit.perform(bob, #"chat_get {"chat":"\#(annID)",\#(more)}"#)["messages"]?.elements
                .compactMap { $0["text"]?.string } ?? []
        }
        #expect(try await texts(#""around":\#(numbers[2]),"limit":3"#) == ["2", "3", "4"])
        #expect(try await texts(#""around":\#(numbers[4]),"limit":3"#) == ["3", "4", "5"])
        #expect(try await texts(#""around":\#(numbers[0]),"limit":4"#) == ["1", "2", "3"])
        #expect(
            try await self.kit.refusal(bob, #"chat_get {"chat":"\#(annID)","around":1,"before":2}"#)
                == "invalidField around")
        try await self.kit.perform(bob, #"chat_draft {"chat":"\#(annID)","text":"It may"}"#)
        var event = try await self.kit.next(bob, "chatChanged").event
        #expect(event["draft"]?.string == "It may" && event["unread"]?.integer == 5)
        try await self.kit.perform(bob, #"chat_read {"chat":"\#(annID)","upTo":\#(numbers[1])}"#)
        event = try await self.kit.next(bob, "chatChanged").event
        #expect(event["unread"]?.integer == 3)
        try await self.kit.perform(bob, #"chat_clear {"chat":"\#(annID)"}"#)
        event = try await self.kit.next(bob, "chatChanged").event
        #expect(event["unread"]?.integer == 0 && event["draft"]?.string == "It may")
        // The same marks as those of the contact.
        try await self.kit.perform(bob, #"chat_mark {"chat":"\#(annID)","pinned":true}"#)
        event = try await self.kit.next(bob, "chatChanged").event
        #expect(event["isPinned"] == .bool(true) && event["isMuted"] == .bool(false))
        let contact = try await self.kit.perform(bob, "contact_list")["contacts"]?.elements.first
        #expect(contact?["isPinned"] == .bool(true))
        await ann.close()
        await bob.close()
    }

    @Test func aReportReachesTheServer() async throws {
        let (ann, _, bob, bobID) = try await self.friends()
        try await self.kit.perform(ann, #"report_send {"whisperId":"\#(bobID)","reason":"spam","note":"since Monday"}"#)
        _ = try await self.kit.next(ann, "answer") { $0["result"]?["type"]?.string == "reported" }
        let report = self.kit.server.frames("report").first
        #expect(report?["targetId"]?.string == bobID && report?["note"]?.string == "since Monday")
        self.kit.server.refuseNext("report", "RATE_LIMITED")
        try await self.kit.perform(ann, #"report_send {"whisperId":"\#(bobID)","reason":"other"}"#)
        #expect(try await self.kit.next(ann, "answer").event["error"]?["code"]?.string == "tooMany")
        await ann.close()
        await bob.close()
    }

    /// The server takes it for what it has relayed: the signature covers all that is given on.
    @Test func aReportHasAMessageAsItCame() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        try await self.kit.perform(bob, #"message_send {"to":"\#(annID)","text":"Buy this"}"#)
        let id = try #require(try await self.kit.next(ann, "messageReceived").event["message"]?["messageId"]?.string)
        let wish = #"report_send {"whisperId":"\#(bobID)","reason":"spam","messageId":"\#(id)"}"#
        try await self.kit.perform(ann, wish)
        _ = try await self.kit.next(ann, "answer") { $0["result"]?["type"]?.string == "reported" }
        let evidence = try #require(self.kit.server.frames("report").first?["evidence"])
        let sent = try #require(self.kit.server.frames("message_received").first { $0["messageId"]?.string == id })
        for name in ["messageId", "from", "to", "msgType", "timestamp", "nonce", "ciphertext", "sig"] {
            #expect(evidence[name] != nil && evidence[name] == sent[name], "\(name)")
        }
        // It goes with the message.
        try await self.kit.perform(ann, #"chat_clear {"chat":"\#(bobID)"}"#)
        try await self.kit.perform(ann, wish)
        #expect(try await self.kit.next(ann, "answer").event["error"]?["code"]?.string == "notFound")
        await ann.close()
        await bob.close()
    }

    @Test func aBackupIsWrittenAndDeletedAtWish() async throws {
        let (ann, annID, bob, _) = try await self.friends()
        let id = try #require(WhisperID(annID))
        while try await self.kit.perform(ann, "backup_status")["isBackedUp"] != .bool(true) { await Task.yield() }
        try await self.kit.perform(ann, #"settings_set {"backup":false}"#)
        let written = self.kit.server.backupsWritten
        try await self.kit.perform(ann, "backup_now")
        while self.kit.server.backupsWritten == written { await Task.yield() }
        while try await self.kit.perform(ann, "backup_status")["isBackedUp"] != .bool(true) { await Task.yield() }
        #expect(self.kit.server.backup(of: id) != nil)
        try await self.kit.perform(ann, "backup_delete")
        _ = try await self.kit.next(ann, "answer") { $0["result"]?["type"]?.string == "backupDeleted" }
        #expect(self.kit.server.backup(of: id) == nil)
        try await self.kit.perform(ann, "disconnect")
        #expect(try await self.kit.refusal(ann, "backup_now") == "offline")
        await ann.close()
        await bob.close()
    }

    @Test func aCallRingsIsAnsweredAndEnds() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let start = #"call_start {"chat":"\#(bobID)","isVideo":true,"sdp":"offer"}"#
        let id = try #require(try await self.kit.perform(ann, start)["callId"]?.string)
        #expect(try await self.kit.refusal(ann, start) == "busy")
        let rings = try await self.kit.next(bob, "callIncoming").event
        #expect(rings["sdp"]?.string == "offer" && rings["chat"]?.string == annID && rings["isVideo"] == .bool(true))
        _ = try await self.kit.next(ann, "callRinging")
        let call = #""callId":"\#(id)""#
        #expect(try await self.kit.refusal(ann, "call_answer {\(call),\"sdp\":\"x\"}") == "wrongStage callId")
        try await self.kit.perform(bob, "call_answer {\(call),\"sdp\":\"answer\"}")
        #expect(try await self.kit.next(bob, "callTaken").event["callId"]?.string == id)
        #expect(try await self.kit.next(ann, "callAnswered").event["sdp"]?.string == "answer")
        try await self.kit.perform(ann, "call_ice {\(call),\"candidate\":\"path\"}")
        #expect(try await self.kit.next(bob, "callCandidate").event["candidate"]?.string == "path")
        // Signals that the server forges are not shown: the call goes on.
        for type in ["call_ice_candidate", "call_end"] {
            var forged = try #require(self.kit.server.frames("call_ice_candidate").last?.members)
            forged["ciphertext"] = .string("Y2lwaGVydGV4dA==")
            self.kit.server.tell(type, JSON.object(forged).text, to: bobID)
        }
        try await self.kit.perform(ann, "call_ice {\(call),\"candidate\":\"other\"}")
        #expect(try await self.kit.next(bob, "callCandidate").event["candidate"]?.string == "other")
        try await self.kit.perform(bob, "call_end {\(call)}")
        for core in [ann, bob] {
            #expect(try await self.kit.next(core, "callEnded").event["reason"]?.string == "ended")
        }
        #expect(self.kit.server.frames("call_end").count == 1)
        #expect(try await self.kit.refusal(bob, "call_end {\(call)}") == "notFound callId")
        // A repetition of the old call does not ring.
        var old = try #require(self.kit.server.frames("call_initiate").last?.members)
        old["sessionToken"] = nil
        self.kit.server.tell("call_incoming", JSON.object(old).text, to: bobID)
        try await self.kit.perform(ann, start)
        let second = try await self.kit.next(bob, "callIncoming").event["callId"]?.string
        #expect(second != id)
        try await self.kit.perform(bob, #"call_end {"callId":"\#(second ?? "")"}"#)
        #expect(try await self.kit.next(ann, "callEnded").event["reason"]?.string == "declined")
        self.kit.server.refuseNext("call_initiate", "NOT_FOUND")
        try await self.kit.perform(ann, start)
        #expect(try await self.kit.next(ann, "callEnded").event["reason"]?.string == "failed")
        for _ in 1...2 {
            try await self.kit.perform(ann, "call_turn")
            let relays = try await self.kit.next(ann, "answer").event["result"]
            #expect(relays?["urls"]?.elements == [.string("turn:x")])
        }
        #expect(self.kit.server.frames("get_turn_credentials").count == 1)
        // A caller that disconnects ends the call.
        try await self.kit.perform(ann, start)
        _ = try await self.kit.next(bob, "callIncoming")
        try await self.kit.perform(ann, "disconnect")
        #expect(try await self.kit.next(bob, "callEnded").event["reason"]?.string == "cancelled")
        // The outcome of each stands in the history of both, also after their events.
        for (core, other, outcomes) in [
            (ann, bobID, ["talked", "declined", "failed", "cancelled"]),
            (bob, annID, ["talked", "declined", "missed"]),
        ] {
            let notes = try await self.kit.perform(core, #"chat_get {"chat":"\#(other)"}"#)["notes"]?.elements ?? []
            #expect(notes.compactMap { $0["outcome"]?.string } == outcomes)
            #expect(notes.allSatisfy { $0["kind"] == .string("call") && $0["from"] == .string(annID) })
        }
        await ann.close()
        await bob.close()
    }

    /// A program does a verb at its seat.
    private func ask(_ core: Core, _ seat: CoreSeat, _ verb: String, _ parameters: String = "{}") async throws -> JSON {
        let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(verb)","params":\#(parameters)}"#
        let message = try JSON(parsing: try #require(await JSONRPC.answer(Array(line.utf8), from: core, at: seat)))
        return message["result"] ?? message["error"]?["data"]?["code"] ?? message
    }

    /// A program that comes later finds a call that rings, with all that its caller has told. A call that it holds ends with it.
    @Test func aCallIsFoundHeldAndEndedWithItsProgram() async throws {
        let (ann, annID, bob, bobID) = try await self.friends()
        let start = #"call_start {"chat":"\#(bobID)","isVideo":true,"sdp":"offer"}"#
        let id = try #require(try await self.kit.perform(ann, start)["callId"]?.string)
        let call = #"{"callId":"\#(id)"}"#
        _ = try await self.kit.next(bob, "callIncoming")
        let long = String(repeating: "x", count: ClientLimits.candidateBytesKeptMax - 4)
        for candidate in ["path", long, "too long"] {
            try await self.kit.perform(ann, #"call_ice {"callId":"\#(id)","candidate":"\#(candidate)"}"#)
            _ = try await self.kit.next(bob, "callCandidate")
        }
        let (one, two) = (try #require(bob.seat()), try #require(bob.seat()))
        let ringing = try await self.ask(bob, one, "call_list")["calls"]?.elements ?? []
        #expect(ringing.count == 1 && ringing[0]["callId"]?.string == id && ringing[0]["chat"]?.string == annID)
        #expect(ringing[0]["stage"]?.string == "ringing" && ringing[0]["sdp"]?.string == "offer")
        #expect(ringing[0]["isOwn"] == .bool(false) && ringing[0]["isHeld"] == .bool(false))
        #expect(ringing[0]["candidates"]?.elements.compactMap(\.string) == ["path", long])
        #expect(try await self.ask(bob, one, "call_hold", call)["type"]?.string == "held")
        try await self.kit.perform(bob, #"call_answer {"callId":"\#(id)","sdp":"answer"}"#)
        for (seat, isHeld) in [(one, true), (two, false)] {
            let talking = try await self.ask(bob, seat, "call_list")["calls"]?[0]
            #expect(talking?["stage"]?.string == "talking" && talking?["isHeld"] == .bool(isHeld))
            #expect(talking?["sdp"] == nil && talking?["candidates"] == nil)
        }
        #expect(try await self.ask(bob, two, "call_hold", call).string == "busy")
        one.leave()
        #expect(try await self.kit.next(ann, "callEnded").event["reason"]?.string == "ended")
        #expect(try await self.ask(bob, two, "call_hold", call).string == "notFound")
        await ann.close()
        await bob.close()
    }

    @Test func aCallThatTheOtherSideHasEndedIsHeldNoLonger() async throws {
        let (ann, _, bob, bobID) = try await self.friends()
        let seat = try #require(bob.seat())
        for _ in 0..<CoreLimits.holdsMax + 1 {
            let started = try await self.kit.perform(
                ann, #"call_start {"chat":"\#(bobID)","isVideo":false,"sdp":"offer"}"#)
            let call = #"{"callId":"\#(started["callId"]?.string ?? "")"}"#
            _ = try await self.kit.next(bob, "callIncoming")
            #expect(try await self.ask(bob, seat, "call_hold", call)["type"]?.string == "held")
            try await self.kit.perform(ann, "call_end \(call)")
            _ = try await self.kit.next(bob, "callEnded")
        }
        await ann.close()
        await bob.close()
    }

    @Test func callsHideTheAddressIfThePersonSaysSo() async throws {
        let core = try self.kit.open("ann")
        try await self.kit.perform(core, "identity_create")
        let before = try await self.kit.perform(core, "settings_get")["settings"]
        #expect(before?["relayCalls"] == .bool(false))
        let after = try await self.kit.perform(core, #"settings_set {"relayCalls":true}"#)["settings"]
        #expect(after?["relayCalls"] == .bool(true) && after?["typing"] == .bool(true))
        await core.close()
    }
}
