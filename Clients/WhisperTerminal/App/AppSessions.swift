import Contract
import Synchronization
import WhisperClient

/// Browsers that were let in. Cookies and keys are kept as digests, and in memory alone.
final class AppSessions: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Sessions side by side. The one unused longest goes.
    static let sessionsMax = 8
    /// A session ends after so long without a request, and after so long in all.
    static let idleMax = Duration.seconds(12 * 3_600)
    static let ageMax = Duration.seconds(30 * 86_400)
    /// Launches that wait for their page, and how long.
    static let launchesMax = 4
    static let launchFor = Duration.seconds(60)
    /// Bytes of each secret.
    static let secretBytes = 32

    private struct Session {
        var cookie: [UInt8]
        var key: [UInt8]
        /// The page knows its door by this. The page never sends it.
        var proof: String
        var began: Instant
        var used: Instant

        func isOver(at now: Instant) -> Bool {
            now - self.used > AppSessions.idleMax || now - self.began > AppSessions.ageMax
        }
    }

    private struct State {
        var sessions: [Session] = []
        var launches: [(token: [UInt8], until: Instant)] = []
    }

    private let state = Mutex(State())
    /// Is told that no launch is left.
    private let launched: @Sendable () -> Void

    init(launched: @escaping @Sendable () -> Void = {}) { self.launched = launched }

    private static func secret() -> String { Hexadecimal.text(Sodium.random(Self.secretBytes)) }
    private static func digest(_ secret: String) -> [UInt8] { Sodium.sha256(Array(secret.utf8)) }

    /// - Returns: a token that opens one session, soon. Beyond `launchesMax` the oldest one is void.
    func launch(at now: Instant = .now) -> String {
        let token = Self.secret()
        self.state.withLock { state in
            state.launches.append((Self.digest(token), now + Self.launchFor))
            if state.launches.count > Self.launchesMax { state.launches.removeFirst() }
        }
        return token
    }

    /// - Returns: what the browser shows from here on; `nil` if the token is void.
    func begin(with token: String, at now: Instant = .now) -> (cookie: String, key: String, proof: String)? {
        let shown = Self.digest(token)
        let begun = self.state.withLock {
            state -> (secrets: (cookie: String, key: String, proof: String), isLast: Bool)? in
            state.launches.removeAll { $0.until <= now }
            guard let place = state.launches.firstIndex(where: { Sodium.areEqual($0.token, shown) }) else { return nil }
            state.launches.remove(at: place)
            let (cookie, key, proof) = (Self.secret(), Self.secret(), Self.secret())
            state.sessions.removeAll { $0.isOver(at: now) }
            if state.sessions.count >= Self.sessionsMax {
                state.sessions.sort { $0.used > $1.used }
                state.sessions.removeLast()
            }
            state.sessions.append(
                Session(cookie: Self.digest(cookie), key: Self.digest(key), proof: proof, began: now, used: now))
            return ((cookie, key, proof), state.launches.isEmpty)
        }
        if begun?.isLast == true { self.launched() }
        return begun?.secrets
    }

    /// Whether cookie and key are of one session. It counts as used.
    func isIn(cookie: String, key: String, at now: Instant = .now) -> Bool {
        let (cookie, key) = (Self.digest(cookie), Self.digest(key))
        return self.state.withLock { state in
            state.sessions.removeAll { $0.isOver(at: now) }
            let place = state.sessions.firstIndex {
                Sodium.areEqual($0.cookie, cookie) && Sodium.areEqual($0.key, key)
            }
            guard let place else { return false }
            state.sessions[place].used = now
            return true
        }
    }

    func proof(of cookie: String) -> String? {
        let cookie = Self.digest(cookie)
        return self.state.withLock { $0.sessions.first { Sodium.areEqual($0.cookie, cookie) }?.proof }
    }

    /// Ends the session of a cookie.
    func end(cookie: String) {
        let cookie = Self.digest(cookie)
        self.state.withLock { state in state.sessions.removeAll { Sodium.areEqual($0.cookie, cookie) } }
    }
}
