import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Groups in the core: made, told of, written to copy by copy.
extension CoreTests {
    /// Ann's group with two people who are nobody's contacts.
    func three() async throws -> (cores: [Core], ids: [String], group: String) {
        var (cores, ids): ([Core], [String]) = ([], [])
        for name in ["ann", "bob", "carol"] {
            let core = try self.open(name)
            try await self.perform(core, "identity_create")
            try await self.perform(core, #"events_subscribe {"consumer":"app"}"#)
            try await self.online(core)
            cores.append(core)
            ids.append(try await self.id(core))
        }
        try await self.perform(cores[0], #"group_create {"title":"Hiking","members":["\#(ids[1])","\#(ids[2])"]}"#)
        let created = try await self.next(cores[0], "answer").event["result"]?["group"]
        let group = try #require(created?["groupId"]?.string)
        #expect(created?["members"]?.integer == 3 && created?["isMember"] == .bool(true))
        for core in cores[1...] {
            let told = try await self.next(core, "groupChanged").event
            #expect(told["group"] == created && told["actor"]?.string == ids[0])
            #expect(told["added"]?.elements.compactMap(\.string) == [ids[1], ids[2]])
        }
        return (cores, ids, group)
    }

    func close(_ cores: [Core]) async { for core in cores { await core.close() } }

    @Test func aGroupIsWrittenToReadAnsweredAndChanged() async throws {
        let (cores, ids, group) = try await self.three()
        let (ann, bob, carol) = (cores[0], cores[1], cores[2])
        let members = try await self.perform(ann, #"group_members {"groupId":"\#(group)"}"#)["members"]?.elements ?? []
        #expect(members.compactMap { $0["whisperId"]?.string } == ids && members[0]["role"]?.string == "owner")

        let sent = try await self.perform(ann, #"message_send {"to":"\#(group)","text":"tea on sunday"}"#)["message"]
        let id = try #require(sent?["messageId"]?.string)
        #expect(sent?["groupId"]?.string == group && sent?["state"]?.string == "queued")
        for core in [bob, carol] {
            let came = try await self.next(core, "messageReceived").event["message"]
            #expect(came?["text"]?.string == "tea on sunday" && came?["groupId"]?.string == group)
            #expect(came?["chat"]?.string == ids[0])
            // A group message is not a contact request.
            #expect(try await self.perform(core, "request_list")["contacts"]?.elements.isEmpty == true)
        }
        _ = try await self.next(ann, "messageChanged") { $0["message"]?["state"]?.string == "delivered" }

        // Read by one is not read by all.
        let chat = try #require(try await self.perform(bob, "chat_list")["chats"]?.elements.first)
        #expect(chat["chat"]?.string == group && chat["name"]?.string == "Hiking" && chat["unread"]?.integer == 1)
        for core in [bob, carol] {
            #expect(
                try await self.perform(core, #"chat_read {"chat":"\#(group)","upTo":9}"#)["count"]?.integer == 1)
        }
        _ = try await self.next(ann, "messageChanged") { $0["message"]?["state"]?.string == "read" }
        let info = try await self.perform(ann, #"message_info {"messageId":"\#(id)"}"#)
        let copies = info["members"]?.elements ?? []
        #expect(Set(copies.compactMap { $0["whisperId"]?.string }) == [ids[1], ids[2]])
        #expect(copies.allSatisfy { $0["state"]?.string == "read" })

        #expect(
            try await self.refusal(bob, #"message_send {"to":"\#(group)","text":"x","replyTo":"\#(id)"}"#)
                == "notFound replyTo")
        try await self.perform(
            bob, #"message_send {"to":"\#(group)","text":"yes","replyTo":"\#(id)","replyFrom":"\#(ids[0])"}"#)
        for core in [ann, carol] {
            let reply = try await self.next(core, "messageReceived").event["message"]
            #expect(reply?["replyTo"]?.string == id && reply?["replyFrom"]?.string == ids[0])
        }
        try await self.perform(ann, #"message_edit {"messageId":"\#(id)","text":"coffee on sunday"}"#)
        for core in [bob, carol] {
            _ = try await self.next(core, "messageChanged") { $0["message"]?["text"]?.string == "coffee on sunday" }
        }
        try await self.perform(
            carol, #"message_react {"chat":"\#(group)","messageId":"\#(id)","from":"\#(ids[0])","reaction":"+"}"#)
        for core in [ann, bob] {
            _ = try await self.next(core, "messageChanged") {
                $0["message"]?["reactions"]?.elements.first?["from"]?.string == ids[2]
            }
        }
        let found = try await self.perform(carol, #"search {"text":"coffee","chat":"\#(group)"}"#)["messages"]
        #expect(found?.elements.first?["messageId"]?.string == id)
        let page = try await self.perform(
            carol, #"chat_get {"chat":"\#(group.uppercased())"}"#.replacing("GRP-", with: "grp-"))
        #expect(page["messages"]?.elements.compactMap { $0["text"]?.string } == ["coffee on sunday", "yes"])
        try await self.perform(ann, #"message_delete {"messageId":"\#(id)"}"#)
        _ = try await self.next(bob, "messageChanged") { $0["message"]?["kind"]?.string == "deleted" }
        #expect(self.server.messageTypes == ["text"], "a change says that it is a file")
        try await self.perform(bob, #"chat_draft {"chat":"\#(group)","text":"It"}"#)
        #expect(try await self.perform(bob, "chat_list")["chats"]?.elements.first?["draft"]?.string == "It")
        let muted = try await self.perform(bob, #"chat_mark {"chat":"\#(group)","muted":true}"#)
        #expect(muted["isMuted"] == .bool(true) && muted["isPinned"] == .bool(false) && muted["draft"]?.string == "It")
        _ = try await self.next(bob, "chatChanged") { $0["isMuted"] == .bool(true) }
        try await self.perform(bob, #"chat_mark {"chat":"\#(group)","pinned":true}"#)
        let listed = try await self.perform(bob, "chat_list")["chats"]?.elements.first
        #expect(listed?["isMuted"] == .bool(true) && listed?["isPinned"] == .bool(true))
        #expect(
            try await self.refusal(bob, #"chat_mark {"chat":"grp-\#(UUIDText.random())","muted":true}"#)
                == "unknownContact chat")
        #expect(try await self.perform(bob, #"chat_clear {"chat":"\#(group)"}"#)["count"]?.integer == 2)

        // The first message to one of them alone is a request.
        try await self.perform(ann, #"message_send {"to":"\#(ids[1])","text":"just you"}"#)
        let request = try await self.next(bob, "requestReceived").event
        #expect(request["contact"]?["whisperId"]?.string == ids[0])
        await self.close(cores)
    }

    /// Each change is a line of the history. A change that happened while somebody was away, among others, has no actor.
    @Test func changesOfAGroupStandInItsHistory() async throws {
        let (cores, ids, group) = try await self.three()
        let (ann, bob, carol) = (cores[0], cores[1], cores[2])
        func notes(_ core: Core) async throws -> [String] {
            let page = try await self.perform(core, #"chat_get {"chat":"\#(group)"}"#)
            return (page["notes"]?.elements ?? []).map { note in
                let members = note["members"]?.elements.compactMap { $0.string.flatMap(ids.firstIndex) } ?? []
                let from = note["from"]?.string.flatMap(ids.firstIndex).map { "\($0) " } ?? ""
                return "\(from)\(note["kind"]?.string ?? "") \(note["title"]?.string ?? "\(members)")"
            }
        }
        for core in cores { #expect(try await notes(core) == ["0 added [1, 2]"]) }
        try await self.perform(ann, #"group_update {"groupId":"\#(group)","title":"Walking"}"#)
        for core in [bob, carol] {
            _ = try await self.next(core, "groupChanged") { $0["group"]?["title"]?.string == "Walking" }
        }
        try await self.perform(carol, #"group_leave {"groupId":"\#(group)"}"#)
        for core in [ann, bob] { _ = try await self.next(core, "groupChanged") { $0["removed"]?.elements.count == 1 } }
        let seen = ["0 added [1, 2]", "0 title Walking", "2 removed [2]"]
        for core in cores { #expect(try await notes(core) == seen) }
        // The list says what is now.
        await bob.close()
        try await self.perform(ann, #"group_update {"groupId":"\#(group)","add":["\#(ids[2])"]}"#)
        _ = try await self.next(carol, "groupChanged") { $0["added"]?.elements.count == 1 }
        try await self.perform(ann, #"group_update {"groupId":"\#(group)","title":"Hills"}"#)
        _ = try await self.next(carol, "groupChanged") { $0["group"]?["title"]?.string == "Hills" }
        self.server.forgetGroupEvents()
        self.server.forgetSessions()
        let later = try self.open("bob")
        try await self.perform(later, #"events_subscribe {"consumer":"app"}"#)
        try await self.online(later)
        _ = try await self.next(later, "groupChanged") { $0["group"]?["title"]?.string == "Hills" }
        #expect(try await notes(later) == seen + ["added [2]", "title Hills"])
        #expect(try await notes(ann) == seen + ["0 added [2]", "0 title Hills"])
        await self.close([ann, later, carol])
    }

    @Test func aCopyThatFailsIsSentAgainAlone() async throws {
        let (cores, ids, group) = try await self.three()
        self.server.set { $0.refusesCopiesTo = [ids[2]] }
        let sent = try await self.perform(cores[0], #"message_send {"to":"\#(group)","text":"all"}"#)["message"]
        let id = try #require(sent?["messageId"]?.string)
        _ = try await self.next(cores[0], "messageChanged") {
            $0["message"]?["state"]?.string == "delivered" && $0["message"]?["failedMembers"]?.integer == 1
        }
        let info = try await self.perform(cores[0], #"message_info {"messageId":"\#(id)"}"#)["members"]?.elements ?? []
        let carols = info.first { $0["whisperId"]?.string == ids[2] }
        #expect(carols?["state"]?.string == "failed" && carols?["reason"]?.string == "forbidden")
        self.server.set { $0.refusesCopiesTo = [] }
        let before = self.server.seen.count { $0 == "group_send_message" }
        #expect(try await self.perform(cores[0], #"message_retry {"chat":"\#(group)"}"#)["count"]?.integer == 1)
        let came = try await self.next(cores[2], "messageReceived").event["message"]
        #expect(came?["messageId"]?.string == id)
        _ = try await self.next(cores[0], "messageChanged") {
            $0["message"]?["state"]?.string == "delivered" && $0["message"]?["failedMembers"] == nil
        }
        #expect(self.server.seen.count { $0 == "group_send_message" } == before + 1)
        #expect(try await self.perform(cores[0], #"message_retry {"chat":"\#(group)"}"#)["count"]?.integer == 0)
        await self.close(cores)
    }

    @Test func whoIsRemovedOrLeavesWritesNoMore() async throws {
        let (cores, ids, group) = try await self.three()
        let (ann, bob, carol) = (cores[0], cores[1], cores[2])
        try await self.perform(bob, #"group_update {"groupId":"\#(group)","title":"Mine"}"#)
        #expect(try await self.next(bob, "answer").event["error"]?["code"]?.string == "forbidden")
        try await self.perform(ann, #"group_update {"groupId":"\#(group)","title":"Tea","remove":["\#(ids[2])"]}"#)
        let told = try await self.next(carol, "groupChanged").event
        #expect(told["group"]?["isMember"] == .bool(false) && told["removed"]?.elements.count == 1)
        #expect(try await self.refusal(carol, #"message_send {"to":"\#(group)","text":"x"}"#) == "notMember to")
        _ = try await self.next(bob, "groupChanged") { $0["group"]?["title"]?.string == "Tea" }
        try await self.perform(bob, #"group_leave {"groupId":"\#(group)"}"#)
        _ = try await self.next(bob, "answer") { $0["result"]?["group"]?["isMember"] == .bool(false) }
        _ = try await self.next(ann, "groupChanged") { $0["group"]?["members"]?.integer == 1 }
        #expect(
            try await self.perform(bob, "group_list")["groups"]?.elements.first?["isMember"] == .bool(false))
        try await self.perform(bob, #"group_leave {"groupId":"\#(group)"}"#)
        _ = try await self.next(bob, "answer") { $0["error"]?["code"]?.string == "notMember" }
        let other = "grp-\(UUIDText.random())"
        #expect(try await self.refusal(bob, #"message_send {"to":"\#(other)","text":"x"}"#) == "notFound to")
        #expect(try await self.refusal(bob, #"message_send {"to":"nobody","text":"x"}"#) == "invalidField to")
        await self.close(cores)
    }

    @Test func copiesOutliveTheProcessAndGroupsAreListedAfterALogin() async throws {
        var (cores, ids, group) = try await self.three()
        await cores[0].close()
        cores[0] = try self.open("ann")
        // Without a connection the copies wait, those without keys too.
        let sent = try await self.perform(cores[0], #"message_send {"to":"\#(group)","text":"later"}"#)["message"]
        #expect(sent?["state"]?.string == "queued")
        await cores[0].close()
        cores[0] = try self.open("ann")
        try await self.perform(cores[0], #"events_subscribe {"consumer":"app"}"#)
        try await self.online(cores[0])
        for core in cores[1...] { _ = try await self.next(core, "messageReceived") }

        // Another device of bob's is told that he was removed; this one finds out from the list.
        await cores[1].close()
        try await self.perform(cores[0], #"group_update {"groupId":"\#(group)","remove":["\#(ids[1])"]}"#)
        _ = try await self.next(cores[0], "answer")
        self.server.forgetGroupEvents()
        self.server.forgetSessions()
        cores[1] = try self.open("bob")
        try await self.perform(cores[1], #"events_subscribe {"consumer":"app"}"#)
        try await self.online(cores[1])
        let left = try await self.next(cores[1], "groupChanged") { $0["actor"] == nil }.event
        #expect(left["group"]?["isMember"] == .bool(false))
        await self.close(cores)
    }
}

/// Groups in the store.
@Suite struct GroupStoreTests {
    let folder: TemporaryFolder
    let ownID = aliceWords.id

    init() throws { self.folder = try TemporaryFolder() }

    private func open() throws -> ClientStore {
        let store = try ClientStore(path: self.folder.path + "/store.sqlite")
        try store.settings.set(
            whisperID: self.ownID, session: StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 1)))
        return store
    }

    private func group(_ revision: Int64, members: [WhisperID]) -> Group {
        Group(
            id: "grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", title: "\(revision)",
            createdAt: Timestamp(milliseconds: 1), updatedAt: Timestamp(milliseconds: revision), revision: revision,
            isMember: true,
            members: members.map { Group.Member(id: $0, role: .member, joinedAt: Timestamp(milliseconds: 1)) })
    }

    @Test func anOlderRevisionIsOldNews() throws {
        let store = try self.open()
        let newer = self.group(2, members: [self.ownID, bobID])
        #expect(try store.groups.keep(newer, GroupChange()) != nil)
        for old in [1, 2] as [Int64] {
            #expect(try store.groups.keep(self.group(old, members: [self.ownID]), GroupChange()) == nil)
        }
        #expect(try store.groups.group(newer.id)?.title == "2" && store.groups.group(newer.id)?.members.count == 2)
    }

    /// The server keeps the latest event alone for somebody who is away: it says nothing of the changes before it.
    @Test func anActorAnswersForTheNextRevisionAlone() throws {
        let store = try self.open()
        let carolID = Mnemonic.random().id
        func kept(_ revision: Int64, _ members: [WhisperID], added: [WhisperID] = []) throws {
            let change = GroupChange(actor: bobID, added: added)
            try #require(try store.groups.keep(self.group(revision, members: members), change) != nil)
        }
        try kept(1, [bobID, self.ownID], added: [self.ownID])
        try kept(2, [bobID])
        try kept(5, [bobID, carolID], added: [carolID])
        let chat = Conversation.group(self.group(1, members: []).id)
        let notes = try store.notes(in: chat, 0...10)
        #expect(
            notes.map(\.kind) == [
                .added([self.ownID], count: 1), .removed([self.ownID], count: 1), .title("2"),
                .added([carolID], count: 1),
                .title("5"),
            ])
        #expect(notes.map(\.person) == [bobID, bobID, bobID, nil, nil])
        #expect(notes.map(\.time.milliseconds) == [1, 2, 2, 5, 5])
    }

    @Test func aMessageIsAsFarAsItsSlowestCopy() {
        let cases: [([MessageState], MessageState, Int)] = [
            ([.queued, .read], .queued, 0), ([.sending, .failed(.banned)], .queued, 1),
            ([.sent, .read, .delivered], .sent, 0), ([.delivered, .read], .delivered, 0), ([.read, .read], .read, 0),
            ([.read, .failed(.forbidden)], .read, 1), ([.failed(.badKey), .failed(.forbidden)], .failed(.badKey), 2),
            ([.expired, .delivered], .delivered, 0), ([.expired], .expired, 0), ([], .sent, 0),
        ]
        for (copies, state, failed) in cases {
            let progress = GroupProgress(of: copies)
            #expect(progress.state == state && progress.failed == failed, "\(copies)")
        }
    }

    @Test func aChangeIsForgottenWhenEveryCopyHasArrived() throws {
        let store = try self.open()
        let carolID = Mnemonic.random().id
        for id in [bobID, carolID] {
            // The store takes the caller's word that keys belong to an id.
            _ = try store.contacts.pin(
                IdentityKeys(bobWords).publicKeys, of: id, name: nil, isBanned: false,
                at: Timestamp(milliseconds: 1))
        }
        let group = self.group(1, members: [self.ownID, bobID, carolID])
        _ = try store.groups.keep(group, GroupChange())
        let message = Message(
            id: .random(), peer: self.ownID, groupID: group.id, direction: .outgoing(.queued), content: .text("x"),
            time: Timestamp(milliseconds: 1))
        #expect(try store.deliveries.queue(message, toGroup: group).ready.count == 2)
        let change = UUIDText.random()
        _ = try store.changes.queue(
            .edit("y"), id: change, of: MessageReference(id: message.id, author: self.ownID), in: .group(group.id),
            ownID: self.ownID, at: Timestamp(milliseconds: 2))
        #expect(try store.deliveries.queuedDeliveries(of: change).count == 2)
        _ = try store.deliveries.advance(GroupDeliveryID(id: change, member: bobID), .accepted)
        #expect(try store.deliveries.isGroupSending(change))
        _ = try store.deliveries.advance(GroupDeliveryID(id: change, member: carolID), .accepted)
        #expect(try !store.deliveries.isGroupSending(change) && store.deliveries.isGroupSending(message.id))
        // The copies of the message are forgotten with it alone.
        _ = try store.deliveries.advance(GroupDeliveryID(id: message.id, member: bobID), .read)
        #expect(try store.messages.outgoing(message.id)?.state == .queued)
        #expect(try store.messages.unsettled().isEmpty && store.deliveries.queuedDeliveries().count == 1)
    }
}
