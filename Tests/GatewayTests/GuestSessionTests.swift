import ClusterContract
import Contract
import ServerCrypto
import Testing

@testable import GatewayCore

/// Which connection is a guest's, and which of its frames are handled (contract §14.3). Tokens have one letter.
@Suite struct GuestSessionTests {
    private let now = Timestamp(milliseconds: 1_000)

    // MARK: Proofs

    @Test func aProofBindsTheConnection() {
        var machine = ConnectionSession()
        #expect(machine.isSomebodys == false)
        #expect(machine.proved(guest("a")) == .bind)
        machine.bind(to: guest("a"), shownAt: 0)
        #expect(machine.guest == guest("a"))
        #expect(machine.isSomebodys == true)
        #expect(machine.session == nil)
        #expect(machine.newestToken == hash("a"))
        #expect(machine.received(frame("a"), at: 0, wallClock: self.now) == .handleAsGuest(guest("a")))
    }

    /// The answers of two proofs overtake each other. The client hears both, and the newer token is the one that lives.
    @Test func anOlderProofDoesNotTakeTheConnectionBack() {
        var machine = ConnectionSession()
        machine.bind(to: guest("b", epoch: 2), shownAt: 0)
        #expect(machine.proved(guest("a", epoch: 1)) == .welcome)
        #expect(machine.proved(guest("c", epoch: 3)) == .bind)
        machine.bind(to: guest("c", epoch: 3), shownAt: 0)
        #expect(machine.received(frame("b"), at: 0, wallClock: self.now) == .lookUp(.guest(hash("b"))))
    }

    @Test func proofsOfOthersAreRefused() {
        let unknown = ConnectionSession()
        for guest in [self.own, nil] { #expect(unknown.mayProve(guest) == true) }
        var machine = ConnectionSession()
        machine.bind(to: guest("a"), shownAt: 0)
        for guest in [self.own, nil] { #expect(machine.mayProve(guest) == true) }
        #expect(machine.mayProve(self.other) == false)
        #expect(machine.proved(guest("b", of: self.other)) == .close(.anotherPrincipal, .sessionReplaced))
        var session = ConnectionSession()
        session.bind(to: .of(identity: "WSP-JBPU-D452-TLT4", token: "s"), shownAt: 0)
        for guest in [self.own, nil] { #expect(session.mayProve(guest) == false) }
        #expect(session.proved(guest("a")) == .close(.anotherPrincipal, .sessionReplaced))
    }

    @Test func aLoginOnAGuestsConnectionIsRefused() {
        var machine = ConnectionSession()
        machine.bind(to: guest("a"), shownAt: 0)
        #expect(
            machine.loggedIn(.of(identity: "WSP-JBPU-D452-TLT4", token: "s"))
                == .close(.anotherPrincipal, .sessionReplaced))
    }

    // MARK: Tokens

    @Test func aFrameWaitsForTheGuestsTokenAndIsHandled() throws {
        var machine = ConnectionSession()
        #expect(machine.received(frame("a"), at: 7, wallClock: self.now) == .lookUp(.guest(hash("a"))))
        #expect(machine.received(frame("a"), at: 8, wallClock: self.now) == .wait)
        #expect(machine.lookedUp(guest("a"), wallClock: self.now) == .bindGuest(guest("a"), shownAt: 7))
        machine.bind(to: guest("a"), shownAt: 7)
        for _ in 0..<2 {
            #expect(machine.next(at: 9, wallClock: self.now)?.action == .handleAsGuest(guest("a")))
        }
        #expect(machine.next(at: 9, wallClock: self.now) == nil)
    }

    @Test(arguments: [true, false]) func aTokenThatIsNobodysOrOverIsRefused(isExpired: Bool) {
        var machine = ConnectionSession()
        _ = machine.received(frame("a"), at: 0, wallClock: self.now)
        #expect(machine.lookedUp(isExpired ? guest("a", expiresAt: 1_000) : nil, wallClock: self.now) == .goOn)
        #expect(machine.next(at: 0, wallClock: self.now)?.action == .refuse(.notRegistered))
        #expect(machine.isSomebodys == false)
    }

    @Test func theTokenOfABannedGuestEndsTheConnection() {
        var machine = ConnectionSession()
        _ = machine.received(frame("a"), at: 0, wallClock: self.now)
        #expect(
            machine.lookedUp(guest("a", isBanned: true), wallClock: self.now) == .close(.bannedGuest, .banned))
    }

    @Test func theGuestOfAnotherTokenBindsNobody() {
        var machine = ConnectionSession()
        _ = machine.received(frame("a"), at: 0, wallClock: self.now)
        #expect(machine.lookedUp(guest("b"), wallClock: self.now) == .anotherToken)
        #expect(machine.next(at: 0, wallClock: self.now)?.action == .refuse(.unavailable))
    }

    @Test func theOtherKindOrAnotherGuestEndsTheConnection() {
        var machine = ConnectionSession()
        machine.bind(to: guest("a"), shownAt: 0)
        // A session's token.
        let session = Session.of(identity: "WSP-JBPU-D452-TLT4", token: "s", expiresAt: .distant)
        #expect(machine.received(frame(session: "s"), at: 0, wallClock: self.now) == .lookUp(.session(hash("s"))))
        #expect(machine.lookedUp(session, wallClock: self.now) == .close(.anotherPrincipal, .sessionReplaced))
        // Another guest's token.
        var second = ConnectionSession()
        second.bind(to: guest("a"), shownAt: 0)
        #expect(second.received(frame("b"), at: 0, wallClock: self.now) == .lookUp(.guest(hash("b"))))
        #expect(
            second.lookedUp(guest("b", of: self.other), wallClock: self.now)
                == .close(.anotherPrincipal, .sessionReplaced))
        // A guest's token on the connection of an identity.
        var third = ConnectionSession()
        third.bind(to: session, shownAt: 0)
        #expect(third.received(frame("a"), at: 0, wallClock: self.now) == .lookUp(.guest(hash("a"))))
        #expect(third.lookedUp(guest("a"), wallClock: self.now) == .close(.anotherPrincipal, .sessionReplaced))
    }

