import Contract
import ContractDocuments
import ContractSchema
import Testing

/// The rules of AsyncAPI 3.0 and OpenAPI 3.1 that these documents could break.
@Suite struct DocumentStructureTests {
    @Test(arguments: ["AsyncAPI", "OpenAPI"])
    func everyReferenceLeadsSomewhere(format: String) throws {
        let document = format == "AsyncAPI" ? AsyncAPI.document : OpenAPI.document
        for reference in references(in: document) {
            try #require(reference.hasPrefix("#/"))
            var place: Document? = document
            for name in reference.dropFirst(2).split(separator: "/") { place = place?[String(name)] }
            #expect(place != nil, "\(reference)")
        }
    }

    @Test func everyFrameIsAMessageOfTheSocket() throws {
        let document = AsyncAPI.document
        #expect(document["asyncapi"] == "3.0.0")
        let messages = try names(#require(document["components"]?["messages"]))
        #expect(Set(messages) == Set(DocumentedFrame.all.map(\.key)))
        #expect(messages.count == Set(messages).count)
        #expect(try names(#require(document["channels"]?["socket"]?["messages"])) == messages)
    }

    @Test func clientsSendAndTheServerReceives() throws {
        let operations = try #require(AsyncAPI.document["operations"])
        for name in names(operations) {
            #expect(operations[name]?["action"] == (name.hasPrefix("client.") ? "receive" : "send"))
            // An operation's messages are those of its channel, not of the components (AsyncAPI 3.0, Operation Object).
            let message = Document.member("$ref", .string("#/channels/socket/messages/\(name)"))
            #expect(operations[name]?["messages"] == [message])
        }
        // Every frame of the server's comes by itself or answers something.
        let sent = Set(names(operations))
        for frame in ServerFrameCatalogue.all where !sent.contains("server.\(frame.type)") {
            #expect(!frame.answers.isEmpty)
        }
    }

    @Test func answersAnswerFramesThatExist() {
        let types = Set(FrameCatalogue.all.map(\.type))
        for frame in ServerFrameCatalogue.all {
            for type in frame.answers { #expect(types.contains(type), "\(frame.type) answers \(type)") }
        }
    }

    @Test func aTypeStandsForOneFrameOfEachSide() {
        let client = FrameCatalogue.all.map(\.type)
        #expect(client.count == Set(client).count)
        let server = ServerFrameCatalogue.all.map(\.type)
        #expect(server.count == Set(server).count)
    }

    @Test func pathParametersAreDeclared() {
        let operations = HTTPCatalogue.all
        #expect(Set(operations.map(\.name)).count == operations.count)
        #expect(Set(operations.map { "\($0.method) \($0.path)" }).count == operations.count)
        for operation in operations {
            let inPath = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                $0.dropFirst().dropLast()
            }
            let declared = operation.parameters.filter { $0.place == .path }.map(\.field.name)
            #expect(inPath.map(String.init) == declared, "\(operation.path)")
        }
    }

    @Test(arguments: HTTPCatalogue.all.map(\.name))
    func httpSamplesAreValid(name: String) throws {
        let operation = try #require(HTTPCatalogue.all.first { $0.name == name })
        if let request = operation.request {
            _ = try FrameDecoder.payload(bare: Array(request.sample.utf8), schema: request.schema)
        }
        if case .json(let schema, let sample) = operation.success {
            _ = try FrameDecoder.payload(bare: Array(sample.utf8), schema: schema)
        }
    }

    @Test(arguments: DocumentedFrame.all.map(\.key))
    func frameSamplesAreValid(key: String) throws {
        let frame = try #require(DocumentedFrame.all.first { $0.key == key })
        #expect(!frame.samples.isEmpty)
        #expect(!frame.about.isEmpty)
        for sample in frame.samples {
            #expect(FrameVerdict.violation(of: Array(frame.frame(sample).line.utf8), from: frame.side) == nil)
        }
    }

    @Test func thePageHasEveryFrameOnce() {
        let headings = ProtocolPage.text.split(separator: "\n").filter { $0.hasPrefix("### ") }
        for frame in DocumentedFrame.all {
            let heading = "### \(frame.side == .client ? "→" : "←") `\(frame.type)`"
            #expect(headings.count { $0 == heading } == 1, "\(heading)")
        }
        let chapters = ProtocolPage.text.split(separator: "\n").filter { $0.hasPrefix("## ") }
        #expect(
            !chapters.contains { $0.hasSuffix(ProtocolPage.titleOfTheRest) },
            "name them in a chapter of ProtocolPage+Frames.swift")
    }
}

private func names(_ document: Document) -> [String] {
    guard case .object(let members) = document else { return [] }
    return members.map(\.name)
}

private func references(in document: Document) -> [String] {
    switch document {
    case .object(let members):
        return members.flatMap { member in
            if member.name == "$ref", case .string(let target) = member.value { return [target] }
            return references(in: member.value)
        }
    case .array(let elements): return elements.flatMap(references)
    default: return []
    }
}
