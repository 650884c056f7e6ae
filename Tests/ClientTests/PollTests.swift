import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Polls, whose votes everybody counts, and people who are named in texts.
@Suite(.timeLimit(.minutes(20))) struct PollTests {
    private let kit: CoreTests

    init() throws { self.kit = try CoreTests() }

    // MARK: Bodies

    @Test func bodiesAreReadAsTheyWereWritten() throws {
        let id = UUIDText.random()
        let poll = try #require(Poll(options: ["Yes", "No"], isMany: true, until: Timestamp(milliseconds: 9)))
        let mentions = [Mention(id: bobID, start: 0, count: 4), Mention(id: carolID, start: 5, count: 1)]
        let vote = MessageChange(
            target: MessageReference(id: .random(), author: bobID), kind: .vote([0, 1]),
            revision: Revision(time: 5, id: id))
        let bodies: [MessageBody] = [
            .text("Tea?", .init(poll: poll)), .text("@Bob \u{1F44D}!", .init(mentions: mentions)), .change(vote),
        ]
        for body in bodies { #expect(MessageBody(body.bytes, id: id) == body) }
        // A client that does not know votes shows the sentence.
        #expect(bodies[2].bytes.starts(with: Array("Voted in a poll.\0".utf8)))
        #expect(bodies[2].groupBytes == bodies[2].bytes)
    }

    @Test func whatBreaksABoundIsLeftOutAndTheTextStays() {
        let long = String(repeating: "x", count: ClientLimits.optionBytesMax + 1)
        let mention = #"{"id":"\#(bobID)","start":0,"count":3}"#
        for annex in [
            #""poll":[1,2]"#, #""poll":{"options":["one"],"many":false}"#,
            #""poll":{"options":["a","\#(long)"],"many":false}"#,
            #""poll":{"options":["a",""],"many":false}"#, #""poll":{"options":["a","b"]}"#,
            #""mentions":3"#, #""mentions":[\#(mention),\#(mention)]"#, #""mentions":[{"id":"x","start":0,"count":1}]"#,
            #""mentions":[{"id":"\#(bobID)","start":2,"count":3}]"#,
            #""mentions":[{"id":"\#(bobID)","start":-1,"count":1}]"#,
            #""mentions":[{"id":"\#(bobID)","start":0,"count":0}]"#,
            #""mentions":[{"id":"\#(bobID)","start":1,"count":9223372036854775807}]"#,
        ] {
            #expect(MessageBody(Array("text\0{\(annex)}".utf8), id: .random()) == .text("text", .init()), "\(annex)")
        }
    }

    // MARK: Votes

    @Test func everybodyCountsTheSameVotesInAnyOrder() throws {
        let poll = Message(
            id: .random(), peer: bobID, direction: .incoming(isRead: false), content: .text("Tea?"),
            time: Timestamp(milliseconds: 1))
        var asked = poll
        asked.poll = Poll(options: ["Yes", "No"], isMany: false, until: Timestamp(milliseconds: 8))
        let target = MessageReference(id: poll.id, author: bobID)
        // The latest of two, one that breaks the poll's rule, one that is too late.
        var votes = [([0], 2), ([1], 5), ([0, 1], 6), ([7], 6), ([0], 9)].map { choices, time in
            MessageChange(target: target, kind: .vote(choices), revision: Revision(time: Int64(time), id: .random()))
        }
        for place in votes.indices { votes[place].signedAt = Timestamp(milliseconds: votes[place].revision.time) }
        // One that names an earlier time than that of its signature.
        var backdated = votes[0]
        (backdated.revision, backdated.signedAt) = (
            Revision(time: 7, id: .random()), Timestamp(milliseconds: 9)
        )
        votes.append(backdated)
        for order in [votes, votes.reversed(), [votes[1], votes[5], votes[4], votes[0], votes[3], votes[2]]] {
            for pollComesAt in 0...order.count {
                let folder = try TemporaryFolder()
                let profile = try Profile.create(at: folder.path + "/a", mnemonic: aliceWords, server: .local)
                defer { profile.close() }
                let store = profile.store
                try store.settings.set(
                    whisperID: aliceWords.id, session: StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 1)))
                _ = try store.contacts.pin(
                    IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, at: .now)
                var arrivals = order.map { Arrival.change($0, from: bobID, groupID: nil) }
                arrivals.insert(.message(asked), at: pollComesAt)
                for arrival in arrivals { _ = try store.messages.keep([arrival], at: .now) }
                let kept = try store.messages.messages(with: bobID, limit: 1).first?.poll
                #expect(kept?.votes == [Poll.Vote(from: bobID, choices: [1])])
            }
        }
    }

    @Test func aGroupAnswersAPollAndNamesSomebody() async throws {
        let (cores, ids, group) = try await self.kit.three()
        let (ann, bob, carol) = (cores[0], cores[1], cores[2])
        #expect(
            try await self.kit.refusal(ann, #"poll_send {"to":"\#(group)","text":"Tea?","options":["Yes"]}"#)
                == "invalidField options")
        let sent = try await self.kit.perform(
            ann, #"poll_send {"to":"\#(group)","text":"Tea?","options":["Yes","No"]}"#)["message"]
        let id = try #require(sent?["messageId"]?.string)
        for core in [bob, carol] {
            let got = try await self.kit.next(core, "messageReceived").event["message"]
            #expect(got?["poll"]?["options"]?.elements.compactMap { $0["text"]?.string } == ["Yes", "No"])
        }
        let target = #""chat":"\#(group)","messageId":"\#(id)""#
        #expect(try await self.kit.refusal(ann, #"poll_vote {\#(target),"choices":[0,1]}"#) == "notText messageId")
        try await self.kit.perform(ann, #"poll_vote {\#(target),"choices":[0]}"#)
        try await self.kit.perform(bob, #"poll_vote {\#(target),"from":"\#(ids[0])","choices":[1]}"#)
        try await self.kit.perform(bob, #"poll_vote {\#(target),"from":"\#(ids[0])","choices":[0]}"#)
        for core in cores {
            _ = try await self.kit.next(core, "messageChanged") { event in
                let options = event["message"]?["poll"]?["options"]?.elements
                return options?[0]["voters"]?.elements.compactMap(\.string) == [ids[0], ids[1]].sorted()
                    && options?[1]["voters"]?.elements.isEmpty == true
            }
        }
        // Somebody is named, in a text and in its edit.
        #expect(
            try await self.kit.refusal(
                ann,
                #"message_send {"to":"\#(group)","text":"Bob","mentions":[{"whisperId":"\#(ids[1])","start":1,"count":3}]}"#
            )
                == "invalidField mentions")
        let named = try await self.kit.perform(
            ann,
            #"message_send {"to":"\#(group)","text":"Bob!","mentions":[{"whisperId":"\#(ids[1])","start":0,"count":3}]}"#
        )
        let got = try await self.kit.next(bob, "messageReceived").event["message"]
        #expect(got?["mentions"]?.elements.first?["whisperId"]?.string == ids[1])
        let messageID = try #require(named["message"]?["messageId"]?.string)
        try await self.kit.perform(ann, #"message_edit {"messageId":"\#(messageID)","text":"Carol!"}"#)
        _ = try await self.kit.next(bob, "messageChanged") {
            $0["message"]?["text"]?.string == "Carol!" && $0["message"]?["mentions"] == nil
        }
        await self.kit.close(cores)
    }

    // MARK: Mentions

    /// Mute holds for all but a message that names us, unless that is to count for nothing. Others are not named.
    @Test func aMentionPassesMuteIfItsPersonWants() async throws {
        let (cores, ids, group) = try await self.kit.three()
        let (ann, bob, carol) = (cores[0], cores[1], cores[2])
        func said(_ text: String, naming: Bool) async throws -> JSON {
            let names = naming ? #","mentions":[{"whisperId":"\#(ids[1])","start":0,"count":3}]"# : ""
            try await self.kit.perform(ann, #"message_send {"to":"\#(group)","text":"\#(text)"\#(names)}"#)
            let theirs = try await self.kit.next(carol, "messageReceived").event
            #expect(theirs["message"]?["isMentioned"] == nil && theirs["isSilent"] == nil)
            return try await self.kit.next(bob, "messageReceived").event
        }
        let isOn = JSON.bool(true)
        let loud = try await said("Bob?", naming: true)
        #expect(loud["message"]?["isMentioned"] == isOn && loud["isSilent"] == nil)
        try await self.kit.perform(bob, #"chat_mark {"chat":"\#(group)","muted":true}"#)
        let plain = try await said("All?", naming: false)
        #expect(plain["message"]?["isMentioned"] == nil && plain["isSilent"] == isOn)
        let named = try await said("Bob!", naming: true)
        #expect(named["message"]?["isMentioned"] == isOn && named["isSilent"] == nil)
        #expect(
            try await self.kit.perform(bob, #"settings_set {"mentions":false}"#)["settings"]?["mentions"]
                == .bool(false))
        let unwanted = try await said("Bob.", naming: true)
        #expect(unwanted["message"]?["isMentioned"] == isOn && unwanted["isSilent"] == isOn)
        // An edit that names somebody else takes it back, here and after a restart.
        let id = try #require(unwanted["message"]?["messageId"]?.string)
        try await self.kit.perform(
            ann,
            #"message_edit {"messageId":"\#(id)","text":"Carol.","mentions":[{"whisperId":"\#(ids[2])","start":0,"count":5}]}"#
        )
        for (core, isNamed) in [(bob, nil), (carol, isOn)] as [(Core, JSON?)] {
            let changed = try await self.kit.next(core, "messageChanged").event["message"]
            #expect(changed?["text"]?.string == "Carol." && changed?["isMentioned"] == isNamed)
        }
        let kept = try await self.kit.perform(bob, #"chat_get {"chat":"\#(group)"}"#)["messages"]?.elements
        #expect(kept?.map { $0["isMentioned"] } == [isOn, nil, isOn, nil])
        await self.kit.close(cores)
    }

    /// The release before knows no mentions, and a client of the specification sees the text alone.
    @Test func otherClientsShowTheTextOfAMention() {
        let bytes = MessageBody.text("Bob!", .init(mentions: [Mention(id: bobID, start: 0, count: 3)])).bytes
        #expect(bytes.starts(with: Array("Bob!\0{\"mentions\":[".utf8)))
    }
}
