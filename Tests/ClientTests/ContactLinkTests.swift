import Contract
import TestKit
import Testing

@testable import WhisperClient

/// Links by which people are added (contract §20.8), and what they vouch for.
@Suite struct ContactLinkTests {
    private static let keys = PublicKeys(sign: Bytes32(Array(1...32))!, box: Bytes32(Array(33...64))!)
    private static let id = Self.keys.id(counter: 0)
    /// By another implementation: base64url(sha256(b"whisper-add\n" + bytes(range(1, 65)))[:16]).
    private static let fingerprint = "f=M5dYEj4lqR4CtSPEcHbyKw"

    private static func link(_ server: String = "wss://chat.example", name: String? = nil) -> ContactLink {
        ContactLink(id: Self.id, keys: Self.keys, server: ServerAddress(server)!, name: name)
    }

    @Test func theTextIsTheOneOfTheContract() {
        let link = Self.link(name: "Ann & Bo")
        #expect(link.text(.app) == "whisper://add/\(Self.id)?v=1&o=chat.example&\(Self.fingerprint)&n=Ann%20%26%20Bo")
        #expect(link.text(.web) == "https://chat.example/add#\(Self.id)&v=1&\(Self.fingerprint)&n=Ann%20%26%20Bo")
    }

    @Test(arguments: [
        "wss://chat.example", "wss://chat.example:8443", "ws://127.0.0.1:8080", "wss://[::1]", "ws://chat.example",
    ])
    func whatIsWrittenIsRead(server: String) throws {
        let written = Self.link(server, name: "Ann-Maria Ö")
        for form in ContactLink.Form.allCases {
            let read = try ContactLink(written.text(form))
            #expect(read.id == written.id && read.name == written.name && read.fingerprint == written.fingerprint)
            #expect(try #require(read.server).isSamePlace(as: ServerAddress(server)!))
            #expect(read.fits(Self.keys))
        }
    }

    @Test func theFormOfTheFirstReleasesIsRead() throws {
        let text =
            "whisper:\(Self.id)?s=\(Base64URL.encode(Self.keys.sign.bytes))&e=\(Base64URL.encode(Self.keys.box.bytes))"
        let link = try ContactLink(text)
        #expect(link.server == nil && link.keys == Self.keys && link.fits(Self.keys))
    }

    @Test func everyVouchedFieldIsCompared() throws {
        var others = [Self.keys, Self.keys]
        others[0] = PublicKeys(sign: Self.keys.sign, box: Bytes32(Array(34...65))!)
        others[1] = PublicKeys(sign: Bytes32(Array(2...33))!, box: Self.keys.box)
        for other in others { #expect(!Self.link().fits(other)) }
        // The keys fit the id, and not the fingerprint.
        let flipped = try ContactLink(
            Self.link().text(.app).replacing(Self.fingerprint, with: "f=AAAAAAAAAAAAAAAAAAAAAA"))
        #expect(!flipped.fits(Self.keys))
        // The fingerprint fits the keys, and the id not.
        let stranger = PublicKeys(sign: Self.keys.box, box: Self.keys.sign).id(counter: 0)
        #expect(try !ContactLink(Self.link().text(.app).replacing("\(Self.id)", with: "\(stranger)")).fits(Self.keys))
        // Keys in the link are held against what a server says.
        let withKeys =
            "whisper:\(Self.id)?s=\(Base64URL.encode(others[1].sign.bytes))&e=\(Base64URL.encode(Self.keys.box.bytes))"
        #expect(try !ContactLink(withKeys).fits(Self.keys))
    }

    @Test(arguments: [
        "", "whisper:", "WSP", "whisper://add/", "whisper://add/{id}", "whisper://add/{id}?", "whisper://add/{id}?v=1",
        "whisper://add/{id}?v=1&o=a.example", "whisper://add/{id}?o=a.example&{f}", "whisper://add/{id}?v=1&{f}",
        "whisper://add/{id}?v=0&o=a.example&{f}", "whisper://add/{id}?v=one&o=a.example&{f}",
        "whisper://add/{id}?v=1&o=a.example&f=AAAA", "whisper://add/{id}?v=1&v=1&o=a.example&{f}",
        "whisper://add/{id}?v=1&o=a.example&{f}&s=AAAA", "whisper://add/{id}?v=1&o=a.example&{f}&n=%ZZ",
        "whisper://add/{id}?v=1&o=a.example&{f}&n=\u{202E}", "whisper://add/{id}?v=1&o=a@b&{f}",
        "whisper://add/WSP-AAAA-AAAA-AAA?v=1&o=a.example&{f}", "ftp://a.example/add#{id}&v=1&{f}",
        "https://a.example/add?{id}&v=1&{f}", "whisper:{id}?s=AAAA&e=AAAA",
    ])
    func anythingElseIsNot(text: String) {
        let text = text.replacing("{id}", with: "\(Self.id)").replacing("{f}", with: Self.fingerprint)
        #expect(throws: ContactLink.Fault.malformed) { _ = try ContactLink(text) }
    }

    @Test func laterFormsAndUnknownParametersAreTold() throws {
        let text = Self.link().text(.app)
        #expect(throws: ContactLink.Fault.newer) { _ = try ContactLink(text.replacing("v=1", with: "v=2")) }
        #expect(try ContactLink(text + "&e2e=2&z=").fits(Self.keys))
        #expect(throws: ContactLink.Fault.malformed) {
            _ = try ContactLink(text + "&z=" + String(repeating: "x", count: ContactLink.charactersMax))
        }
    }

    @Test func aNameThatTurnsTheLineIsCleaned() throws {
        let hostile = "\u{202E}Ann\u{200B}\u{7}" + String(repeating: "x", count: 100)
        let name = try #require(try ContactLink(Self.link(name: hostile).text(.app)).name)
        #expect(name == "Ann" + String(repeating: "x", count: 61))
        let foreign = Self.link().text(.app) + "&n=%E2%80%AEnnA%0A"
        #expect(try ContactLink(foreign).name == "nnA")
    }

    /// Changed bytes of a good link: each is read or refused, and what is read never vouches for other keys.
    @Test func changedLinksAreReadOrRefused() {
        var random = SystemRandomNumberGenerator()
        let good = Array(Self.link(name: "Ann").text(.app).utf8)
        let other = PublicKeys(sign: Self.keys.box, box: Self.keys.sign)
        for _ in 0..<(Prove.isAsked ? 20_000 : 2_000) {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0x20...0x7F, using: &random)
            }
            guard let link = try? ContactLink(String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect(!link.fits(other))
        }
    }

    @Test func theKindOfEachLinkIsTold() throws {
        let secret = "AAECAwQFBgcICQoLDA0ODw"
        let id = "3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61"
        func kind(_ text: String) throws -> String { String("\(try Link(text))".prefix { $0 != "(" }) }
        #expect(try kind(Self.link().text(.web)) == "contact")
        #expect(try kind("whisper://invite/chat.example#\(secret)") == "invitation")
        #expect(try kind("https://chat.example/join/\(id)#\(secret)") == "room")
        #expect(try kind("https://chat.example/transcript/\(id)#\(secret)") == "transcript")
        #expect(throws: ContactLink.Fault.malformed) { _ = try Link(secret) }
    }
}
