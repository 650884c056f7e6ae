import ClusterContract
import Contract
import ServerCrypto
import TestKit
import Testing

@testable import GatewayCore

/// The session of a connection, and which of its frames wait. Tokens have one letter or digit; where a login gives one,
/// the digit is its epoch.
@Suite struct ConnectionSessionTests {
    // MARK: Unknown

    @Test func aFrameWaitsForItsTokenAndIsHandled() {
        let script = SessionScript()
        #expect(script.says("f1", "1") == [.lookUp("1")])
        #expect(script.says("f2", "1") == [])
        #expect(script.lookedUp(session("1")) == [.bound("1"), .handled("f1", as: "1"), .handled("f2", as: "1")])
        #expect(script.says("f3", "1") == [.handled("f3", as: "1")])
    }

    @Test func aFrameWithoutATokenIsRefused() {
        let script = SessionScript()
        #expect(script.says("f1", nil) == [.refused("f1", .notRegistered)])
        #expect(script.says("f2", "1") == [.lookUp("1")])
        #expect(script.says("f3", nil) == [])
        #expect(
            script.lookedUp(session("1"))
                == [.bound("1"), .handled("f2", as: "1"), .refused("f3", .notRegistered)])
    }

    @Test func aFrameThatNeedsNoSessionOvertakesALookUp() {
        let script = SessionScript()
        script.says("f1", "1")
        #expect(script.pings("p1") == [.handled("p1", as: nil)])
        #expect(script.lookedUp(nil) == [.refused("f1", .notRegistered)])
    }

    @Test func aTokenThatIsNobodysIsLookedUpAgain() {
        let script = SessionScript()
        script.says("f1", "1")
        #expect(script.lookedUp(nil) == [.refused("f1", .notRegistered)])
        #expect(script.says("f2", "1") == [.lookUp("1")])
    }

    @Test func anExpiredSessionIsNobodys() {
        let script = SessionScript()
        script.says("f1", "1")
        #expect(script.lookedUp(session("1", expiresAt: 0)) == [.refused("f1", .notRegistered)])
        #expect(script.machine.session == nil)
    }

    @Test func aBannedIdentityIsClosed() {
        let script = SessionScript()
        script.says("f1", "1")
        script.says("f2", "1")
        #expect(
            script.lookedUp(session("1", isBanned: true)) == [.refused("f1", .userBanned), .closed(.banned)])
    }

    /// Even if answers are mixed up, no client becomes another identity.
    @Test func theSessionOfAnotherTokenBindsNobody() {
        let script = SessionScript()
        script.says("f1", "1")
        #expect(script.lookedUp(session("2")) == [.mixedUp, .refused("f1", .internalError)])
        #expect(script.machine.session == nil)
    }

    @Test func whileATokenIsLookedUpALoginMayComeFirst() {
        let script = SessionScript()
        script.says("f1", "1")
        script.says("f2", "2")
        #expect(script.logsIn(session("2")) == [.bound("2")])
        #expect(script.lookedUp(session("1")) == [.refused("f1", .notRegistered), .handled("f2", as: "2")])
    }

    // MARK: Frames that wait

    /// The result of a look-up concerns only the frames with that token, each in its turn.
    @Test(arguments: [true, false]) func aTokenThatIsNobodysLeavesTheOthersAlone(isKnown: Bool) {
        let script = SessionScript(session("1"))
        #expect(script.says("dead", "d") == [.lookUp("d")])
        for id in ["f1", "f2"] { #expect(script.says(id, "1") == []) }
        #expect(script.says("last", "d") == [])
        let code = isKnown ? ErrorCode.notRegistered : .internalError
        #expect(
            (isKnown ? script.lookedUp(nil) : script.lookUpFails())
                == [
                    .refused("dead", code), .handled("f1", as: "1"), .handled("f2", as: "1"), .refused("last", code),
                ])
    }

    @Test func framesThatWaitKeepTheirOrderBehindASecondLookUp() {
        let script = SessionScript(session("1"))
        script.says("f1", "a")
        for (id, token) in [("f2", "b"), ("f3", "1"), ("f4", "a")] { script.says(id, token) }
        #expect(script.lookedUp(nil) == [.refused("f1", .notRegistered), .lookUp("b")])
        #expect(script.says("f5", "1") == [])
        #expect(
            script.lookedUp(nil)
                == [
                    .refused("f2", .notRegistered), .handled("f3", as: "1"), .refused("f4", .notRegistered),
                    .handled("f5", as: "1"),
                ])
    }

    @Test func framesThatWaitAreBoundedInBytes() {
        let script = SessionScript()
        script.says("f1", "1", bytes: 100)
        #expect(script.says("f2", "1", bytes: GatewayLimits.bytesWaitingMax - 200) == [])
        #expect(script.says("large", "1", bytes: 101) == [.refused("large", .internalError)])
        #expect(script.says("small", "1", bytes: 100) == [])
        #expect(script.machine.waitingBytes == GatewayLimits.bytesWaitingMax)
        #expect(script.lookedUp(session("1")) == [.bound("1")] + ["f1", "f2", "small"].map { .handled($0, as: "1") })
        #expect(script.machine.waitingBytes == 0)
    }

    @Test func framesThatWaitAreBoundedInNumber() {
        let script = SessionScript()
        script.says("f1", "1")
        for _ in 1..<GatewayLimits.framesWaitingMax { #expect(script.says("f", "1") == []) }
        #expect(script.says("last", "1") == [.refused("last", .internalError)])
    }

    /// All frames wait, so that none overtakes the one that needs uses.
    @Test func framesWaitForUses() {
        let script = SessionScript(session("1"))
        script.hasUses = false
        #expect(script.says("f1", "1") == [])
        #expect(script.says("f2", nil) == [])
        #expect(script.pings("p1") == [])
        #expect(script.says("f3", "d") == [])
        script.hasUses = true
        #expect(
            script.usesArrive()
                == [
                    .handled("f1", as: "1"), .refused("f2", .notRegistered), .handled("p1", as: nil), .lookUp("d"),
                ])
        #expect(script.lookedUp(nil) == [.refused("f3", .notRegistered)])
    }

    @Test func aFrameThatFindsNoUsesWaitsInFrontOfTheOthers() {
        let script = SessionScript(session("1"))
        script.hasUses = false
        script.says("f1", "1")
        script.says("f2", "1")
        #expect(script.usesArrive() == [])
        script.says("f3", "1")
        script.hasUses = true
        #expect(script.usesArrive() == ["f1", "f2", "f3"].map { .handled($0, as: "1") })
    }

    @Test func usesThatNobodyWaitsForChangeNothing() {
        let script = SessionScript()
        #expect(script.usesArrive() == [])
        script.says("f1", "1")
        #expect(script.usesArrive() == [])
        #expect(script.lookedUp(session("1")) == [.bound("1"), .handled("f1", as: "1")])
    }

    // MARK: Logins

    /// Two logins of one connection, of which the older is answered last, and a cache that is behind.
    @Test func aConnectionDoesNotGoBackToAnOlderSession() {
        let script = SessionScript(session("3"))
        #expect(script.logsIn(session("5")) == [.bound("5")])
        #expect(script.logsIn(session("4")) == [])
        #expect(script.says("f1", "4") == [.lookUp("4")])
        #expect(script.lookedUp(session("4")) == [.refused("f1", .notRegistered)])
        #expect(script.replaced(4) == [])
        #expect(script.says("f2", "5") == [.handled("f2", as: "5")])
    }

    /// The next token of a session that a login has replaced is worth nothing.
    @Test(arguments: [true, false]) func aLoginEndsTheRefreshBeforeIt(refreshIsAnsweredLast: Bool) {
        let script = SessionScript(session("1"))
        if refreshIsAnsweredLast {
            #expect(script.logsIn(session("2")) == [.bound("2")])
            script.refreshes("1", to: session("n", epoch: 1))
        } else {
            script.refreshes("1", to: session("n", epoch: 1))
            #expect(script.logsIn(session("2")) == [.bound("2")])
        }
        #expect(script.says("f1", "n") == [.lookUp("n")])
        #expect(script.lookedUp(session("n", epoch: 1)) == [.refused("f1", .notRegistered)])
        #expect(script.says("f2", "2") == [.handled("f2", as: "2")])
    }

    @Test func aLoginForgetsTheRetiredToken() {
        let script = SessionScript(session("1"))
        script.refreshes("1", to: session("n", epoch: 1))
        #expect(script.says("f1", "n") == [.told("n"), .handled("f1", as: "n")])
        script.logsIn(session("2"))
        #expect(script.says("f2", "1") == [.lookUp("1")])
    }

    @Test func aConnectionStaysWithItsIdentity() {
        let stranger = session("s", epoch: 9, of: other)
        let script = SessionScript(session("1"))
        script.says("f1", "s")
        #expect(script.lookedUp(stranger) == [.refused("f1", .authFailed), .closed(.sessionReplaced)])
        let second = SessionScript(session("1"))
        #expect(second.logsIn(stranger) == [.refused("login", .authFailed), .closed(.sessionReplaced)])
    }

    /// A token of the same login, of which this connection has not heard.
    @Test func anotherTokenOfTheSameSessionNeedsNoBind() {
        let script = SessionScript(session("1"))
        script.says("f1", "m")
        #expect(script.lookedUp(session("m", epoch: 1)) == [.handled("f1", as: "m")])
    }

    // MARK: Two connections of one identity

    @Test func aConnectionOfAnOlderSessionDoesNotEndTheNewerOne() {
        let newer = SessionScript(session("6"))
        let older = SessionScript()
        older.rival = newer
        #expect(older.logsIn(session("5")) == [.closed(.sessionReplaced)])
        let oldest = SessionScript()
        oldest.rival = newer
        oldest.says("f1", "4")
        #expect(oldest.lookedUp(session("4")) == [.closed(.sessionReplaced)])
        #expect(newer.says("f2", "6") == [.handled("f2", as: "6")])
    }

    @Test func aNewerSessionEndsTheOlderOne() {
        let older = SessionScript(session("5"))
        let newer = SessionScript()
        newer.rival = older
        #expect(newer.logsIn(session("6")) == [.bound("6")])
        #expect(older.isClosed)
    }

    /// Both have waited for the same token's look-up. The answers come in either order.
    @Test(arguments: [true, false]) func ofTwoConnectionsTheOneStaysThatShowedTheTokenLast(inOrder: Bool) {
        let (first, last) = (SessionScript(), SessionScript())
        (first.rival, last.rival) = (last, first)
        first.says("f1", "1")
        last.now = 1
        last.says("f2", "1")
        // Late: neither is judged by when it was bound.
        (first.now, last.now) = (10_000, 10_000)
        if inOrder {
            #expect(first.lookedUp(session("1")) == [.bound("1"), .handled("f1", as: "1")])
            #expect(last.lookedUp(session("1")) == [.bound("1"), .handled("f2", as: "1")])
        } else {
            #expect(last.lookedUp(session("1")) == [.bound("1"), .handled("f2", as: "1")])
            #expect(first.lookedUp(session("1")) == [.closed(.sessionReplaced)])
        }
        #expect(first.isClosed && !last.isClosed)
    }

    /// A client that comes back within a millisecond must not be closed.
    @Test func ofTwoInOneMillisecondTheOneStaysThatIsBoundLast() {
        let (first, last) = (SessionScript(), SessionScript())
        last.rival = first
        first.logsIn(session("1"))
        #expect(last.logsIn(session("1")) == [.bound("1")])
        #expect(first.isClosed)
    }

    // MARK: Refreshes

    @Test func theFirstUseOfTheNextTokenEndsTheOldOne() {
        let script = SessionScript(session("a", epoch: 1))
        script.refreshes("a", to: session("b", epoch: 1))
        #expect(script.says("f1", "a") == [.handled("f1", as: "a")])
        #expect(script.says("f2", "b") == [.told("b"), .handled("f2", as: "b")])
        #expect(script.says("f3", "a") == [.refused("f3", .notRegistered)])
        #expect(script.says("f4", "b") == [.handled("f4", as: "b")])
    }

    /// One refresh asked for twice gives the same token twice. When the second answer comes, that token is in use.
    @Test func aRefreshAnsweredTwiceLeavesItsTokenAlive() {
        let script = SessionScript(session("a", epoch: 1))
        script.refreshes("a", to: session("b", epoch: 1))
        script.says("f1", "b")
        script.refreshes("a", to: session("b", epoch: 1))
        script.now += Limits.refreshOverlap.milliseconds
        for id in ["f2", "f3"] { #expect(script.says(id, "b") == [.handled(id, as: "b")]) }
        #expect(script.says("f4", "a") == [.refused("f4", .notRegistered)])
    }

    /// Contract §4: the old token dies so long after the refresh, not after the last one.
    @Test func refreshingAgainDoesNotLetTheOldTokenLive() {
        let script = SessionScript(session("a", epoch: 1))
        let overlap = Limits.refreshOverlap.milliseconds
        script.refreshes("a", to: session("b", epoch: 1))
        script.now = overlap - 1
        script.refreshes("a", to: session("b", epoch: 1))
        #expect(script.says("f1", "a") == [.handled("f1", as: "a")])
        script.now = overlap
        #expect(script.says("f2", "a") == [.refused("f2", .notRegistered)])
        #expect(script.says("f3", "b") == [.told("b"), .handled("f3", as: "b")])
    }

    @Test func anotherNextTokenHasATimeOfItsOwn() {
        let script = SessionScript(session("a", epoch: 1))
        script.refreshes("a", to: session("b", epoch: 1))
        script.says("f1", "b")
        script.now = Limits.refreshOverlap.milliseconds
        script.refreshes("b", to: session("c", epoch: 1))
        #expect(script.says("f2", "b") == [.handled("f2", as: "b")])
        // Both the one before and the next one are remembered.
        #expect(script.says("f3", "a") == [.refused("f3", .notRegistered)])
        #expect(script.says("f4", "c") == [.told("c"), .handled("f4", as: "c")])
        #expect(script.says("f5", "b") == [.refused("f5", .notRegistered)])
    }

    @Test func theNewestTokenTellsWhenTheSessionIsOver() {
        let script = SessionScript()
        #expect(!script.hasExpired(at: .max))
        script.logsIn(session("a", epoch: 1, expiresAt: 5_000))
        #expect(!script.hasExpired(at: 4_999))
        #expect(script.hasExpired(at: 5_000))
        script.refreshes("a", to: session("b", epoch: 1, expiresAt: 9_000))
        #expect(!script.hasExpired(at: 8_999))
        #expect(script.hasExpired(at: 9_000))
        #expect(script.machine.newestToken == session("b").tokenHash)
    }

    @Test func aSessionThatExpiresMeanwhileIsRefused() {
        let script = SessionScript(session("1", expiresAt: 5_000))
        script.wallClock = 4_999
        #expect(script.says("f1", "1") == [.handled("f1", as: "1")])
        script.wallClock = 5_000
        #expect(script.says("f2", "1") == [.refused("f2", .notRegistered)])
    }

    // MARK: Ends

    /// The router judges a frame of the older session while the login is being answered.
    @Test func aStaleAnswerDoesNotEndAConnectionThatLogsIn() {
        let script = SessionScript(session("1"))
        script.changesSession = true
        #expect(script.isStale("f1", of: 1) == [.refused("f1", .notRegistered), .announced])
        #expect(script.logsIn(session("2")) == [.bound("2")])
        #expect(script.says("f2", "2") == [.handled("f2", as: "2")])
    }

    /// If the login fails, the stale session ends as it would have.
    @Test func aStaleAnswerEndsAConnectionWhoseLoginFails() {
        let script = SessionScript(session("1"))
        script.changesSession = true
        #expect(script.isStale("f1", of: 1) == [.refused("f1", .notRegistered), .announced])
        script.changesSession = false
        #expect(script.replaced(1) == [.closed(.sessionReplaced)])
    }

    @Test func aStaleAnswerEndsAConnectionThatDoesNotLogIn() {
        #expect(SessionScript(session("1")).isStale("f1", of: 1) == [.closed(.sessionReplaced)])
    }

    @Test func aStaleAnswerToAnOlderSessionEndsNothing() {
        let script = SessionScript(session("1"))
        script.logsIn(session("2"))
        #expect(script.isStale("f1", of: 1) == [.refused("f1", .notRegistered)])
    }

    @Test func aLogoutOfAnOlderSessionDoesNotEndTheNewerOne() {
        let script = SessionScript(session("1"))
        script.logsIn(session("2"))
        #expect(!script.endsWithLogout(of: 1))
        #expect(script.endsWithLogout(of: 2))
    }

    @Test func sessionsBeforeAnEpochEnd() {
        for epoch in Int64(1)...2 {
            #expect(SessionScript(session("2")).sessionsEnded(before: epoch, .replaced) == [])
        }
        #expect(SessionScript(session("2")).sessionsEnded(before: 3, .replaced) == [.closed(.sessionReplaced)])
        #expect(SessionScript().sessionsEnded(before: 3, .replaced) == [])
    }

    @Test func aLoginUnderWayDoesNotSaveWhoIsBanned() {
        let script = SessionScript(session("2"))
        script.changesSession = true
        #expect(script.sessionsEnded(before: 3, .replaced) == [.announced])
        #expect(script.sessionsEnded(before: 3, .banned) == [.closed(.banned)])
    }

    /// Frames that a client sent before it left are handled, but only as the session that it had.
    @Test func framesThatWaitForUsesAreHandledAfterTheEnd() {
        let script = SessionScript(session("1"))
        script.hasUses = false
        script.says("f1", "1")
        script.pings("p1")
        script.says("f2", "d")
        script.says("f3", "1")
        #expect(script.ends())
        script.hasUses = true
        #expect(script.usesArrive() == [.handled("f1", as: "1"), .handled("f3", as: "1")])
        #expect(!script.ends())
    }

    @Test func manyBytesThatWaitForUsesEndWithTheirConnection() {
        let script = SessionScript(session("1"))
        script.hasUses = false
        script.says("f1", "1", bytes: GatewayLimits.heldBytesUncounted + 1)
        #expect(!script.ends())
        #expect(script.machine.waitingBytes == 0)
        script.hasUses = true
        #expect(script.usesArrive() == [])
    }

    @Test func framesThatWaitForALookUpEndWithTheirConnection() {
        let script = SessionScript()
        script.says("f1", "1")
        #expect(!script.ends())
        #expect(script.lookedUp(session("1")) == [])
        #expect(script.lookUpFails() == [])
        #expect(script.machine.session == nil)
    }

    // MARK: Seeds

    /// In any order of events: no frame is lost or answered twice, and frames keep their order. No connection goes back
    /// to an older session or to another identity, and waiting frames are bounded.
    @Test(arguments: Prove.seeds(0..<300)) func promisesHoldWhateverTheOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let script = SessionScript()
        let sessions: [Session] =
            (1...4).flatMap { epoch in
                ["\(epoch)", ["a", "b", "c", "d"][epoch - 1]].map { session($0, epoch: Int64(epoch)) }
            } + [session("s", of: other), session("e", expiresAt: 0)]
        let tokens = sessions.map(\.token) + ["x"]
        var said: [String: (token: String?, bytes: Int, isPing: Bool)] = [:]
        var answered: Set<String> = []
        var lastAnswered = 0
        var epoch: Int64 = 0
        var lookUp: String?
        var frames = 0

        func answer(_ id: String, isRefusedAtOnce: Bool) {
            #expect(answered.insert(id).inserted, "\(id) is answered twice")
            guard let frame = said[id] else { return #expect(Bool(false), "\(id) was never said") }
            // Neither waits for the frames before it.
            if isRefusedAtOnce || frame.isPing { return }
            let number = Int(id.dropFirst())!
            #expect(number > lastAnswered, "\(id) is answered after f\(lastAnswered)")
            lastAnswered = number
        }

        func act(as token: String) {
            let session = sessions.first { $0.token == token }!
            #expect(session.caller.epoch.value >= epoch && session.caller.identity == sender)
            epoch = session.caller.epoch.value
        }

        func check(_ acts: [Act]) {
            for each in acts {
                switch each {
                case .handled(let id, let token):
                    #expect(token == said[id]?.token)
                    answer(id, isRefusedAtOnce: false)
                    if let token { act(as: token) }
                // Too many wait.
                case .refused(let id, let code): answer(id, isRefusedAtOnce: code == .internalError)
                case .bound(let token): act(as: token)
                case .lookUp(let token):
                    #expect(lookUp == nil, "two look-ups at a time")
                    lookUp = token
                case .told, .announced, .closed, .mixedUp: break
                }
            }
        }

        for _ in 0..<300 {
            script.now += Int64(random.upTo(20_000))
            switch random.upTo(12) {
            case 0...5:
                frames += 1
                let token = random.upTo(20) == 0 ? nil : tokens[random.upTo(random.upTo(4) == 0 ? tokens.count : 8)]
                let bytes = random.upTo(10) == 0 ? random.upTo(Limits.frameBytesMax) : 100
                said["f\(frames)"] = (token, bytes, false)
                check(script.says("f\(frames)", token, bytes: bytes))
            case 6:
                frames += 1
                said["f\(frames)"] = (nil, 50, true)
                check(script.pings("f\(frames)"))
            case 7, 8:
                guard let token = lookUp else { continue }
                lookUp = nil
                let found = sessions.first { $0.token == token }
                // A client that shows another identity's token is closed; seldom, so that scripts are long.
                let isStrangers = found?.caller.identity == other && random.upTo(4) > 0
                let fails = random.upTo(4) == 0 || isStrangers
                check(fails ? script.lookUpFails(.overUnknownTokens(1)) : script.lookedUp(found))
            case 9:
                script.hasUses.toggle()
                if script.hasUses { check(script.usesArrive()) }
            case 10: check(script.logsIn(sessions[random.upTo(8)]))
            default:
                let presented = sessions[random.upTo(8)]
                let next = sessions.first { $0.caller.epoch == presented.caller.epoch && $0.token != presented.token }!
                script.refreshes(presented.token, to: next)
            }
            guard !script.isClosed else { return #expect(script.machine.waitingBytes == 0) }
            let waiting = said.keys.filter { !answered.contains($0) }
            #expect(script.machine.waitingBytes == waiting.reduce(0) { $0 + said[$1]!.bytes })
            #expect(waiting.count <= GatewayLimits.framesWaitingMax)
            #expect(script.machine.waitingBytes <= GatewayLimits.bytesWaitingMax)
        }
        // All answers come.
        script.hasUses = true
        check(script.usesArrive())
        for _ in 0...frames where lookUp != nil {
            lookUp = nil
            check(script.lookUpFails(.overUnknownTokens(1)))
        }
        #expect(answered == Set(said.keys))
    }
}

// MARK: Scripts

private let sender = WhisperID("WSP-JBPU-D452-TLT4")!
private let other = WhisperID("WSP-AAAA-AAAA-AAAA")!

/// - Parameter epoch: if none is given, the token names it.
private func session(
    _ token: String, epoch: Int64? = nil, of identity: WhisperID = sender, isBanned: Bool = false,
    expiresAt: Int64 = .max
) -> Session {
    .of(
        identity: "\(identity)", token: token, epoch: epoch ?? Int64(token) ?? 1, isBanned: isBanned,
        expiresAt: Timestamp(milliseconds: expiresAt))
}

extension Session {
    fileprivate var token: String { nameOfToken[self.tokenHash]! }
}

private func hash(_ token: String) -> Bytes32 { SHA256.hash(Array(token.utf8)) }

private let nameOfToken = Dictionary(
    uniqueKeysWithValues: "0123456789abcdefghijklmnopqrstuvwxyz".map { (hash("\($0)"), "\($0)") })

/// An action of a gateway.
private enum Act: Equatable {
    /// - as: the token of the session; `nil` if the frame needs none.
    case handled(String, as: String?)
    case refused(String, ErrorCode)
    case lookUp(String)
    /// Auth heard that this token is in use.
    case told(String)
    case bound(String)
    case announced
    case closed(CloseCode)
    case mixedUp
}

/// One connection. Does what a gateway does, and tells what that was.
private final class SessionScript {
    private(set) var machine = ConnectionSession()
    var now: Int64 = 0
    /// Milliseconds.
    var wallClock: Int64 = 1_000
    /// Rates have leased uses.
    var hasUses = true
    var changesSession = false
    /// Another connection of the same identity.
    weak var rival: SessionScript?
    private(set) var isClosed = false
    private var acts: [Act] = []

    init() {}

    init(_ session: Session) { self.logsIn(session) }

    @discardableResult
    func says(_ id: String, _ token: String?, bytes: Int = 100) -> [Act] {
        self.receives(id, FetchPending.definition, token, bytes)
    }

    /// A frame that needs no session.
    @discardableResult
    func pings(_ id: String) -> [Act] { self.receives(id, Ping.definition, nil, 50) }

    private func receives(_ id: String, _ definition: FrameDefinition, _ token: String?, _ bytes: Int) -> [Act] {
        let payload = try! FrameDecoder.payload(bare: Array(definition.samples[0].utf8), schema: definition.schema)
        let frame = ReceivedFrame(
            definition: definition, payload: payload, requestID: id, bytes: bytes,
            token: token.map { .session(hash($0)) })
        return self.acting {
            self.handle(frame, self.machine.received(frame, at: self.now, wallClock: self.time))
        }
    }

    func lookedUp(_ session: Session?) -> [Act] {
        self.acting {
            switch self.machine.lookedUp(session, wallClock: self.time) {
            case .goOn: break
            case .bind(let session, let shownAt): self.bind(session, shownAt)
            case .close(let refusal, let code):
                self.acts.append(.refused(self.machine.firstWaiting?.requestID ?? "", refusal.code))
                self.close(code)
            case .anotherToken, .bindGuest: self.acts.append(.mixedUp)
            }
            self.goOn()
        }
    }

    func lookUpFails(_ refusal: Refusal = .unavailable) -> [Act] {
        self.acting {
            self.machine.lookUpFailed(refusal)
            self.goOn()
        }
    }

    func usesArrive() -> [Act] {
        self.acting {
            self.machine.usesArrived()
            self.goOn()
        }
    }

    @discardableResult
    func logsIn(_ session: Session) -> [Act] {
        self.acting {
            switch self.machine.loggedIn(session) {
            case .bind: self.bind(session, self.now)
            case .welcome: break
            case .close(let refusal, let code):
                self.acts.append(.refused("login", refusal.code))
                self.close(code)
            }
        }
    }

    func refreshes(_ presented: String, to next: Session) {
        self.machine.refreshed(next, presented: hash(presented), at: self.now)
    }

    func replaced(_ epoch: Int64) -> [Act] {
        self.acting { self.follow(self.machine.replaced(Epoch(value: epoch), changesSession: self.changesSession)) }
    }

    func sessionsEnded(before epoch: Int64, _ why: ClusterNotice.EndReason) -> [Act] {
        self.acting {
            self.follow(
                self.machine.sessionsEnded(before: Epoch(value: epoch), why: why, changesSession: self.changesSession),
                why)
        }
    }

    /// The router's answer to a frame of a session.
    func isStale(_ id: String, of epoch: Int64) -> [Act] {
        self.acting {
            let (refuses, action) = self.machine.wasStale(Epoch(value: epoch), changesSession: self.changesSession)
            if refuses { self.acts.append(.refused(id, .notRegistered)) }
            self.follow(action)
        }
    }

    func endsWithLogout(of epoch: Int64) -> Bool { self.machine.loggedOut(Epoch(value: epoch)) }

    func hasExpired(at wallClock: Int64) -> Bool { self.machine.hasExpired(at: Timestamp(milliseconds: wallClock)) }

    /// - Returns: whether frames are left.
    func ends() -> Bool { self.machine.ended() }

    // MARK: What a gateway does

    private var time: Timestamp { Timestamp(milliseconds: self.wallClock) }

    private func acting(_ body: () -> Void) -> [Act] {
        self.acts = []
        body()
        return self.acts
    }

    private func handle(_ frame: ReceivedFrame, _ action: ConnectionSession.FrameAction) {
        let id = frame.requestID!
        switch action {
        case .handle(let session, let isFirstUse):
            if isFirstUse { self.acts.append(.told(session.token)) }
            guard self.hasUses else { return self.machine.awaitUses(frame) }
            self.acts.append(.handled(id, as: session.token))
        case .handleAsGuest: self.acts.append(.mixedUp)
        case .handleWithoutSession: self.acts.append(.handled(id, as: nil))
        case .lookUp(let token): self.acts.append(.lookUp(nameOfToken[token.hash]!))
        case .refuse(let refusal): self.acts.append(.refused(id, refusal.code))
        case .wait, .ignore: break
        }
    }

    private func goOn() {
        while let (frame, action) = self.machine.next(at: self.now, wallClock: self.time) {
            self.handle(frame, action)
        }
    }

    private func bind(_ session: Session, _ shownAt: Int64) {
        if let rival = self.rival, rival.machine.session != nil, !rival.isClosed {
            guard !rival.machine.staysLive(against: session, shownAt: shownAt) else {
                return self.close(.sessionReplaced)
            }
            rival.close(.sessionReplaced)
        }
        self.machine.bind(to: session, shownAt: shownAt)
        self.acts.append(.bound(session.token))
    }

    private func follow(_ action: ConnectionSession.ReplacedAction, _ why: ClusterNotice.EndReason = .replaced) {
        switch action {
        case .ignore: break
        case .announceAgain: self.acts.append(.announced)
        case .end: self.close(why == .banned ? .banned : .sessionReplaced)
        }
    }

    private func close(_ code: CloseCode) {
        self.acts.append(.closed(code))
        self.isClosed = true
        _ = self.machine.ended()
    }
}