    /// Contract §14.13: nothing shown is NOT_REGISTERED, whosever the connection is.
    @Test func aFrameWithoutATokenIsRefusedAndTheConnectionStays() {
        var machine = ConnectionSession()
        machine.bind(to: guest("a"), shownAt: 0)
        #expect(machine.received(frame(nil), at: 0, wallClock: self.now) == .refuse(.notRegistered))
        #expect(machine.received(frame(session: nil), at: 0, wallClock: self.now) == .refuse(.notRegistered))
        #expect(machine.received(frame(session: "s"), at: 0, wallClock: self.now) == .lookUp(.session(hash("s"))))
        #expect(machine.lookedUp(nil as Session?, wallClock: self.now) == .goOn)
        #expect(machine.next(at: 0, wallClock: self.now)?.action == .refuse(.notRegistered))
        #expect(machine.guest == guest("a"))
    }

    @Test func aGuestsTimeEnds() {
        var machine = ConnectionSession()
        machine.bind(to: guest("a", expiresAt: 5_000), shownAt: 0)
        let (before, end) = (Timestamp(milliseconds: 4_999), Timestamp(milliseconds: 5_000))
        #expect(machine.hasExpired(at: before) == false)
        #expect(machine.received(frame("a"), at: 0, wallClock: before) == .handleAsGuest(guest("a", expiresAt: 5_000)))
        #expect(machine.hasExpired(at: end) == true)
        #expect(machine.received(frame("a"), at: 0, wallClock: end) == .refuse(.notRegistered))
    }

    // MARK: Two connections of one guest

    @Test func theNewerProofStays() {
        var machine = ConnectionSession()
        machine.bind(to: guest("b", epoch: 2), shownAt: 10)
        #expect(machine.staysLive(against: guest("a", epoch: 1), shownAt: 99) == true)
        #expect(machine.staysLive(against: guest("c", epoch: 3), shownAt: 1) == false)
        // With one token, the connection that showed it last stays; with equal times, the one that is bound last.
        #expect(machine.staysLive(against: guest("b", epoch: 2), shownAt: 9) == true)
        #expect(machine.staysLive(against: guest("b", epoch: 2), shownAt: 10) == false)
        #expect(ConnectionSession().staysLive(against: guest("b", epoch: 2), shownAt: 0) == false)
    }

