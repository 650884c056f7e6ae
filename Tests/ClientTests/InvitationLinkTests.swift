import Contract
import Testing
import WhisperClient

private let token = "AAECAwQFBgcICQoLDA0ODw"

struct InvitationLinkTests {
    @Test(
        arguments: [
            (token, nil),
            ("whisper://invite/chat.example.org#\(token)", "wss://chat.example.org"),
            ("whisper://invite/chat.example.org:8443#\(token)", "wss://chat.example.org:8443"),
            ("https://chat.example.org/invite#\(token)", "wss://chat.example.org"),
            ("https://chat.example.org/invite#\(token)&add=WSP", "wss://chat.example.org"),
            ("http://127.0.0.1:8080/invite#\(token)", "ws://127.0.0.1:8080"),
        ] as [(String, String?)])
    func anInvitationIsRead(text: String, server: String?) throws {
        let link = try #require(InvitationLink(text))
        #expect(link.token.text == token)
        #expect(link.server?.description == server)
    }

    @Test(
        arguments: [
            ("wss://chat.example.org", "whisper://invite/chat.example.org#", "https://chat.example.org/invite#"),
            ("wss://[::1]:8443", "whisper://invite/[::1]:8443#", "https://[::1]:8443/invite#"),
            ("ws://127.0.0.1:8080", "whisper://invite/127.0.0.1:8080#", "http://127.0.0.1:8080/invite#"),
        ])
    func anInvitationIsWritten(server: String, app: String, web: String) throws {
        let address = try #require(ServerAddress(server))
        let link = InvitationLink(try #require(InvitationToken(token)), server: address)
        #expect(link.text(.app) == app + token && link.text(.web) == web + token)
        for form in ContactLink.Form.allCases {
            let read = try #require(InvitationLink(link.text(form)))
            #expect(read.token == link.token && read.server?.isSamePlace(as: address) == true)
        }
    }

    /// It stands behind `--invitation`.
    @Test func aNewTokenIsNoOptionOfACommand() {
        for first in UInt8.min...UInt8.max {
            let token = InvitationToken(random: [first] + Array(repeating: 0, count: 15))
            #expect(!token.text.hasPrefix("-") && InvitationToken(token.text) == token)
        }
    }

    /// A person who comes in by the link finds its writer.
    @Test func anInvitationNamesItsWriter() throws {
        let address = try #require(ServerAddress("wss://chat.example.org"))
        let keys = IdentityKeys(Mnemonic.random()).publicKeys
        let writer = ContactLink(id: keys.id(counter: 0), keys: keys, server: address, name: "Ann & Bob")
        let link = InvitationLink(try #require(InvitationToken(token)), server: address, inviter: writer)
        for form in ContactLink.Form.allCases {
            let text = link.text(form)
            #expect(text.utf8.count <= InvitationLink.charactersMax)
            let read = try #require(InvitationLink(text))
            #expect(read.token == link.token && read.inviter == writer)
            #expect(read.inviter?.fits(keys) == true)
            // A part of it names nobody, and lets somebody in all the same.
            let part = try #require(InvitationLink(String(text[..<text.firstRange(of: "&v=")!.lowerBound])))
            #expect(part.token == link.token && part.inviter == nil)
        }
    }

    @Test(arguments: [
        "", "#", "hello", String(token.dropLast()), token + "A", "whisper://invite/#\(token)",
        "whisper://add/chat.example.org#\(token)", "https://chat.example.org/listen#\(token)",
        "ftp://chat.example.org/invite#\(token)", "https://chat.example.org/invite",
        "http://chat.example.org/invite#\(token)", "http://127.0.0.1.example.org/invite#\(token)",
    ])
    func anythingElseIsNot(text: String) { #expect(InvitationLink(text) == nil) }

    /// Operators' links, which are made of an address as somebody types it.
    @Test(arguments: ["chat.example.org", "chat.example.org:8443", "192.0.2.1", "[2001:db8::1]", "[2001:db8::1]:443"])
    func linksOfOperatorsAreRead(host: String) throws {
        let links = try #require(InvitationLinks(token, host: host))
        for text in [links.app, links.web] {
            let link = try #require(InvitationLink(text), "\(text)")
            #expect(link.token.text == token && link.server == ServerAddress("wss://\(host)"), "\(text)")
        }
    }

    @Test(arguments: [
        "", ":443", "chat.example.org:", "chat.example.org:+443", "chat.example.org:443443", "a/b", "a#b", "a?b", "a@b",
        "https://chat.example.org", "a b", "a\"b", "ä.example", "[::1", "[]", "::1", "[a/b]",
    ])
    func whatIsNoAddressHasNoLinks(host: String) { #expect(InvitationLinks(token, host: host) == nil) }
}
