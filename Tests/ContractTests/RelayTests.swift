import Contract
import Foundation
import ServerCrypto
import Testing
import TestKit

/// The recipient's message, and the signed content, however the sender spelled its JSON.
@Suite struct RelayTests {
    private static let fields: Set = [
        "messageId", "from", "to", "msgType", "timestamp", "nonce", "ciphertext", "sig", "reactions", "attachment",
    ]

    private func relayed(_ draft: Draft) throws -> NSDictionary {
        let bytes = try SendMessage(read(draft.message).payload).relayed()
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
    }

    private func object(_ json: String) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
    }

    @Test(arguments: [0, 1])
    func theRecipientGetsWhatWasSentLessVersionsAndSession(sample: Int) throws {
        let draft = Draft(SendMessage.definition, sample: sample)
        let sent = try self.object(draft.payload)
        let relayed = try self.relayed(draft)
        #expect(Set(relayed.allKeys as! [String]) == Self.fields.union(sample == 0 ? ["replyTo"] : []))
        for case let (name as String, value as NSObject) in relayed where sent[name] != nil {
            #expect(sent[name] as? NSObject == value, "\(name)")
        }
    }

    @Test func emptyReactionsAndNoAttachmentAreSpelledOut() throws {
        for value in ["null", nil] {
            var draft = Draft(SendMessage.definition)
            for name in ["reactions", "attachment", "replyTo"] {
                draft = value.map { draft.with(name, $0) } ?? draft.without(name)
            }
            let relayed = try self.relayed(draft)
            #expect(relayed["reactions"] as? NSDictionary == [:])
            #expect(relayed["attachment"] is NSNull)
            #expect(relayed["replyTo"] == nil)
        }
    }

    @Test func unknownFieldsAreNotPassedOn() throws {
        let box = #"{"ciphertext":\#(base64(48)),"secret":[{"a":1}],"nonce":\#(base64(24)),"x":null}"#
        let attachment =
            #"{"x":{"objectKey":"no"},"objectKey":"att\/2026\/01\/a.bin","contentType":"image\/jpeg","y":"z","#
            + #""ciphertextSize": 5 ,"fileNonce":\#(base64(24)),"fileKeyBox":\#(box),"last":0}"#
        let draft = Draft(SendMessage.definition).with("attachment", attachment).adding(#""evil""#, "1")
        let relayed = try self.relayed(draft)
        #expect(relayed["evil"] == nil)
        let expected =
            #"{"objectKey":"att/2026/01/a.bin","contentType":"image/jpeg","ciphertextSize":5,"fileNonce":\#(base64(24)),"#
            + #""fileKeyBox":{"nonce":\#(base64(24)),"ciphertext":\#(base64(48))}}"#
        #expect(relayed["attachment"] as? NSDictionary == (try self.object(expected)))
    }

    @Test func unknownFieldsDeepInsideAloneAreNotPassedOnEither() throws {
        let attachment =
            #"{"objectKey":"a","contentType":"b","ciphertextSize":5,"fileNonce":\#(base64(24)),"#
            + #""fileKeyBox":{"nonce":\#(base64(24)),"ciphertext":\#(base64(48)),"hidden":true}}"#
        let relayed = try self.relayed(Draft(SendMessage.definition).with("attachment", attachment))
        let box = try #require((relayed["attachment"] as? NSDictionary)?["fileKeyBox"] as? NSDictionary)
        #expect(Set(box.allKeys as! [String]) == ["nonce", "ciphertext"])
    }

    /// A list of objects is written anew element by element.
    @Test func unknownFieldsOfElementsAreNotPassedOn() throws {
        let roles =
            #"[ {"x":[{"role":"member"}],"whisperId":"WSP-AAAA-AAAA-AAAA","role":"admin"} ,{"role":"member","y":null,"whisperId":"WSP-JBPU-D452-TLT4"}]"#
        let draft = Draft(GroupUpdate.definition).with("roleChanges", roles)
        let payload = try read(draft.message).payload
        let expected =
            #"[{"whisperId":"WSP-AAAA-AAAA-AAAA","role":"admin"},{"role":"member","whisperId":"WSP-JBPU-D452-TLT4"}]"#
        let bare = text(try payload.json())
        #expect(bare.contains("\"roleChanges\":\(expected)"), "\(bare)")
        let changes = try GroupUpdate(payload).roleChanges
        let again = try GroupUpdate(FrameDecoder.payload(bare: Array(bare.utf8), schema: GroupUpdate.definition.schema))
        #expect(again.roleChanges == changes)
        #expect(changes.map(\.role) == [.admin, .member])
    }

    @Test func theSpellingOfUUIDsIsKept() throws {
        let mixed = "9B2a1F64-0f7C-4E51-9d0c-3C7d1d2B7a1F"
        let draft = Draft(SendMessage.definition).with("messageId", "\"\(mixed)\"").with("replyTo", "\"\(mixed)\"")
        let relayed = try self.relayed(draft)
        #expect(relayed["messageId"] as? String == mixed)
        #expect(relayed["replyTo"] as? String == mixed)
    }

    @Test(arguments: UInt64(0)..<60)
    func theSignedBytesDoNotDependOnEscapes(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let nonce = text(Base64.encode(random.bytes(24)))
        let ciphertext = text(Base64.encode(random.bytes(1 + random.upTo(300))))
        let messageID = random.uuid()
        let from = random.whisperID()
        let to = random.whisperID()
        let timestamp = Int64.random(in: Limits.timestamps, using: &random)
        let expected = CanonicalMessage(
            type: "send_message", messageID: messageID.description, from: from.description, toOrGroupID: to.description,
            timestamp: timestamp, nonce: nonce, ciphertext: ciphertext)
        var relays: Set<[UInt8]> = []
        for escapes in [0, 40, 3, 1] {
            let draft = Draft(SendMessage.definition).without("reactions").without("replyTo")
                .with("messageId", random.json(messageID.description, oneIn: escapes))
                .with("from", random.json(from.description, oneIn: escapes))
                .with("to", random.json(to.description, oneIn: escapes))
                .with("timestamp", "\(timestamp)")
                .with("nonce", random.json(nonce, oneIn: escapes))
                .with("ciphertext", random.json(ciphertext, oneIn: escapes))
            let message = try SendMessage(read(draft.message).payload)
            var bytes: [UInt8] = []
            message.canonicalBytes { bytes += $0 }
            #expect(bytes == expected.bytes)
            relays.insert(message.relayed())
        }
        // Escapes are undone on the way, so the recipient's bytes are the same too.
        #expect(relays.count == 1)
    }

    @Test func theSampleIsTheVector() throws {
        let message = try SendMessage(read(Draft(SendMessage.definition).message).payload)
        let hash = SHA256()
        message.canonicalBytes { hash.update($0) }
        let digest = hash.finish()
        #expect(digest.bytes == hex("a3f5cb632768c6b6126a602d87fd84e5e874d481903aadcd8fd391b70e9e2251"))
        let key = try #require(Bytes32(hex("bd930cbbf856bb76f2c25c64062a2944cc6065ba54b9af7242d2bfbde5d7c95b")))
        #expect(Signatures.isValid(message.signature, over: digest, by: key))
    }

    @Test func reactionsKeepTheirWhiteSpaceAndEscapesAndMeaning() throws {
        let reactions = #"{ "\ud83d\udc4d" : [ "WSP-AAAA-AAAA-AAAA" ] , "\"\\" : [] }"#
        let relayed = try self.relayed(Draft(SendMessage.definition).with("reactions", reactions))
        #expect(relayed["reactions"] as? NSDictionary == ["👍": ["WSP-AAAA-AAAA-AAAA"], "\"\\": [String]()])
    }

    // MARK: Other frames

    @Test func tokensAreKeptClearedOrSet() throws {
        func change(_ draft: Draft) throws -> UpdateTokens { try UpdateTokens(read(draft.message).payload) }
        let draft = Draft(UpdateTokens.definition)
        #expect(try change(draft.without("pushToken")).pushToken == .keep)
        #expect(try change(draft.with("pushToken", "null")).pushToken == .clear)
        #expect(try change(draft.with("pushToken", #""t\u00e9\/\"""#)).pushToken == .set("té/\""))
    }

    @Test func aServiceReadsTheSameFrameWithoutTheToken() throws {
        for definition in FrameCatalogue.all {
            for sample in definition.samples.indices {
                let draft = Draft(definition, sample: sample).adding(#""unknown""#, "1")
                let bare = try read(draft.message).payload.json(without: ["sessionToken"])
                let again = try FrameDecoder.payload(bare: bare, schema: definition.schema)
                var expected = try self.object(draft.payload) as! [String: NSObject]
                expected["unknown"] = nil
                // Inside an object null equals absent, and is not passed on.
                for (name, value) in expected {
                    guard let object = value as? [String: NSObject] else { continue }
                    expected[name] = object.filter { !($0.value is NSNull) } as NSDictionary
                }
                expected["sessionToken"] = nil
                #expect(try self.object(text(again.json())) as? [String: NSObject] == expected, "\(definition.type)")
            }
        }
    }
}

extension SeededGenerator {
    /// A JSON string whose characters are escaped, one in so many; 0 for none.
    fileprivate mutating func json(_ text: String, oneIn: Int) -> String {
        let body = text.utf8.map { byte -> String in
            guard oneIn > 0, self.chance(oneIn) else { return String(Unicode.Scalar(byte)) }
            if byte == UInt8(ascii: "/"), self.chance(2) { return #"\/"# }
            let digits = String(byte, radix: 16, uppercase: self.chance(2))
            return #"\u00"# + digits
        }
        return "\"" + body.joined() + "\""
    }
}
