import Contract
import Testing

@testable import WhisperClient

/// Contract §14.7: who is let in, who is asked about, and who gets no answer.
@Suite struct AdmissionDeskTests {
    let conversation: OwnConversation
    let guest = GuestKeys(secret: SecretBytes([UInt8](0..<64)))
    let other = GuestKeys(secret: SecretBytes([UInt8](64..<128)))
    var listener: PrincipalID { .guest(self.guest.id) }

    init() { self.conversation = Self.conversation(.knock) }

    static func conversation(_ admission: Admission, passcode: String? = nil) -> OwnConversation {
        OwnConversation(
            keys: ConversationKeys(secret: SecretBytes([UInt8](0..<32))), name: "talk", title: "Talk",
            whisperer: "Anna", admission: admission, passcode: passcode, transcriptDays: 0,
            linkSecret: SecretBytes([UInt8](0..<16)), content: nil, lastLine: 0)
    }

    static func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_730_000_000_000 + seconds * 1_000) }

    /// A knock as the server shows it.
    func knock(
        by guest: GuestKeys? = nil, name: String = "Bert", passcode: String? = nil, link: [UInt8] = [UInt8](0..<16),
        at time: Timestamp = Self.time(0), of profile: (ProfileKeys, PrincipalID)? = nil
    ) throws -> AdmissionDesk.Knock {
        let guest = guest ?? self.guest
        let (id, keys) = (PrincipalID.guest(guest.id), self.conversation.keys)
        var note = KnockNote(
            name: name, passcode: passcode, note: nil, by: id, on: keys.id, at: time,
            link: LinkKeys(secret: SecretBytes(link)))
        if let profile { note = note.naming(profile.0, of: profile.1, on: keys.id) }
        let signed = try note.sealed(for: keys.id, keys: keys.publicKeys, from: id, at: time, signer: guest.pair)
        return AdmissionDesk.Knock(listener: id, keys: guest.pair.publicKeys, sealed: LiveSealedKnock(signed))
    }

    func desk(_ admission: Admission = .knock, passcode: String? = nil, known: [KnownListener] = []) -> AdmissionDesk {
        AdmissionDesk(Self.conversation(admission, passcode: passcode), known: known)
    }

    func known(_ verdict: KnownListener.Verdict, _ keys: PublicKeys? = nil) -> KnownListener {
        KnownListener(
            id: self.listener, keys: keys ?? self.guest.pair.publicKeys, name: "Bert", verdict: verdict,
            decidedAt: Self.time(0), generation: 1)
    }

    private func isAsk(_ decision: AdmissionDesk.Decision) -> Bool {
        if case .ask = decision { true } else { false }
    }

    @Test func theUserIsAskedOnceAndDecides() throws {
        var desk = self.desk()
        let knock = try self.knock()
        guard case .ask(let caller) = desk.knocked(knock) else {
            Issue.record("not asked")
            return
        }
        #expect(caller.name == "Bert" && caller.listener == self.listener && desk.callers == [caller])
        #expect(desk.knocked(knock) == .ignore(.repeated))
        #expect(desk.accept(self.listener, at: Self.time(1))?.verdict == .allowed && desk.callers.isEmpty)
        // From now on nobody is asked, with a knock or without.
        #expect(desk.knocked(knock) == .grant)
        #expect(desk.knocked(.init(listener: self.listener, keys: knock.keys, sealed: nil)) == .grant)
        #expect(desk.accept(.guest(self.other.id), at: Self.time(2)) == nil)
    }

    @Test func declinedOnesMayKnockAgain() throws {
        var desk = self.desk()
        _ = desk.knocked(try self.knock())
        #expect(desk.decline(self.listener)?.name == "Bert" && desk.callers.isEmpty && desk[self.listener] == nil)
        #expect(self.isAsk(desk.knocked(try self.knock(at: Self.time(9)))))
    }

    @Test func whatIsForgedGetsNoAnswer() throws {
        var desk = self.desk(.link)
        var foreign = try self.knock()
        foreign.keys = self.other.pair.publicKeys
        #expect(desk.knocked(foreign) == .ignore(.foreignKeys))
        // Somebody else's signature under this id.
        let theirs = try self.knock(by: self.other)
        let mixed = AdmissionDesk.Knock(
            listener: self.listener, keys: self.guest.pair.publicKeys, sealed: theirs.sealed)
        #expect(desk.knocked(mixed) == .ignore(.badSignature))
        #expect(desk.allowed.isEmpty && desk.callers.isEmpty)
    }

    /// The server can make boxes, but it never had the link's secret.
    @Test func aWrongTagIsRefused() throws {
        for admission in Admission.allCases {
            var desk = self.desk(admission, passcode: "sesame")
            let knock = try self.knock(passcode: "sesame", link: [UInt8](1..<17))
            #expect(desk.knocked(knock) == .refuse(.declined))
            #expect(desk.allowed.isEmpty)
        }
    }

    @Test func namesAreAsTheContractWantsThem() throws {
        for name in ["", String(repeating: "n", count: 65), "a\u{1B}[2J"] {
            var desk = self.desk(.link)
            #expect(desk.knocked(try self.knock(name: name)) == .refuse(.declined))
        }
    }

    @Test func theLinkAloneLetsInIfItMay() throws {
        var desk = self.desk(.link)
        #expect(desk.knocked(try self.knock()) == .grant)
        #expect(desk.allowed.map(\.name) == ["Bert"])
    }

    @Test func thePasscodeLetsInUntilSomebodyGuesses() throws {
        var desk = self.desk(.passcode, passcode: "sesame")
        #expect(self.isAsk(desk.knocked(try self.knock())))
        for second in 1...AdmissionDesk.wrongPasscodesMax {
            let knock = try self.knock(passcode: "guess \(second)", at: Self.time(Int64(second)))
            #expect(desk.knocked(knock) == .refuse(.passcode))
        }
        // Now the right one is not enough either.
        #expect(self.isAsk(desk.knocked(try self.knock(by: self.other, passcode: "sesame"))))
        desk.streamBegan()
        #expect(desk.knocked(try self.knock(by: self.other, passcode: "sesame")) == .grant)
    }

    @Test func blockedOnesAreRefusedWhateverTheyKnow() throws {
        var desk = self.desk(.link, known: [self.known(.blocked)])
        #expect(desk.knocked(try self.knock(at: Self.time(5))) == .refuse(.blocked))
        #expect(desk.accept(self.listener, at: Self.time(6))?.verdict == .allowed)
        #expect(desk.knocked(try self.knock(at: Self.time(7))) == .grant)
    }

    /// A knock from before the removal, shown again by the server, lets nobody in.
    @Test func removedOnesKnockAnew() throws {
        var desk = self.desk(.link)
        _ = desk.knocked(try self.knock(at: Self.time(0)))
        #expect(
            desk.remove(self.listener, isBlocked: false, generation: 3, at: Self.time(5))?.verdict == .removed)
        #expect(desk.lowestGeneration == 4)
        #expect(desk.knocked(try self.knock(at: Self.time(0))) == .ignore(.old))
        #expect(desk.knocked(try self.knock(at: Self.time(6))) == .grant)
    }

    /// A caller who is blocked at the door has no key, unless it was let in before.
    @Test func onlyWhoWasLetInTakesAKeyAlong() throws {
        var desk = self.desk()
        _ = desk.knocked(try self.knock(by: self.other))
        let caller = PrincipalID.guest(self.other.id)
        #expect(desk.remove(caller, isBlocked: true, generation: 7, at: Self.time(1))?.generation == 0)
        #expect(desk.lowestGeneration == 1)
        _ = desk.knocked(try self.knock())
        _ = desk.accept(self.listener, at: Self.time(2))
        #expect(desk.remove(self.listener, isBlocked: false, generation: 3, at: Self.time(3))?.generation == 3)
        _ = desk.knocked(try self.knock(at: Self.time(4)))
        #expect(desk.remove(self.listener, isBlocked: true, generation: 7, at: Self.time(5))?.generation == 3)
        #expect(desk.lowestGeneration == 4)
    }

    /// "Known" is the server's word. Without a knock nothing is known here but an id.
    @Test func whomTheServerCallsKnownIsAskedAbout() throws {
        var desk = self.desk(.link)
        let known = AdmissionDesk.Knock(listener: self.listener, keys: self.guest.pair.publicKeys, sealed: nil)
        #expect(self.isAsk(desk.knocked(known)))
        #expect(desk.callers.first?.name == "\(self.listener)")
    }

    /// The profile of a listener who was let in vouches for other devices, unless one of them was sent away.
    @Test func anotherDeviceOfAListenerIsLetIn() throws {
        let profile = ProfileKeys(secret: SecretBytes([UInt8](1..<33)))
        let device = PrincipalID.guest(self.other.id)
        var desk = self.desk()
        #expect(self.isAsk(desk.knocked(try self.knock(of: (profile, self.listener)))))
        let first = desk.accept(self.listener, at: Self.time(1))
        #expect(first?.profileKey != nil)
        // A signature for another device, and one of another profile.
        #expect(self.isAsk(desk.knocked(try self.knock(by: self.other, of: (profile, self.listener)))))
        let foreign = ProfileKeys(secret: SecretBytes([UInt8](2..<34)))
        #expect(self.isAsk(desk.knocked(try self.knock(by: self.other, at: Self.time(2), of: (foreign, device)))))
        let knock = try self.knock(by: self.other, at: Self.time(3), of: (profile, device))
        var (removed, blocked) = (desk, desk)
        #expect(desk.knocked(knock) == .grant && desk.allowed.count == 2 && desk.callers.isEmpty)
        _ = removed.remove(self.listener, isBlocked: false, generation: 1, at: Self.time(2))
        _ = blocked.remove(self.listener, isBlocked: true, generation: 1, at: Self.time(2))
        #expect(self.isAsk(removed.knocked(knock)) && self.isAsk(blocked.knocked(knock)))
        // Somebody who was let in before shows the profile later.
        var old = self.desk(known: [self.known(.allowed)])
        #expect(old.knocked(try self.knock(at: Self.time(5), of: (profile, self.listener))) == .grant)
        #expect(old[self.listener]?.profileKey == first?.profileKey)
    }

    /// A person has taken a device out and drawn another key. As soon as one device shows it, the key of before lets nobody
    /// in, though a device that has it still listens.
    @Test func aKeyOfBeforeLetsNobodyInOnceALaterOneWasShown() throws {
        let (old, new) = (
            ProfileKeys(secret: SecretBytes([UInt8](1..<33))), ProfileKeys(secret: SecretBytes([UInt8](2..<34)))
        )
        let lost = GuestKeys(secret: SecretBytes([UInt8](repeating: 9, count: 64)))
        let (other, taken) = (PrincipalID.guest(self.other.id), PrincipalID.guest(lost.id))
        var desk = self.desk()
        _ = desk.knocked(try self.knock(of: (old, self.listener)))
        _ = desk.accept(self.listener, at: Self.time(1))
        #expect(desk.knocked(try self.knock(by: lost, at: Self.time(2), of: (old, taken))) == .grant)
        #expect(desk.outmoded.isEmpty)
        #expect(desk.knocked(try self.knock(at: Self.time(3), of: (new, self.listener))) == .grant)
        #expect(desk.outmoded.map(\.id) == [taken] && desk[taken]?.profileKey == KnownListener.outmodedKey)
        // It listens on, and lets nobody in.
        #expect(desk.knocked(try self.knock(by: lost, at: Self.time(4), of: (old, taken))) == .grant)
        #expect(desk[taken]?.profileKey == KnownListener.outmodedKey)
        #expect(self.isAsk(desk.knocked(try self.knock(by: self.other, at: Self.time(5), of: (old, other)))))
        #expect(desk.knocked(try self.knock(by: self.other, at: Self.time(6), of: (new, other))) == .grant)
        // Another device of the person shows the new key later.
        #expect(desk.knocked(try self.knock(by: lost, at: Self.time(7), of: (new, taken))) == .grant)
        #expect(desk[taken]?.profileKey == desk[self.listener]?.profileKey)
    }

    /// The person draws another link, and asks for a passcode, while they whisper.
    @Test func aChangedConversationHasAnotherDoor() throws {
        var desk = self.desk()
        var changed = Self.conversation(.passcode, passcode: "sesame")
        changed.linkSecret = SecretBytes([UInt8](16..<32))
        desk.follow(changed)
        #expect(desk.knocked(try self.knock()) == .refuse(.declined))
        let link = [UInt8](16..<32)
        #expect(desk.knocked(try self.knock(passcode: "open", link: link, at: Self.time(1))) == .refuse(.passcode))
        #expect(desk.knocked(try self.knock(passcode: "sesame", link: link, at: Self.time(2))) == .grant)
    }

    @Test func aBlockIsTakenBackByLettingInAlone() throws {
        var desk = self.desk(known: [self.known(.blocked)])
        let removed = desk.remove(self.listener, isBlocked: false, generation: 3, at: Self.time(5))
        #expect(removed?.verdict == .blocked)
        #expect(desk.knocked(try self.knock(at: Self.time(6))) == .refuse(.blocked))
    }

    /// A note without room for it leaves the profile out, and knocks all the same.
    @Test func aLongNoteNamesNoProfile() throws {
        let note = KnockNote(
            name: String(repeating: "😀", count: 64), passcode: nil, note: String(repeating: "😀", count: 140),
            by: self.listener, on: self.conversation.id, at: Self.time(0), link: self.conversation.link)
        let named = note.naming(
            ProfileKeys(secret: SecretBytes([UInt8](1..<33))), of: self.listener, on: self.conversation.id)
        #expect(named == note)
    }

    /// A decision of another of our devices holds here, too.
    @Test func decisionsOfOtherDevicesAreLearned() throws {
        var desk = self.desk()
        _ = desk.knocked(try self.knock())
        let news = desk.learn([self.known(.allowed)])
        #expect(news.admitted == [self.listener] && news.left.isEmpty && desk.callers.isEmpty)
        #expect(desk.knocked(try self.knock(at: Self.time(1))) == .grant)
        let later = desk.learn([self.known(.blocked)])
        #expect(later.admitted.isEmpty && later.left.map(\.id) == [self.listener] && desk.lowestGeneration == 2)
        #expect(desk.knocked(try self.knock(at: Self.time(2))) == .refuse(.blocked))
    }

    @Test func callersHaveABound() throws {
        var desk = self.desk()
        for number in 0..<AdmissionDesk.callersMax {
            let keys = GuestKeys(secret: SecretBytes([UInt8](repeating: UInt8(number), count: 64)))
            #expect(self.isAsk(desk.knocked(try self.knock(by: keys))))
        }
        #expect(desk.knocked(try self.knock()) == .refuse(.declined))
    }
}