    /// The other one is at another gateway, which says for how long it has been the guest's.
    @Test func ofTwoAtTwoGatewaysTheNewerStays() {
        var machine = ConnectionSession()
        #expect(machine.guestAge(at: 10) == nil)
        machine.bind(to: guest("b", epoch: 2), shownAt: 10)
        #expect(machine.guestAge(at: 25) == 15)
        #expect(machine.staysLive(against: Epoch(value: 2), shownAt: 9) == true)
        #expect(machine.staysLive(against: Epoch(value: 2), shownAt: 10) == false)
        #expect(machine.staysLive(against: Epoch(value: 1), shownAt: 99) == true)
        #expect(machine.staysLive(against: Epoch(value: 3), shownAt: 1) == false)
    }

    @Test func proofsBeforeAnEpochEnd() {
        var machine = ConnectionSession()
        #expect(machine.guestEnded(before: Epoch(value: 9)) == false)
        machine.bind(to: guest("b", epoch: 2), shownAt: 0)
        for epoch in Int64(1)...2 { #expect(machine.guestEnded(before: Epoch(value: epoch)) == false) }
        #expect(machine.guestEnded(before: Epoch(value: 3)) == true)
    }

    /// Result of looking up the token that the connection was bound by, in the cache or at auth.
    @Test func aTokenThatHasEndedEndsTheConnection() {
        var machine = ConnectionSession()
        #expect(machine.guestFound(nil, of: hash("b")) == nil)
        machine.bind(to: guest("b", epoch: 2), shownAt: 0)
        #expect(machine.guestFound(guest("b", epoch: 2), of: hash("b")) == nil)
        #expect(machine.guestFound(nil, of: hash("b")) == .replaced)
        #expect(machine.guestFound(guest("b", epoch: 2, isBanned: true), of: hash("b")) == .banned)
        // Asked before the last proof.
        #expect(machine.guestFound(nil, of: hash("a")) == nil)
    }

    @Test func anEndedConnectionIsNobodys() {
        var machine = ConnectionSession()
        machine.bind(to: guest("a"), shownAt: 0)
        #expect(machine.ended() == false)
        #expect(machine.guest == nil)
        #expect(machine.received(frame("a"), at: 0, wallClock: self.now) == .ignore)
        #expect(machine.mayProve(nil) == false)
    }

    private var own: GuestID { guest("a").id }
    private var other: GuestID { GuestID(high: 7, low: 7) }
}

// MARK: Values

extension Timestamp {
    fileprivate static let distant = Timestamp(milliseconds: .max)
}

private func hash(_ token: String) -> Bytes32 { SHA256.hash(Array(token.utf8)) }

private func guest(
    _ token: String, epoch: Int64 = 1, of id: GuestID = GuestID(high: 1, low: 2), expiresAt: Int64 = .max,
    isBanned: Bool = false
) -> Guest {
    Guest(
        id: id, epoch: Epoch(value: epoch), tokenHash: hash(token), expiresAt: Timestamp(milliseconds: expiresAt),
        signPublicKey: Bytes32(), isBanned: isBanned)
}

/// A frame of an identity or a guest. The catalogue has none yet.
private let either = FrameDefinition(
    "of_either", about: "", route: .gateway, principal: .either,
    fields: CommonFields.versions + [CommonFields.sessionToken, CommonFields.guestToken], samples: [])

/// - Parameter token: the guest's.
private func frame(_ token: String?) -> ReceivedFrame { frame(either, token.map { .guest(hash($0)) }) }

private func frame(session token: String?) -> ReceivedFrame {
    frame(FetchPending.definition, token.map { .session(hash($0)) })
}

private func frame(_ definition: FrameDefinition, _ token: ShownToken?) -> ReceivedFrame {
    let json = #"{"protocolVersion":1,"cryptoVersion":1}"#
    let payload = try! FrameDecoder.payload(bare: Array(json.utf8), schema: definition.schema)
    return ReceivedFrame(definition: definition, payload: payload, requestID: "f", bytes: 100, token: token)
}
