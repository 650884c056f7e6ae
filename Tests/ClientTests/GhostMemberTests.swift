import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// A server that lists one member more in a group (contract §13b).
extension CoreTests {
    private func ghost() -> String { "\(self.server.enroll(IdentityKeys(Mnemonic.random()).publicKeys))" }

    private func copies(for member: String) -> Int {
        self.server.frames("group_send_message").count { $0["to"]?.string == member }
    }

    private func newcomers(_ group: JSON?) -> [String] { group?["newcomers"]?.elements.compactMap(\.string) ?? [] }

    /// The state of a member's copy.
    private func copy(for member: String, of message: String, _ core: Core) async throws -> String? {
        let info = try await self.perform(core, #"message_info {"messageId":"\#(message)"}"#)["members"]?.elements ?? []
        return info.first { $0["whisperId"]?.string == member }?["state"]?.string
    }

    @Test func aGhostReadsNothingBeforeThePersonHasSeenIt() async throws {
        let (cores, ids, group) = try await self.three()
        let (ann, bob, carol) = (cores[0], cores[1], cores[2])
        let ghost = self.ghost()
        self.server.set { $0.ghost = ghost }
        try await self.perform(ann, #"group_update {"groupId":"\#(group)","title":"Tea"}"#)
        // Also who has done something else itself is told.
        let result = try await self.next(ann, "answer").event["result"]?["group"]
        #expect(self.newcomers(result) == [ghost] && result?["needsConsent"] == .bool(false))
        let told = try await self.next(bob, "groupChanged").event["group"]
        #expect(self.newcomers(told) == [ghost] && told?["members"]?.integer == 4)

        let sent = try await self.perform(bob, #"message_send {"to":"\#(group)","text":"between us"}"#)["message"]
        let id = try #require(sent?["messageId"]?.string)
        for core in [ann, carol] { _ = try await self.next(core, "messageReceived") }
        // Nor when sent again, nor with the next connection.
        try await self.perform(bob, #"message_retry {"chat":"\#(group)"}"#)
        self.server.breakConnections()
        try await self.perform(bob, #"message_send {"to":"\#(group)","text":"still"}"#)
        for core in [ann, carol] { _ = try await self.next(core, "messageReceived") }
        #expect(self.copies(for: ghost) == 0)
        #expect(try await self.copy(for: ghost, of: id, bob) == "queued")

        #expect(
            try await self.refusal(bob, #"group_admit {"groupId":"\#(group)","members":[]}"#) == "invalidField members")
        let admit = #"group_admit {"groupId":"\#(group)","members":["\#(ghost)","\#(ids[0])"]}"#
        let admitted = try await self.perform(bob, admit)["group"]
        #expect(self.newcomers(admitted).isEmpty)
        _ = try await self.next(bob, "messageChanged") {
            $0["message"]?["messageId"]?.string == id && $0["message"]?["state"]?.string == "sent"
        }
        #expect(self.copies(for: ghost) >= 1)
        #expect(self.newcomers(try await self.perform(bob, admit)["group"]).isEmpty)
        await self.close(cores)
    }

    @Test func amongVerifiedMembersThePersonMustAgree() async throws {
        let (cores, ids, group) = try await self.three()
        for id in ids[1...] {
            try await self.perform(cores[0], #"contact_add {"whisperId":"\#(id)"}"#)
            _ = try await self.next(cores[0], "answer")
            try await self.perform(cores[0], #"contact_verify {"whisperId":"\#(id)","isVerified":true}"#)
        }
        let ghost = self.ghost()
        self.server.set { $0.ghost = ghost }
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","title":"Tea"}"#)
        let result = try await self.next(cores[0], "answer") { $0["result"]?["group"] != nil }.event["result"]?["group"]
        #expect(self.newcomers(result) == [ghost] && result?["needsConsent"] == .bool(true))
        let admit = #"group_admit {"groupId":"\#(group)","members":["\#(ghost)"]"#
        #expect(try await self.refusal(cores[0], admit + "}") == "notAgreed")
        let sent = try await self.perform(cores[0], #"message_send {"to":"\#(group)","text":"x"}"#)["message"]
        let id = try #require(sent?["messageId"]?.string)
        for core in cores[1...] { _ = try await self.next(core, "messageReceived") }
        #expect(self.copies(for: ghost) == 0)

        // The server takes it back: nobody waits for it any more.
        self.server.set { ($0.ghost, $0.formerGhost) = (nil, ghost) }
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","title":"Cake"}"#)
        let after = try await self.next(cores[0], "answer").event["result"]?["group"]
        #expect(self.newcomers(after).isEmpty && after?["members"]?.integer == 3)
        #expect(try await self.copy(for: ghost, of: id, cores[0]) == nil)
        #expect(self.copies(for: ghost) == 0)

        self.server.set { ($0.ghost, $0.formerGhost) = (ghost, nil) }
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","title":"Tea"}"#)
        _ = try await self.next(cores[0], "answer")
        #expect(self.newcomers(try await self.perform(cores[0], admit + #","isAgreed":true}"#)["group"]).isEmpty)
        await self.close(cores)
    }

    /// People whom the person here adds are known here, and nobody else is.
    @Test func aServerThatAddsToOurOwnOrderIsNoticed() async throws {
        let (cores, ids, _) = try await self.three()
        let (ghost, dave) = (self.ghost(), self.ghost())
        self.server.set { $0.ghost = ghost }
        try await self.perform(cores[0], #"group_create {"title":"Two","members":["\#(ids[1])"]}"#)
        let created = try await self.next(cores[0], "answer").event["result"]?["group"]
        #expect(self.newcomers(created) == [ghost])
        let group = try #require(created?["groupId"]?.string)
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","add":["\#(dave)"]}"#)
        let changed = try await self.next(cores[0], "answer").event["result"]?["group"]
        #expect(self.newcomers(changed) == [ghost] && changed?["members"]?.integer == 4)
        try await self.perform(cores[0], #"message_send {"to":"\#(group)","text":"x"}"#)
        _ = try await self.next(cores[1], "messageReceived")
        #expect(self.copies(for: ghost) == 0)
        await self.close(cores)
    }

    /// Ann's people have her keys, because she has written. She adds somebody, and the server adds a ghost to that.
    private func threeWhoHaveWritten() async throws -> (cores: [Core], ids: [String], group: String) {
        let (cores, ids, group) = try await self.three()
        try await self.perform(cores[0], #"message_send {"to":"\#(group)","text":"hello"}"#)
        for core in cores[1...] { _ = try await self.next(core, "messageReceived") }
        return (cores, ids, group)
    }

    @Test func whomAMemberHasSignedIsNoNewcomer() async throws {
        let (cores, _, group) = try await self.threeWhoHaveWritten()
        let (dave, ghost) = (self.ghost(), self.ghost())
        self.server.set { $0.ghost = ghost }
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","add":["\#(dave)"]}"#)
        for core in cores[1...] {
            let told = try await self.next(core, "groupChanged").event["group"]
            #expect(self.newcomers(told) == [ghost] && told?["members"]?.integer == 5)
        }
        try await self.perform(cores[1], #"message_send {"to":"\#(group)","text":"x"}"#)
        _ = try await self.next(cores[2], "messageReceived")
        try await self.perform(cores[1], #"group_admit {"groupId":"\#(group)","members":["\#(ghost)"]}"#)
        await self.close(cores)
    }

    @Test func withoutItsSignatureAnAdditionIsShown() async throws {
        let (cores, _, group) = try await self.threeWhoHaveWritten()
        let dave = self.ghost()
        self.server.set { $0.stripsSignatures = true }
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","add":["\#(dave)"]}"#)
        for core in cores[1...] {
            #expect(self.newcomers(try await self.next(core, "groupChanged").event["group"]) == [dave])
        }
        await self.close(cores)
    }
}

/// Signatures of groups (contract §13b).
@Suite struct GroupSignatureTests {
    private let anna = IdentityKeys(aliceWords)
    private let group = UUIDText("3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61")!
    private let time = Timestamp(milliseconds: 1_730_000_000_000)

    private func event(_ event: GroupEvent.Event, _ revision: Int64, _ signed: SignedGroupChange) -> GroupEvent {
        GroupEvent(
            event: event,
            group: GroupDescription(
                groupID: self.group, title: "Tea", ownerID: aliceWords.id, createdAt: self.time, updatedAt: self.time,
                revision: revision, members: []), actor: aliceWords.id, added: [], removed: [], signed: signed)
    }

    @Test func aSignatureHoldsForOneChangeAtOneRevision() {
        let order = GroupUpdateOrder(title: "Tea", added: [bobID], removed: [aliceWords.id], roles: [bobID: .admin])
        let id = "grp-\(self.group)"
        let signed = self.anna.pair.signed(order, of: id, revision: 4, at: self.time)
        #expect(self.event(.updated, 5, signed).isSigned(by: self.anna.publicKeys))
        for wrong in [
            self.event(.updated, 6, signed), self.event(.created, 5, signed), self.event(.updated, 4, signed),
        ] {
            #expect(!wrong.isSigned(by: self.anna.publicKeys))
        }
        #expect(!self.event(.updated, 5, signed).isSigned(by: IdentityKeys(bobWords).publicKeys))
        for (added, removed, title) in [
            ([], [aliceWords.id], "Tea"), ([bobID], [], "Tea"), ([bobID], [aliceWords.id], nil),
            ([bobID, aliceWords.id], [aliceWords.id], "Tea"),
        ] as [([WhisperID], [WhisperID], String?)] {
            let other = SignedGroupChange(
                added: added, removed: removed, roles: signed.roles, title: title, timestamp: signed.timestamp,
                signature: signed.signature)
            #expect(!self.event(.updated, 5, other).isSigned(by: self.anna.publicKeys))
        }
        let created = self.anna.pair.signed(order, of: nil, revision: 0, at: self.time)
        #expect(self.event(.created, 1, created).isSigned(by: self.anna.publicKeys))
        #expect(!self.event(.created, 2, created).isSigned(by: self.anna.publicKeys))
    }

    /// The wire carries exactly the signed change.
    @Test func itSurvivesTheServer() throws {
        let order = GroupUpdateOrder(added: [bobID])
        let signed = self.anna.pair.signed(order, of: "grp-\(self.group)", revision: 1, at: self.time)
        let event = self.event(.updated, 2, signed)
        let read = try GroupEvent(
            FrameDecoder.payload(strict: event.json, schema: GroupEvent.definition.schema))
        #expect(read.signed == signed && read.isSigned(by: self.anna.publicKeys))
        #expect(
            String(decoding: signed.text, as: UTF8.self) == "add \(bobID)\nremove \nrole \ntitle \n")
    }
}

@Suite struct NewcomerTests {
    private let people = ["A", "B", "C", "D"].map { WhisperID("WSP-AAAA-AAAA-AAA\($0)")! }

    private func group(_ revision: Int64, _ members: ArraySlice<WhisperID>, newcomers: [WhisperID] = []) -> Group {
        Group(
            id: "grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", title: "", createdAt: Timestamp(milliseconds: 1),
            updatedAt: Timestamp(milliseconds: 1), revision: revision, isMember: true,
            members: members.map { Group.Member(id: $0, role: .member, joinedAt: Timestamp(milliseconds: 1)) },
            newcomers: newcomers)
    }

    @Test func whoWasSeenIsNoNewcomer() {
        let all = Set(self.people)
        func among(
            _ revision: Int64, known: Group? = nil, vouched: Set<WhisperID> = [], added: Set<WhisperID> = [],
            isOurs: Bool = false
        ) -> Set<WhisperID> {
            Newcomers.among(
                self.group(revision, self.people[...]), insteadOf: known, vouched: vouched, added: added, isOurs: isOurs
            )
        }
        // A group that others made is taken as it is, but for what its maker has signed.
        #expect(among(1).isEmpty && among(7).isEmpty)
        #expect(among(1, vouched: Set(self.people[..<3])) == [self.people[3]])
        #expect(among(7, vouched: [self.people[0]]).isEmpty)
        #expect(among(7, known: self.group(0, [])).isEmpty, "only mail of it had come")
        // Our own is what we asked for.
        #expect(among(1, isOurs: true) == all)
        #expect(among(1, added: Set(self.people[..<2]), isOurs: true) == Set(self.people[2...]))
        // Later it is compared, and who was a newcomer is one until seen.
        let known = self.group(1, self.people[..<2], newcomers: [self.people[1]])
        #expect(among(2, known: known) == Set(self.people[1...]))
        #expect(among(2, known: known, vouched: [self.people[2]], added: [self.people[3]]) == [self.people[1]])
    }
}
