import Contract
import ContractDocuments
import Testing

/// A service's view of a frame, once it has been read.
@Suite struct FrameViewTests {
    private func payload(_ definition: FrameDefinition, _ json: String) throws -> Payload {
        try FrameDecoder.payload(bare: Array(json.utf8), schema: definition.schema)
    }

    @Test func aGroupIsCreated() throws {
        let frame = try GroupCreate(self.payload(GroupCreate.definition, GroupCreate.definition.samples[0]))
        #expect(frame.title == "Hiking")
        #expect(frame.memberIDs.map { "\($0)" } == ["WSP-AAAA-AAAA-AAAA", "WSP-F4YH-3J4Z-7RP7"])
    }

    @Test func aGroupIsChanged() throws {
        let json = #"""
            {"protocolVersion":1,"cryptoVersion":1,"groupId":"grp-3D6F1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","addMembers": [ "WSP-AAAA-AAAA-AAA\u0041" ],
            "roleChanges":[ {"x":1,"role":"admin","whisperId":"WSP-AAAA-AAAA-AAAA"}, {"whisperId":"WSP-F4YH-3J4Z-7RP7","role":"member"} ]}
            """#
        let frame = try GroupUpdate(self.payload(GroupUpdate.definition, json))
        #expect("\(frame.groupID)" == "3D6F1f0e-8a55-4c7e-9d55-0c4b7d1f2a61")
        #expect(frame.title == nil)
        #expect(frame.addMembers.map { "\($0)" } == ["WSP-AAAA-AAAA-AAAA"])
        #expect(frame.removeMembers.isEmpty)
        #expect(
            frame.roleChanges.map { "\($0.identity) \($0.role)" } == [
                "WSP-AAAA-AAAA-AAAA admin", "WSP-F4YH-3J4Z-7RP7 member",
            ])
    }

    @Test func groupMailNamesItsGroup() throws {
        let definition = GroupSendMessage.definition
        let frame = try GroupSendMessage(self.payload(definition, definition.samples[0]))
        let lines = String(decoding: canonical(frame), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[1] == "group_send_message")
        #expect(lines[4] == "grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61")
        let relayed = String(decoding: frame.relayed(), as: UTF8.self)
        #expect(relayed.contains(#""groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61""#))
        #expect(
            FrameVerdict.violation(of: Array(#"{"type":"message_received","payload":\#(relayed)}"#.utf8), from: .server)
                == nil)
    }

    @Test func systemMessagesAreNotForGroups() throws {
        let sample = GroupSendMessage.definition.samples[0].replacing(
            #""msgType":"text""#, with: #""msgType":"system""#)
        #expect(throws: PayloadViolation.self) { try self.payload(GroupSendMessage.definition, sample) }
    }

    @Test func typingStartsAndStops() throws {
        let sample = Typing.definition.samples[0]
        #expect(Typing(try self.payload(Typing.definition, sample)).isTyping)
        #expect(!Typing(try self.payload(Typing.definition, sample.replacing("true", with: "false"))).isTyping)
    }

    @Test func evidenceIsAMessageWithItsSignature() throws {
        let sample = Report.definition.samples[1].replacing(
            #""evidence":{"#, with: #""evidence":{"secret":1,"replyTo":null,"#)
        let report = try Report(self.payload(Report.definition, sample))
        #expect(report.reason == .abuse)
        #expect(report.note == "since Monday")
        let evidence = try #require(report.evidence)
        let genuine = try SendMessage(self.payload(SendMessage.definition, SendMessage.definition.samples[0]))
        var bytes: [UInt8] = []
        evidence.canonicalBytes { bytes += $0 }
        #expect(bytes == canonical(genuine))
        #expect(evidence.signature == genuine.signature)
        #expect(!String(decoding: evidence.relayed(), as: UTF8.self).contains("secret"))
        #expect(try Report(self.payload(Report.definition, Report.definition.samples[0])).evidence == nil)
    }
}