/// Contract §14.7: grants, and new keys for all others after somebody was removed.
@Suite struct GrantQueueTests {
    let people = (0..<4).map { number in
        PrincipalID.guest(GuestKeys(secret: SecretBytes([UInt8](repeating: UInt8(number), count: 64))).id)
    }

    private func queue(_ members: [PrincipalID], generation: Int = 1) -> GrantQueue {
        var queue = GrantQueue()
        queue.learned(
            generation: generation,
            members: Dictionary(uniqueKeysWithValues: members.map { ($0, generation) }))
        return queue
    }

    @Test func oneBatchIsUnderWayAtATime() {
        var queue = self.queue([])
        #expect(queue.next() == nil)
        _ = queue.admit(self.people[0])
        #expect(queue.next() == .init(generation: 1, listeners: [self.people[0]]))
        _ = queue.admit(self.people[1])
        #expect(queue.next() == nil)
        #expect(queue.answered(granted: [self.people[0]]) == nil)
        #expect(queue.next() == .init(generation: 1, listeners: [self.people[1]]))
        // The server knows no such caller any more.
        #expect(queue.answered(granted: []) == 1)
        #expect(queue.members == [self.people[0]])
    }

    /// An admitted listener that misses a key may still have the earlier lines.
    @Test func aMemberThatMissesAKeyIsNotLetInAnew() {
        var queue = self.queue([self.people[0]])
        let member = queue.admit(self.people[0])
        let newcomers = [queue.admit(self.people[1]), queue.admit(self.people[1])]
        #expect(!member && newcomers == [true, false])
        queue.removed(self.people[0])
        let again = queue.admit(self.people[0])
        #expect(again)
    }

