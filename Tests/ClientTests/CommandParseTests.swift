import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Input lines of a user, parsed to verbs.
@Suite(.timeLimit(.minutes(20))) struct CommandParseTests {
    private static let id = "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"

    private func command(_ host: CoreHost, _ text: String, in chat: String? = nil) async throws -> String {
        var json = JSONWriter()
        json.add("text", text)
        json.add("chat", chat)
        let parameters = String(decoding: json.finished(), as: UTF8.self)
        let result = try await host.perform("command_parse \(parameters)")
        let verb = try #require(result["verb"]?.string)
        let object = try #require(result["parameters"])
        // The verb takes what it is given.
        _ = try Command.read(verb: verb, Array(object.text.utf8))
        let members = object.members.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.string ?? "?")" }
        return ([verb] + members).joined(separator: " ")
    }

    @Test func linesAreVerbs() async throws {
        let hosts = try CoreHosts()
        let (ann, bob, tim) = (
            try await hosts.online("ann"), try await hosts.online("bob").id, try await hosts.online("tim").id
        )
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        try await ann.ask(#"contact_add {"whisperId":"\#(tim)","name":"Bob Smith"}"#)
        let group = "GRP-\(Self.id)"
        for (text, chat, expected) in [
            ("/msg bob hi", nil, "message_send text=hi to=\(bob)"),
            ("/msg BOB SMITH  two\nlines ", nil, "message_send text=two\nlines  to=\(tim)"),
            ("/msg Bob Smithson", nil, "message_send text=Smithson to=\(bob)"),
            ("/msg \(tim) hi", nil, "message_send text=hi to=\(tim)"),
            ("hello /msg", bob, "message_send text=hello /msg to=\(bob)"),
            ("/reply \(Self.id) yes", bob, "message_send replyTo=\(Self.id) text=yes to=\(bob)"),
            ("/react \(Self.id) 👍", bob, "message_react chat=\(bob) messageId=\(Self.id) reaction=👍"),
            ("/react \(Self.id)", bob, "message_react chat=\(bob) messageId=\(Self.id) reaction="),
            ("/edit \(Self.id) new", nil, "message_edit messageId=\(Self.id) text=new"),
            ("/delete \(Self.id)", nil, "message_delete messageId=\(Self.id)"),
            ("/file /tmp/a b.png", bob, "attachment_send chat=\(bob) path=/tmp/a b.png"),
            ("/search tea", nil, "search text=tea"), ("/search tea", bob, "search chat=\(bob) text=tea"),
            ("/block bob", nil, "contact_block whisperId=\(bob)"), ("/link", nil, "contact_link"),
            ("/qr", nil, "contact_link"),
            ("/qr bob smith", nil, "contact_link whisperId=\(tim)"),
        ] as [(String, String?, String)] {
            #expect(try await self.command(ann, text, in: chat) == expected)
        }
        if Conversation(group) != nil {
            #expect(try await self.command(ann, "/msg \(group) hi").hasPrefix("message_send text=hi to="))
        }
        for (text, expected) in [
            ("/dance", "unknownVerb text"), ("/", "unknownVerb text"), ("hello", "invalidField chat"),
            ("/msg", "unknownContact text"), ("/msg carol hi", "unknownContact text"),
            ("/msg bob", "invalidField text"),
            ("/reply nothing yes", "invalidField text"), ("/delete \(Self.id) all", "invalidField text"),
            ("/block bob and more", "invalidField text"), ("/file /tmp/a", "invalidField chat"),
        ] {
            #expect(try await ann.refusal(#"command_parse {"text":"\#(text)"}"#) == expected, "\(text)")
        }
        await ann.core.close()
    }
}
