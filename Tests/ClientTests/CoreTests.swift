import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// The facade: commands in, answers and events out, against a server in memory.
@Suite(.timeLimit(.minutes(20))) struct CoreTests {
    let folder: TemporaryFolder
    let server = FakeServer()

    init() throws { self.folder = try TemporaryFolder() }

    func open(_ name: String) throws -> Core {
        let server = self.server
        return try Core.open(
            CoreConfiguration(folder: self.folder.path + "/" + name, server: "ws://127.0.0.1:1"),
            link: { _ in server })
    }

    /// Does a command that must succeed. Each answer is what its verb declares.
    @discardableResult
    func perform(_ core: Core, _ command: String) async throws -> JSON {
        let answer = try JSON(parsing: Array(await core.perform(command).utf8))
        let verb = try #require(VerbCatalogue.byName[String(command.prefix { $0 != " " })])
        let result = try #require(answer["result"], "\(answer.text)")
        try Self.check(result, verb.asksServer ? Verb.asked : verb.result)
        return result
    }

    /// A value is as its schema says. Objects that may be of several kinds are declared by their type alone.
    static func check(_ value: JSON, _ schema: ObjectSchema) throws {
        let hasSeveral = schema.fields.contains { ["result", "event", "events", "openrpc"].contains($0.name) }
        let text = Array(value.text.utf8)
        _ =
            try hasSeveral
            ? FrameDecoder.payload(bare: text, schema: schema) : FrameDecoder.payload(strict: text, schema: schema)
    }

    func refusal(_ core: Core, _ command: String) async throws -> String {
        let error = try #require(try JSON(parsing: Array(await core.perform(command).utf8))["error"])
        _ = try FrameDecoder.payload(strict: Array(error.text.utf8), schema: Shapes.error)
        return "\(error["code"]?.string ?? "")\(error["field"].map { " \($0.string ?? "")" } ?? "")"
    }

    /// The next event of a type. Each event on the way is what its definition declares.
    func next(
        _ core: Core, _ type: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ isIt: (JSON) -> Bool = { _ in true }
    ) async throws -> (event: JSON, number: Int64?) {
        while true {
            let text = try #require(await core.nextEvent(within: .seconds(30)), "the core was closed")
            try #require(!text.isEmpty, "no event \(type)", sourceLocation: sourceLocation)
            let envelope = try JSON(parsing: Array(text.utf8))
            let event = try #require(envelope["event"])
            let definition = try #require(EventDefinition.all.first { $0.type == event["type"]?.string })
            try Self.check(event, definition.fields)
            let number = envelope["seq"]?.integer
            #expect(definition.isKept || number == nil)
            if definition.type == type, isIt(event) { return (event, number) }
        }
    }

    func online(_ core: Core) async throws {
        try await self.perform(core, "connect")
        _ = try await self.next(core, "connection") { $0["state"]?.string == "online" }
    }

    func id(_ core: Core) async throws -> String {
        try #require(try await self.perform(core, "identity_show")["whisperId"]?.string)
    }

    /// No identity comes of a text that is no invitation, or of one for another server.
    @Test func anInvitationIsReadBeforeAnIdentityIsMade() async throws {
        let core = try self.open("ann")
        let token = "AAECAwQFBgcICQoLDA0ODw"
        for wrong in ["hello", token + "A", "https://elsewhere.example/invite#\(token)"] {
            let refused = try await self.refusal(core, #"identity_create {"invitation":"\#(wrong)"}"#)
            #expect(refused == "invalidField invitation")
        }
        #expect(try await self.perform(core, "identity_show")["hasIdentity"] == .bool(false))
        try await self.perform(core, #"identity_create {"invitation":"\#(token)"}"#)
        #expect(try await self.refusal(core, #"connect {"invitation":"hello"}"#) == "invalidField invitation")
        try await self.online(core)
    }

    /// A plain store keeps the words alone, and would come back as somebody else.
    @Test func aPassphraseNeedsASealedStoreAndGivesAnotherIdentity() async throws {
        let plain = try self.open("plain")
        for verb in [#"identity_create {"#, #"identity_restore {"words":"\#(aliceWords.phrase)","#] {
            #expect(try await self.refusal(plain, verb + #""passphrase":"TREZOR"}"#) == "config key")
            for wrong in ["", "pässword", "a\\tb", String(repeating: "x", count: 257)] {
                #expect(
                    try await self.refusal(plain, verb + #""passphrase":"\#(wrong)"}"#) == "invalidField passphrase")
            }
        }
        #expect(try await self.perform(plain, "identity_show")["hasIdentity"] == .bool(false))
        await plain.close()
        for (name, passphrase) in [("long", String(repeating: "~ ", count: 128)), ("known", "TREZOR"), ("none", "")] {
            let folder = self.folder.path + "/" + name
            func open() throws(CoreError) -> Core {
                try Core.open(
                    CoreConfiguration(folder: folder, server: "ws://127.0.0.1:1"),
                    key: [UInt8](repeating: 1, count: 32))
            }
            let core = try open()
            let field = passphrase.isEmpty ? "" : #","passphrase":"\#(passphrase)""#
            try await self.perform(core, #"identity_restore {"words":"\#(aliceWords.phrase)"\#(field)}"#)
            await core.close()
            let again = try open()
            let shown = try await self.perform(again, "identity_show")
            let keys = IdentityKeys(aliceWords, passphrase: passphrase).publicKeys
            #expect(shown["signPublicKey"]?.string == base64(keys.sign.bytes))
            #expect(shown["hasPassphrase"] == .bool(!passphrase.isEmpty))
            await again.close()
        }
    }

    @Test func twoCoresTalkAndOneIsRestartedInTheMiddle() async throws {
        var (ann, bob) = (try self.open("ann"), try self.open("bob"))
        for core in [ann, bob] {
            #expect(try await self.refusal(core, "contact_list") == "noIdentity")
            #expect(try await self.perform(core, "identity_show")["hasIdentity"] == .bool(false))
            let words = try await self.perform(core, "identity_create")["words"]?.string ?? ""
            #expect(words.split(separator: " ").count == 12)
            #expect(try await self.refusal(core, "identity_create") == "identityExists")
            try await self.perform(core, #"events_subscribe {"consumer":"app"}"#)
            try await self.online(core)
        }
        let (annID, bobID) = (try await self.id(ann), try await self.id(bob))
        #expect(try await self.refusal(ann, #"message_send {"to":"\#(bobID)","text":"x"}"#) == "unknownContact to")
        try await self.perform(ann, #"contact_add {"whisperId":"\#(bobID)","name":"Bob","corrId":"c"}"#)
        let added = try await self.next(ann, "answer").event
        #expect(added["corrId"]?.string == "c" && added["result"]?["contact"]?["name"]?.string == "Bob")

        let clientID = "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"
        for _ in 1...2 {
            // Said twice, sent once.
            try await self.perform(ann, #"message_send {"to":"\#(bobID)","text":"hello","clientId":"\#(clientID)"}"#)
        }
        #expect(
            try await self.refusal(ann, #"message_send {"to":"\#(bobID)","text":"other","clientId":"\#(clientID)"}"#)
                == "conflict clientId")
        let came = try await self.next(bob, "messageReceived")
        #expect(came.event["message"]?["text"]?.string == "hello" && came.event["message"]?["chat"]?.string == annID)
        _ = try await self.next(ann, "messageChanged") { $0["message"]?["state"]?.string == "delivered" }

        // Bob dies before he has acknowledged it. It comes again, from the store alone.
        await bob.close()
        #expect(await bob.nextEvent() == nil)
        #expect(try await self.refusal(bob, "chat_list") == "closed")
        bob = try self.open("bob")
        try await self.perform(bob, #"events_subscribe {"consumer":"app"}"#)
        let again = try await self.next(bob, "messageReceived")
        #expect(again.number == came.number && again.event == came.event)
        try await self.perform(bob, #"events_ack {"consumer":"app","seq":\#(again.number ?? 0)}"#)

        try await self.online(bob)
        try await self.perform(bob, #"message_send {"to":"\#(annID)","text":"hello back"}"#)
        _ = try await self.next(ann, "messageReceived") { $0["message"]?["text"]?.string == "hello back" }
        let chat = try await self.perform(ann, #"chat_get {"chat":"\#(bobID)"}"#)["messages"]?.elements ?? []
        #expect(chat.compactMap { $0["text"]?.string } == ["hello", "hello back"])
        let chats = try await self.perform(ann, "chat_list")["chats"]?.elements ?? []
        #expect(chats.count == 1 && chats[0]["unread"]?.integer == 1 && chats[0]["name"]?.string == "Bob")
        let newest = chats[0]["latest"]?["number"]?.integer ?? 0
        #expect(
            try await self.perform(ann, #"chat_read {"chat":"\#(bobID)","upTo":\#(newest)}"#)["count"]?.integer == 1)
        #expect(try await self.perform(ann, "message_unread")["count"]?.integer == 0)
        for verb in ["store_info", "backup_status", "session_status", "contact_list", "disconnect"] {
            try await self.perform(ann, verb)
        }
        await ann.close()
        await bob.close()
    }

    @Test func messagesAreAnsweredChangedAndDeleted() async throws {
        let (ann, bob) = (try self.open("ann"), try self.open("bob"))
        for core in [ann, bob] {
            try await self.perform(core, "identity_create")
            try await self.perform(core, #"events_subscribe {"consumer":"app"}"#)
            try await self.online(core)
        }
        let (annID, bobID) = (try await self.id(ann), try await self.id(bob))
        try await self.perform(ann, #"contact_add {"whisperId":"\#(bobID)"}"#)
        _ = try await self.next(ann, "answer")
        let sent = try await self.perform(ann, #"message_send {"to":"\#(bobID)","text":"tea?"}"#)["message"]
        let id = try #require(sent?["messageId"]?.string)
        _ = try await self.next(bob, "messageReceived")
        #expect(
            try await self.refusal(
                bob, #"message_send {"to":"\#(annID)","text":"x","replyTo":"\#(UUIDText.random())"}"#)
                == "notFound replyTo")
        #expect(
            try await self.refusal(
                bob, #"message_send {"to":"\#(annID)","text":"x","replyTo":"\#(id)","replyFrom":"\#(bobID)"}"#)
                == "notFound replyTo")
        try await self.perform(bob, #"message_send {"to":"\#(annID)","text":"yes","replyTo":"\#(id)"}"#)
        let reply = try await self.next(ann, "messageReceived").event["message"]
        #expect(reply?["replyTo"]?.string == id && reply?["replyFrom"]?.string == annID)

        try await self.perform(ann, #"message_edit {"messageId":"\#(id)","text":"coffee?"}"#)
        let edited = try await self.next(bob, "messageChanged") { $0["message"]?["direction"]?.string == "in" }.event
        #expect(edited["message"]?["text"]?.string == "coffee?" && edited["message"]?["isEdited"] == .bool(true))
        #expect(try await self.refusal(bob, #"message_edit {"messageId":"\#(id)","text":"x"}"#) == "notFound messageId")
        #expect(try await self.refusal(bob, #"message_delete {"messageId":"\#(id)"}"#) == "notFound messageId")
        try await self.perform(bob, #"message_react {"chat":"\#(annID)","messageId":"\#(id)","reaction":"+"}"#)
        _ = try await self.next(ann, "messageChanged") {
            $0["message"]?["reactions"]?.elements.first?["from"]?.string == bobID
        }
        try await self.perform(ann, #"message_delete {"messageId":"\#(id)"}"#)
        _ = try await self.next(bob, "messageChanged") { $0["message"]?["kind"]?.string == "deleted" }
        #expect(
            try await self.refusal(ann, #"message_edit {"messageId":"\#(id)","text":"x"}"#) == "notText messageId")
        let long = String(repeating: "\u{1F44D}", count: ClientLimits.reactionBytesMax)
        let last = try #require(reply?["messageId"]?.string)
        #expect(
            try await self.refusal(
                ann, #"message_react {"chat":"\#(bobID)","messageId":"\#(last)","reaction":"\#(long)"}"#)
                == "tooLong reaction")
        let chat = try await self.perform(bob, #"chat_get {"chat":"\#(annID)"}"#)["messages"]?.elements ?? []
        #expect(chat.compactMap { $0["kind"]?.string } == ["deleted", "text"])
        #expect(try await self.perform(bob, #"search {"text":"coffee"}"#)["messages"]?.elements.isEmpty == true)
        let found = try await self.perform(bob, #"search {"text":"YE","chat":"\#(annID)","limit":1}"#)
        #expect(found["messages"]?.elements.first?["text"]?.string == "yes")
        let cursor = try #require(found["cursor"]?.integer)
        let rest = try await self.perform(bob, #"search {"text":"ye","limit":1,"cursor":\#(cursor)}"#)
        #expect(rest["messages"]?.elements.isEmpty == true && rest["cursor"] == nil)
        await ann.close()
        await bob.close()
    }

    @Test func strangersAskAndContactsAreChangedBlockedAndRemoved() async throws {
        let (ann, bob) = (try self.open("ann"), try self.open("bob"))
        for core in [ann, bob] {
            try await self.perform(core, "identity_create")
            #expect(try await self.refusal(core, "contact_link") == "offline")
            try await self.perform(core, #"events_subscribe {"consumer":"app"}"#)
            try await self.online(core)
        }
        let (annID, bobID) = (try await self.id(ann), try await self.id(bob))
        try await self.perform(ann, #"contact_add {"whisperId":"\#(bobID)"}"#)
        _ = try await self.next(ann, "answer")
        try await self.perform(ann, #"message_send {"to":"\#(bobID)","text":"hello"}"#)
        let request = try await self.next(bob, "requestReceived").event
        #expect(request["contact"]?["whisperId"]?.string == annID)
        _ = try await self.next(bob, "messageReceived")
        #expect(try await self.perform(bob, "request_list")["contacts"]?.elements.count == 1)
        #expect(try await self.perform(bob, "contact_list")["contacts"]?.elements.isEmpty == true)
        let ofAnn = #"{"whisperId":"\#(annID)"}"#
        #expect(try await self.refusal(bob, "contact_update " + ofAnn) == "unknownContact whisperId")
        #expect(try await self.refusal(bob, "contact_unblock " + ofAnn) == "unknownContact whisperId")
        #expect(try await self.refusal(bob, "contact_remove " + ofAnn) == "unknownContact whisperId")
        try await self.perform(bob, "request_accept " + ofAnn)
        _ = try await self.next(bob, "contactChanged") { $0["contact"]?["isStranger"] == .bool(false) }
        #expect(try await self.refusal(bob, "request_accept " + ofAnn) == "notFound whisperId")
        #expect(try await self.refusal(bob, "request_reject " + ofAnn) == "notFound whisperId")
        #expect(try await self.perform(bob, "request_list")["contacts"]?.elements.isEmpty == true)

        try await self.perform(
            bob, #"contact_update {"whisperId":"\#(annID)","name":"Ann","notes":"n","pinned":true,"muted":true}"#)
        _ = try await self.next(bob, "contactChanged") { $0["contact"]?["notes"]?.string == "n" }
        #expect(
            try await self.refusal(bob, #"contact_update {"whisperId":"\#(annID)","name":"\#(bobID)"}"#)
                == "invalidField name")
        try await self.perform(bob, #"chat_draft {"chat":"\#(annID)","text":"It may"}"#)
        #expect(
            try await self.refusal(bob, #"chat_draft {"chat":"\#(bobID)","text":"It may"}"#) == "unknownContact chat")
        let chats = try await self.perform(bob, #"chat_list {"limit":1}"#)
        let chat = try #require(chats["chats"]?.elements.first)
        #expect(chat["draft"]?.string == "It may" && chat["isPinned"] == .bool(true) && chat["isMuted"] == .bool(true))
        let cursor = try #require(chats["cursor"]?.integer)
        #expect(
            try await self.perform(bob, #"chat_list {"cursor":\#(cursor)}"#)["chats"]?.elements.isEmpty == true)
        #expect(try await self.perform(bob, #"chat_clear {"chat":"\#(annID)"}"#)["count"]?.integer == 1)

        let ofBob = #"{"whisperId":"\#(bobID)"}"#
        let numbers = [
            try await self.perform(ann, "contact_safety " + ofBob),
            try await self.perform(bob, "contact_safety " + ofAnn),
        ]
        #expect(numbers[0] == numbers[1])
        let links = [try await self.perform(ann, "contact_link " + ofBob), try await self.perform(bob, "contact_qr")]
        #expect(links[0] == links[1])
        #expect(try await self.refusal(bob, #"chat_get {"chat":"WSP-aaaa-AAAA-AAAA"}"#) == "invalidField chat")
        try await self.perform(bob, "contact_block " + ofAnn)
        #expect(
            try await self.refusal(bob, #"message_send {"to":"\#(annID)","text":"x"}"#) == "blockedContact to")
        try await self.perform(bob, "contact_unblock " + ofAnn)
        try await self.perform(bob, "contact_remove " + ofAnn)
        #expect(try await self.perform(bob, "contact_list")["contacts"]?.elements.isEmpty == true)
        try await self.perform(ann, #"message_send {"to":"\#(bobID)","text":"again"}"#)
        _ = try await self.next(bob, "requestReceived")
        _ = try await self.next(bob, "messageReceived")
        try await self.perform(bob, "request_reject " + ofAnn)
        #expect(try await self.perform(bob, #"chat_get {"chat":"\#(annID)"}"#)["messages"]?.elements.isEmpty == true)
        await ann.close()
        await bob.close()
    }

    @Test func whatIsNoCommandIsRefusedAndNamed() async throws {
        let core = try self.open("ann")
        let deep = String(repeating: "[", count: 10_000)
        for (command, refusal) in [
            ("", "invalidCommand"), ("   ", "invalidCommand"), ("{}", "invalidCommand"), ("\u{0}", "unknownVerb"),
            ("contact_lost", "unknownVerb"), ("identity_show []", "invalidCommand"),
            ("identity_show {", "invalidCommand"), ("identity_show {}{}", "invalidCommand"),
            (#"identity_show {"x":1}"#, "invalidField x"), (#"identity_show {"x":\#(deep)}"#, "invalidCommand"),
            (#"identity_show {"corrId":1}"#, "invalidField corrId"),
            (#"identity_show {"corrId":"a","corrId":"a"}"#, "invalidField corrId"),
            ("identity_restore", "invalidField words"), (#"identity_restore {"words":"abandon"}"#, "words words"),
            (#"contact_safety {"whisperId":"WSP-aaaa-AAAA-AAAA"}"#, "invalidField whisperId"),
            (#"chat_get {"chat":"WSP-AAAA-AAAA-AAAA","limit":201}"#, "invalidField limit"),
            (#"chat_get {"chat":"WSP-AAAA-AAAA-AAAA","limit":1.0}"#, "invalidField limit"),
            (String(repeating: "x", count: CoreLimits.commandBytesMax + 1), "tooLong"),
        ] {
            #expect(try await self.refusal(core, command) == refusal, "\(command.prefix(60))")
            let isWord = refusal.hasPrefix("words")
            #expect(core.query(command).contains(isWord ? "notReadOnly" : refusal.prefix { $0 != " " }))
        }
        #expect(await core.perform("contact_lost").contains("contact_list"))
        #expect(await core.perform(#"nothing {"corrId":"7"}"#).contains("unknownVerb"))
        #expect(await core.perform(#"chat_get {"corrId":"7"}"#).hasPrefix(#"{"corrId":"7","error""#))
        #expect(String(decoding: await core.perform([0xFF, 0xFE]), as: UTF8.self).contains("invalidCommand"))
        #expect(core.query("identity_create").contains("notReadOnly"))
        // Nothing that was given is repeated, words least of all.
        let words = await core.perform(#"identity_restore {"words":"abandom zoo"}"#)
        #expect(!words.contains("abandom"))
        await core.close()
        await core.close()
    }

    @Test func configurationsAreStrict() throws {
        for (json, field) in [
            ("", nil), ("[]", nil), ("{}", "dir"), (#"{"dir":"/x"}"#, "serverUrl"),
            (#"{"dir":"/x","serverUrl":"ftp://x"}"#, "serverUrl"), (#"{"dir":"","serverUrl":"ws://x"}"#, "dir"),
            (#"{"dir":"/x","serverUrl":"ws://x","keyKind":"hex"}"#, "keyKind"),
            (#"{"dir":"/x","serverUrl":"ws://x","platform":"linux"}"#, "platform"),
            (#"{"dir":"/x","serverUrl":"ws://x","logLevel":"trace"}"#, "logLevel"),
            (#"{"dir":"/x","serverUrl":"ws://x","client":"toaster"}"#, "client"),
            (#"{"dir":"/x","serverUrl":"ws://x","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950"}"#, "deviceId"),
            (#"{"dir":"/x","serverUrl":"ws://x","deviceId":"0f8fad5b-d9cb-469f-a165-7086772895zz"}"#, "deviceId"),
            // The server takes version 4 alone.
            (#"{"dir":"/x","serverUrl":"ws://x","deviceId":"7d444840-9dc0-11d1-b245-5ffdce74fad2"}"#, "deviceId"),
        ] as [(String, String?)] {
            #expect("\(json)") {
                _ = try CoreConfiguration(json: Array(json.utf8))
            } throws: { error in
                (error as? CoreError)?.code == .config && (error as? CoreError)?.field == field
            }
        }
        #expect("a host that gives no JSON") {
            _ = try Core.open(CoreConfiguration(folder: self.folder.path, server: "ws://x", device: "the phone"))
        } throws: { error in
            (error as? CoreError)?.field == "deviceId"
        }
        let configuration = try CoreConfiguration(json: Array(#"{"dir":"/x","serverUrl":"ws://x"}"#.utf8))
        #expect(configuration == CoreConfiguration(folder: "/x", server: "ws://x"))
    }

    @Test(arguments: [CoreConfiguration.Client.bot, nil]) func aLoginSaysWhatTheProgramIs(
        client: CoreConfiguration.Client?
    ) async throws {
        let server = self.server
        let core = try Core.open(
            CoreConfiguration(folder: self.folder.path + "/ann", server: "ws://127.0.0.1:1", client: client),
            link: { _ in server })
        try await self.perform(core, "identity_create")
        try await self.online(core)
        #expect(server.kinds == [client?.rawValue, client?.rawValue])
        await core.close()
    }

    /// Two identities of one program share its push token if they log in from one device.
    @Test(arguments: ["0f8fad5b-d9cb-469f-a165-70867728950e", nil]) func identitiesLogInFromOneDevice(
        device: String?
    ) async throws {
        let server = self.server
        for name in ["ann", "bob"] {
            let core = try Core.open(
                CoreConfiguration(folder: self.folder.path + "/" + name, server: "ws://127.0.0.1:1", device: device),
                link: { _ in server })
            try await self.perform(core, "identity_create")
            try await self.online(core)
            await core.close()
        }
        let devices = server.devices
        #expect(devices.count == 4 && devices[0] == devices[1] && devices[2] == devices[3])
        #expect((devices[0] == devices[2]) == (device != nil))
        if let device { #expect(devices[0] == device) }
        // The server learns of a device by a login, so a session of before is over.
        let other = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
        let core = try Core.open(
            CoreConfiguration(folder: self.folder.path + "/ann", server: "ws://127.0.0.1:1", device: other),
            link: { _ in server })
        try await self.online(core)
        #expect(server.devices.dropFirst(4).map { $0 ?? "" } == [other, other])
        await core.close()
    }

    @Test func aFolderHasOneCoreAndSuspendingLetsGoOfIt() async throws {
        let core = try self.open("ann")
        try await self.perform(core, "identity_create")
        #expect { _ = try self.open("ann") } throws: { error in
            (error as? CoreError)?.code == .locked && (error as? CoreError)?.pid == Int(getpid())
        }
        #expect { _ = try Core.wipe(folder: self.folder.path + "/ann") } throws: { ($0 as? CoreError)?.code == .locked }
        try await core.suspend()
        try await core.suspend()
        #expect(try await self.refusal(core, "contact_list") == "suspended")
        let other = try self.open("ann")
        await #expect { try await core.resume() } throws: { ($0 as? CoreError)?.code == .locked }
        await other.close()
        try await core.resume()
        try await self.perform(core, "contact_list")
        await core.close()
        await #expect { try await core.resume() } throws: { ($0 as? CoreError)?.code == .closed }
        #expect(try Core.wipe(folder: self.folder.path + "/ann"))
        #expect(try !Core.wipe(folder: self.folder.path + "/ann"))
        #expect(try await self.perform(try self.open("ann"), "identity_show")["hasIdentity"] == .bool(false))
    }

    @Test func earlierStoresAreBroughtUpToDateOnlyIfToldAndLaterOnesNever() async throws {
        let core = try self.open("ann")
        try await self.perform(core, "identity_create")
        await core.close()
        func open(_ confirmation: CoreConfiguration.Confirmation) throws(CoreError) -> Core {
            try Core.open(
                CoreConfiguration(folder: self.folder.path + "/ann", server: "ws://127.0.0.1:1"),
                confirmation: confirmation)
        }
        let path = self.folder.path + "/ann/whisper.sqlite"
        func change(_ sql: String) throws {
            let store = try ClientStore(path: path)
            try store.write { try $0.execute(sql: sql) }
            store.close()
        }
        try change("DELETE FROM grdb_migrations WHERE identifier = '9'; DROP TABLE events; DROP TABLE consumers")
        #expect { _ = try open(.error) } throws: { error in
            (error as? CoreError)?.code == .needsUpgrade && (error as? CoreError)?.steps == 1
        }
        await (try open(.yesUp)).close()
        await (try open(.error)).close()
        try change("INSERT INTO grdb_migrations VALUES ('9999')")
        for confirmation in CoreConfiguration.Confirmation.allCases {
            #expect { _ = try open(confirmation) } throws: { ($0 as? CoreError)?.code == .tooNew }
        }
    }

    @Test func aSealedCoreIsRekeyedExportedAndImported() async throws {
        let server = self.server
        func open(_ name: String, _ key: UInt8?, kind: CoreConfiguration.KeyKind = .raw) throws(CoreError) -> Core {
            try Core.open(
                CoreConfiguration(folder: self.folder.path + "/" + name, server: "ws://127.0.0.1:1", keyKind: kind),
                key: key.map { [UInt8](repeating: $0, count: 32) }, link: { _ in server })
        }
        func refusal(_ body: () async throws -> Void) async -> CoreError.Code? {
            do { try await body() } catch { return (error as? CoreError)?.code }
            return nil
        }
        let core = try open("ann", 1)
        #expect(await refusal { try await core.rekey([UInt8](repeating: 2, count: 32)) } == .noIdentity)
        try await self.perform(core, "identity_create")
        let key = try await self.perform(core, "identity_show")["signPublicKey"]
        #expect(key?.string != nil)
        #expect(await refusal { try await core.rekey([1, 2, 3]) } == .config)
        try await core.rekey([UInt8](repeating: 2, count: 32))
        #expect(try await self.perform(core, "identity_show")["signPublicKey"] == key)
        try await core.suspend()
        try await core.rekey([UInt8](repeating: 3, count: 32))
        try await core.resume()
        let file = self.folder.path + "/export"
        try core.export(to: file, key: [UInt8](repeating: 9, count: 32))
        #expect(await refusal { try core.export(to: file, key: [UInt8](repeating: 9, count: 32)) } == .config)
        await core.close()
        for key in [nil, 1, 2] as [UInt8?] { #expect(await refusal { _ = try open("ann", key) } == .wrongKey) }
        #expect(await refusal { _ = try open("ann", 3, kind: .passphrase) } == .wrongKey)
        #expect(await refusal { _ = try open("new", nil, kind: .passphrase) } == .config)
        await (try open("ann", 3)).close()

        let bob = CoreConfiguration(folder: self.folder.path + "/bob", server: "ws://127.0.0.1:1")
        func importing(_ key: UInt8) throws(CoreError) {
            try Core.importing(file, configuration: bob, key: [UInt8](repeating: key, count: 32))
        }
        #expect(await refusal { try importing(8) } == .wrongKey)
        try importing(9)
        #expect(await refusal { try importing(9) } == .identityExists)
        let copy = try open("bob", 9)
        #expect(try await self.perform(copy, "identity_show")["signPublicKey"] == key)
        await copy.close()
        #expect(try Core.wipe(folder: bob.folder))
        try Data([1, 2, 3]).write(to: URL(filePath: self.folder.path + "/ann/whisper.sqlite"))
        #expect(
            await refusal {
                _ = try Core.importing(
                    self.folder.path + "/ann/whisper.sqlite", configuration: bob, key: [UInt8](repeating: 9, count: 32))
            } == .notADatabase)
    }

    @Test func questionsToTheServerAreAnsweredByEvents() async throws {
        let core = try self.open("ann")
        try await self.perform(core, "identity_create")
        let request = try await self.perform(core, #"contact_add {"whisperId":"WSP-AAAA-AAAA-AAAA"}"#)["request"]
        let offline = try await self.next(core, "answer").event
        #expect(offline["request"] == request && offline["error"]?["code"]?.string == "offline")
        #expect(offline["error"]?["retryable"] == .bool(true))
        try await self.online(core)
        try await self.perform(core, #"contact_add {"whisperId":"WSP-AAAA-AAAA-AAAA"}"#)
        #expect(try await self.next(core, "answer").event["error"]?["code"]?.string == "notFound")
        await core.close()
    }

    @Test func eventsOfNowThatNobodyReadsAreCounted() {
        let feed = EventFeed { _ in [] }
        for number in 1...CoreLimits.eventsWaitingMax + 3 { feed.push(Array("\(number)".utf8), .kept) }
        #expect(feed.next(until: .now()) == .event(Array(#"{"event":{"type":"eventsLost","count":3}}"#.utf8)))
        for number in 4...CoreLimits.eventsWaitingMax + 3 {
            #expect(feed.next(until: .now()) == .event(Array("\(number)".utf8)))
        }
        #expect(feed.next(until: .now()) == .nothing)
        feed.interrupt()
        #expect(feed.next(until: nil) == .nothing)
        feed.close()
        #expect(feed.next(until: nil) == .closed)
    }

    @Test func aReaderIsAlone() async {
        let feed = EventFeed { _ in [] }
        // Whichever comes first waits, and tells the other so. The one that waits for long asks until it is the one.
        async let first = Blocking.run {
            while true {
                let next = feed.next(until: .now() + .seconds(60))
                if next != .busy { return next }
            }
        }
        var second = EventFeed.Next.nothing
        while second == .nothing { second = await Blocking.run { feed.next(until: .now() + .milliseconds(1)) } }
        #expect(second == .busy)
        feed.push(Array("x".utf8), .passing)
        #expect(await first == .event(Array("x".utf8)))
    }

    /// Declarations and samples are in one file; this is what keeps them together.
    @Test func samplesAreWhatTheVerbsDeclare() throws {
        #expect(Set(VerbCatalogue.all.map(\.name)).count == VerbCatalogue.all.count)
        for verb in VerbCatalogue.all {
            _ = try FrameDecoder.payload(strict: Array(verb.samples.parameters.utf8), schema: verb.parameters)
            try Self.check(try JSON(parsing: Array(verb.samples.result.utf8)), verb.result)
        }
        for event in EventDefinition.all {
            try Self.check(try JSON(parsing: Array(event.sample.utf8)), event.fields)
        }
    }
}