    @Test func aRemovalGivesAllOthersTheNextKey() {
        var queue = self.queue(Array(self.people.prefix(3)))
        queue.removed(self.people[0])
        let batch = queue.next()
        #expect(batch?.generation == 2 && Set(batch?.listeners ?? []) == Set(self.people[1...2]))
        // It fails, and somebody else goes meanwhile: the second rotation comes behind the first.
        queue.removed(self.people[1])
        queue.failed()
        #expect(queue.next() == .init(generation: 2, listeners: [self.people[2]]))
        #expect(queue.answered(granted: [self.people[2]]) == 2)
        #expect(queue.next() == .init(generation: 3, listeners: [self.people[2]]))
        #expect(queue.answered(granted: [self.people[2]]) == 3)
        #expect(queue.next() == nil)
    }

    /// More listeners than one frame holds: content waits for the last answer.
    @Test func newKeysAreUsedWhenEverybodyHasThem() {
        let many = (0..<300).map { number in PrincipalID.guest(GuestID(high: 1, low: UInt64(number))) }
        var queue = self.queue(many)
        queue.removed(many[0])
        let first = queue.next()
        #expect(first?.listeners.count == LiveLimits.grantsMax)
        #expect(queue.answered(granted: first?.listeners ?? []) == nil)
        let second = queue.next()
        #expect(second?.generation == 2 && second?.listeners.count == 299 - LiveLimits.grantsMax)
        #expect(queue.answered(granted: second?.listeners ?? []) == 2)
    }

    @Test func withNobodyLeftNewKeysBeginAllTheSame() {
        var queue = self.queue([self.people[0]])
        queue.removed(self.people[0])
        #expect(queue.lowest == 2)
        #expect(queue.next() == .init(generation: 2, listeners: []))
        _ = queue.admit(self.people[1])
        queue.failed()
        #expect(queue.next() == .init(generation: 2, listeners: [self.people[1]]))
        #expect(queue.answered(granted: [self.people[1]]) == 2)
        #expect(queue.next() == nil)
    }

    /// The server has the grant, whether it answers or not.
    @Test func whoIsSentAwayWhileItsGrantIsUnderWayHasItsKey() {
        var queue = self.queue([self.people[0], self.people[1]])
        queue.removed(self.people[0])
        #expect(queue.next() == .init(generation: 2, listeners: [self.people[1]]))
        queue.removed(self.people[1])
        #expect(queue.lowest == 3)
        queue.learned(generation: 1, members: [:])
        #expect(queue.next()?.generation == 2)
        #expect(queue.answered(granted: []) == 2)
        #expect(queue.next() == .init(generation: 3, listeners: []))
    }

    /// A server that names an older generation, or leaves somebody out, brings no old key back.
    @Test func whatTheServerSaysLowersNothing() {
        var queue = GrantQueue(newest: 5, lowest: 4)
        #expect(queue.lowest == 5)
        queue.learned(generation: 2, members: [self.people[0]: 2])
        #expect(queue.lowest == 5 && queue.next()?.generation == 3)
        queue.removed(self.people[1])
        queue.leaves(behind: queue.offered)
        #expect(queue.lowest == 6)
    }

    /// A refusal of somebody who never had a key changes none.
    @Test func sendingCallersAwayChangesNoKeys() {
        var queue = self.queue([self.people[0]])
        queue.removed(self.people[1])
        #expect(queue.next() == nil)
    }

    /// The process ended between a removal and the new keys, or between two of their frames.
    @Test func whatWasLeftUndoneIsDoneAfterARestart() {
        var queue = GrantQueue()
        queue.learned(generation: 2, members: [self.people[0]: 2, self.people[1]: 1])
        #expect(queue.next() == .init(generation: 2, listeners: [self.people[1]]))
        queue.leaves(behind: 2)
        queue.learned(generation: 2, members: [self.people[0]: 2, self.people[1]: 2])
        #expect(queue.next()?.generation == 3)
    }
}
